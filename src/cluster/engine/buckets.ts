import type { Clock } from "../../call/clock.js";
import type { ClusterBuckets } from "../cluster.js";

/** Maximum number of buckets of which this process holds tokens. */
const MAX_HELD = 10_000;

/** Time after which held tokens are given up. */
const HELD_MS = 1000;

interface Held {
  left: number;
  readonly until: number;
}

/** Takes up to `want` tokens of a bucket in an engine. Resolves with their number and the time until the next one. */
export type TakeTokens = (
  key: string,
  burst: number,
  refillMs: number,
  want: number,
) => Promise<{ readonly given: number; readonly retryInMs: number }>;

/**
 * Token buckets. A process takes a sixteenth of a burst at once and spends it without asking, so that a busy key costs few
 * round trips. Tokens that it does not spend within a second are lost, so that the rate is never exceeded.
 */
export class EngineBuckets implements ClusterBuckets {
  readonly #clock: Clock;
  readonly #take: TakeTokens;
  readonly #held = new Map<string, Held>();

  constructor(clock: Clock, take: TakeTokens) {
    this.#clock = clock;
    this.#take = take;
  }

  async take(key: string, limit: { readonly burst: number; readonly refillMs: number }) {
    const { burst, refillMs } = limit;
    const held = this.#held.get(key);
    if (held !== undefined && held.until > this.#clock.now() && held.left > 0) {
      held.left--;
      return { ok: true, retryInMs: 0 };
    }
    this.#held.delete(key);
    const chunk = Math.max(1, Math.floor(burst / 16));
    const { given, retryInMs } = await this.#take(key, burst, refillMs, chunk);
    if (given < 1) return { ok: false, retryInMs: Math.max(1, Math.ceil(retryInMs)) };
    if (given > 1) this.#hold(key, given - 1);
    return { ok: true, retryInMs: 0 };
  }

  #hold(key: string, tokens: number): void {
    const left = tokens + (this.#held.get(key)?.left ?? 0);
    this.#held.delete(key);
    this.#held.set(key, { left, until: this.#clock.now() + HELD_MS });
    if (this.#held.size <= MAX_HELD) return;
    const [oldest] = this.#held.keys();
    this.#held.delete(oldest as string);
  }
}
