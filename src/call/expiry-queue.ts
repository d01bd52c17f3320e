import { type Clock, LONGEST_DELAY, unref } from "./clock.js";

/** Where something stands in an `IdleQueue`. The fields are the queue's own. */
export class ExpiryEntry<T> {
  touchedAt = 0;
  before: ExpiryEntry<T> | undefined;
  after: ExpiryEntry<T> | undefined;

  constructor(readonly item: T | undefined) {}
}

/**
 * Things that are told when nothing has happened to them for `idleMs`. One timer for all of them; it never keeps a
 * process alive by itself. An `idleMs` that is not positive, or too long for a timer, tells nobody. They stand in a chain,
 * longest idle first, so that a touch costs the same however many there are.
 */
export class ExpiryQueue<T> {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: (item: T) => void;
  readonly #enabled: boolean;
  /** Closes the chain to a ring: the longest idle is behind it, the last touched before it. */
  readonly #ends = new ExpiryEntry<T>(undefined);
  #timer: unknown;

  constructor(clock: Clock, idleMs: number, onIdle: (item: T) => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#enabled = idleMs > 0 && idleMs <= LONGEST_DELAY;
    this.#ends.before = this.#ends;
    this.#ends.after = this.#ends;
  }

  /** Lets the item wait. What is returned stands for it from here on. */
  add(item: T): ExpiryEntry<T> {
    const place = new ExpiryEntry(item);
    if (this.#enabled) this.#append(place);
    return place;
  }

  /** Starts the wait anew, unless it is over. */
  touch(place: ExpiryEntry<T>): void {
    if (unlink(place)) this.#append(place);
  }

  remove(place: ExpiryEntry<T>): void {
    if (unlink(place) && this.#first === this.#ends) this.#disarm();
  }

  clear(): void {
    while (this.#first !== this.#ends) unlink(this.#first);
    this.#disarm();
  }

  get #first(): ExpiryEntry<T> {
    return this.#ends.after as ExpiryEntry<T>;
  }

  #append(place: ExpiryEntry<T>): void {
    const last = this.#ends.before as ExpiryEntry<T>;
    place.touchedAt = this.#clock.now();
    place.before = last;
    place.after = this.#ends;
    last.after = place;
    this.#ends.before = place;
    if (this.#timer === undefined) this.#arm(this.#idleMs);
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

  /** An item that is told has left the queue, and may be added again while it is told. */
  #onTimer(): void {
    const now = this.#clock.now();
    const due: T[] = [];
    for (let place = this.#first; place !== this.#ends && place.touchedAt + this.#idleMs <= now; place = this.#first) {
      unlink(place);
      due.push(place.item as T);
    }
    for (const item of due) this.#onIdle(item);
    this.#disarm();
    if (this.#first !== this.#ends) this.#arm(Math.max(1, this.#first.touchedAt + this.#idleMs - now));
  }
}

/** False if it stood nowhere. */
function unlink<T>(place: ExpiryEntry<T>): boolean {
  const { before, after } = place;
  if (before === undefined || after === undefined) return false;
  before.after = after;
  after.before = before;
  place.before = undefined;
  place.after = undefined;
  return true;
}
