import { ClusterError } from "../error.js";
import type { MemoryClusterLimits } from "./options.js";

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
