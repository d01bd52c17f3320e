import { type Clock, unref } from "../../../../call/clock.js";
import type { Cluster, Lease, Listed } from "../../../../cluster/cluster.js";
import { each } from "../../../../cluster/update.js";
import { ALL_SESSIONS, ENDED_SESSIONS, hasExpired } from "./session-record.js";

const NAME = "sweeper";
const LONGEST_PAUSE_MS = 30_000;
const SHORTEST_PAUSE_MS = 250;
/**
 * Number of sessions in a row that have not expired, after which a sweep looks at no more. The clocks of the processes that
 * wrote the order may differ.
 */
const MAX_OPEN = 100;

export interface SweeperOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly sessionIdleMs: number;
  /** Ends a session. Returns false if it has changed. */
  end(session: Listed): Promise<boolean>;
  /** Completes the end of a session that another process has begun. */
  finish(session: Listed): Promise<void>;
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
    for await (const session of this.#listed(ENDED_SESSIONS, this.#lease)) {
      if (this.#ended.has(session.key)) await finish(session);
      else ended.add(session.key);
    }
    this.#ended = ended;
    // These are listed by the time at which they would end.
    let open = 0;
    for await (const session of this.#listed(ALL_SESSIONS, this.#lease)) {
      open = hasExpired(session) ? 0 : open + 1;
      if (open === MAX_OPEN) return;
      if (open === 0) await end(session);
    }
  }

  async *#listed(index: string, { lost }: Lease): AsyncGenerator<Listed, void, undefined> {
    for await (const session of each(this.#options.cluster.records, index, MAX_OPEN)) {
      if (this.#closed || lost.aborted) return;
      yield session;
    }
  }
}
