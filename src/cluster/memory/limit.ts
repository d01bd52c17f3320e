import { ClusterError } from "../error.js";
import type { MemoryClusterLimits } from "./options.js";

/** Throws if there is no room for another item. */
export function assertRoom(size: number, most: number, item: string, limit: keyof MemoryClusterLimits): void {
  if (size < most) return;
  const text = `${item} is refused: the cluster in memory has its maximum of ${most} already`;
  throw new ClusterError("refused", `${text}; raise limits.${limit} of memoryCluster, or give workers an engine`);
}
