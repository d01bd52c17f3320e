import { followSignal } from "../call/abortable.js";
import type { Clock } from "../call/clock.js";

/** Wakes a reader that waits for something new. A ring while nobody waits is kept for the next wait. */
export class Bell {
  readonly #clock: Clock;
  readonly #unfollow: readonly (() => void)[];
  #isRung = false;
  #wake: (() => void) | undefined;
  /** True after a signal fired or `end` was called. */
  isEnded = false;

  constructor(clock: Clock, signals: readonly AbortSignal[]) {
    this.#clock = clock;
    this.#unfollow = signals.map((signal) => followSignal(signal, () => this.end()));
    if (this.isEnded) this.end();
  }

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Resolves after a ring, after `ms`, or at the end. */
  wait(ms = Number.POSITIVE_INFINITY): Promise<void> {
    if (this.#isRung || this.isEnded) {
      this.#isRung = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = ms === Number.POSITIVE_INFINITY ? undefined : this.#clock.schedule(() => this.#wake?.(), ms);
      this.#wake = () => {
        this.#wake = undefined;
        this.#isRung = false;
        this.#clock.cancel(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.isEnded = true;
    for (const unfollow of this.#unfollow ?? []) unfollow();
    this.#wake?.();
  }
}
