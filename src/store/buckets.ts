import { type Clock, systemClock } from "../call/clock.js";
import type { MaybePromise } from "../call/maybe-promise.js";

/** How fast tokens may be taken. */
export interface BucketLimit {
  /** How many tokens a full bucket holds: so many may be taken at once. */
  readonly burst: number;
  /** The milliseconds in which one token comes back: 100 for ten a second. */
  readonly perMs: number;
}

export interface BucketVerdict {
  readonly ok: boolean;
  /** After how long a token will be there; 0 where one was taken. */
  readonly retryInMs: number;
}

/** Token buckets, one for each key; an adapter may span processes. */
export interface Buckets {
  /** Takes a token, or says when there will be one. */
  take(key: string, limit: BucketLimit): MaybePromise<BucketVerdict>;
}

export interface MemoryBucketsOptions {
  /**
   * How many keys are remembered.
   * @default 100_000
   */
  readonly maxKeys?: number;
  readonly clock?: Clock;
}

const MAX_KEYS = 100_000;
/** How many of the longest unused keys are looked at when one has to go. */
const CANDIDATES = 16;
const TAKEN: BucketVerdict = { ok: true, retryInMs: 0 };

/**
 * Buckets within this process. A bucket is the time at which it will be full: one that is full is as good as one that is
 * forgotten. When there are too many keys, a full one is forgotten, or else the one among the longest unused that is full first.
 */
export class MemoryBuckets implements Buckets {
  readonly #maxKeys: number;
  readonly #clock: Clock;
  /** When each bucket will be full, the longest unused first. */
  readonly #fullAt = new Map<string, number>();

  constructor({ maxKeys = MAX_KEYS, clock = systemClock }: MemoryBucketsOptions = {}) {
    this.#maxKeys = maxKeys;
    this.#clock = clock;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#fullAt.size;
  }

  take(key: string, { burst, perMs }: BucketLimit): BucketVerdict {
    const now = this.#clock.now();
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + perMs;
    const retryInMs = fullAt - now - burst * perMs;
    if (retryInMs > 0) return { ok: false, retryInMs };
    if (!this.#fullAt.delete(key) && this.#fullAt.size >= this.#maxKeys) this.#forgetOne(now);
    this.#fullAt.set(key, fullAt);
    return TAKEN;
  }

  #forgetOne(now: number): void {
    let seen = 0;
    let [found, earliest] = ["", Number.POSITIVE_INFINITY];
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt < earliest) [found, earliest] = [key, fullAt];
      if (earliest <= now || ++seen === CANDIDATES) break;
    }
    this.#fullAt.delete(found);
  }
}
