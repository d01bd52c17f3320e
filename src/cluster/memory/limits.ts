import type { Clock } from "../../call/clock.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { ClusterError } from "../error.js";

export interface MemoryClusterOptions {
  readonly limits?: Optional<MemoryClusterLimits> | undefined;
  readonly clock?: Clock | undefined;
}

/** Limits of a cluster in memory, for all of its nodes together. */
export interface MemoryClusterLimits {
  /**
   * Maximum number of records. A lease and a job are a record. At the limit, a new one is refused.
   * @default 1_000_000
   */
  readonly maxRecords: number;
  /**
   * Maximum number of characters of all records, keys included. At the limit, a new record is refused, and a change that
   * makes a record longer.
   * @default 268_435_456
   */
  readonly maxRecordedChars: number;
  /**
   * Maximum number of logs. At the limit, a new one is refused.
   * @default 100_000
   */
  readonly maxLogs: number;
  /**
   * Maximum number of characters of all logs. Above it, entries are evicted, first of the log that has received none
   * for the longest time.
   * @default 67_108_864
   */
  readonly maxLoggedChars: number;
  /**
   * Maximum number of token buckets. At the limit, a bucket is evicted for each new one.
   * @default 100_000
   */
  readonly maxBuckets: number;
}

export const MEMORY_CLUSTER_LIMITS: MemoryClusterLimits = {
  maxRecords: 1_000_000,
  maxRecordedChars: 256 * 1024 * 1024,
  maxLogs: 100_000,
  maxLoggedChars: 64 * 1024 * 1024,
  maxBuckets: 100_000,
};

const OPTIONS: Known<MemoryClusterOptions> = { limits: MEMORY_CLUSTER_LIMITS, clock: "object" };

export function limitsOf(options: MemoryClusterOptions): MemoryClusterLimits {
  assertOptions("memoryCluster", options, OPTIONS);
  return withDefaults(options.limits, MEMORY_CLUSTER_LIMITS);
}

/** Throws if there is no room for another item. */
export function assertRoom(size: number, most: number, item: string, limit: keyof MemoryClusterLimits): void {
  if (size >= most) throw full(`${item} is refused: the cluster in memory has its maximum of ${most} already`, limit);
}

/** Throws if the records would have too many characters with a record of `own` characters. */
export function assertRecordedChars(chars: number, most: number, key: string, own: number): void {
  if (chars <= most) return;
  const text = `record "${key}" is refused: the cluster in memory may keep ${most} characters, and it would be ${chars}`;
  throw full(text, "maxRecordedChars", own > most);
}

/** Creates the error of an item without room. There may be some later, unless the item alone is too large. */
function full(problem: string, limit: keyof MemoryClusterLimits, isTooLarge = false): ClusterError {
  return new ClusterError(
    isTooLarge ? "refused" : "unavailable",
    `${problem}; raise limits.${limit} of memoryCluster, or give workers an engine`,
  );
}
