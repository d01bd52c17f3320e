import type { Clock } from "#src/call/clock.js";

interface Entry {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

const EPOCH = 1_800_000_000_000;

/**
 * Virtual time with one queue of events. After each event all microtasks run, so that the order of everything depends on
 * the queue alone. No real timer is involved.
 */
export class Scheduler implements Clock {
  readonly #heap: Entry[] = [];
  #now = 0;
  #count = 0;
  /** Number of events that have run. */
  events = 0;

  now(): number {
    return this.#now;
  }

  timeOfDay(): number {
    return EPOCH + this.#now;
  }

  get pending(): number {
    return this.#heap.reduce((count, { run }) => count + (run === undefined ? 0 : 1), 0);
  }

  schedule(callback: () => void, ms: number): Entry {
    const entry: Entry = { at: this.#now + Math.max(0, ms), order: this.#count++, run: callback };
    this.#push(entry);
    return entry;
  }

  cancel(handle: unknown): void {
    if (handle !== undefined) (handle as Entry).run = undefined;
  }

  /** Resolves after a time. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.schedule(resolve, ms);
    });
  }

  /** Runs the events up to a time. Ends early when `isOver` says so. */
  runUntil(end: number, isOver: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      // Microtasks run until there are none before the next tick, which the last of them has requested.
      const next = () => queueMicrotask(() => process.nextTick(step));
      const step = () => {
        try {
          if (isOver()) return resolve();
          const entry = this.#shift(end);
          if (entry === undefined) {
            this.#now = Math.max(this.#now, end);
            return resolve();
          }
          this.#now = entry.at;
          this.events++;
          entry.run?.();
          next();
        } catch (error) {
          reject(error);
        }
      };
      next();
    });
  }

  /** Takes the first event that is due at `end`. */
  #shift(end: number): Entry | undefined {
    for (let first = this.#heap[0]; first !== undefined && first.at <= end; first = this.#heap[0]) {
      this.#pop();
      if (first.run !== undefined) return first;
    }
    return undefined;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.push(entry) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isBefore(entry, heap[above] as Entry)) break;
      heap[place] = heap[above] as Entry;
      place = above;
    }
    heap[place] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Entry, heap[below] as Entry)) below++;
      if (!isBefore(heap[below] as Entry, last)) break;
      heap[place] = heap[below] as Entry;
      place = below;
    }
    heap[place] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
