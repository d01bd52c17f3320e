import { pause } from "../call/abortable.js";
import type { Clock } from "../call/clock.js";
import { isStateAway } from "../protocol/errors.js";
import { isClosed } from "./error.js";

/** Delays between attempts. Each is twice as long as the one before. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Time after which an operation is not repeated any more. */
const MAX_MS = 600_000;

export interface Repetition {
  readonly clock: Clock;
  /** Returns the signal that ends the repetition. Called after a failure only. */
  signal(): AbortSignal;
  /** Selects the failures after which the operation is repeated: by default those of an engine that is away or full. */
  mayPass?(error: unknown): boolean;
}

/**
 * Repeats an operation until the engine can be reached. Rejects with the last failure if that takes more than ten minutes, or
 * if the operation fails again after the signal has fired.
 */
export async function untilReached<T>(repetition: Repetition, work: () => Promise<T>): Promise<T> {
  const { clock, signal, mayPass = isStateAway } = repetition;
  const end = clock.now() + MAX_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || isClosed(error)) throw error;
      const over = signal();
      if (over.aborted || clock.now() >= end) throw error;
      await pause(clock, pauseMs, over);
    }
  }
}
