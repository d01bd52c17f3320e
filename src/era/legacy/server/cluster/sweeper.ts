import { type Clock, unref } from "../../../../call/clock.js";
import type { Cluster, Lease, Listed } from "../../../../cluster/cluster.js";
import { ALL_SESSIONS, isOver } from "./session-record.js";

const NAME = "sweeper";
const PAGE = 200;
const LONGEST_PAUSE_MS = 30_000;
const SHORTEST_PAUSE_MS = 250;

export interface SweeperOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly sessionIdleMs: number;
  /** Ends a session. Returns false if it has changed. */
  end(session: Listed): Promise<boolean>;
  report(error: unknown): void;
}

/** Ends sessions that nobody uses. One process at a time does it, under a lease. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #pauseMs: number;
  #lease: Lease | undefined;
  #timer: unknown;
  #sweeping: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#pauseMs = Math.max(
      SHORTEST_PAUSE_MS,
      Math.min(LONGEST_PAUSE_MS, options.sessionIdleMs / 4 || LONGEST_PAUSE_MS),
    );
    this.#wait();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#options.clock.cancel(this.#timer);
    await this.#sweeping;
    await this.#lease?.release();
  }

  #wait(): void {
    const { clock, report } = this.#options;
    this.#timer = clock.schedule(() => {
      this.#sweeping = this.#sweep().catch(report);
      this.#sweeping.then(() => this.#closed || this.#wait());
    }, this.#pauseMs);
    unref(this.#timer);
  }

  async #sweep(): Promise<void> {
    const { cluster, leaseMs } = this.#options;
    if (!cluster.available) return;
    if (this.#lease?.lost.aborted !== false) this.#lease = await cluster.leases.acquire(NAME, leaseMs);
    if (this.#lease !== undefined) await this.#endDue(this.#lease);
  }

  async #endDue({ lost }: Lease): Promise<void> {
    const { cluster, end } = this.#options;
    for (let after: { score: number; key: string } | undefined; !this.#closed && !lost.aborted; ) {
      const options = after === undefined ? { limit: PAGE } : { after, limit: PAGE };
      const page = await cluster.records.list(ALL_SESSIONS, options);
      for (const session of page) if (isOver(session) && !lost.aborted) await end(session);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = { score: last.score, key: last.key };
    }
  }
}
