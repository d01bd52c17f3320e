import { pause } from "../../../../call/abortable.js";
import type { Clock } from "../../../../call/clock.js";
import type { PutOptions, Records } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";

/** True if an operation failed and the engine may have carried it out. */
export function isUnknown(error: unknown): boolean {
  return error instanceof ClusterError && error.failure === "unknown_outcome";
}

/** True if an operation failed since the engine was away or full, so that it may succeed later. */
function isPassing(error: unknown): boolean {
  return error instanceof ClusterError && (error.failure === "unavailable" || error.failure === "unknown_outcome");
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

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Repeats an operation while the engine is away, until the signal fires. `mayPass` tells which failures are repeated. */
export async function untilReached<T>(
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<T>,
  mayPass = isPassing,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || signal.aborted) throw error;
      await pause(clock, pauseMs, signal);
    }
  }
}
