import type { ClusterBuckets } from "../cluster/cluster.js";
import type { Engine } from "./engine.js";
import { type Script, script } from "./scripts.js";

interface Limit {
  readonly burst: number;
  readonly refillMs: number;
}

interface Verdict {
  readonly ok: boolean;
  readonly retryInMs: number;
}

/**
 * Takes tokens of a bucket, which is stored as the time at which it will be full. ARGV: burst, milliseconds per token,
 * tokens that are wanted, tokens that may be added while the bucket is at least half full. Returns the tokens that were
 * taken and the time until the next one.
 */
const TAKE = script(
  "take from a bucket",
  `local burst, per, want, more = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local t = redis.call('TIME')
  t = t[1] * 1000 + t[2] / 1000
  local full = math.max(t, tonumber(redis.call('GET', KEYS[1]) or t))
  local free = math.floor((t + burst * per - full) / per + 0.000001)
  local taken = math.max(0, math.min(want, free))
  if taken == want and free - taken - more >= burst / 2 then taken = taken + more end
  if taken > 0 then
    full = full + taken * per
    redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', text(math.ceil(full - t) + 1))
  end
  return {text(taken), string.format('%.3f', math.max(0, full + per - t - burst * per))}`,
);

/** Part of a bucket that a node takes in advance, and the time for which it may use it. */
const CHUNK = 1 / 16;
const CHUNK_MS = 1_000;
/** Maximum number of buckets of which this process knows something. */
const MAX_KEYS = 10_000;

/** Tokens of a bucket that this process has, and calls that wait for more. */
interface Chunk {
  left: number;
  until: number;
  waiting: ((verdict: Promise<Verdict>) => void)[];
  isAsking: boolean;
}

/**
 * Token buckets in the engine. Calls that arrive while the engine is asked share the next request. A bucket that is used
 * often, and is not nearly empty, is taken in chunks.
 */
export class RedisBuckets implements ClusterBuckets {
  static readonly scripts: readonly Script[] = [TAKE];
  readonly #engine: Engine;
  readonly #chunks = new Map<string, Chunk>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  take(key: string, limit: Limit): Verdict | Promise<Verdict> {
    const { burst, refillMs } = limit;
    const name = `${burst}/${refillMs} ${key}`;
    const chunk = this.#chunkOf(name);
    if (chunk.left > 0 && this.#engine.clock.now() < chunk.until) {
      chunk.left--;
      return { ok: true, retryInMs: 0 };
    }
    chunk.left = 0;
    return new Promise((resolve) => {
      chunk.waiting.push(resolve);
      if (!chunk.isAsking) this.#ask(name, chunk, limit);
    });
  }

  async #ask(name: string, chunk: Chunk, limit: Limit): Promise<void> {
    chunk.isAsking = true;
    while (chunk.waiting.length > 0) {
      const waiting = chunk.waiting;
      chunk.waiting = [];
      try {
        await this.#share(name, chunk, limit, waiting);
      } catch (error) {
        for (const settle of waiting) settle(Promise.reject(error));
      }
    }
    chunk.isAsking = false;
  }

  async #share(name: string, chunk: Chunk, { burst, refillMs }: Limit, waiting: Chunk["waiting"]): Promise<void> {
    const engine = this.#engine;
    const args = [burst, refillMs, waiting.length, Math.floor(burst * CHUNK)];
    const until = engine.clock.now() + CHUNK_MS;
    const reply = (await engine.run(TAKE, [engine.keys.key("bucket", name)], args)) as readonly string[];
    const [taken, retryInMs] = [Number(reply[0]), Number(reply[1])];
    for (const [at, settle] of waiting.entries()) {
      const isTaken = at < taken;
      settle(Promise.resolve({ ok: isTaken, retryInMs: isTaken ? 0 : Math.max(1, retryInMs) }));
    }
    chunk.left = Math.max(0, taken - waiting.length);
    chunk.until = until;
  }

  #chunkOf(name: string): Chunk {
    let chunk = this.#chunks.get(name);
    if (chunk === undefined) {
      const [oldest] = this.#chunks.keys();
      if (this.#chunks.size >= MAX_KEYS && oldest !== undefined) this.#chunks.delete(oldest);
      chunk = { left: 0, until: 0, waiting: [], isAsking: false };
      this.#chunks.set(name, chunk);
    }
    return chunk;
  }
}
