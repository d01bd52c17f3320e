import type { Clock } from "../call/clock.js";

/** Maximum duration of a sweep. The next one goes on. */
const MAX_MS = 5_000;

/**
 * Deletes what is over in an engine, in parts, so that no part holds its locks for long. Runs until a part has deleted
 * less than it may.
 */
export class Sweep {
  readonly #clock: Clock;
  readonly #part: (isFirst: boolean) => Promise<boolean>;
  #isRunning = false;

  /** `part` deletes a part, and resolves with true if there may be more. */
  constructor(clock: Clock, part: (isFirst: boolean) => Promise<boolean>) {
    this.#clock = clock;
    this.#part = part;
  }

  /** Sweeps, unless a sweep of this process runs. It ends with the first part that fails. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const end = this.#clock.now() + MAX_MS;
    try {
      let isMore = await this.#part(true);
      while (isMore && this.#clock.now() < end) isMore = await this.#part(false);
    } catch {
      // The engine is away or closed. The next sweep deletes the rest.
    } finally {
      this.#isRunning = false;
    }
  }
}
