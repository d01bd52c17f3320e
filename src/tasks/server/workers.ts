import { pause, unref } from "../../call/clock.js";
import type { Cluster, Job } from "../../cluster/cluster.js";
import { McpError } from "../../protocol/errors.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { HeldTask, TaskLost } from "./held-task.js";
import { type TaskMode, type TasksLimits, timeOfDay } from "./options.js";
import { ended, hasEnded, type TaskRecord } from "./record.js";
import { type RunEnd, TaskRun } from "./run.js";
import type { StoredTask, TaskStore } from "./store.js";

/** Pause before jobs are taken again after an error, and before a job that cannot be run now is offered again. */
const RETRY_MS = 1_000;
const CROWDED_MS = 200;
/** Number of attempts after which a task fails whose tool no process has. */
const MAX_UNKNOWN = 30;

export interface WorkersOptions {
  readonly cluster: Cluster;
  readonly store: TaskStore;
  readonly host: ExtensionHost;
  readonly limits: TasksLimits;
  /** Returns the mode of a tool, or undefined if this process does not have it. */
  readonly modeOf: (tool: string) => TaskMode | undefined;
  /** Called after each change of a task. */
  readonly onChange: (record: TaskRecord) => void;
  /** Called with the call of each run before it starts. */
  readonly onCall: (call: TaskRun["call"]) => void;
}

/** Runs the tasks in the queue. A job has the name of its task and the number of the run. */
export class TaskWorkers {
  readonly #options: WorkersOptions;
  readonly #stopped = new AbortController();
  readonly #runs = new Map<string, { readonly run: TaskRun; readonly mode: TaskMode }>();
  readonly #byOwner = new Map<string, number>();
  /** Number of jobs that were taken and are not finished. */
  #active = 0;
  #onRoom: (() => void) | undefined;
  #onIdle: (() => void)[] = [];

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Number of tasks that run in this process. */
  get running(): number {
    return this.#runs.size;
  }

