import { type Clock, LONGEST_DELAY, unref } from "./clock.js";

/**
 * Things that are told when nothing has happened to them for `idleMs`. One timer for all of them; it never keeps a
 * process alive by itself. An `idleMs` that is not positive, or too long for a timer, tells nobody.
 */
export class IdleQueue<T> {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: (item: T) => void;
  /** When each was touched last, longest ago first. */
  readonly #touchedAt = new Map<T, number>();
  readonly #enabled: boolean;
  #timer: unknown;

  constructor(clock: Clock, idleMs: number, onIdle: (item: T) => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#enabled = idleMs > 0 && idleMs <= LONGEST_DELAY;
  }

  get size(): number {
    return this.#touchedAt.size;
  }

  /** Starts the wait of this item anew; adds it if it is not waiting yet. */
  touch(item: T): void {
    if (!this.#enabled) return;
    this.#touchedAt.delete(item);
    this.#touchedAt.set(item, this.#clock.now());
    if (this.#timer === undefined) this.#arm(this.#idleMs);
  }

  remove(item: T): void {
    if (this.#touchedAt.delete(item) && this.#touchedAt.size === 0) this.#disarm();
  }

  clear(): void {
    this.#touchedAt.clear();
    this.#disarm();
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.schedule(() => this.#onTimer(), ms);
    unref(this.#timer);
  }

  #disarm(): void {
    if (this.#timer === undefined) return;
    this.#clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  /** An item that is told leaves the queue, and may be touched again while it is told. */
  #onTimer(): void {
    const now = this.#clock.now();
    const due: T[] = [];
    for (const [item, touchedAt] of this.#touchedAt) {
      if (touchedAt + this.#idleMs > now) break;
      due.push(item);
    }
    for (const item of due) this.#touchedAt.delete(item);
    for (const item of due) this.#onIdle(item);
    this.#disarm();
    const [next] = this.#touchedAt.values();
    if (next !== undefined) this.#arm(Math.max(1, next + this.#idleMs - now));
  }
}
