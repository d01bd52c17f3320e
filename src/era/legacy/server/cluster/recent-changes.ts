import type { Clock } from "../../../../call/clock.js";
import type { Change } from "../../../../store/change-bus.js";

/** Maximum number of resources. The oldest changes are dropped first. */
const MAX_KEPT = 1_000;

/**
 * Resources that changed a moment ago. A subscription that was made in another process takes a moment to arrive, and a
 * change may be faster.
 */
export class RecentChanges {
  readonly #clock: Clock;
  readonly #keepMs: number;
  /** Time of the last change by URI, oldest first. */
  readonly #changedAt = new Map<string, number>();

  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  add(change: Change): void {
    if (change.kind !== "resource") return;
    this.#changedAt.delete(change.uri);
    this.#changedAt.set(change.uri, this.#clock.now());
    const [oldest] = this.#changedAt.keys();
    if (this.#changedAt.size > MAX_KEPT && oldest !== undefined) this.#changedAt.delete(oldest);
  }

  has(uri: string): boolean {
    const changedAt = this.#changedAt.get(uri);
    return changedAt !== undefined && this.#clock.now() - changedAt <= this.#keepMs;
  }
}
