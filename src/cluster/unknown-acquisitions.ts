import { pause } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import { ClusterError } from "./error.js";

/** Delays between attempts to release. */
const RETRY: Backoff = { delayMs: 100, maxDelayMs: 5_000 };
/** Number of attempts that find nothing. An engine may carry out an acquisition after the first of them. */
const CONFIRMATIONS = 4;
/** Maximum number of acquisitions that are released at once. The lives of further ones end by themselves. */
const MAX_RELEASED = 1_000;

export interface UnknownAcquisitionsOptions {
  readonly clock: Clock;
  /** Releases in the engine what has this token. Resolves with true if there was something. */
  release(name: string, token: string): Promise<boolean>;
}

/**
 * Leases, and jobs that were taken, whose acquisition has an unknown outcome. They are released in the background, so that
 * they do not block other processes for their whole lives. A further acquisition of a lease by this process takes it over.
 */
export class UnknownAcquisitions {
  readonly #options: UnknownAcquisitionsOptions;
  readonly #closing = new AbortController();
  /** Token of the last attempt, by name. */
  readonly #tokens = new Map<string, string>();
  #running = 0;

  constructor(options: UnknownAcquisitionsOptions) {
    this.#options = options;
  }

  /**
   * Acquires a lease. `attempt` is given the token of an earlier attempt that may hold the lease, and resolves with true if
   * the lease was free or has that token.
   */
  async acquire(
    name: string,
    token: string,
    ttlMs: number,
    attempt: (former: string | undefined) => Promise<boolean>,
  ): Promise<boolean> {
    const former = this.#tokens.get(name);
    try {
      const isHeld = await attempt(former);
      if (former !== undefined && this.#tokens.get(name) === former) this.#tokens.delete(name);
      return isHeld;
    } catch (error) {
      this.note(error, name, token, ttlMs);
      throw error;
    }
  }

  /** Releases what has this token, in the background, if the error leaves the outcome of its acquisition unknown. */
  note(error: unknown, name: string, token: string, ttlMs: number): void {
    if (error instanceof ClusterError && error.failure === "unknown_outcome") void this.#release(name, token, ttlMs);
  }

  /** Stops the attempts. */
  close(): void {
    this.#closing.abort();
  }

  async #release(name: string, token: string, ttlMs: number): Promise<void> {
    if (this.#running >= MAX_RELEASED) return;
    const { clock, release } = this.#options;
    const { signal } = this.#closing;
    const end = clock.now() + ttlMs;
    this.#running++;
    this.#tokens.set(name, token);
    let absences = 0;
    for (let tries = 0; absences < CONFIRMATIONS && clock.now() < end; tries++) {
      await pause(clock, backoffMs(tries, RETRY), signal);
      if (signal.aborted) break;
      const isReleased = await release(name, token).catch(() => undefined);
      if (isReleased === true) break;
      if (isReleased === false) absences++;
    }
    this.#running--;
    if (this.#tokens.get(name) === token) this.#tokens.delete(name);
  }
}
