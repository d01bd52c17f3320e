import { setTimeout as sleep } from "node:timers/promises";

/**
 * Spreads a number of calls over the time of the faults. A machine that is too slow for that takes longer: the calls go on
 * until their number is reached, and beyond it until the faults are over.
 */
export class Pace {
  begun = 0;
  /** Time at which the last call was begun. Undefined while there are more. */
  endedAt;
  #calls;
  #intervalMs;
  #next = performance.now();
  #areFaultsOver = false;
  #isOver = false;

  constructor(calls, lengthMs) {
    this.#calls = calls;
    this.#intervalMs = lengthMs / calls;
  }

  onFaultsOver() {
    this.#areFaultsOver = true;
  }

  end() {
    this.#isOver = true;
    this.endedAt ??= Date.now();
  }

  get isOver() {
    if (this.#areFaultsOver && this.begun >= this.#calls) this.end();
    return this.#isOver;
  }

  /** Waits for the turn of the next call. Returns false if there is none. */
  async turn() {
    if (this.isOver) return false;
    const now = performance.now();
    this.#next = Math.max(this.#next, now - 2_000) + this.#intervalMs;
    const waitMs = this.#next - now;
    this.begun++;
    if (waitMs > 1) await sleep(waitMs);
    return !this.#isOver;
  }
}
