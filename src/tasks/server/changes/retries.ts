import { type Clock, unref } from "../../../call/clock.js";

/** Pause before work is tried again. */
const RETRY_MS = 1_000;
/** Maximum number of tasks whose work waits. Further ones are left to the polls of their clients. */
const MAX_WAITING = 10_000;

/** Tries work again that has failed, such as a message about a task. One timer serves all of it. */
export class Retries {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, () => void>();
  #timer: unknown;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does some work after a pause. Replaces work with the same key that waits. */
  add(key: string, work: () => void): void {
    if (this.#isStopped || (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(key))) return;
    this.#waiting.set(key, work);
    if (this.#timer !== undefined) return;
    this.#timer = this.#clock.schedule(() => this.#run(), RETRY_MS);
    unref(this.#timer);
  }

  /** Does no more work. */
  stop(): void {
    this.#isStopped = true;
    this.#clock.cancel(this.#timer);
    this.#waiting.clear();
  }

  #run(): void {
    const waiting = [...this.#waiting.values()];
    this.#timer = undefined;
    this.#waiting.clear();
    for (const work of waiting) work();
  }
}
