import { type Clock, unref } from "../call/clock.js";
import type { Bus, Lease, Leases } from "./cluster.js";

/**
 * Part of a life after which a lost lease is tried again. It is also the life of a lease in the hands of a process that
 * only looks if it is free.
 */
const SHORT = 1 / 10;

export interface PresenceOptions {
  readonly cluster: { readonly leases: Leases; readonly bus: Bus };
  readonly clock: Clock;
  /** Life of the lease. A process that ends without releasing it counts as gone after this time. */
  readonly leaseMs: number;
  /** Start of the names of the leases. */
  readonly prefix: string;
  /** Name of this process. No other one uses it. */
  readonly name: string;
  /** Called each time the lease is acquired. */
  onHeld?(): void;
}

/**
 * Shows other processes that this one lives, by a lease, and tells if another one is gone. No process counts as gone until
 * the engine was reachable for the whole life of a lease, so that each that lives can have acquired its lease again.
 */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #forgetGaps: () => void;
  #lease: Lease | undefined;
  #holding: Promise<boolean> | undefined;
  /** True from the first `hold` until `close`. */
  #isWanted = false;
  /** Timer of the next attempt after a loss. */
  #again: unknown;
  /** Time since which the engine has been reachable without a gap, as far as is known. */
  #steadySince: number;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#steadySince = options.clock.now();
    this.#forgetGaps = options.cluster.bus.onGap(() => this.onAway());
  }

  get name(): string {
    return this.#options.name;
  }

  get isHeld(): boolean {
    return this.#lease?.lost.aborted === false;
  }

  /** True if the lease was held and others may have declared this process gone since. */
  get isLost(): boolean {
    return this.#lease?.lost.aborted === true;
  }

  /** True if a process that holds no lease is gone. */
  get isSteady(): boolean {
    const { clock, leaseMs } = this.#options;
    return clock.now() - this.#steadySince >= leaseMs;
  }

  /** Notes that the engine cannot be reached. */
  onAway(): void {
    this.#steadySince = this.#options.clock.now();
  }

  /** Acquires the lease, unless it is held, and again whenever it is lost. Resolves with true if it is held. */
  hold(): Promise<boolean> {
    this.#isWanted = true;
    this.#holding ??= this.#acquire().finally(() => {
      this.#holding = undefined;
    });
    return this.#holding;
  }

  /** Acquires the lease of a process that is gone. Resolves with undefined if it is not, or may not be. */
  async inherit(name: string, lifeMs = this.#options.leaseMs): Promise<Lease | undefined> {
    if (!this.isSteady) return undefined;
    return this.#options.cluster.leases.acquire(this.#options.prefix + name, lifeMs);
  }

  async isGone(name: string): Promise<boolean> {
    const lease = await this.inherit(name, this.#options.leaseMs * SHORT);
    await lease?.release();
    return lease !== undefined;
  }

  /** Releases the lease. */
  async close(): Promise<void> {
    this.#isWanted = false;
    this.#forgetGaps();
    this.#options.clock.cancel(this.#again);
    await this.#holding?.catch(() => {});
    if (this.#isWanted) return;
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.release();
  }

  async #acquire(): Promise<boolean> {
    if (this.isHeld) return true;
    const { cluster, leaseMs, prefix, name, onHeld } = this.#options;
    const lease = await cluster.leases.acquire(prefix + name, leaseMs);
    if (lease === undefined) return false;
    this.#lease = lease;
    lease.lost.addEventListener("abort", () => this.#regain(), { once: true });
    onHeld?.();
    return this.isHeld;
  }

  /** Acquires the lost lease. The engine may be away, so that further attempts follow. */
  #regain(): void {
    if (this.#isWanted)
      this.hold().then(
        (isHeld) => isHeld || this.#regainLater(),
        () => this.#regainLater(),
      );
  }

  #regainLater(): void {
    const { clock, leaseMs } = this.#options;
    if (!this.#isWanted) return;
    clock.cancel(this.#again);
    this.#again = clock.schedule(() => this.#regain(), leaseMs * SHORT);
    unref(this.#again);
  }
}
