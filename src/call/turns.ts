import type { AbortSwitch } from "./abort-switch.js";

/** Limits concurrency. Excess callers wait in the order of their arrival. */
export class Turns {
  readonly #line = new Set<() => void>();
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  /** Takes a turn if one is free. Returns false otherwise. */
  take(): boolean {
    if (this.#free < 1) return false;
    this.#free--;
    return true;
  }

  /** Waits for a turn. Resolves with true when it has one, with false if `end` fires first. */
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

  /** Returns a turn, which passes to the first caller that waits. */
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
