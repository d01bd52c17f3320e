import type { Job, Queue, TakeOptions } from "../cluster.js";
import { ClusterError } from "../error.js";
import { type Expiries, Expiring } from "./expiries.js";
import { Holding, type Holdings } from "./holdings.js";
import { assertRoom } from "./limit.js";
import type { Link } from "./link.js";
import { Waiter } from "./waiter.js";
import { Window } from "./window.js";

/** Time after which the job of a node that was cut off goes to another one, by default. */
const LEASE_MS = 30_000;

/** Job in the table. It expires at the end of its delay. */
class Row extends Expiring {
  attempt = 0;
  holding: Holding | undefined;

  constructor(
    readonly table: JobTable,
    readonly id: string,
    readonly job: string,
  ) {
    super();
  }

  expire(): void {
    this.table.offer(this, 0);
  }
}

/** Jobs that the nodes of a process share. */
export class JobTable {
  readonly #rows = new Map<string, Row>();
  readonly #ready = new Window<Row>();
  readonly takers = new Set<{ wake(): void }>();

  constructor(
    readonly expiries: Expiries,
    readonly maxJobs: number,
  ) {}

  get size(): number {
    return this.#rows.size;
  }

  add(id: string, job: string, delayMs: number): boolean {
    if (this.#rows.has(id)) return false;
    assertRoom(this.#rows.size, this.maxJobs, `job "${id}"`, "maxJobs");
    const row = new Row(this, id, job);
    this.#rows.set(id, row);
    this.offer(row, delayMs);
    return true;
  }

  /** Gives a job to the next worker, after a delay. */
  offer(row: Row, delayMs: number): void {
    row.holding = undefined;
    if (delayMs > 0) return this.expiries.set(row, delayMs);
    this.#ready.push(row);
    for (const taker of this.takers) taker.wake();
  }

  /** Takes the job that is due first. */
  take(holdings: Holdings, leaseMs: number): Row | undefined {
    this.expiries.catchUp();
    const row = this.#ready.shift();
    if (row === undefined) return undefined;
    row.attempt++;
    row.holding = new Holding(holdings, `job "${row.id}"`, leaseMs, () => this.offer(row, 0));
    return row;
  }

  /** Ends the hold of a job. Returns false if the job is done already. */
  release(row: Row, holding: Holding): boolean {
    this.expiries.catchUp();
    if (this.#rows.get(row.id) !== row) return false;
    if (row.holding !== holding)
      throw new ClusterError("fenced", `job "${row.id}" is not held any more; discard its outcome`);
    holding.end();
    return true;
  }

  delete(row: Row): void {
    this.#rows.delete(row.id);
  }
}

export class MemoryQueue implements Queue {
  readonly #link: Link;
  readonly #table: JobTable;
  readonly #holdings: Holdings;

  constructor(link: Link, table: JobTable, holdings: Holdings) {
    this.#link = link;
    this.#table = table;
    this.#holdings = holdings;
  }

  add(id: string, job: string, options?: { readonly delayMs?: number }): boolean {
    this.#link.check();
    return this.#table.add(id, job, options?.delayMs ?? 0);
  }

  /** Takes the job that is due first, if there is one. */
  takeNow(leaseMs: number): MemoryJob | undefined {
    this.#link.check();
    const row = this.#table.take(this.#holdings, leaseMs);
    return row?.holding && new MemoryJob(this.#link, row, row.holding);
  }

  /** Calls the listener when a job is ready. Returns a function that removes the listener. */
  onReady(listener: () => void): () => void {
    const taker = { wake: listener };
    this.#table.takers.add(taker);
    return () => this.#table.takers.delete(taker);
  }

  async *take(signal: AbortSignal, options?: TakeOptions): AsyncIterable<Job> {
    const waiter = new Waiter(this.#link, signal);
    this.#table.takers.add(waiter);
    try {
      while (waiter.goesOn) {
        const job = this.#link.isUp ? this.takeNow(options?.leaseMs ?? LEASE_MS) : undefined;
        if (job === undefined) {
          await waiter.wait();
          continue;
        }
        // The other nodes come first next time.
        this.#table.takers.delete(waiter);
        this.#table.takers.add(waiter);
        yield job;
      }
    } finally {
      waiter.leave();
      this.#table.takers.delete(waiter);
    }
  }
}

export class MemoryJob implements Job {
  readonly id: string;
  readonly job: string;
  readonly attempt: number;
  readonly #link: Link;
  readonly #row: Row;
  readonly #holding: Holding;

  constructor(link: Link, row: Row, holding: Holding) {
    this.#link = link;
    this.#row = row;
    this.#holding = holding;
    this.id = row.id;
    this.job = row.job;
    this.attempt = row.attempt;
  }

  get lost(): AbortSignal {
    return this.#holding.lost;
  }

  /** Gives the job to another worker after `ttlMs`, unless it is renewed again. Returns false if it is not held. */
  renew(ttlMs: number): boolean {
    return this.#holding.renew(ttlMs);
  }

  done(): void {
    this.#link.check();
    const { table } = this.#row;
    if (table.release(this.#row, this.#holding)) table.delete(this.#row);
  }

  later(delayMs: number): void {
    this.#link.check();
    const { table } = this.#row;
    if (table.release(this.#row, this.#holding)) table.offer(this.#row, delayMs);
  }
}
