import { type Clock, unref } from "../../call/clock.js";

/** Item that ends at a time. Only {@link Expiries} changes its fields. */
export abstract class Expiring {
  /** Time at which the item ends. Infinity if it does not. */
  expiresAt = Number.POSITIVE_INFINITY;
  /** Time by which the item is ordered. It is earlier than `expiresAt` after the life of the item was extended. */
  dueAt = 0;
  /** Place in the heap, -1 outside. */
  place = -1;

  /** Called once when the time has come. The item has left the queue. */
  abstract expire(): void;
}

/**
 * Items that end at different times, in a binary heap with one timer. Extending a life is an assignment: the item is
 * ordered again when its former time comes.
 */
export class Expiries {
  readonly #clock: Clock;
  readonly #heap: Expiring[] = [];
  #timer: unknown;
  #firesAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.length;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Ends an item after `ms`. */
  set(item: Expiring, ms: number): void {
    this.setAt(item, this.#clock.now() + ms);
  }

  setAt(item: Expiring, expiresAt: number): void {
    item.expiresAt = expiresAt;
    if (expiresAt === Number.POSITIVE_INFINITY) return this.remove(item);
    if (item.place >= 0 && expiresAt >= item.dueAt) return;
    item.dueAt = expiresAt;
    if (item.place < 0) item.place = this.#heap.push(item) - 1;
    this.#rise(item);
    this.#arm();
  }

  remove(item: Expiring): void {
    item.expiresAt = Number.POSITIVE_INFINITY;
    if (item.place >= 0) this.#take(item);
  }

  /** Ends the items whose time has come, and returns the time. An operation calls it first, so that it finds none of them. */
  catchUp(): number {
    const now = this.#clock.now();
    let first = this.#heap[0];
    for (; first !== undefined && first.dueAt <= now; first = this.#heap[0]) {
      if (first.expiresAt > now) {
        first.dueAt = first.expiresAt;
        this.#sink(first);
      } else {
        this.#take(first);
        first.expire();
      }
    }
    return now;
  }

  /** Cancels the timer. The next `set` starts it again. */
  stop(): void {
    if (this.#timer !== undefined) this.#clock.cancel(this.#timer);
    this.#timer = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || first.dueAt >= this.#firesAt) return;
    this.stop();
    this.#firesAt = first.dueAt;
    this.#timer = this.#clock.schedule(
      () => {
        this.stop();
        this.catchUp();
        this.#arm();
      },
      Math.max(1, first.dueAt - this.#clock.now()),
    );
    unref(this.#timer);
  }

  #take(item: Expiring): void {
    const last = this.#heap.pop() as Expiring;
    if (last !== item) {
      this.#put(last, item.place);
      this.#rise(last);
      this.#sink(last);
    }
    item.place = -1;
  }

  #rise(item: Expiring): void {
    while (item.place > 0) {
      const above = this.#heap[(item.place - 1) >> 1] as Expiring;
      if (above.dueAt <= item.dueAt) return;
      this.#swap(item, above);
    }
  }

  #sink(item: Expiring): void {
    for (;;) {
      const [left, right] = [this.#heap[2 * item.place + 1], this.#heap[2 * item.place + 2]];
      const below = right !== undefined && left !== undefined && right.dueAt < left.dueAt ? right : left;
      if (below === undefined || below.dueAt >= item.dueAt) return;
      this.#swap(below, item);
    }
  }

  /** Moves `lower`, which is a child of `upper`, to the place of its parent. */
  #swap(lower: Expiring, upper: Expiring): void {
    const place = lower.place;
    this.#put(lower, upper.place);
    this.#put(upper, place);
  }

  #put(item: Expiring, place: number): void {
    this.#heap[place] = item;
    item.place = place;
  }
}
