import { type Clock, unref } from "../../call/clock.js";

/** No stream is given up for a shorter silence than this. */
const SHORTEST_MS = 60_000;
/** How many of its own beats a stream may miss. */
const MISSED = 3;

/**
 * Notices that a stream has died without a word, as behind a proxy that lost one of its sides. Only a stream that writes
 * comments to show that it lives can be missed: three times the longest wait between two of them, and a minute at least.
 */
export class StreamPulse {
  readonly #clock: Clock;
  readonly #onDead: () => void;
  #comments = 0;
  #commentAt: number;
  #heardAt: number;
  #longestMs = 0;
  #timer: unknown;

  constructor(clock: Clock, onDead: () => void) {
    this.#clock = clock;
    this.#onDead = onDead;
    this.#commentAt = clock.now();
    this.#heardAt = this.#commentAt;
  }

  /** Something came; `comments` is how many there have been so far. */
  beat(comments: number): void {
    this.#heardAt = this.#clock.now();
    if (comments === this.#comments) return;
    const isFirst = this.#comments === 0;
    if (!isFirst) this.#longestMs = Math.max(this.#longestMs, this.#heardAt - this.#commentAt);
    this.#comments = comments;
    this.#commentAt = this.#heardAt;
    // One comment makes no rhythm.
    if (!isFirst && this.#timer === undefined) this.#arm();
  }

  stop(): void {
    if (this.#timer !== undefined) this.#clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    const allowedMs = Math.max(SHORTEST_MS, MISSED * this.#longestMs);
    const leftMs = this.#heardAt + allowedMs - this.#clock.now();
    if (leftMs <= 0) return this.#onDead();
    this.#timer = this.#clock.schedule(() => this.#arm(), leftMs);
    unref(this.#timer);
  }
}
