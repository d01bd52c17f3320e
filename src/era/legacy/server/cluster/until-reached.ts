import { pause } from "../../../../call/abortable.js";
import type { Clock } from "../../../../call/clock.js";
import { ClusterError } from "../../../../cluster/error.js";

/** True if an operation failed because the engine could not be reached or is full, so that it may succeed later. */
function isPassing(error: unknown): boolean {
  return error instanceof ClusterError && (error.failure === "unavailable" || error.failure === "unknown_outcome");
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Repeats an operation until the engine can be reached, or the signal fires. `mayPass` selects the failures after which it is repeated. */
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
