import type { ClusterBuckets } from "../cluster/cluster.js";
import type { Engine, Statement } from "./engine.js";
import type { Names } from "./tables.js";
import { toStored } from "./text.js";

/** Maximum number of buckets of which this process holds tokens. */
const MAX_HELD = 10_000;

/** Time after which held tokens are given up. */
const HELD_MS = 1000;

interface Held {
  left: number;
  readonly until: number;
}

/**
 * Token buckets. A process takes a sixteenth of a burst at once and spends it without asking, so that a busy key costs few
 * round trips. Tokens that it does not spend within a second are lost, so that the rate is never exceeded.
 */
export class PostgresBuckets implements ClusterBuckets {
  readonly #engine: Engine;
  readonly #statement: Statement;
  readonly #held = new Map<string, Held>();

  constructor(engine: Engine, { of }: Names) {
    this.#engine = engine;
    const text = `select ${of("bucket_1")}($1::text, $2::float8, $3::float8, $4::float8) as given`;
    this.#statement = { operation: "take from a bucket", text };
  }

  async take(key: string, limit: { readonly burst: number; readonly perMs: number }) {
    const { burst, perMs } = limit;
    const held = this.#held.get(key);
    if (held !== undefined && held.until > this.#engine.clock.now() && held.left > 0) {
      held.left--;
      return { ok: true, retryInMs: 0 };
    }
    this.#held.delete(key);
    const chunk = Math.max(1, Math.floor(burst / 16));
    const [row] = await this.#engine.run(this.#statement, toStored(key), burst, perMs, chunk);
    const [given = 0, retryInMs = perMs] = (row?.given ?? "").split(":").map(Number);
    if (given < 1) return { ok: false, retryInMs: Math.max(1, Math.ceil(retryInMs)) };
    if (given > 1) this.#hold(key, given - 1);
    return { ok: true, retryInMs: 0 };
  }

  #hold(key: string, tokens: number): void {
    const left = tokens + (this.#held.get(key)?.left ?? 0);
    this.#held.delete(key);
    this.#held.set(key, { left, until: this.#engine.clock.now() + HELD_MS });
    if (this.#held.size <= MAX_HELD) return;
    const [oldest] = this.#held.keys();
    this.#held.delete(oldest as string);
  }
}
