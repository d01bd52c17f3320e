import { assertOptions, type Known } from "../protocol/known-options.js";
import { type Clock, systemClock } from "./clock.js";
import type { MaybePromise } from "./maybe-promise.js";

/** Rate at which tokens may be taken. */
export interface BucketLimit {
  /** Capacity of a bucket, and so the number of tokens that may be taken at once. */
  readonly burst: number;
  /** Milliseconds in which one token is refilled: 100 for ten per second. */
  readonly refillMs: number;
}

/** Result of an attempt to take a token. */
export interface BucketVerdict {
  readonly ok: boolean;
  /** Milliseconds until a token is available; 0 if one was taken. */
  readonly retryInMs: number;
}

/** Token buckets, one per key. An implementation may share them between processes. */
export interface Buckets {
  /** Takes a token, or returns the time until one is available. */
  take(key: string, limit: BucketLimit): MaybePromise<BucketVerdict>;
}

/** Options of `memoryBuckets`. */
export interface MemoryBucketsOptions {
  /**
   * Maximum number of buckets in memory, one per key. At the limit, a bucket is evicted for each new key.
   * @default 100_000
   */
  readonly maxKeys?: number | undefined;
  readonly clock?: Clock | undefined;
}

const OPTIONS: Known<MemoryBucketsOptions> = { maxKeys: "positive limit", clock: "object" };

/** Number of least recently used keys that are compared when one must be evicted. */
const CANDIDATES = 16;
/** Error of sums of intervals that are no whole numbers. */
const ROUNDING_MS = 0.01;
const TAKEN: BucketVerdict = { ok: true, retryInMs: 0 };

/** Keeps token buckets in memory, for the option `rateLimit.buckets` of several servers. */
export function memoryBuckets(options: MemoryBucketsOptions = {}): Buckets {
  assertOptions({ memoryBuckets }, options, OPTIONS);
  return new MemoryBuckets(options);
}

/**
 * Token buckets in memory. A bucket is stored as the time at which it will be full. A full bucket equals an absent one,
 * so its eviction has no effect. When there are too many keys, the least recently used buckets are compared, and the
 * bucket that will be full first is evicted.
 */
export class MemoryBuckets implements Buckets {
  readonly #options: MemoryBucketsOptions;
  /** Time at which each bucket will be full, by key. The bucket whose last token was taken longest ago is first. */
  readonly #fullAt = new Map<string, number>();

  constructor(options: MemoryBucketsOptions = {}) {
    this.#options = options;
  }

  /** Number of keys kept. */
  get size(): number {
    return this.#fullAt.size;
  }

  take(key: string, { burst, refillMs }: BucketLimit): BucketVerdict {
    const { maxKeys = 100_000, clock = systemClock } = this.#options;
    const now = clock.now();
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? 0) + refillMs;
    const retryInMs = fullAt - now - burst * refillMs;
    if (!(retryInMs <= ROUNDING_MS)) return { ok: false, retryInMs };
    if (!this.#fullAt.delete(key) && this.size >= maxKeys) this.#evict(now);
    this.#fullAt.set(key, fullAt);
    return TAKEN;
  }

  #evict(now: number): void {
    let left = CANDIDATES;
    let [found, earliest] = ["", Number.POSITIVE_INFINITY];
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt < earliest) [found, earliest] = [key, fullAt];
      if (earliest <= now || --left === 0) break;
    }
    this.#fullAt.delete(found);
  }
}
