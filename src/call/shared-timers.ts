import { LONGEST_DELAY, systemClock } from "./clock.js";

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
}

/** How many lengths of time are shared at once. */
const MOST_CHAINS = 8;
/** How long a timer that nobody waits for is used again, in milliseconds. */
const SPARE_MS = 1;

const chains = new Map<number, Chain>();

/**
 * Waits on the system's clock, with all who wait equally long: most calls end long before their limits, and a timer for
 * each would cost more than the rest of it. Undefined where the length is not one to share.
 */
export function shareTimer(waiting: Waiting, ms: number, now: number): Wait | undefined {
  let chain = chains.get(ms);
  if (chain?.isOutdated !== false) {
    if (chains.size >= MOST_CHAINS || !(ms >= 1 && ms <= LONGEST_DELAY)) return undefined;
    chain = new Chain(ms);
    chains.set(ms, chain);
  }
  return chain.add(waiting, now);
}

export function leaveTimer(wait: Wait): void {
  wait.chain.remove(wait);
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

  /** Whether timers are set by something else by now, as in tests that own time. */
  get isOutdated(): boolean {
    return this.#setTimeout !== setTimeout;
  }

  add(waiting: Waiting, now: number): Wait {
    const wait = new Wait(this, waiting, now + this.#ms);
    if (this.#ends.after === this.#ends) this.#rouse(now);
    const last = this.#ends.before as Wait;
    wait.before = last;
    wait.after = this.#ends;
    last.after = wait;
    this.#ends.before = wait;
    return wait;
  }

  remove(wait: Wait): void {
    if (unlink(wait) && this.#ends.after === this.#ends) this.#rest();
  }

  /** Somebody waits again. */
  #rouse(now: number): void {
    if (this.#timer !== undefined && now - this.#armedAt > SPARE_MS) this.#disarm();
    if (this.#timer === undefined) this.#arm(this.#ms, now);
    else this.#timer.ref?.();
  }

  /** Nobody waits any more: the timer is kept for who comes next, where it can be kept without keeping the process. */
  #rest(): void {
    if (this.#timer?.unref === undefined) this.#disarm();
    else this.#timer.unref();
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
    this.#timer = undefined;
    const due: Wait[] = [];
    for (let wait = this.#ends.after as Wait; wait !== this.#ends && wait.dueAt <= now; wait = wait.after as Wait) {
      due.push(wait);
    }
    const next = due.length === 0 ? this.#ends.after : due[due.length - 1]?.after;
    if (next !== undefined && next !== this.#ends) this.#arm(Math.max(1, next.dueAt - now), now);
    else if (chains.get(this.#ms) === this) chains.delete(this.#ms);
    // One may be removed while another is told.
    for (const wait of due) if (unlink(wait)) tell(wait.waiting as Waiting);
    if (this.#ends.after === this.#ends) this.#rest();
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
