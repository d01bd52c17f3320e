import { backoffMs } from "../call/backoff.js";
import type { Job, Queue, TakeOptions } from "./cluster.js";
import { ClusterError, closedError } from "./error.js";
import type { Operations } from "./operations.js";
import { lostError, MAX_LIFE_MS, Renewal } from "./renewal.js";
import { type DueRecord, takenBy } from "./store.js";
import { UnknownAcquisitions } from "./unknown-acquisitions.js";
import { Wake } from "./wake.js";

/** Maximum time between two looks at the queue, in case a notice is lost. */
const LOOK_MS = 5_000;

/** Time for which a process that has returned a job leaves it to others, once it is due. */
const YIELD_MS = 20;

/** Time after which a worker looks again when the engine was away. */
const RETRY_MS = 200;

const DEFAULT_LEASE_MS = 30_000;

/** Maximum number of jobs that are returned at once after a take without a reply. */
const MAX_FREED = 1_000;

/** Index of the jobs by the time at which they are due. */
export const JOBS = "jobs";

/** Text that wakes the workers of all processes. */
export const JOBS_NOTICE = "q";

const keyOf = (id: string) => `job/${id}`;
const idOf = (key: string) => key.slice(keyOf("").length);

interface Running {
  readonly job: Job;
  end(): Promise<void>;
}

/** Jobs as records in an index by time. The version of the record is the proof of the worker that has taken the job. */
export class StoreQueue implements Queue {
  readonly #operations: Operations;
  readonly #workers = new Set<Wake>();
  readonly #finding = new Set<Promise<unknown>>();
  readonly #running = new Set<Running>();
  readonly #unknown: UnknownAcquisitions;
  /** True after this process has returned a job, since it may not be able to work on it. */
  #hasReturned = false;

  constructor(operations: Operations) {
    this.#operations = operations;
    this.#unknown = new UnknownAcquisitions({ clock: operations.clock, release: (_, token) => this.#free(token) });
  }

