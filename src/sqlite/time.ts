import type { Clock } from "../call/clock.js";
import type { Session } from "./session.js";

/** Difference from which the time of day has made a step. */
const STEP_MS = 100;

/** Maximum time between two looks at clocks that belong together. This process may be stopped between them. */
const LOOK_MS = 10;

/** Time of a transaction. */
interface Moment {
  readonly time: number;
  /** Time on the monotonic clock of this process. */
  readonly at: number;
  /** Difference to the time of day, as the file has it. */
  readonly offset: number;
  /** True if this transaction has changed the difference. */
  readonly isChanged: boolean;
}

/**
 * Time by which lives in the file are judged. All processes of the machine share the time of day, which makes steps when
 * it is set, and when the machine was suspended. The file has the difference by which its time continues without a step. The
 * first process that finds a step, by its monotonic clock, changes the difference for all.
 */
export class FileTime {
  readonly #clock: Clock;
  readonly #offsetOf: () => number;
  readonly #store: (offset: number) => void;
  /** Moment of the last transaction that was committed. */
  #last: Moment;
  #now: Moment;

  constructor(session: Session, clock: Clock) {
    this.#clock = clock;
    const find = session.prepare("select offset, swept from {meta}");
    const store = session.prepare("update {meta} set offset = ?");
    this.#offsetOf = () => Number(find.get()?.offset);
    this.#store = (offset) => void store.run(offset);
    const { timeOfDay, at } = this.#look();
    const offset = this.#offsetOf();
    // A step is not found while no process has the file open. The time does not go back behind the last sweep.
    const time = Math.max(timeOfDay + offset, Number(find.get()?.swept));
    this.#last = { time, at, offset, isChanged: false };
    this.#now = this.#last;
  }

  /** Returns the time of a transaction that has begun. Stores a difference that has changed if the transaction writes. */
  begin(isRead: boolean): number {
    const { timeOfDay, at } = this.#look();
    const offset = this.#offsetOf();
    const time = timeOfDay + offset;
    const last = this.#last;
    const expected = last.time + at - last.at;
    // If another process has changed the difference in its turn, it decides, so that two clocks do not contend.
    const isDecided = last.isChanged && last.offset !== offset;
    const isStep = !isDecided && Math.abs(time - expected) > STEP_MS;
    const isChanged = isStep && !isRead;
    const next = isChanged ? Math.round(expected - timeOfDay) : offset;
    if (isChanged) this.#store(next);
    this.#now = { time: isStep ? expected : time, at, offset: next, isChanged };
    return this.#now.time;
  }

  /** Tells that the transaction was committed. */
  end(): void {
    this.#last = this.#now;
  }

  #look(): { readonly timeOfDay: number; readonly at: number } {
    for (;;) {
      const before = this.#clock.now();
      const timeOfDay = this.#clock.timeOfDay?.() ?? Date.now();
      const at = this.#clock.now();
      if (at - before <= LOOK_MS) return { timeOfDay, at };
    }
  }
}
