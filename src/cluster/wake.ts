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

  /** Resolves at the next change, after `ms`, or when one of the signals fires. */
  async wait(clock: Clock, ms: number, signals: readonly AbortSignal[]): Promise<void> {
    if (!this.#isDue && !signals.some(({ aborted }) => aborted)) {
      let timer: unknown;
      let unfollow: (() => void)[] = [];
      await new Promise<void>((resolve) => {
        this.#go = resolve;
        if (ms !== Number.POSITIVE_INFINITY) timer = clock.schedule(resolve, ms);
        unfollow = signals.map((signal) => followSignal(signal, resolve));
        unref(timer);
      });
      clock.cancel(timer);
      for (const leave of unfollow) leave();
    }
    this.#go = undefined;
    this.#isDue = false;
  }
}
