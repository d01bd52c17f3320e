import { type Clock, unref } from "../../../../call/clock.js";

/** Number of batches during the time for which a record is kept. */
const BATCHES = 20;

/**
 * Reads of records that are not urgent. They wait a moment, so that those of many sessions are sent together: a command
 * costs several times as much on its own.
 */
export class EarlyReads {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #read: (id: string) => void;
  readonly #waiting = new Set<string>();
  #timer: unknown;

  /** Creates the reads of records that are kept for `cacheMs`. */
  constructor(clock: Clock, cacheMs: number, read: (id: string) => void) {
    this.#clock = clock;
    this.#waitMs = cacheMs / BATCHES;
    this.#read = read;
  }

  /** Plans a read, unless it is planned. */
  add(id: string): void {
    this.#waiting.add(id);
    if (this.#timer !== undefined) return;
    this.#timer = this.#clock.schedule(() => this.#readAll(), this.#waitMs);
    unref(this.#timer);
  }

  close(): void {
    this.#clock.cancel(this.#timer);
    this.#waiting.clear();
  }

  #readAll(): void {
    const due = [...this.#waiting];
    this.#waiting.clear();
    this.#timer = undefined;
    for (const id of due) this.#read(id);
  }
}
