import type { Clock } from "../../call/clock.js";
import type { Lease, Leases } from "../cluster.js";
import { LeaseDoubts } from "../lease-doubts.js";
import { MAX_LIFE_MS, Renewal } from "./renewal.js";

/** Operations of an engine on leases. Each resolves with true if it changed a lease. */
export interface LeaseOperations {
  /** Acquires a lease that is free or has the token `doubtful`. */
  acquire(name: string, token: string, ttlMs: number, doubtful: string): Promise<boolean>;
  /** Extends the life of a lease that has this token and is not over. */
  renew(name: string, token: string, ttlMs: number): Promise<boolean>;
  release(name: string, token: string): Promise<boolean>;
}

/** Leases by tokens in an engine. */
export class EngineLeases implements Leases {
  readonly #clock: Clock;
  readonly #operations: LeaseOperations;
  readonly #held = new Set<{ end(): Promise<void> }>();
  readonly #doubts: LeaseDoubts;

  constructor(clock: Clock, operations: LeaseOperations) {
    this.#clock = clock;
    this.#operations = operations;
    this.#doubts = new LeaseDoubts({ clock, release: (name, token) => operations.release(name, token) });
  }

  async acquire(name: string, life: number): Promise<Lease | undefined> {
    const operations = this.#operations;
    const ttlMs = Math.min(life, MAX_LIFE_MS);
    const token = crypto.randomUUID();
    const askedAt = this.#clock.now();
    const attempt = (doubtful: string) => operations.acquire(name, token, ttlMs, doubtful);
    if (!(await this.#doubts.acquire(name, token, ttlMs, attempt))) return undefined;
    const renew = () => operations.renew(name, token, ttlMs);
    const renewal = new Renewal({ clock: this.#clock, ttlMs, askedAt, renew });
    const release = async (stop: () => void) => {
      if (!renewal.isHeld) return;
      stop();
      this.#held.delete(held);
      await operations.release(name, token);
    };
    const held = { end: () => release(() => renewal.lose()) };
    this.#held.add(held);
    renewal.lost.addEventListener("abort", () => this.#held.delete(held), { once: true });
    return { lost: renewal.lost, release: () => release(() => renewal.stop()) };
  }

  /** Ends all leases of this process. A lease that cannot be released ends with its life. */
  async close(): Promise<void> {
    this.#doubts.close();
    await Promise.allSettled([...this.#held].map((held) => held.end()));
  }
}
