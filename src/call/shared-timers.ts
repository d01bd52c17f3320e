import { systemClock } from "./clock.js";

/** What is told when its time has come. */
export interface Waiting {
  onTime(): void;
}

/** Where something waits. The fields are the chain's own. */
export class Wait {
  before: Wait | undefined;
  after: Wait | undefined;

  constructor(
    readonly chain: Chain,
    readonly waiting: Waiting | undefined,
    readonly dueAt: number,
  ) {}

  /** Waits no longer, if it still did. */
  leave(): void {
    this.chain.remove(this);
  }
}

/** How long a timer that nobody waits for is used again, in milliseconds. */
const SPARE_MS = 1;

let current: Chain | undefined;

/**
 * Waits on the system's clock, on one timer with those before who wait equally long: most calls end long before their
 * limits, and a timer for each would cost more than the rest of it.
 */
export function shareTimer(waiting: Waiting, ms: number, now: number): Wait {
  if (current?.fits(ms) !== true) {
    const last = current;
    current = new Chain(ms);
    last?.retire();
  }
  return current.add(waiting, now);
}

/**
 * Those who wait equally long, in the order in which they are due, and their timer. It keeps the process alive only while
 * somebody waits. Each is told as by a timer of its own: not early, and whatever others throw.
 */
class Chain {
  readonly #ms: number;
  readonly #setTimeout = setTimeout;
  /** Closes the chain to a ring: the first is behind it, the last before it. */
  readonly #ends: Wait = new Wait(this, undefined, 0);
  #timer: { ref?(): void; unref?(): void } | undefined;
  #armedAt = 0;

  constructor(ms: number) {
    this.#ms = ms;
    this.#ends.before = this.#ends;
    this.#ends.after = this.#ends;
  }

  /** Timers may be set by something else by now, as in tests that own time. */
  fits(ms: number): boolean {
    return ms === this.#ms && this.#setTimeout === setTimeout;
  }

  add(waiting: Waiting, now: number): Wait {
    const wait = new Wait(this, waiting, now + this.#ms);
    const last = this.#ends.before as Wait;
    if (last === this.#ends) this.#rouse(now);
    wait.before = last;
    wait.after = this.#ends;
    last.after = wait;
    this.#ends.before = wait;
    return wait;
  }

  remove(wait: Wait): void {
    if (unlink(wait)) this.retire();
  }

  /** If nobody waits, the timer is kept for who comes next, where it can be kept without keeping the process. */
  retire(): void {
    if (this.#first !== this.#ends || this.#timer === undefined) return;
    if (this === current && this.#timer.unref !== undefined) this.#timer.unref();
    else this.#disarm();
  }

  get #first(): Wait {
    return this.#ends.after as Wait;
  }

  /** Somebody waits again. */
  #rouse(now: number): void {
    if (now - this.#armedAt > SPARE_MS) this.#disarm();
    if (this.#timer === undefined) this.#arm(this.#ms, now);
    else this.#timer.ref?.();
  }

  #arm(ms: number, now: number): void {
    this.#armedAt = now;
    this.#timer = systemClock.schedule(() => this.#onTimer(), ms) as { unref?(): void };
  }

  #disarm(): void {
    systemClock.cancel(this.#timer);
    this.#timer = undefined;
  }

  #onTimer(): void {
    const now = systemClock.now();
    const due: Wait[] = [];
    for (let wait = this.#first; wait !== this.#ends && wait.dueAt <= now; wait = wait.after as Wait) due.push(wait);
    this.#timer = undefined;
    // While one is told, another may be removed, and more may come.
    for (const wait of due) if (unlink(wait)) tell(wait.waiting as Waiting);
    if (this.#timer === undefined && this.#first !== this.#ends) {
      this.#arm(Math.max(1, this.#first.dueAt - systemClock.now()), now);
    }
  }
}

/** What it throws is thrown as by a timer of its own. */
function tell(waiting: Waiting): void {
  try {
    waiting.onTime();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** False if it stood nowhere. */
function unlink(wait: Wait): boolean {
  const { before, after } = wait;
  if (before === undefined || after === undefined) return false;
  before.after = after;
  after.before = before;
  wait.before = undefined;
  wait.after = undefined;
  return true;
}
