import { type Clock, unref } from "../call/clock.js";

/** Time over which the listeners are told of a gap. Within it, a listener is told at most once. */
const SPREAD_MS = 3_000;
/** Number of groups of listeners, which are told one after the other. */
const GROUPS = 30;

export interface GapNoticesOptions<Listener> {
  readonly clock: Clock;
  /** Tells a listener that everything it asked about may have changed. Does not throw. */
  tell(listener: Listener): void;
}

/**
 * Tells listeners of gaps. A gap comes to all processes at once, as when the engine was away, and each listener is a
 * client that may read everything again. So the listeners of a process are told in groups, over some seconds. Further
 * gaps add nothing for the listeners that still wait. Those that were told before are told again in the next round.
 */
export class GapNotices<Listener> {
  readonly #options: GapNoticesOptions<Listener>;
  readonly #listeners = new Set<Listener>();
  /** Listeners that are told in this round. */
  #waiting = new Set<Listener>();
  /** Listeners that are told in the next round. */
  #next = new Set<Listener>();
  #groups = 0;
  #timer: unknown;

  constructor(options: GapNoticesOptions<Listener>) {
    this.#options = options;
  }

  /** Adds a listener. Returns a function that removes it. */
  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => {
      for (const set of [this.#listeners, this.#waiting, this.#next]) set.delete(listener);
    };
  }

  onGap(): void {
    if (this.#timer === undefined) return this.#begin(new Set(this.#listeners));
    for (const listener of this.#listeners) if (!this.#waiting.has(listener)) this.#next.add(listener);
  }

  /** Tells nobody any more. */
  close(): void {
    if (this.#timer !== undefined) this.#options.clock.cancel(this.#timer);
    for (const set of [this.#listeners, this.#waiting, this.#next]) set.clear();
  }

  #begin(listeners: Set<Listener>): void {
    this.#waiting = listeners;
    this.#groups = GROUPS;
    this.#plan();
  }

  #plan(): void {
    this.#timer = this.#options.clock.schedule(() => this.#tellGroup(), SPREAD_MS / GROUPS);
    unref(this.#timer);
  }

  #tellGroup(): void {
    let count = Math.ceil(this.#waiting.size / this.#groups--);
    for (const listener of this.#waiting) {
      if (count-- === 0) break;
      this.#waiting.delete(listener);
      this.#options.tell(listener);
    }
    if (this.#groups > 0) return this.#plan();
    this.#timer = undefined;
    const next = this.#next;
    this.#next = new Set();
    if (next.size > 0) this.#begin(next);
  }
}
