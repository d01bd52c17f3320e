import type { Clock } from "../call/clock.js";
import { away } from "./failure.js";

/** Part of a life after which it is renewed, and after which it is tried again if the engine is away. */
const RENEW = 1 / 3;
const RETRY = 1 / 10;
/** Part of a life after which it counts as over here. The rest is for clocks that run differently. */
const SURE = 0.95;

export interface HeldOptions {
  readonly clock: Clock;
  /** Name in errors, such as `lease "sweeper"`. */
  readonly name: string;
  readonly ttlMs: number;
  /** Time on the clock before the engine was asked for it. */
  readonly since: number;
  /** Renews it in the engine. Resolves with false if another process may have it. */
  renew(): Promise<boolean>;
}

/** Right in the engine with a life, which renews itself. */
export class Held {
  readonly #options: HeldOptions;
  readonly #controller = new AbortController();
  #renewal: unknown;
  #end: unknown;
  #isOver = false;

  constructor(options: HeldOptions) {
    this.#options = options;
    this.#extend(options.since);
  }

  /** Fires before another process can have it. Does not fire when it is given back. */
  get lost(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Stops renewing it. Returns false if it is over already. */
  stop(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#options.clock.cancel(this.#renewal);
    this.#options.clock.cancel(this.#end);
    return true;
  }

  /** Ends it as lost. Returns false if it is over already. */
  lose(reason: string): boolean {
    if (!this.stop()) return false;
    this.#controller.abort(away(`${this.#options.name}: ${reason}`));
    return true;
  }

  /** Counts the life from the time at which the engine was asked. */
  #extend(since: number): void {
    const { clock, ttlMs } = this.#options;
    clock.cancel(this.#end);
    const leftMs = since + ttlMs * SURE - clock.now();
    this.#end = clock.schedule(() => this.lose("its life passed before the engine renewed it"), Math.max(0, leftMs));
    this.#schedule(since + ttlMs * RENEW - clock.now());
  }

  #schedule(ms: number): void {
    this.#renewal = this.#options.clock.schedule(() => this.#renew(), Math.max(0, ms));
  }

  async #renew(): Promise<void> {
    const { clock, ttlMs } = this.#options;
    const since = clock.now();
    try {
      const isHeld = await this.#options.renew();
      if (this.#isOver) return;
      if (isHeld) this.#extend(since);
      else this.lose("another process may have it");
    } catch {
      if (!this.#isOver) this.#schedule(ttlMs * RETRY);
    }
  }
}
