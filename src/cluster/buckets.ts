import { dropOldest } from "../protocol/oldest.js";
import type { ClusterBuckets } from "./cluster.js";
import type { Operations } from "./operations.js";

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
export class StoreBuckets implements ClusterBuckets {
  readonly #operations: Operations;
  readonly #held = new Map<string, Held>();

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  async take(key: string, limit: { readonly burst: number; readonly refillMs: number }) {
    const { burst, refillMs } = limit;
    const held = this.#held.get(key);
    if (held !== undefined && held.until > this.#operations.clock.now() && held.left > 0) {
      held.left--;
      return { ok: true, retryInMs: 0 };
    }
    this.#held.delete(key);
    const chunk = Math.max(1, Math.floor(burst / 16));
    const what = `take a token of bucket ${JSON.stringify(key)}`;
    const { given, retryInMs } = await this.#operations.run(what, (store) =>
      store.takeTokens(key, burst, refillMs, chunk),
    );
    if (given < 1) return { ok: false, retryInMs: Math.max(1, Math.ceil(retryInMs)) };
    if (given > 1) this.#hold(key, given - 1);
    return { ok: true, retryInMs: 0 };
  }

  #hold(key: string, tokens: number): void {
    const left = tokens + (this.#held.get(key)?.left ?? 0);
    this.#held.delete(key);
    this.#held.set(key, { left, until: this.#operations.clock.now() + HELD_MS });
    dropOldest(this.#held, MAX_HELD);
  }
}
