import { AuthError } from "../../protocol/auth-error.js";

/**
 * Names that may be used once, each until its time is over. Bounded, and nothing is forgotten before its time: when it is
 * full, no more are taken.
 */
export class ReplayCache {
  readonly #until = new Map<string, number>();
  readonly #max: number;
  /** Nothing ends before this: it is not worth looking for room. */
  #fullUntil = Number.NEGATIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#until.size;
  }

  /** Whether this is the first use. Times are milliseconds since 1970. Throws when there is no room to remember it. */
  accept(name: string, untilMs: number, nowMs: number): boolean {
    const known = this.#until.get(name);
    if (known !== undefined && known >= nowMs) return false;
    this.#until.delete(name);
    this.#makeRoom(nowMs);
    this.#until.set(name, untilMs);
    return true;
  }

  /** The oldest come first and mostly end first; only where that is not enough are all looked through. */
  #makeRoom(nowMs: number): void {
    for (const [name, untilMs] of this.#until) {
      if (untilMs >= nowMs) break;
      this.#until.delete(name);
    }
    if (this.#until.size >= this.#max && nowMs > this.#fullUntil) this.#dropEnded(nowMs);
    if (this.#until.size < this.#max) return;
    throw new AuthError(
      "store",
      `dpop: more than ${this.#max} proofs are good at a time, and no more can be remembered; ` +
        "raise dpop.maxProofs, shorten dpop.windowSeconds, or remember them elsewhere by dpop.acceptProof",
    );
  }

  #dropEnded(nowMs: number): void {
    let first = Number.POSITIVE_INFINITY;
    for (const [name, untilMs] of this.#until) {
      if (untilMs < nowMs) this.#until.delete(name);
      else first = Math.min(first, untilMs);
    }
    this.#fullUntil = this.#until.size < this.#max ? Number.NEGATIVE_INFINITY : first;
  }
}
