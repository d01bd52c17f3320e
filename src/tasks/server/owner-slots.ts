import type { Clock } from "../../call/clock.js";

/** Minimum time after which a job without a slot is offered again, and the time between two of them. */
const CROWDED_MS = 200;
const SPACING_MS = 20;

/**
 * Slots of principals in this process. A principal with many tasks does not keep those of others waiting. Its jobs
 * without a slot come back one after the other, so that their number does not matter.
 */
export class OwnerSlots {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #owners = new Map<string, { running: number; nextAt: number }>();

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Takes a slot for a job. If there is none, returns the time after which to try again. */
  enter(owner: string): number | undefined {
    const slots = this.#take(owner);
    if (slots === undefined) return undefined;
    const now = this.#clock.now();
    slots.nextAt = Math.max(now + CROWDED_MS, slots.nextAt + SPACING_MS);
    return slots.nextAt - now;
  }

  /** Takes a slot for a task that has no job. Returns false if there is none. */
  enterNow(owner: string): boolean {
    return this.#take(owner) === undefined;
  }

  /** Takes a slot. If there is none, returns those of the owner. */
  #take(owner: string): { nextAt: number } | undefined {
    const slots = this.#owners.get(owner) ?? { running: 0, nextAt: 0 };
    if (slots.running >= this.#most) return slots;
    slots.running++;
    this.#owners.set(owner, slots);
    return undefined;
  }

  leave(owner: string): void {
    const slots = this.#owners.get(owner);
    if (slots !== undefined && --slots.running === 0) this.#owners.delete(owner);
  }
}
