import type { AbortSwitch } from "./abort-switch.js";

/** Lets so many at a time go ahead. Others wait, in the order in which they came. */
export class Turns {
  readonly #line = new Set<() => void>();
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  /** Takes a turn, if there is one at once. */
  take(): boolean {
    if (this.#free < 1) return false;
    this.#free--;
    return true;
  }

  /** Resolves with true when it has a turn, with false when `end` fires first. */
  wait(end: AbortSwitch): Promise<boolean> {
    return new Promise((resolve) => {
      const go = () => {
        end.offAbort(leave);
        resolve(true);
      };
      const leave = () => {
        this.#line.delete(go);
        resolve(false);
      };
      this.#line.add(go);
      end.onAbort(leave);
    });
  }

  /** Gives a turn back: the first that waits has it then. */
  give(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#line.delete(next);
    next();
  }
}
