import { type Clock, unref } from "../../call/clock.js";

export interface RenewalOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  /** Time on the clock of this process before the right was asked for. The engine counts from a later moment. */
  readonly askedAt: number;
  /** Renews the right. Resolves with false if it is lost. */
  readonly renew: () => Promise<boolean>;
}

/** Maximum life of a right. A right renews itself, so that a longer life only lets others wait longer for a lost holder. */
export const MAX_LIFE_MS = 86_400_000;

/** Parts of a life after which a right is renewed, and after which a renewal that failed is tried again. */
const RENEW = 1 / 3;
const RETRY = 1 / 10;

/**
 * Renews a right with a life until it is stopped or lost. `lost` is aborted after nine tenths of a life without a
 * renewal, before the engine gives the right to another process.
 */
export class Renewal {
  readonly #options: RenewalOptions;
  readonly #lost = new AbortController();
  #deadline: unknown;
  #next: unknown;
  #isOver = false;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#renewedAt(options.askedAt);
    this.#plan(RENEW);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** True until the right is stopped or lost. */
  get isHeld(): boolean {
    return !this.#isOver;
  }

  /** Ends the renewals, since the right was given back. */
  stop(): void {
    this.#isOver = true;
    this.#options.clock.cancel(this.#deadline);
    this.#options.clock.cancel(this.#next);
  }

  /** Ends the renewals and aborts `lost`. */
  lose(): void {
    if (this.#isOver) return;
    this.stop();
    this.#lost.abort();
  }

  #renewedAt(askedAt: number): void {
    const { clock, ttlMs } = this.#options;
    clock.cancel(this.#deadline);
    this.#deadline = clock.schedule(() => this.lose(), askedAt + ttlMs * 0.9 - clock.now());
    unref(this.#deadline);
  }

  #plan(part: number): void {
    const { clock, ttlMs } = this.#options;
    this.#next = clock.schedule(() => void this.#renew(), ttlMs * part);
    unref(this.#next);
  }

  async #renew(): Promise<void> {
    const { clock, renew } = this.#options;
    const askedAt = clock.now();
    try {
      const isHeld = await renew();
      if (this.#isOver) return;
      if (!isHeld) return this.lose();
      this.#renewedAt(askedAt);
      this.#plan(RENEW);
    } catch {
      if (!this.#isOver) this.#plan(RETRY);
    }
  }
}
