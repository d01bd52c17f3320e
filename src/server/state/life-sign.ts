import { pause } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import { attempt } from "../../call/maybe-promise.js";
import type { Cluster, Lease } from "../../cluster/cluster.js";

/**
 * Part of a life after which a lost lease is tried again. It is also the life of a lease in the hands of a process that
 * only looks if it is free.
 */
const SHORT = 1 / 10;

/**
 * Shows other processes that this server lives, by a lease that it holds from its first claim until it closes. Tells if
 * the server of another process is gone.
 */
export class LifeSign {
  readonly #leases: Cluster["leases"];
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #forgetGaps: () => void;
  #name: Promise<string> | undefined;
  #lease: Lease | undefined;
  /** Number of claims that name the lease. */
  #claims = 0;
  #isClosing = false;
  /** Time since which the engine is reachable without a gap, as far as is known. */
  #steadySince: number;

  /** `leaseMs` is the life of the lease. A process that ends without releasing it counts as gone after this time. */
  constructor({ leases, bus }: Pick<Cluster, "leases" | "bus">, clock: Clock, leaseMs: number) {
    this.#leases = leases;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#steadySince = clock.now();
    this.#forgetGaps = bus.onGap(() => {
      this.#steadySince = clock.now();
    });
  }

  /** Returns the name of the lease for a claim. Each successful call requires a call of `leave`. */
  async enter(): Promise<string> {
    this.#claims++;
    this.#name ??= this.#acquire();
    const name = this.#name;
    try {
      return await name;
    } catch (error) {
      if (this.#name === name) this.#name = undefined;
      this.leave();
      throw error;
    }
  }

  /** Ends a claim. */
  leave(): void {
    this.#claims--;
    this.#releaseIfUnused();
  }

  /** Releases the lease as soon as no claim names it. */
  close(): void {
    this.#isClosing = true;
    this.#forgetGaps();
    this.#releaseIfUnused();
  }

  /**
   * True if the holder of a lease is gone. No holder counts as gone until this process was connected for the life of a
   * lease, so that the holder can acquire its lease again after the engine was away.
   */
  async isGone(name: string): Promise<boolean> {
    if (this.#clock.now() - this.#steadySince < this.#leaseMs) return false;
    const probe = await this.#leases.acquire(keyOf(name), this.#leaseMs * SHORT);
    await probe?.release();
    return probe !== undefined;
  }

  /** Acquires a lease with a new name, since an attempt that failed may have acquired the former one. */
  async #acquire(): Promise<string> {
    const name = crypto.randomUUID();
    const lease = await this.#leases.acquire(keyOf(name), this.#leaseMs);
    if (lease === undefined) throw new Error("the lease of this server could not be acquired: the cluster is closing");
    this.#hold(name, lease);
    return name;
  }

  #hold(name: string, lease: Lease): void {
    this.#lease = lease;
    lease.lost.addEventListener("abort", () => void this.#regain(name), { once: true });
  }

  /** Acquires the lease again while claims name it. After that, the next claim uses a new lease. */
  async #regain(name: string): Promise<void> {
    this.#lease = undefined;
    while (this.#claims > 0) {
      try {
        const lease = await this.#leases.acquire(keyOf(name), this.#leaseMs);
        if (lease !== undefined) return this.#hold(name, lease);
      } catch {
        // The engine is away. The next attempt follows.
      }
      await pause(this.#clock, this.#leaseMs * SHORT);
    }
    this.#name = undefined;
  }

  #releaseIfUnused(): void {
    if (!this.#isClosing || this.#claims > 0) return;
    const lease = this.#lease;
    this.#lease = undefined;
    this.#name = undefined;
    // A failure is harmless, since the life of the lease ends by itself.
    attempt(
      () => lease?.release(),
      () => {},
      () => {},
    );
  }
}

function keyOf(name: string): string {
  return `states/${name}`;
}
