import { followSignal } from "../call/abortable.js";
import { type Clock, unref } from "../call/clock.js";

/** Iteration that waits for a change. A change that comes while it does not wait ends its next wait at once. */
export class Wake {
  #isDue = false;
  #go: (() => void) | undefined;

  wake(): void {
    this.#isDue = true;
    this.#go?.();
  }

  /** Resolves at the next change, after `ms`, or when the signal fires. */
  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isDue && !signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.schedule(resolve, ms);
        const unfollow = followSignal(signal, resolve);
        this.#go = () => {
          clock.cancel(timer);
          unfollow();
          resolve();
        };
        unref(timer);
      });
    this.#go?.();
    this.#go = undefined;
    this.#isDue = false;
  }
}