  add(id: string, job: string, { delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<boolean> {
    const version = this.#operations.version();
    const index = [{ index: JOBS, inMs: delayMs }];
    return this.#operations.run(`add job ${JSON.stringify(id)}`, (store) =>
      store.put(keyOf(id), job, { version, ifVersion: null, index, notice: JOBS_NOTICE }),
    );
  }

  /** Wakes the workers of this process. */
  wake(): void {
    for (const worker of this.#workers) worker.wake();
  }

  async *take(signal: AbortSignal, { leaseMs = DEFAULT_LEASE_MS, most }: TakeOptions = {}): AsyncIterable<Job> {
    const { clock, closing } = this.#operations;
    const worker = new Wake();
    const atOnce = new JobsAtOnce(most);
    const isEnded = () => signal.aborted || closing.aborted;
    this.#workers.add(worker);
    try {
      while (!isEnded()) {
        const finding = this.#find(Math.min(leaseMs, MAX_LIFE_MS), atOnce.ask());
        this.#finding.add(finding);
        const found = await finding.finally(() => this.#finding.delete(finding));
        atOnce.found(typeof found === "number" ? 0 : found.length);
        if (typeof found === "number") {
          await worker.wait(clock, found + (this.#hasReturned ? YIELD_MS : 0), [signal, closing]);
          continue;
        }
        this.#hasReturned = false;
        yield* eachJob(found, isEnded, (running) => running.end());
      }
    } finally {
      this.#workers.delete(worker);
    }
  }

  /** Returns all jobs of this process to the queue. A job that cannot be returned becomes free with its lease. */
  async close(): Promise<void> {
    this.#unknown.close();
    await Promise.allSettled(this.#finding);
    await Promise.allSettled([...this.#running].map((running) => running.end()));
  }

  /** Takes jobs. Returns the time until the next look if there is none. */
  async #find(leaseMs: number, most: number): Promise<readonly Running[] | number> {
    const { clock, store } = this.#operations;
    const token = this.#operations.version();
    const askedAt = clock.now();
    try {
      const found = (await store.takeDue(JOBS, { most, leaseMs, token })) ?? LOOK_MS;
      if (typeof found === "number") return Math.min(Math.max(Math.ceil(found), 1), LOOK_MS);
      return found.map((record) => this.#run(record, token, leaseMs, askedAt));
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "refused") throw error;
      this.#unknown.note(error, token, token, leaseMs);
      return RETRY_MS;
    }
  }

  /** Returns the jobs of a take that had no reply. Resolves with true if there are any. */
  async #free(token: string): Promise<boolean> {
    const { store } = this.#operations;
    const taken = await store.list(takenBy(token), { limit: MAX_FREED });
    const freed = taken.map(({ key, value }) => this.#offer(key, value, token, this.#operations.version(), 0));
    return (await Promise.all(freed)).includes(true);
  }

  /** Makes a job due after a delay. Resolves with false if it does not have this token. */
  #offer(key: string, job: string, token: string, version: string, delayMs: number): Promise<boolean> {
    const index = [{ index: JOBS, inMs: delayMs }];
    return this.#operations.store.put(key, job, { version, ifVersion: token, index, notice: JOBS_NOTICE });
  }

  #run({ key, value, takes }: DueRecord, token: string, leaseMs: number, askedAt: number): Running {
    const { store } = this.#operations;
    const id = idOf(key);
    const what = `job ${JSON.stringify(id)}`;
    // The version stays, so that a renewal without a reply can be repeated.
    const index = [
      { index: JOBS, inMs: leaseMs },
      { index: takenBy(token), score: 0 },
    ];
    const renew = () => store.put(key, value, { version: token, ifVersion: token, index });
    const renewal = new Renewal(this.#operations, { what, ttlMs: leaseMs, askedAt, renew });
    const lost = () => lostError(what, "has another worker, or none");
    let isDone = false;
    const settle = async (stop: () => void, work: () => Promise<boolean>) => {
      if (!renewal.isHeld) throw lost();
      const isOwn = await work();
      stop();
      this.#running.delete(running);
      if (!isOwn) throw lost();
    };
    const returned = this.#operations.version();
    const later = (stop: () => void, delayMs: number) =>
      settle(stop, () => this.#offer(key, value, token, returned, delayMs));
    let ending: Promise<void> | undefined;
    const end = () => {
      ending ??= later(() => {}, 0);
      renewal.lose(closedError(what));
      return ending;
    };
    const job: Job = {
      id,
      job: value,
      attempt: takes,
      lost: renewal.lost,
      done: async () => {
        if (isDone) return;
        await settle(
          () => renewal.stop(),
          () => store.delete(key, token),
        );
        isDone = true;
      },
      later: (delayMs) => {
        this.#hasReturned = true;
        return later(() => renewal.stop(), delayMs);
      },
    };
    const running = { job, end };
    if (renewal.isHeld) this.#running.add(running);
    renewal.lost.addEventListener("abort", () => this.#running.delete(running), { once: true });
    return running;
  }
}

/** Delays before a job comes again that could not be read. */
const UNREAD = { delayMs: 1_000, maxDelayMs: 60_000 };

/**
 * Returns the delay before a job comes again that a process could not read: its key is missing here, or another release
 * wrote it. Another process may be able to, so the job stays, and costs ever less. `takes` counts all processes.
 */
export function unreadMs(takes: number): number {
  return backoffMs(takes - 1, UNREAD);
}

/** Maximum number of jobs that are taken at once, so that other processes get some too. */
const MAX_AT_ONCE = 8;

/** Number of jobs that a worker takes at once. It grows while the queue has as many as the worker asks for. */
export class JobsAtOnce {
  readonly #most: () => number;
  #next = 1;
  #asked = 1;

  /** `most` returns the number of jobs that can be worked on now. */
  constructor(most: () => number = () => 1) {
    this.#most = most;
  }

  /** Returns the number of jobs to ask for. */
  ask(): number {
    this.#asked = Math.max(1, Math.min(this.#next, this.#most()));
    return this.#asked;
  }

  /** Notes the number of jobs that were found. */
  found(count: number): void {
    this.#next = count < this.#asked ? 1 : Math.min(this.#asked * 2, MAX_AT_ONCE);
  }
}

/** Yields jobs that were taken at once until `isEnded`. The others are returned to the queue. */
export async function* eachJob<J extends { readonly job: Pick<Job, "lost"> }>(
  taken: readonly J[],
  isEnded: () => boolean,
  giveBack: (taken: J) => Promise<unknown>,
): AsyncGenerator<J["job"]> {
  const left = new Set(taken);
  try {
    for (const one of taken) {
      if (isEnded()) return;
      left.delete(one);
      if (!one.job.lost.aborted) yield one.job;
    }
  } finally {
    await Promise.allSettled([...left].map(giveBack));
  }
}
