import { pause } from "../../call/abortable.js";
import { type Clock, LONGEST_DELAY, timeOfDay, unref } from "../../call/clock.js";
import type { Cluster, Job } from "../../cluster/cluster.js";
import { ClusterError } from "../../cluster/error.js";
import { unreadMs } from "../../cluster/queue.js";
import type { Call, OfferedEra, ServerEra } from "../../era/server-era.js";
import { isStateAway } from "../../protocol/errors.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import type { OwnerSlots } from "./limits.js";
import type { TaskMode, TasksLimits } from "./options.js";
import { ended, hasEnded, type TaskRecord } from "./record.js";
import { TaskRun } from "./run.js";
import { HeldTask, type StoredTask, TaskHandedOver, TaskLost, TaskOver, type TaskStore } from "./store.js";

/** Pause before jobs are taken again after an error, and before a job that cannot be run now is offered again. */
const RETRY_MS = 1_000;
/** Time after which a task fails if no process says that it has the tool. */
const MISSING_MS = 60_000;
/** Maximum pause before a task is looked at again whose tool is not here or is busy. It grows with each look. */
const LOOK_MS = 5_000;

/** Time after which a job is offered again. Undefined if it is done. */
type Delay = number | undefined;

/** Question of a process to the others: which of them can run a task? */
export interface SoughtTask {
  readonly id: string;
  readonly tool: string;
  /** Protocol version of the caller. */
  readonly version: string;
}

export interface WorkersOptions {
  readonly cluster: Cluster;
  readonly store: TaskStore;
  readonly host: ExtensionHost;
  readonly limits: TasksLimits;
  readonly running: RunningTasks;
  readonly slots: OwnerSlots;
  /** Returns the mode of a tool, or undefined if this process does not have it. */
  readonly modeOf: (tool: string) => TaskMode | undefined;
  /** Called after each change of a task. */
  readonly onChange: (record: TaskRecord) => void;
  /** Asks the other processes if they can run a task. */
  readonly seek: (task: SoughtTask) => void;
  /** Called with the call of each run before it starts. */
  readonly onCall: (call: TaskRun["call"]) => void;
}

