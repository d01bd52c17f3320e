import { type Clock, LONGEST_DELAY, unref } from "../../call/clock.js";

/** Silence on a stream after which a comment is written, unless told otherwise. */
export const KEEP_ALIVE_MS = 15_000;

/** Something open that may fall silent. */
export interface Quiet {
  /** When it last wrote, on the clock's scale. */
  readonly spokeAt: number;
  /** It has been silent for the whole interval: it may write now, and if it cannot it must still move `spokeAt` on. */
  onQuiet(now: number): void;
}

/** What is due within this share of the interval is served together: many streams cost few wake-ups. */
const SHARE = 8;

/**
 * Everything open on an endpoint, woken when silent for `intervalMs`. One timer for all: adding and removing costs a set
 * operation, so that short calls pay for no timer of their own. An interval of 0, or beyond what timers can take, wakes
 * nobody.
 */
export class KeepAlive<T extends Quiet> implements Iterable<T> {
  /** The first stands by itself: with most calls nothing else is open, and a set that runs empty each time is dear. */
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

  /** Resolves when nothing is open. One waits at a time: the latest. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.size === 0) resolve();
      else this.#onEmpty = resolve;
    });
  }

  /** Wakes nobody any more. What is open stays listed. */
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
