import type { Clock } from "../../call/clock.js";
import type { Cluster } from "../../cluster/cluster.js";
import { unavailable } from "../../cluster/error.js";
import { Presence } from "../../cluster/presence.js";

/**
 * Shows other processes that this server lives, by a lease that it holds from its first claim until it closes and its last
 * claim has ended. Tells if the server of another process is gone.
 */
export class LifeSign {
  readonly #create: () => Presence;
  #presence: Presence;
  /** Number of claims that name the lease. */
  #claims = 0;
  #isClosing = false;

  /** `leaseMs` is the life of the lease. A process that ends without releasing it counts as gone after this time. */
  constructor(cluster: Pick<Cluster, "leases" | "bus">, clock: Clock, leaseMs: number) {
    this.#create = () => new Presence({ cluster, clock, leaseMs, prefix: "states/", name: crypto.randomUUID() });
    this.#presence = this.#create();
  }

  /** Returns the name of the lease for a claim. Each successful call requires a call of `leave`. */
  async enter(): Promise<string> {
    this.#claims++;
    if (this.#claims === 1 && this.#presence.isLost) this.#rename();
    try {
      if (await this.#presence.hold()) return this.#presence.name;
    } catch (error) {
      this.leave();
      throw error;
    }
    this.leave();
    throw unavailable("The lease of this server could not be acquired; send the request again");
  }

  /** Ends a claim. */
  leave(): void {
    this.#claims--;
    this.#closeIfUnused();
  }

  /** Releases the lease as soon as no claim names it. */
  close(): void {
    this.#isClosing = true;
    this.#closeIfUnused();
  }

  isGone(name: string): Promise<boolean> {
    return this.#presence.isGone(name);
  }

  /**
   * Takes another name, since no claim has the present one. A renewal that the engine carried out too late keeps a lost
   * lease from everybody for its whole life, this process included.
   */
  #rename(): void {
    this.#closePresence();
    this.#presence = this.#create();
  }

  #closeIfUnused(): void {
    if (this.#isClosing && this.#claims === 0) this.#closePresence();
  }

  /** A failure is harmless, since the life of the lease ends by itself. */
  #closePresence(): void {
    this.#presence.close().catch(() => {});
  }
}
