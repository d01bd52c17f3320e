import { pause } from "../../call/abortable.js";
import { timeOfDay } from "../../call/clock.js";
import type { Cluster, Lease } from "../../cluster/cluster.js";
import { ClusterError } from "../../cluster/error.js";
import { anonymousPart } from "../../era/caller.js";
import type { Call } from "../../era/server-era.js";
import type { RpcError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { Retries, type TaskMessage, TaskMessages, TaskWatchers } from "./changes.js";
import { OwnerSlots, type RoomLimit, TaskRoom } from "./limits.js";
import type { TaskMode, TasksLimits } from "./options.js";
import { type PromotedTask, Promotion, type PromotionOptions } from "./promotion.js";
import {
  ended,
  hasEnded,
  malformed,
  needsJob,
  type TaskCaller,
  type TaskRecord,
  toRecord,
  withAnswers,
} from "./record.js";
import { HeldTask, type StoredTask, TaskStore } from "./store.js";
import { jobOf, leaseOf, RunningTasks, type SoughtTask, TaskWorkers } from "./workers.js";

const SWEEP_LEASE = "tasks:sweep";
/** Pause before the start is tried again while the engine is away. */
const RETRY_MS = 1_000;
/** Form of an id. Other texts are unknown, and are not looked up. */
const TASK_ID = /^[\da-f-]{36}$/;

export interface ServiceOptions {
  readonly cluster: Cluster;
  /** True if other processes may share the cluster, so that they can continue the tasks of this one. */
  readonly isShared: boolean;
  readonly host: ExtensionHost;
  readonly limits: TasksLimits;
  readonly modeOf: (tool: string) => TaskMode | undefined;
  readonly onCall: (call: Call) => void;
}

/** Caller for which a task exists. */
export type TaskOwner = Pick<TaskCaller, "principal" | "realm">;

/** Tasks of a server: creates them, answers for them, and runs them. */
export class TaskService {
  readonly watchers: TaskWatchers;
  readonly workers: TaskWorkers;
  readonly #options: ServiceOptions;
  readonly #store: TaskStore;
  readonly #room: TaskRoom;
  readonly #running: RunningTasks;
  readonly #slots: OwnerSlots;
  readonly #retries: Retries;
  readonly #messages: TaskMessages;
  readonly #stopped = new AbortController();

  constructor(options: ServiceOptions) {
    const { cluster, host } = options;
    this.#options = options;
    this.#store = new TaskStore(cluster, host.clock);
    this.#retries = new Retries(host.clock);
    this.watchers = new TaskWatchers({
      store: this.#store,
      clock: host.clock,
      lookMs: options.limits.leaseMs,
      onQueued: (record) => void this.#addMissedJob(record),
      onFailure: (id, error) => this.#retry(`read ${id}`, error, () => this.watchers.changed(id)),
    });
    this.#messages = new TaskMessages({
      bus: cluster.bus,
      hear: (message) => this.#hear(message),
      onMissed: () => {
        this.watchers.changedAll();
        void this.#check();
      },
      report: (error) => host.report(error, { where: "tasks" }),
      retry: (key, error, work) => this.#retry(key, error, work),
    });
    const onChange = (record: TaskRecord) => this.#publish(record);
    const { maxTasks, maxRunning, maxRunningPerPrincipal: each } = options.limits;
    const anonymous = (most: number) => anonymousPart(host.limits, most);
    this.#room = new TaskRoom({
      store: this.#store,
      limits: { ...options.limits, anonymousShare: anonymous(maxTasks) },
      onEnded: onChange,
      warn: (message) => host.warn(message),
    });
    this.#running = new RunningTasks(host.clock);
    this.#slots = new OwnerSlots({ each, anonymous: anonymous(maxRunning) }, host.clock);
    const seek = (task: SoughtTask) => this.#messages.tell(`seek ${task.id}`, task);
    const [store, running, slots] = [this.#store, this.#running, this.#slots];
    this.workers = new TaskWorkers({ ...options, store, running, slots, onChange, seek });
  }

  /** Number of tasks that run in this process. */
  get running(): number {
    return this.#running.size;
  }

  /** Resolves when no task runs in this process, and the others know of its tasks. */
  async idle(): Promise<void> {
    await Promise.all([this.workers.idle(), this.#running.idle()]);
    await this.#messages.told();
  }

  /** Hears changes of other processes from now on. Idempotent. */
  join(): Promise<void> {
    return this.#messages.join();
  }

  /** Takes jobs from now on, also of tasks whose process ended before their job was added. */
  async work(): Promise<void> {
    const { host } = this.#options;
    const { signal } = this.#stopped;
    void this.workers.start();
    while (!signal.aborted) {
      try {
        await this.join();
        return await this.#sweep();
      } catch (error) {
        // The cluster may be closed as soon as the server is. The next process looks for tasks without a job.
        if (signal.aborted) return;
        host.report(error, { where: "tasks" });
      }
      await pause(host.clock, RETRY_MS, signal);
    }
  }

  /**
   * Takes no more jobs. Tasks of restartable tools are left to other processes. Resolves when the other ones have ended.
   * Tasks that no other process shares continue until the server is closed (`isOver`), also those in the queue. Changes of
   * other processes are heard until then, since calls may wait for them.
   */
  async stop(isOver: boolean): Promise<void> {
    const { isShared } = this.#options;
    if (isShared) this.#running.stop();
    if (isShared || isOver) {
      this.#stopped.abort();
      this.workers.stop();
    } else await this.workers.finished();
    await this.idle();
    if (!isOver) return;
    this.#messages.stop();
    this.#retries.stop();
  }

  /**
   * Creates a task for a call. Returns the limit that is reached if there are too many. With `displaces`, tasks that wait
   * for answers may give way to it.
   */
  async create(
    call: Call,
    tool: string,
    mode: TaskMode,
    { realm, displaces }: { readonly realm?: string | undefined; readonly displaces: boolean },
  ): Promise<TaskRecord | RoomLimit> {
    const { host, cluster } = this.#options;
    const record = await toRecord(call, tool, mode, { createdAt: timeOfDay(host.clock), runtime: host, realm });
    this.#assertSize(record);
    const added = await this.#add(record, displaces).catch((error: unknown) => {
      if (!(error instanceof ClusterError) || error.failure !== "unavailable") throw error;
      host.report(error, { where: "task", id: record.id });
      throw host.busy(503, "cluster", "The task was not created: the state of the cluster is not available");
    });
    if (typeof added === "string") return added;
    await this.#enqueue(record, cluster);
    if (call.end.aborted) {
      await this.#end(record.id);
      throw call.end.reason;
    }
    return record;
  }

  /** Stores a task, or returns the limit that is reached. If it fails, no task stays as far as is possible. */
  async #add(record: TaskRecord, displaces: boolean): Promise<StoredTask | RoomLimit> {
    try {
      return await this.#room.add(record, displaces, () => this.#store.add(record));
    } catch (error) {
      await this.#store.discard(record.id).catch(() => {});
      throw error;
    }
  }

  /** Runs a call, which becomes a task if it does not end in time. `show` returns the result that tells of the task. */
  promote(
    call: Call,
    tool: string,
    mode: TaskMode & { readonly promoteAfterMs: number },
    show: PromotionOptions["show"],
  ): Promotion {
    const { host, limits } = this.#options;
    return new Promotion(call, {
      host,
      limits,
      afterMs: mode.promoteAfterMs,
      show,
      create: (journal, idempotencyKey) => this.#createPromoted(call, tool, mode, { journal, idempotencyKey }),
      onRun: (record, own) => this.#running.begin(record, own, mode.restartable),
      cancel: ({ id }) => this.#end(id),
      handOver: (held) => this.#handOver(held),
    });
  }

  /** Leaves a task that runs without a job to other processes. */
  async #handOver(held: HeldTask): Promise<void> {
    await held.change((record) => ({ ...record, stage: "queued", promoted: undefined, round: record.round + 1 }));
    await this.#addJobSoon(held.record);
  }

  /**
   * Creates the task of a call that is running here. Its job is for other processes: they take the task over when the
   * lease is free.
   */
  async #createPromoted(
    call: Call,
    tool: string,
    mode: TaskMode,
    begun: Pick<TaskRecord, "journal" | "idempotencyKey">,
  ): Promise<PromotedTask | undefined> {
    const { host, limits } = this.#options;
    const record = await toRecord(call, tool, mode, { createdAt: timeOfDay(host.clock), runtime: host });
    // A server that closes waits for the call, as for any other. No place is held for a caller that has no slot.
    if (host.draining || this.#running.promoted >= limits.maxRunning) return undefined;
    if (!this.#slots.enterNow(record)) return undefined;
    const end = this.#running.promote();
    const leave = () => {
      end();
      this.#slots.leave(record);
    };
    let task: Omit<PromotedTask, "leave"> | undefined;
    try {
      task = await this.#keepPromoted({ ...record, ...begun, stage: "running", promoted: true, fence: 1 });
    } finally {
      if (task === undefined) leave();
    }
    return task && { ...task, leave };
  }

  async #keepPromoted(record: TaskRecord): Promise<Omit<PromotedTask, "leave"> | undefined> {
    const { host, cluster, limits } = this.#options;
    const maxChars = limits.maxTaskChars;
    if (JSON.stringify(record).length > maxChars) return undefined;
    const lease = await this.#reserve(record.id);
    if (lease === undefined) return undefined;
    try {
      const stored = await this.#add(record, false);
      if (typeof stored === "string") {
        await lease.release();
        return undefined;
      }
      await this.#enqueue(record, cluster);
      const onChange = (changed: TaskRecord) => this.#publish(changed);
      return {
        held: new HeldTask(stored, { store: this.#store, clock: host.clock, maxChars, lost: lease.lost, onChange }),
        lease,
      };
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Acquires the lease of a call that is to become a task. If the engine is away, the call continues in its request. */
  async #reserve(id: string): Promise<Lease | undefined> {
    const { host, cluster, limits } = this.#options;
    try {
      await this.join();
      return await cluster.leases.acquire(leaseOf(id), limits.leaseMs);
    } catch (error) {
      host.report(error, { where: "task", id });
      return undefined;
    }
  }

  /** Returns the task of a caller. Other tasks do not exist for it. */
  async find(id: unknown, { principal, realm }: TaskOwner): Promise<TaskRecord> {
    const stored = typeof id === "string" && TASK_ID.test(id) ? await this.#store.read(id) : undefined;
    const caller = stored?.record.caller;
    const isOwn = caller?.principal === principal && caller?.realm === realm;
    if (stored === undefined || !isOwn || stored.record.server !== this.#options.host.audience) throw unknownTask();
    return stored.record;
  }

  /** Returns the task of a caller. */
  async get(id: unknown, caller: TaskOwner): Promise<TaskRecord> {
    const record = await this.find(id, caller);
    await this.#addMissedJob(record);
    return record;
  }

  /** Adds the job of a task again if the process that had to add it may have ended before. */
  async #addMissedJob(record: TaskRecord): Promise<void> {
    const { host, limits } = this.#options;
    if (needsJob(record) && timeOfDay(host.clock) - record.updatedAt >= limits.leaseMs) await this.#addJobSoon(record);
  }

  /** Adds a job. Tries again later if this fails. */
  async #addJobSoon(record: TaskRecord): Promise<void> {
    try {
      await this.#addJob(record, this.#options.cluster);
    } catch (error) {
      this.#retry(`add ${record.id}`, error, () => void this.#addJobSoon(record));
    }
  }

  /** Stores answers to open questions. Runs the task again when all are answered. */
  async update(id: unknown, given: unknown, caller: TaskOwner): Promise<void> {
    const { id: known } = await this.find(id, caller);
    if (!isObject(given)) throw malformed("/inputResponses must be an object");
    let answered = false;
    const stored = await this.#store.change(known, (record) => {
      const changed = withAnswers(record, given);
      answered = changed !== undefined;
      if (changed !== undefined) this.#assertSize(changed);
      return changed;
    });
    if (stored?.record.stage === "queued") await this.#addJobSoon(stored.record);
    if (answered && stored !== undefined) this.#publish(stored.record);
  }

  /** Ends a task. Does nothing if it has ended. */
  async cancel(id: unknown, caller: TaskOwner): Promise<TaskRecord | undefined> {
    const { id: known } = await this.find(id, caller);
    return this.#end(known);
  }

  /** Cancels a task. It is told again if it was cancelled before, since that message may have been lost. */
  async #end(id: string): Promise<TaskRecord | undefined> {
    const stored = await this.#store.change(id, (record) =>
      hasEnded(record) ? undefined : ended(record, "cancelled", {}),
    );
    if (stored?.record.stage === "cancelled") this.#publish(stored.record);
    return stored?.record;
  }

  /** Ends a task whose client refuses to answer a question. */
  async refuse(id: string, wireKey: string, error: RpcError, caller: TaskOwner): Promise<void> {
    const { rpcCode: code, message, data } = error;
    await this.find(id, caller);
    let failed = false;
    const stored = await this.#store.change(id, (record) => {
      failed = record.stage === "waiting" && Object.hasOwn(record.questions, wireKey);
      const failure = { code, message, ...(data !== undefined && { data }) };
      return failed ? ended(record, "failed", { error: failure, message }) : undefined;
    });
    if (failed && stored !== undefined) this.#publish(stored.record);
  }

  list(owner: string, after: Pick<TaskRecord, "id" | "createdAt"> | undefined, limit: number) {
    return this.#store.list(owner, after, limit);
  }

  /** Reports an error, and does some work again later. */
  #retry(key: string, error: unknown, work: () => void): void {
    this.#options.host.report(error, { where: "tasks" });
    this.#retries.add(key, work);
  }

  /** Reads the tasks that run here again, since messages may have been lost. */
  async #check(): Promise<void> {
    try {
      for (const id of this.#running.ids()) {
        const stored = await this.#store.read(id);
        if (stored === undefined || hasEnded(stored.record)) this.#running.abort(id);
      }
    } catch (error) {
      this.#retry("check", error, () => void this.#check());
    }
  }

  #hear(message: TaskMessage): void {
    if ("tool" in message) return void this.#answer(message);
    const { id, stage } = message;
    if (stage === "cancelled") this.#running.abort(id);
    this.watchers.changed(id);
  }

  /** Answers another process, which asks again if this fails. */
  #answer(sought: SoughtTask): void {
    const report = (error: unknown) => this.#options.host.report(error, { where: "task", id: sought.id });
    this.workers.answer(sought).catch(report);
  }

  /** Tells all processes that a task has changed. A lost message costs time only: clients poll. */
  #publish({ id, stage }: Pick<TaskRecord, "id" | "stage">): void {
    if (stage === "cancelled") this.#running.abort(id);
    this.#messages.tell(`tell ${id}`, { id, stage });
  }

  /** Adds the job of a new task. A task without a job does not stay. */
  async #enqueue(record: TaskRecord, cluster: Cluster): Promise<void> {
    try {
      await this.#addJob(record, cluster);
    } catch (error) {
      const message = "The task could not be queued";
      await this.#store
        .change(record.id, (stored) =>
          needsJob(stored) ? ended(stored, "failed", { error: { code: -32603, message }, message }) : undefined,
        )
        .catch(() => undefined);
      throw error;
    }
  }

  async #addJob(record: TaskRecord, { queue }: Cluster): Promise<void> {
    const { limits, isShared } = this.#options;
    const { id, job } = jobOf(record);
    if (record.promoted === true) return void (await queue.add(id, job, { delayMs: limits.leaseMs }));
    const adding = queue.add(id, job);
    if (!isShared) this.workers.own(id);
    await adding;
  }

  /** Adds the jobs of tasks that have none. One process of the cluster does so at a time. */
  async #sweep(): Promise<void> {
    const { cluster, limits } = this.#options;
    const lease = await cluster.leases.acquire(SWEEP_LEASE, limits.leaseMs);
    if (lease === undefined) return;
    try {
      for await (const record of this.#store.live()) {
        if (lease.lost.aborted || this.#stopped.signal.aborted) return;
        if (needsJob(record)) await this.#addJob(record, cluster);
      }
    } finally {
      await lease.release();
    }
  }

  #assertSize(record: TaskRecord): void {
    const { maxTaskChars } = this.#options.limits;
    const length = JSON.stringify(record).length;
    if (length > maxTaskChars)
      throw new Refusal(
        INVALID_PARAMS,
        `The task has ${length} characters of arguments and answers, more than ${maxTaskChars} (limits.maxTaskChars)`,
      );
  }
}

/** Error for a task that does not exist, has expired, or belongs to another caller. */
export function unknownTask(): Refusal {
  return new Refusal(INVALID_PARAMS, "Unknown task: it does not exist for this caller, or it has expired");
}
