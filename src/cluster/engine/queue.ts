import type { Clock } from "../../call/clock.js";
import type { Job, Queue, TakeOptions } from "../cluster.js";
import { ClusterError } from "../error.js";
import { LeaseDoubts } from "../lease-doubts.js";
import { eachJob, JobsAtOnce } from "./jobs-at-once.js";
import { MAX_LIFE_MS, Renewal } from "./renewal.js";
import { Wake } from "./wake.js";

/** Maximum time between two looks at the queue, in case that a notification is lost. */
const LOOK_MS = 5000;

/** Time after which a worker looks again when the engine was away. */
const RETRY_MS = 200;

const DEFAULT_LEASE_MS = 30_000;

/** Job as the engine stores it. */
export interface StoredJob {
  readonly id: string;
  readonly job: string;
  readonly attempt: number;
}

/** Operations of an engine on jobs. `renew`, `done` and `later` resolve with false if the token has lost the job. */
export interface JobOperations {
  /** Adds a job. Resolves with false if its id is taken. */
  add(id: string, job: string, delayMs: number): Promise<boolean>;
  /**
   * Takes up to `most` jobs that are due. Resolves with the time until the next one is due if there is none, or with
   * undefined.
   */
  take(token: string, leaseMs: number, most: number): Promise<readonly StoredJob[] | number | undefined>;
  renew(id: string, token: string, leaseMs: number): Promise<boolean>;
  done(id: string, token: string): Promise<boolean>;
  later(id: string, token: string, delayMs: number): Promise<boolean>;
  /** Returns all jobs of a token to the queue. Resolves with true if there are any. */
  free(token: string): Promise<boolean>;
  /** Wakes the workers of all processes. */
  changed(): void;
}

interface Running {
  readonly job: Job;
  end(): Promise<void>;
}

/** Jobs in an engine. A job has the token of its worker and the time at which its lease ends. */
export class EngineQueue implements Queue {
  readonly #clock: Clock;
  readonly #operations: JobOperations;
  readonly #closed: AbortSignal;
  readonly #workers = new Set<Wake>();
  readonly #finding = new Set<Promise<unknown>>();
  readonly #running = new Set<Running>();
  readonly #doubts: LeaseDoubts;

  constructor(clock: Clock, operations: JobOperations, closed: AbortSignal) {
    this.#clock = clock;
    this.#operations = operations;
    this.#closed = closed;
    this.#doubts = new LeaseDoubts({ clock, release: (_, token) => this.#free(token) });
  }

  async add(id: string, job: string, { delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<boolean> {
    const isAdded = await this.#operations.add(id, job, delayMs);
    if (isAdded) this.#changed();
    return isAdded;
  }

  /** Wakes the workers of this process. */
  wake(): void {
    for (const worker of this.#workers) worker.wake();
  }

  async *take(signal: AbortSignal, { leaseMs = DEFAULT_LEASE_MS, most }: TakeOptions = {}): AsyncIterable<Job> {
    const worker = new Wake();
    const atOnce = new JobsAtOnce(most);
    const ended = [signal, this.#closed];
    const isEnded = () => ended.some(({ aborted }) => aborted);
    this.#workers.add(worker);
    try {
      while (!isEnded()) {
        const finding = this.#find(Math.min(leaseMs, MAX_LIFE_MS), atOnce.ask());
        this.#finding.add(finding);
        const found = await finding.finally(() => this.#finding.delete(finding));
        atOnce.found(typeof found === "number" ? 0 : found.length);
        if (typeof found === "number") await worker.wait(this.#clock, found, ended);
        else yield* eachJob(found, isEnded, (running) => running.end());
      }
    } finally {
      this.#workers.delete(worker);
    }
  }

  /** Returns all jobs of this process to the queue. A job that cannot be returned becomes free with its lease. */
  async close(): Promise<void> {
    this.#doubts.close();
    await Promise.allSettled(this.#finding);
    await Promise.allSettled([...this.#running].map((running) => running.end()));
  }

  /** Takes jobs. Returns the time until the next look if there is none. */
  async #find(leaseMs: number, most: number): Promise<readonly Running[] | number> {
    const token = crypto.randomUUID();
    const askedAt = this.#clock.now();
    try {
      const found = (await this.#operations.take(token, leaseMs, most)) ?? LOOK_MS;
      if (typeof found === "number") return Math.min(Math.max(Math.ceil(found), 1), LOOK_MS);
      return found.map((job) => this.#run(job, token, leaseMs, askedAt));
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "refused") throw error;
      this.#doubts.note(error, token, token, leaseMs);
      return RETRY_MS;
    }
  }

  /** Returns the jobs of a take that had no reply. */
  async #free(token: string): Promise<boolean> {
    const isFreed = await this.#operations.free(token);
    if (isFreed) this.#changed();
    return isFreed;
  }

  #run({ id, job: text, attempt }: StoredJob, token: string, leaseMs: number, askedAt: number): Running {
    const operations = this.#operations;
    const renew = () => operations.renew(id, token, leaseMs);
    const renewal = new Renewal({ clock: this.#clock, ttlMs: leaseMs, askedAt, renew });
    const lost = () => new ClusterError("fenced", `Job ${id}: its lease is lost. Another worker may have it.`);
    let isDone = false;
    const settle = async (stop: () => void, run: () => Promise<boolean>) => {
      if (!renewal.isHeld) throw lost();
      const isOwn = await run();
      stop();
      this.#running.delete(running);
      if (!isOwn) throw lost();
    };
    const later = async (stop: () => void, delayMs: number) => {
      await settle(stop, () => operations.later(id, token, delayMs));
      this.#changed();
    };
    let ending: Promise<void> | undefined;
    const end = () => {
      ending ??= later(() => {}, 0);
      renewal.lose();
      return ending;
    };
    const job: Job = {
      id,
      job: text,
      attempt,
      lost: renewal.lost,
      done: async () => {
        if (isDone) return;
        await settle(
          () => renewal.stop(),
          () => operations.done(id, token),
        );
        isDone = true;
      },
      later: (delayMs) => later(() => renewal.stop(), delayMs),
    };
    const running = { job, end };
    this.#running.add(running);
    renewal.lost.addEventListener("abort", () => this.#running.delete(running), { once: true });
    return running;
  }

  #changed(): void {
    this.wake();
    this.#operations.changed();
  }
}
