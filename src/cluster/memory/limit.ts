import { ClusterError } from "../error.js";
import type { MemoryClusterLimits } from "./options.js";

/** Throws if there is no room for another item. */
export function assertRoom(size: number, most: number, item: string, limit: keyof MemoryClusterLimits): void {
  if (size >= most) throw full(`${item} is refused: the cluster in memory has its maximum of ${most} already`, limit);
}

/** Throws if the records would have too many characters with a value. */
export function assertRecordedChars(chars: number, most: number, key: string): void {
  if (chars <= most) return;
  const text = `record "${key}" is refused: the cluster in memory may keep ${most} characters, and it would be ${chars}`;
  throw full(text, "maxRecordedChars");
}

function full(problem: string, limit: keyof MemoryClusterLimits): ClusterError {
  return new ClusterError("refused", `${problem}; raise limits.${limit} of memoryCluster, or give workers an engine`);
}