/** Runs the tasks in the queue. A job has the name of its task and the number of the run. */
export class TaskWorkers {
  readonly #options: WorkersOptions;
  readonly #stopped = new AbortController();
  #isStarted = false;
  /** Number of jobs that were taken and are not finished. */
  #active = 0;
  /** Jobs that this process alone can do, and that are not done. */
  readonly #own = new Set<string>();
  #onRoom: (() => void) | undefined;
  #onIdle: (() => void)[] = [];

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Takes jobs until `stop`, or until the cluster is closed. */
  async start(): Promise<void> {
    const { cluster, host, limits } = this.#options;
    const { signal } = this.#stopped;
    this.#isStarted = true;
    while (!signal.aborted) {
      try {
        const most = () => limits.maxRunning - this.#active;
        for await (const job of cluster.queue.take(signal, { leaseMs: limits.leaseMs, most })) {
          void this.#work(job);
          while (this.#active >= limits.maxRunning && !signal.aborted) await this.#room();
        }
        return;
      } catch (error) {
        host.report(error, { where: "tasks" });
      }
      await pause(host.clock, RETRY_MS, signal);
    }
  }

  /** Takes no more jobs. */
  stop(): void {
    this.#stopped.abort();
    this.#onRoom?.();
  }

  /** Answers for a task that another process cannot run: it may wait for this one, which has the tool. */
  async answer({ id, tool, version }: SoughtTask): Promise<void> {
    const { host, modeOf, store } = this.#options;
    const isWorking = this.#isStarted && !this.#stopped.signal.aborted;
    if (!isWorking || modeOf(tool) === undefined || this.#offered(version) === undefined) return;
    await store.change(id, (record) =>
      hasEnded(record) || record.missingSince === undefined || record.server !== host.audience
        ? undefined
        : { ...record, missingSince: undefined },
    );
  }

  /** Notes a job that is in the queue and that no other process can do. */
  own(job: string): void {
    if (this.#isStarted) this.#own.add(job);
  }

  /** Resolves when no job is in work. */
  async idle(): Promise<void> {
    if (this.#active > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Resolves when no job is in work, and all jobs that this process alone can do are done. */
  async finished(): Promise<void> {
    while (this.#active + this.#own.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Works on a job. It never stays with this process: it is removed, or returned to the queue. */
  async #work(job: Job): Promise<void> {
    this.#active++;
    let delay: Delay = RETRY_MS;
    try {
      delay = this.#stopped.signal.aborted ? 0 : await this.#take(job);
    } catch (error) {
      if (!(error instanceof TaskLost)) this.#options.host.report(error, { where: "task", id: job.id });
      // What the engine refuses now may be read soon. A job or record of another release may never be.
      if (!(error instanceof TaskLost || isStateAway(error))) delay = unreadMs(job.attempt);
    }
    await this.#settle(job, delay);
    if (delay === undefined) this.#own.delete(job.id);
    this.#active--;
    this.#onRoom?.();
    if (this.#active === 0) for (const idle of this.#onIdle.splice(0)) idle();
  }

  /** Removes a job or returns it. Tries again while the engine is away, until the job belongs to another process. */
  async #settle(job: Job, delay: Delay): Promise<void> {
    const { clock } = this.#options.host;
    while (!job.lost.aborted) {
      try {
        return await (delay === undefined ? job.done() : job.later(delay));
      } catch (error) {
        if (error instanceof ClusterError && error.failure === "fenced") return;
        await pause(clock, RETRY_MS, job.lost);
      }
    }
  }

  /** Runs the task of a job, if it can be run here and now. */
  async #take(job: Job): Promise<Delay> {
    const { id, round } = parseJob(job.job);
    const { running, limits, onChange } = this.#options;
    const leave = running.expect(id);
    if (leave === undefined) return running.isLive(id) ? limits.leaseMs : RETRY_MS;
    try {
      const stored = await this.#options.store.read(id);
      if (stored === undefined) return undefined;
      if (!isDue(stored.record) || stored.record.round !== round) {
        // The process that ended the round may have been lost before it told the others.
        onChange(stored.record);
        return undefined;
      }
      // The engine may keep a task for a moment after its life, in which it must not run again.
      if (leftMs(stored.record, this.#options.host.clock) <= 0) return undefined;
      return await this.#runHere(stored, job);
    } finally {
      leave();
    }
  }

  async #runHere(stored: StoredTask, job: Job): Promise<Delay> {
    const { host, limits, modeOf, slots } = this.#options;
    const { record } = stored;
    if (record.promoted === true && !(await this.#isDead(record.id))) return limits.leaseMs;
    const mode = record.server === host.audience ? modeOf(record.tool) : undefined;
    const era = mode && (await this.#offered(record.caller.version)?.load());
    if (mode === undefined || era === undefined) return this.#wait(stored, job);
    const problem = record.stage === "running" ? lossProblem(record, mode) : undefined;
    if (problem !== undefined) return this.#fail(record, "worker_lost", problem);
    if (!this.#isAdmitted(record)) return RETRY_MS;
    const crowdedMs = slots.enter(record);
    if (crowdedMs !== undefined) return crowdedMs;
    try {
      const held = await this.#hold(stored, job);
      return held === undefined ? undefined : await this.#run(held, mode, era, job);
    } finally {
      slots.leave(record);
    }
  }

  async #run(held: HeldTask, mode: TaskMode, era: ServerEra, job: Job): Promise<Delay> {
    const { host, limits, onCall, running } = this.#options;
    const run = new TaskRun(held, { runtime: host, limits, era });
    const { end } = run.call;
    onCall(run.call);
    const leave = running.begin(held.record, run.call, mode.restartable);
    const onLost = () => end.abort(job.lost.reason);
    if (job.lost.aborted) onLost();
    job.lost.addEventListener("abort", onLost, { once: true });
    try {
      const ending = await run.run();
      const isHandedOver = ending === "lost" && end.reason instanceof TaskHandedOver;
      if (ending === "busy" || isHandedOver) {
        await held.change((record) => ({ ...record, stage: "queued" }));
        return isHandedOver ? 0 : laterMs(job);
      }
      // If the task has not ended, the job shows that its run was lost.
      return ending === "lost" ? 0 : undefined;
    } finally {
      job.lost.removeEventListener("abort", onLost);
      held.release();
      leave();
    }
  }

  /** True if the server may run a further call of the caller now. A task that is held first is written twice in vain. */
  #isAdmitted({ caller }: TaskRecord): boolean {
    const { admission } = this.#options.host;
    const call = { method: "tools/call", session: undefined, origin: { principal: caller.principal } };
    if (admission.enter(call) !== undefined) return false;
    admission.leave(call);
    return true;
  }

  /** Returns the era of a version. Undefined if this server does not serve it. */
  #offered(version: string): OfferedEra | undefined {
    return this.#options.host.eras.find(({ versions }) => versions.includes(version));
  }

  /** Leaves a task that this process cannot run to others, which are asked at each look. Fails it if none answers. */
  async #wait({ record }: StoredTask, job: Job): Promise<Delay> {
    const { store, host, seek } = this.#options;
    const now = timeOfDay(host.clock);
    const { id, tool, missingSince, caller } = record;
    if (missingSince === undefined)
      await store.change(id, (record) => (hasEnded(record) ? undefined : { ...record, missingSince: now }));
    else if (now - missingSince >= MISSING_MS)
      return this.#fail(record, "unknown_tool", `No process of this server has the tool ${tool} for this caller`);
    seek({ id, tool, version: caller.version });
    return laterMs(job);
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
    const { store, host, limits, onChange } = this.#options;
    let isHeld = false;
    const begun = await store.change(
      stored.record.id,
      (record) => {
        isHeld = isDue(record) && record.round === stored.record.round && record.fence === stored.record.fence;
        if (!isHeld) return undefined;
        const losses = record.losses + (record.stage === "running" ? 1 : 0);
        const fence = record.fence + 1;
        return { ...record, stage: "running", promoted: undefined, missingSince: undefined, fence, losses };
      },
      { known: stored },
    );
    if (begun === undefined || !isHeld) return undefined;
    const maxChars = limits.maxTaskChars;
    return new HeldTask(begun, { store, clock: host.clock, maxChars, lost: job.lost, onChange });
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  /** Ends a task that cannot run. */
  async #fail({ id, fence }: TaskRecord, code: string, message: string): Promise<Delay> {
    const { store, onChange } = this.#options;
    const error = { code: INTERNAL_ERROR, message, data: { code } };
    const stored = await store.change(id, (record) =>
      hasEnded(record) || record.fence !== fence
        ? undefined
        : ended({ ...record, fence: fence + 1 }, "failed", { error, message }),
    );
    if (stored !== undefined) onChange(stored.record);
    return undefined;
  }
}

const laterMs = ({ attempt }: Job) => Math.min(RETRY_MS * attempt, LOOK_MS);

/** True if a task may run: it has not ended, and no question is open. The job of a run that has parked may be left. */
function isDue(record: TaskRecord): boolean {
  return !hasEnded(record) && record.stage !== "waiting";
}

/** Returns why a task whose process is gone does not run again. */
function lossProblem({ losses }: TaskRecord, { restartable, attempts }: TaskMode): string | undefined {
  const gone = "The process that ran this task is gone";
  if (!restartable) return `${gone}. The tool is not restartable, so it is not run again; it may have had effects`;
  return losses + 1 >= attempts
    ? `${gone}, and so are those of all earlier attempts. The tool allows ${attempts} (task.attempts), so it is not run again`
    : undefined;
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

/** Returns the rest of the life of a task. */
export function leftMs({ createdAt, ttlMs }: TaskRecord, clock: Clock): number {
  return ttlMs === null ? Number.POSITIVE_INFINITY : createdAt + ttlMs - timeOfDay(clock);
}

interface Run {
  readonly call: Call;
  readonly restartable: boolean;
}

/** Tasks that run in this process. A task runs here once at a time. */
export class RunningTasks {
  readonly #clock: Clock;
  readonly #runs = new Map<string, Run>();
  /** Tasks that are about to run, or run. True if they are over. */
  readonly #expected = new Map<string, boolean>();
  #onIdle: (() => void)[] = [];
  #promoted = 0;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Number of calls that became tasks while they were running, or are about to. */
  get promoted(): number {
    return this.#promoted;
  }

  /** Counts a call that is about to become a task. Returns a function for the end of its task. */
  promote(): () => void {
    this.#promoted++;
    return () => {
      this.#promoted--;
      this.#tellIdle();
    };
  }

  ids(): readonly string[] {
    return [...new Set([...this.#runs.keys(), ...this.#expected.keys()])];
  }

  /** True if a task runs here and was not aborted. */
  isLive(id: string): boolean {
    const run = this.#runs.get(id);
    return run !== undefined && !run.call.end.aborted;
  }

  /**
   * Notes that a task is about to run. If it is cancelled meanwhile, its run is aborted at once. Returns a function for
   * the end of its run, or undefined if it runs here or is about to.
   */
  expect(id: string): (() => void) | undefined {
    if (this.#runs.has(id) || this.#expected.has(id)) return undefined;
    this.#expected.set(id, false);
    return () => void this.#expected.delete(id);
  }

  /** Adds a run, which is aborted when the life of its task is over. Returns a function that removes it. */
  begin(record: TaskRecord, call: Call, restartable: boolean): () => void {
    const { id } = record;
    this.#runs.set(id, { call, restartable });
    const ms = leftMs(record, this.#clock);
    // The system clock cannot wait longer. The change that ends such a run finds that the task is gone.
    const timer = ms < LONGEST_DELAY ? this.#clock.schedule(() => this.abort(id), ms) : undefined;
    unref(timer);
    if (this.#expected.get(id) === true) call.end.abort(new TaskOver(id));
    if (this.#isStopped && restartable) call.end.abort(new TaskHandedOver(id));
    return () => {
      this.#clock.cancel(timer);
      this.#runs.delete(id);
      this.#tellIdle();
    };
  }

  /** Ends the run of a task that was cancelled or has expired. */
  abort(id: string): void {
    if (this.#expected.has(id)) this.#expected.set(id, true);
    this.#runs.get(id)?.call.end.abort(new TaskOver(id));
  }

  /** Ends the runs of restartable tools, now and later, so that other processes continue their tasks. */
  stop(): void {
    this.#isStopped = true;
    for (const [id, { call, restartable }] of [...this.#runs]) if (restartable) call.end.abort(new TaskHandedOver(id));
  }

  /** Resolves when no task runs, and no call is about to become one. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle.push(resolve);
      this.#tellIdle();
    });
  }

  #tellIdle(): void {
    if (this.#runs.size + this.#promoted === 0) for (const idle of this.#onIdle.splice(0)) idle();
  }
}
