import { unref } from "../call/clock.js";
import { ClusterError } from "./error.js";
import type { Operations } from "./operations.js";

export interface RenewalOptions {
  /** What is renewed, for errors, such as `lease "l"`. */
  readonly what: string;
  readonly ttlMs: number;
  /** Time on the clock of this process before it was acquired. The engine counts from a later moment. */
  readonly askedAt: number;
  /** Renews it. Resolves with false if it is lost. */
  readonly renew: () => Promise<boolean>;
}

/** Maximum life of a lease. It renews itself, so that a longer life only lets others wait longer for a lost holder. */
export const MAX_LIFE_MS = 86_400_000;

/** Parts of a life after which a lease is renewed, and after which a renewal that failed is tried again. */
const RENEW = 1 / 3;
const RETRY = 1 / 10;

/**
 * Renews a lease until it is stopped or lost. `lost` is aborted after nine tenths of a life without a renewal, before the
 * engine gives the lease to another process.
 */
export class Renewal {
  readonly #operations: Operations;
  readonly #options: RenewalOptions;
  readonly #lost = new AbortController();
  #endsAt = 0;
  #deadline: unknown;
  #next: unknown;
  #hasEnded = false;

  constructor(operations: Operations, options: RenewalOptions) {
    this.#operations = operations;
    this.#options = options;
    operations.deadlines.add(this.#check);
    this.#renewedAt(options.askedAt);
    this.#plan(RENEW);
    // This process may have been stopped before it got the reply.
    this.#check();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** True until the lease is stopped or lost. */
  get isHeld(): boolean {
    return !this.#hasEnded;
  }

  /** Ends the renewals, since the lease was released. */
  stop(): void {
    const { clock, deadlines } = this.#operations;
    this.#hasEnded = true;
    deadlines.delete(this.#check);
    clock.cancel(this.#deadline);
    clock.cancel(this.#next);
  }

  /** Ends the renewals and aborts `lost`. */
  lose(reason: ClusterError): void {
    if (this.#hasEnded) return;
    this.stop();
    this.#lost.abort(reason);
  }

  readonly #check = (): void => {
    if (this.#operations.clock.now() >= this.#endsAt) this.#end();
  };

  #end(): void {
    const { what, ttlMs } = this.#options;
    this.lose(lostError(what, `was not renewed within ${ttlMs} ms`));
  }

  #renewedAt(askedAt: number): void {
    const { clock } = this.#operations;
    this.#endsAt = askedAt + this.#options.ttlMs * 0.9;
    clock.cancel(this.#deadline);
    this.#deadline = clock.schedule(() => this.#end(), this.#endsAt - clock.now());
    unref(this.#deadline);
  }

  #plan(part: number): void {
    this.#next = this.#operations.clock.schedule(() => void this.#renew(), this.#options.ttlMs * part);
    unref(this.#next);
  }

  async #renew(): Promise<void> {
    const { renew, what } = this.#options;
    const askedAt = this.#operations.clock.now();
    try {
      const isHeld = await renew();
      if (this.#hasEnded) return;
      if (!isHeld) return this.lose(lostError(what, "has another holder, or none"));
      this.#renewedAt(askedAt);
      this.#plan(RENEW);
    } catch {
      if (!this.#hasEnded) this.#plan(RETRY);
    }
  }
}

/** Error of a lease or job that this process holds no more. */
export function lostError(what: string, why: string): ClusterError {
  return new ClusterError("fenced", `${what} ${why}; stop working on it and discard the outcome`);
}
