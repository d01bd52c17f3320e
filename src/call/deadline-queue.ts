import { type Clock, LONGEST_DELAY, systemClock, unref } from "./clock.js";

/** Entry of a {@link DeadlineQueue}. Only the queue changes its fields. */
export class Deadline<T> {
  before: Deadline<T> | undefined;
  after: Deadline<T> | undefined;
  dueAt = 0;

  constructor(
    readonly queue: DeadlineQueue<T>,
    readonly item: T | undefined,
  ) {}

  /** Removes the entry from the queue, if it still waits. */
  leave(): void {
    this.queue.remove(this);
  }
}

/** Timer of the runtime. `ref` and `unref` exist on Node. */
interface Timer {
  ref?(): void;
  unref?(): void;
}

/**
 * Maximum age, in milliseconds, of a timer that an item may reuse when no other item waits. An older timer would fire
 * too early and have to be armed again.
 */
const SPARE_MS = 1;

/**
 * Items with the same waiting time, in the order in which they are due, on one timer. Each item is notified as if it
 * had its own timer: not early, and independent of errors of others. If the time is not positive, or too long for a
 * timer, no item is notified. Entries form a linked ring, so that adding, touching and removing take constant time.
 */
export class DeadlineQueue<T> {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onDue: (item: T) => void;
  readonly #keepsProcess: boolean;
  readonly #isOn: boolean;
  /** Sentinel of the ring: `after` is the entry that is due first, `before` the last one. */
  readonly #ends = new Deadline<T>(this, undefined);
  #isShared: boolean;
  #timer: Timer | undefined;
  #armedAt = 0;

  /**
   * Creates a queue. `keepsProcess` keeps the process alive while an item waits. Such a queue keeps its timer, without
   * keeping the process alive, when it becomes empty, since the next item usually follows soon.
   */
  constructor(clock: Clock, ms: number, onDue: (item: T) => void, keepsProcess = false) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onDue = onDue;
    this.#keepsProcess = keepsProcess;
    this.#isShared = keepsProcess;
    this.#isOn = isTimerDelay(ms);
    this.#ends.before = this.#ends;
    this.#ends.after = this.#ends;
  }

  /** Adds an item, which waits from now on. */
  add(item: T, now = this.#clock.now()): Deadline<T> {
    const entry = new Deadline(this, item);
    if (this.#isOn && this.#first === this.#ends) this.#rouse(now);
    this.#link(entry, now);
    return entry;
  }

  /** Restarts the wait of an entry, unless it has ended. */
  touch(entry: Deadline<T>): void {
    if (unlink(entry)) this.#link(entry, this.#clock.now());
  }

  remove(entry: Deadline<T>): void {
    if (unlink(entry) && this.#first === this.#ends) this.#rest();
  }

  /** Returns the first matching item, in the order of due times. */
  find(fits: (item: T) => boolean): T | undefined {
    for (let entry = this.#first; entry !== this.#ends; entry = entry.after as Deadline<T>)
      if (fits(entry.item as T)) return entry.item;
    return undefined;
  }

  /** Makes the timer end with the last item. The caller adds no item afterwards. */
  retire(): void {
    this.#isShared = false;
    if (this.#first === this.#ends) this.#disarm();
  }

  get #first(): Deadline<T> {
    return this.#ends.after as Deadline<T>;
  }

  #link(entry: Deadline<T>, now: number): void {
    const last = this.#ends.before as Deadline<T>;
    entry.dueAt = now + this.#ms;
    entry.before = last;
    entry.after = this.#ends;
    last.after = entry;
    this.#ends.before = entry;
  }

  /** Starts the timer for the first item, or reuses the timer that was kept. */
  #rouse(now: number): void {
    if (this.#timer !== undefined && now - this.#armedAt > SPARE_MS) this.#disarm();
    if (this.#timer === undefined) this.#arm(this.#ms, now);
    else if (this.#keepsProcess) this.#timer.ref?.();
  }

  /**
   * Stops the timer when no item waits. A shared timer is kept if it can be prevented from keeping the process alive.
   */
  #rest(): void {
    if (this.#isShared && this.#timer?.unref !== undefined) this.#timer.unref();
    else this.#disarm();
  }

  #arm(ms: number, now: number): void {
    this.#armedAt = now;
    this.#timer = this.#clock.schedule(() => this.#onTimer(), ms) as Timer;
    if (!this.#keepsProcess) unref(this.#timer);
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  #onTimer(): void {
    const now = this.#clock.now();
    const due: Deadline<T>[] = [];
    for (let entry = this.#first; entry !== this.#ends && entry.dueAt <= now; entry = entry.after as Deadline<T>)
      due.push(entry);
    this.#timer = undefined;
    // A callback may remove other entries and add new ones.
    for (const entry of due) if (unlink(entry)) this.#tell(entry.item as T);
    if (this.#timer === undefined && this.#first !== this.#ends) {
      this.#arm(Math.max(1, this.#first.dueAt - this.#clock.now()), now);
    }
  }

  #tell(item: T): void {
    try {
      this.#onDue(item);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** Removes an entry from its ring. Returns false if it is in no ring. */
function unlink<T>(entry: Deadline<T>): boolean {
  const { before, after } = entry;
  if (before === undefined || after === undefined) return false;
  before.after = after;
  after.before = before;
  entry.before = undefined;
  entry.after = undefined;
  return true;
}

function isTimerDelay(ms: number): boolean {
  return ms > 0 && ms <= LONGEST_DELAY;
}

/** Item of a shared timer. */
export interface Waiting {
  onTime(): void;
}

interface SharedTimer {
  readonly queue: DeadlineQueue<Waiting>;
  readonly ms: number;
  /** `setTimeout` at creation. The timer is not shared after a test has replaced `setTimeout`. */
  readonly setTimeout: typeof globalThis.setTimeout;
}

let shared: SharedTimer | undefined;

/**
 * Calls `waiting.onTime` after `ms` on the system clock. Consecutive calls with the same duration share one timer: most
 * calls end long before their limits, and a timer per call is expensive. Returns undefined for a duration that no timer
 * supports.
 */
export function shareTimer(waiting: Waiting, ms: number, now: number): Deadline<Waiting> | undefined {
  if (shared?.ms !== ms || shared.setTimeout !== setTimeout) {
    if (!isTimerDelay(ms)) return undefined;
    shared?.queue.retire();
    const queue = new DeadlineQueue<Waiting>(systemClock, ms, (due) => due.onTime(), true);
    shared = { queue, ms, setTimeout };
  }
  return shared.queue.add(waiting, now);
}
