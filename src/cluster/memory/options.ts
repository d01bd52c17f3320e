import type { Clock } from "../../call/clock.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";

export interface MemoryClusterOptions {
  readonly limits?: Optional<MemoryClusterLimits> | undefined;
  readonly clock?: Clock | undefined;
}

/** Limits of a cluster in memory, for all of its nodes together. */
export interface MemoryClusterLimits {
  /**
   * Maximum number of records. At the limit, a new one is refused.
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
   * Maximum number of leases. At the limit, a new one is refused.
   * @default 100_000
   */
  readonly maxLeases: number;
  /**
   * Maximum number of jobs. At the limit, a new one is refused.
   * @default 100_000
   */
  readonly maxJobs: number;
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
  maxLeases: 100_000,
  maxJobs: 100_000,
  maxBuckets: 100_000,
};

const OPTIONS: Known<MemoryClusterOptions> = { limits: MEMORY_CLUSTER_LIMITS, clock: "object" };

export function limitsOf(options: MemoryClusterOptions): MemoryClusterLimits {
  assertOptions("memoryCluster", options, OPTIONS);
  return withDefaults(options.limits, MEMORY_CLUSTER_LIMITS);
}
