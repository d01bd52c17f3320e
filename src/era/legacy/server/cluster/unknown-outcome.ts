import type { PutOptions, Records } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";

/** True if an operation failed and the engine may have carried it out. */
export function isUnknown(error: unknown): boolean {
  return error instanceof ClusterError && error.failure === "unknown_outcome";
}

/** Stores a record whose value no other process stores. If the outcome is unknown, the record is read and compared. */
export async function putOnce(
  records: Records,
  key: string,
  value: string,
  options: PutOptions,
): Promise<string | undefined> {
  try {
    return await records.put(key, value, options);
  } catch (error) {
    if (!isUnknown(error)) throw error;
    const stored = await records.get(key);
    return stored?.value === value ? stored.version : records.put(key, value, options);
  }
}

/** Deletes a record. If the outcome is unknown and the record is gone, returns true. */
export async function deleteOnce(records: Records, key: string, version?: string): Promise<boolean> {
  try {
    return await records.delete(key, version);
  } catch (error) {
    if (!isUnknown(error)) throw error;
    return (await records.get(key)) === undefined || records.delete(key, version);
  }
}