  /** Takes jobs until `stop`. */
  async start(): Promise<void> {
    const { cluster, host, limits } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        for await (const job of cluster.queue.take(signal, { leaseMs: limits.leaseMs })) {
          void this.#work(job);
          while (this.#active >= limits.maxRunning && !signal.aborted) await this.#room();
        }
      } catch (error) {
        host.report(error, { where: "tasks" });
      }
      await pause(host.clock, RETRY_MS, signal);
    }
  }

  /**
   * Takes no more jobs. Tasks of restartable tools are returned to the queue at once. Other ones run on; `idle` waits for
   * them.
   */
  stop(): void {
    this.#stopped.abort();
    this.#onRoom?.();
    for (const { run, mode } of [...this.#runs.values()]) if (mode.restartable) run.call.end.abort(new Stopped());
  }

  /** Resolves when no task runs. */
  idle(): Promise<void> {
    if (this.#active === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Ends the run of a task in this process. */
  abort(id: string, reason: Error): void {
    this.#runs.get(id)?.run.call.end.abort(reason);
  }

  /** Reads the tasks that run here again, since messages may have been lost. */
  async check(): Promise<void> {
    const { store } = this.#options;
    for (const id of [...this.#runs.keys()]) {
      const stored = await store.read(id);
      if (stored === undefined || hasEnded(stored.record)) this.abort(id, new TaskOver(id));
    }
  }

  async #work(job: Job): Promise<void> {
    this.#active++;
    try {
      await this.#take(job);
    } catch (error) {
      if (!(error instanceof TaskLost)) this.#options.host.report(error, { where: "task", id: job.id });
    } finally {
      this.#active--;
      this.#onRoom?.();
      if (this.#active === 0) for (const idle of this.#onIdle.splice(0)) idle();
    }
  }

  async #take(job: Job): Promise<void> {
    const { store, limits, modeOf } = this.#options;
    const { id, round } = parseJob(job.job);
    const stored = await store.read(id);
    if (stored === undefined || hasEnded(stored.record) || stored.record.round !== round) return job.done();
    const { record } = stored;
    const mode = modeOf(record.tool);
    const owner = record.caller.principal ?? "";
    if (mode === undefined && job.attempt < MAX_UNKNOWN) return job.later(RETRY_MS);
    if (mode === undefined) return this.#fail(stored, job, "unknown_tool", `No process has the tool ${record.tool}`);
    const crowded = (this.#byOwner.get(owner) ?? 0) >= limits.maxRunningPerPrincipal || this.#runs.has(id);
    if (crowded) return job.later(CROWDED_MS + CROWDED_MS * Math.random());
    if (record.promoted === true && !(await this.#isDead(id))) return job.later(limits.leaseMs);
    if (record.stage === "running") {
      const problem = lossProblem(record, mode);
      if (problem !== undefined) return this.#fail(stored, job, "worker_lost", problem);
    }
    const held = await this.#hold(stored, job);
    if (held === undefined) return job.done();
    await this.#run(held, mode, owner, job);
  }

  /** True if the process that runs a task without a job is gone. */
  async #isDead(id: string): Promise<boolean> {
    const { cluster, limits } = this.#options;
    const lease = await cluster.leases.acquire(leaseOf(id), limits.leaseMs);
    await lease?.release();
    return lease !== undefined;
  }

  /** Marks the task as running here. Earlier runs cannot write any more. Returns undefined if the task has ended. */
  async #hold(stored: StoredTask, job: Job): Promise<HeldTask | undefined> {
    const { store, host, onChange } = this.#options;
    const begun = await store.change(
      stored.record.id,
      (record) => {
        if (hasEnded(record) || record.round !== stored.record.round) return undefined;
        const losses = record.losses + (record.stage === "running" ? 1 : 0);
        return { ...record, stage: "running", promoted: undefined, fence: record.fence + 1, losses };
      },
      stored,
    );
    if (begun?.record.stage !== "running") return undefined;
    return new HeldTask(begun, { store, clock: host.clock, lost: job.lost, onChange });
  }

  async #run(held: HeldTask, mode: TaskMode, owner: string, job: Job): Promise<void> {
    const { host, limits, onCall } = this.#options;
    const { record } = held;
    const era = await eraOf(host, record.caller.version);
    const run = new TaskRun(held, { runtime: host, limits, era });
    onCall(run.call);
    this.#runs.set(record.id, { run, mode });
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1);
    const onLost = () => run.call.end.abort(job.lost.reason);
    job.lost.addEventListener("abort", onLost, { once: true });
    const timer = this.#expireAt(run, record);
    try {
      await this.#finish(await run.run(), run, held, job);
    } finally {
      host.clock.cancel(timer);
      job.lost.removeEventListener("abort", onLost);
      this.#leave(record.id, owner);
    }
  }

  /** Removes the job of a run that has ended, or returns it to the queue. */
  async #finish(end: RunEnd, run: TaskRun, held: HeldTask, job: Job): Promise<void> {
    const isStopped = end === "lost" && run.call.end.reason instanceof Stopped;
    if (end === "busy" || isStopped) {
      await held.change((record) => ({ ...record, stage: "queued" }));
      return job.later(isStopped ? 0 : RETRY_MS);
    }
    if (!job.lost.aborted) await job.done();
  }

  #expireAt(run: TaskRun, { id, createdAt, ttlMs }: TaskRecord): unknown {
    const { clock } = this.#options.host;
    if (ttlMs === null) return undefined;
    const timer = clock.schedule(() => run.call.end.abort(new TaskOver(id)), createdAt + ttlMs - timeOfDay(clock));
    unref(timer);
    return timer;
  }

  #leave(id: string, owner: string): void {
    this.#runs.delete(id);
    const others = (this.#byOwner.get(owner) ?? 1) - 1;
    if (others === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, others);
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  /** Ends a task that cannot run. */
  async #fail({ record }: StoredTask, job: Job, code: string, message: string): Promise<void> {
    const { store, onChange } = this.#options;
    const stored = await store.change(record.id, (record) =>
      hasEnded(record)
        ? undefined
        : ended({ ...record, fence: record.fence + 1 }, "failed", {
            error: { code: INTERNAL_ERROR, message, data: { code } },
            message,
          }),
    );
    if (stored !== undefined) onChange(stored.record);
    await job.done();
  }
}

/** Reason of the end of a run that goes on in another process. */
class Stopped extends Error {
  override readonly name = "Stopped";
  constructor() {
    super("the server is closing; the task goes on elsewhere");
  }
}

/** Reason of the end of a run whose task was cancelled or has expired. */
export class TaskOver extends McpError {
  override readonly name = "TaskOver";
  constructor(id: string) {
    super("task_over", `task ${id} was cancelled or has expired`);
  }
}

/** Returns why a task whose process is gone does not run again. */
function lossProblem({ losses }: TaskRecord, { restartable, attempts }: TaskMode): string | undefined {
  const gone = "The process that ran this task is gone";
  if (!restartable) return `${gone}. The tool is not restartable, so it is not run again; it may have had effects`;
  return losses + 1 >= attempts ? `${gone}, for the ${losses + 1}. time. It is not run again` : undefined;
}

/** Name of the lease of a task that runs without a job. */
export const leaseOf = (id: string) => `task:${id}`;

/** Returns the job of a run. */
export function jobOf({ id, round }: Pick<TaskRecord, "id" | "round">): { readonly id: string; readonly job: string } {
  return { id: `task:${id}:${round}`, job: JSON.stringify({ id, round }) };
}

function parseJob(job: string): { readonly id: string; readonly round: number } {
  return JSON.parse(job);
}

async function eraOf(host: ExtensionHost, version: string) {
  const offered = host.eras.find(({ versions }) => versions.includes(version));
  if (offered === undefined) throw new McpError("unknown_version", `No protocol version ${version} for a task`);
  return offered.load();
}
