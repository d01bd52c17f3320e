import type { Job, Queue } from "#src/cluster/cluster.js";
import { ClusterError } from "#src/cluster/error.js";
import type { MemoryJob, MemoryQueue } from "#src/cluster/memory/queue.js";
import type { SimProcess } from "../process.js";
import type { Connection } from "./connection.js";
import type { EngineState } from "./state.js";
import { Bell } from "./wakes.js";

/** Time after which the job of a lost process goes to another one, by default. */
const LEASE_MS = 30_000;
/** Time until a worker tries again after a reply was lost. */
const RETRY_MS = 50;

/** Jobs of one node, over the state in memory. */
export class SimQueue implements Queue {
  readonly #engine: EngineState;
  readonly #process: SimProcess;
  readonly #connection: Connection;
  readonly #inner: MemoryQueue;
  readonly #bells = new Set<Bell>();

  constructor(engine: EngineState, process: SimProcess, connection: Connection, inner: MemoryQueue) {
    this.#engine = engine;
    this.#process = process;
    this.#connection = connection;
    this.#inner = inner;
  }

  add(id: string, job: string, options?: { readonly delayMs?: number }): Promise<boolean> {
    return this.#connection.operate(`add ${id}`, false, () => this.#inner.add(id, job, options));
  }

  async *take(signal: AbortSignal, { leaseMs = LEASE_MS }: { readonly leaseMs?: number } = {}): AsyncIterable<Job> {
    const bell = new Bell();
    const ring = () => bell.ring();
    const isOver = () => signal.aborted || this.#connection.isClosed;
    const { scheduler } = this.#engine;
    const onReady = () => void scheduler.schedule(() => this.#process.enter(ring), this.#engine.delay());
    const leave = this.#inner.onReady(onReady);
    signal.addEventListener("abort", ring);
    this.#bells.add(bell);
    try {
      while (!isOver()) {
        const job = await this.#tryTake(leaseMs);
        if (job !== undefined)
          yield new SimJob(this.#process, this.#connection, job, (run) => void scheduler.schedule(run, leaseMs / 3));
        else if (!isOver()) await bell.wait();
      }
    } finally {
      leave();
      signal.removeEventListener("abort", ring);
      this.#bells.delete(bell);
    }
  }

  /** Wakes the workers, since the connection has changed. */
  wake(): void {
    for (const bell of this.#bells) bell.ring();
  }

  /** Takes a job. Returns undefined if there is none, or while the engine is away. */
  async #tryTake(leaseMs: number): Promise<MemoryJob | undefined> {
    const take = () => this.#inner.takeNow(leaseMs);
    const undo = (job: MemoryJob | undefined) => this.#return(job, leaseMs);
    try {
      return await this.#connection.operate("take", false, take, undo);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      const wake = () => this.#process.enter(() => this.wake());
      if (this.#connection.isUp) this.#engine.scheduler.schedule(wake, RETRY_MS);
      return undefined;
    }
  }

  /** Offers a job again after its lease, since the worker does not know that it has taken it. */
  #return(job: MemoryJob | undefined, leaseMs: number): void {
    const { scheduler } = this.#engine;
    const free = () => {
      if (job?.lost.aborted !== false || this.#process.hasCrashed || this.#connection.isClosed) return;
      if (this.#connection.isUp) job.later(0);
      else scheduler.schedule(free, RETRY_MS);
    };
    scheduler.schedule(free, leaseMs);
  }
}

/** Job whose loss is told when the process runs. */
class SimJob implements Job {
  readonly id: string;
  readonly job: string;
  readonly attempt: number;
  readonly #connection: Connection;
  readonly #inner: MemoryJob;
  readonly #lost = new AbortController();
  readonly #loseSoon: () => void;

  /** `atRenewal` runs a function at the next renewal of the lease. */
  constructor(process: SimProcess, connection: Connection, inner: MemoryJob, atRenewal: (run: () => void) => void) {
    this.id = inner.id;
    this.job = inner.job;
    this.attempt = inner.attempt;
    this.#connection = connection;
    this.#inner = inner;
    // A process learns by its own clock that the lease is over.
    const tell = () => process.enterFirst(() => this.#lost.abort(inner.lost.reason));
    if (inner.lost.aborted) tell();
    else inner.lost.addEventListener("abort", tell, { once: true });
    this.#loseSoon = () => atRenewal(tell);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  done(): Promise<void> {
    return this.#end(`done ${this.id}`, () => this.#inner.done());
  }

  later(delayMs: number): Promise<void> {
    return this.#end(`later ${this.id} ${delayMs}`, () => this.#inner.later(delayMs));
  }

  /** Gives the job back. A process that gets no reply learns by a renewal that the job is not its own any more. */
  async #end(name: string, end: () => void): Promise<void> {
    const run = () => {
      end();
      return true;
    };
    await this.#connection.operate(name, false, run, this.#loseSoon);
  }
}
