import { type Clock, unref } from "../../../../call/clock.js";
import type { Cluster, Lease, Listed } from "../../../../cluster/cluster.js";
import { each } from "../../../../cluster/update.js";
import { ALL_SESSIONS, ENDED_SESSIONS, isOver } from "./session-record.js";

const NAME = "sweeper";
const LONGEST_PAUSE_MS = 30_000;
const SHORTEST_PAUSE_MS = 250;

export interface SweeperOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly sessionIdleMs: number;
  /** Ends a session. Returns false if it has changed. */
  end(session: Listed): Promise<boolean>;
  /** Completes the end of a session that another process has begun. */
  finish(key: string): Promise<void>;
  report(error: unknown): void;
}

/** Ends sessions that nobody uses. One process at a time does it, under a lease. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #pauseMs: number;
  #lease: Lease | undefined;
  #timer: unknown;
  #sweeping: Promise<void> = Promise.resolve();
  /** Sessions that had ended at the last sweep. The process that ended them has had its time. */
  #ended: ReadonlySet<string> = new Set();
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
    if (this.#lease === undefined) return;
    const { end, finish } = this.#options;
    const ended = new Set<string>();
    await this.#visit(ENDED_SESSIONS, this.#lease, async ({ key }) => {
      if (this.#ended.has(key)) await finish(key);
      else ended.add(key);
    });
    this.#ended = ended;
    await this.#visit(ALL_SESSIONS, this.#lease, async (session) => {
      if (isOver(session)) await end(session);
    });
  }

  async #visit(index: string, { lost }: Lease, visit: (session: Listed) => Promise<unknown>): Promise<void> {
    for await (const session of each(this.#options.cluster.records, index)) {
      if (this.#closed || lost.aborted) return;
      await visit(session);
    }
  }
}
