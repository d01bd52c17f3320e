import { type Clock, LONGEST_DELAY, unref } from "../../call/clock.js";

/** Default idle time of a stream after which a comment is written. */
export const KEEP_ALIVE_MS = 15_000;

/** Open item that may become idle. */
export interface Quiet {
  /** Time of its last activity, on the clock's scale. */
  readonly spokeAt: number;
  /** Called after an idle interval. It may write now. If it cannot, it must still update `spokeAt`. */
  onQuiet(now: number): void;
}

/**
 * Items that are due within this fraction of the interval are handled together, so that many streams cause few
 * wake-ups.
 */
const SHARE = 8;

/**
 * Open items of an endpoint, each of which is called after it has been idle for `intervalMs`. All share one timer.
 * Adding and removing cost a set operation, so that short calls need no timer. An interval of 0, or beyond the maximum
 * of timers, disables it.
 */
export class KeepAlive<T extends Quiet> implements Iterable<T> {
  /**
   * First item, outside the set. Most calls are the only open item, and a set that becomes empty each time is
   * expensive.
   */
  #first: T | undefined;
  readonly #others = new Set<T>();
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #enabled: boolean;
  #timer: unknown;
  #onEmpty: (() => void) | undefined;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#enabled = intervalMs > 0 && intervalMs < LONGEST_DELAY;
  }

  get size(): number {
    return this.#others.size + (this.#first === undefined ? 0 : 1);
  }

  *[Symbol.iterator](): Iterator<T> {
    if (this.#first !== undefined) yield this.#first;
    yield* this.#others;
  }

  add(item: T): void {
    if (this.#first === undefined) this.#first = item;
    else this.#others.add(item);
    if (this.#enabled && this.#timer === undefined) this.#arm(this.#intervalMs);
  }

  delete(item: T): void {
    if (this.#first === item) this.#first = undefined;
    else this.#others.delete(item);
    if (this.#onEmpty !== undefined && this.size === 0) this.#onEmpty();
  }

  /** Resolves when no item is open. Only the latest caller is notified. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.size === 0) resolve();
      else this.#onEmpty = resolve;
    });
  }

  /** Stops the timer. Open items stay in the list. */
  stop(): void {
    if (this.#timer !== undefined) this.#clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.schedule(() => this.#wake(), ms);
    unref(this.#timer);
  }

  #wake(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    const limit = now - this.#intervalMs + this.#intervalMs / SHARE;
    let oldest = now;
    for (const item of [...this]) {
      if (item.spokeAt <= limit) item.onQuiet(now);
      else if (item.spokeAt < oldest) oldest = item.spokeAt;
    }
    if (this.size > 0) this.#arm(oldest + this.#intervalMs - now);
  }
}
