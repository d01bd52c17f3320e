import type { Clock } from "#src/call/clock.js";

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Map<object, { readonly at: number; readonly callback: () => void }>();

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  schedule(callback: () => void, ms: number): unknown {
    const handle = {};
    this.#timers.set(handle, { at: this.#now + ms, callback });
    return handle;
  }

  cancel(handle: unknown): void {
    this.#timers.delete(handle as object);
  }

  /** Lets time pass; timers run in the order in which they are due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (due === undefined) break;
      const [handle, timer] = due;
      this.#timers.delete(handle);
      this.#now = Math.max(this.#now, timer.at);
      timer.callback();
    }
    this.#now = end;
  }
}
