import { type Clock, LONGEST_DELAY, systemClock, unref } from "./clock.js";

/** One entry of a `DeadlineQueue`. The fields are the queue's own. */
export class Deadline<T> {
  before: Deadline<T> | undefined;
  after: Deadline<T> | undefined;
  dueAt = 0;

  constructor(
    readonly queue: DeadlineQueue<T>,
    readonly item: T | undefined,
  ) {}

  /** Waits no longer, if it still did. */
  leave(): void {
    this.queue.remove(this);
  }
}

/** A timer, as Node has them and as others may. */
interface Timer {
  ref?(): void;
  unref?(): void;
}

/** How long a timer that nobody waits for is used again, in milliseconds. */
const SPARE_MS = 1;

/**
 * Items that wait equally long, in the order in which they are due, on one timer. Each is told as by a timer of its own:
 * not early, and whatever others throw. A time that is not positive, or too long for a timer, tells nobody. Entries stand
 * in a linked ring, so that adding, touching and removing one costs the same however many there are.
 */
export class DeadlineQueue<T> {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onDue: (item: T) => void;
  readonly #keepsProcess: boolean;
  readonly #isOn: boolean;
  /** Closes the ring: the first that is due is behind it, the last before it. */
  readonly #ends = new Deadline<T>(this, undefined);
  #isShared: boolean;
  #timer: Timer | undefined;
  #armedAt = 0;

  /**
   * `keepsProcess`: whether the process lives on while an item waits. Such a queue keeps its timer for a moment when it runs
   * empty, since the next item is mostly near.
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

  /** Lets an item wait from now on. */
  add(item: T, now = this.#clock.now()): Deadline<T> {
    const entry = new Deadline(this, item);
    if (this.#isOn && this.#first === this.#ends) this.#rouse(now);
    this.#link(entry, now);
    return entry;
  }

  /** Starts the wait anew, unless it is over. */
  touch(entry: Deadline<T>): void {
    if (unlink(entry)) this.#link(entry, this.#clock.now());
  }

  remove(entry: Deadline<T>): void {
    if (unlink(entry) && this.#first === this.#ends) this.#rest();
  }

  /** The first item in the order of their times that fits. */
  find(fits: (item: T) => boolean): T | undefined {
    for (let entry = this.#first; entry !== this.#ends; entry = entry.after as Deadline<T>)
      if (fits(entry.item as T)) return entry.item;
    return undefined;
  }

  clear(): void {
    while (this.#first !== this.#ends) unlink(this.#first);
    this.#disarm();
  }

  /** No item is added any more: the timer goes with the last. */
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

  /** Arms the timer for the first that waits, or uses the one that was kept. */
  #rouse(now: number): void {
    if (this.#timer !== undefined && now - this.#armedAt > SPARE_MS) this.#disarm();
    if (this.#timer === undefined) this.#arm(this.#ms, now);
    else if (this.#keepsProcess) this.#timer.ref?.();
  }

  /** Lets go of the timer when nobody waits, or keeps it where that does not keep the process. */
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
    // While one is told, another may be removed, and more may come.
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

/** False if it stood nowhere. */
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

/** Told when its time has come. */
export interface Waiting {
  onTime(): void;
}

interface SharedTimer {
  readonly queue: DeadlineQueue<Waiting>;
  readonly ms: number;
  /** Timers may be set by something else later, as in tests that own time. */
  readonly setTimeout: typeof globalThis.setTimeout;
}

let shared: SharedTimer | undefined;

/**
 * Waits on the system's clock, on one timer with all before it that wait equally long: most calls end long before their
 * limits, and a timer for each would cost more than the rest of it. Undefined for a time that no timer can take.
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
