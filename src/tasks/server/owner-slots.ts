import type { Clock } from "../../call/clock.js";
import { ANONYMOUS, type Counted, ownersOf } from "./owner.js";

/** Minimum time after which a job without a slot is offered again, and the time between two of them. */
const CROWDED_MS = 200;
const SPACING_MS = 20;

interface Slots {
  running: number;
  /** Time at which the last job without a slot comes back. */
  nextAt: number;
}

/** Maximum numbers of tasks that run at a time. */
export interface SlotLimits {
  /** Of each owner. */
  readonly each: number;
  /** Of all callers without a principal. */
  readonly anonymous: number;
}

/**
 * Slots of principals in this process. A principal with many tasks does not keep those of others waiting, nor do all
 * callers without a principal together. Jobs without a slot come back one after the other, so that their number does not
 * matter.
 */
export class OwnerSlots {
  readonly #most: SlotLimits;
  readonly #clock: Clock;
  readonly #owners = new Map<string, Slots>();

  constructor(most: SlotLimits, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Takes a slot for a job. If there is none, returns the time after which to try again. */
  enter(task: Counted): number | undefined {
    const slots = this.#take(task);
    if (slots === undefined) return undefined;
    const now = this.#clock.now();
    slots.nextAt = Math.max(now + CROWDED_MS, slots.nextAt + SPACING_MS);
    return slots.nextAt - now;
  }

  /** Takes a slot for a task that has no job. Returns false if there is none. */
  enterNow(task: Counted): boolean {
    return this.#take(task) === undefined;
  }

  /** Takes a slot of each owner of a task. If one has none, returns its slots. */
  #take(task: Counted): Slots | undefined {
    const owners = ownersOf(task).map((owner) => {
      const slots = this.#owners.get(owner) ?? { running: 0, nextAt: 0 };
      return { owner, slots, most: owner === ANONYMOUS ? this.#most.anonymous : this.#most.each };
    });
    const full = owners.find(({ slots, most }) => slots.running >= most);
    if (full !== undefined) return full.slots;
    for (const { owner, slots } of owners) {
      slots.running++;
      this.#owners.set(owner, slots);
    }
    return undefined;
  }

  leave(task: Counted): void {
    for (const owner of ownersOf(task)) {
      const slots = this.#owners.get(owner);
      if (slots !== undefined && --slots.running === 0) this.#owners.delete(owner);
    }
  }
}
