import type { Clock } from "../call/clock.js";

/** Timer of a {@link FakeClock}. `at` is the time at which it runs. */
export interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Clock for tests. Its time advances only by `advance`. */
export class FakeClock implements Clock {
  readonly #timers = new Set<Timer>();
  readonly #watchers: { fits: () => boolean; resolve: () => void }[] = [];
  /** Delay of every scheduled timer, in order. */
  readonly delays: number[] = [];
  #now = 0;

  now(): number {
    return this.#now;
  }

  timeOfDay(): number {
    return 1_800_000_000_000 + this.#now;
  }

  /** Number of timers that have neither run nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  schedule(callback: () => void, ms: number): Timer {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    this.delays.push(ms);
    for (const watcher of this.#watchers.splice(0)) {
      if (watcher.fits()) watcher.resolve();
      else this.#watchers.push(watcher);
    }
    return timer;
  }

  cancel(handle: unknown): void {
    this.#timers.delete(handle as Timer);
  }

  /** Resolves once `count` timers have been scheduled in total, including cancelled ones. */
  started(count: number): Promise<void> {
    const fits = () => this.delays.length >= count;
    return fits() ? Promise.resolve() : new Promise((resolve) => this.#watchers.push({ fits, resolve }));
  }

  /** Advances the time and runs the timers that become due, in order of time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = due.at;
      due.callback();
    }
    this.#now = end;
  }
}
