import type { Cluster } from "../../cluster/cluster.js";
import { ClusterError } from "../../cluster/error.js";
import type { Call } from "../../era/server-era.js";
import { isObject } from "../../protocol/json.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import type { JsonObject } from "../../protocol/types/index.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { answerProblem } from "./execution.js";
import { HeldTask } from "./held-task.js";
import { type TaskMode, type TasksLimits, timeOfDay } from "./options.js";
import { type PromotedTask, Promotion } from "./promotion.js";
import { ended, hasEnded, NO_JOURNAL, type TaskCaller, type TaskRecord } from "./record.js";
import { ownerOf, TaskStore } from "./store.js";
import { TaskWatchers } from "./watchers.js";
import { jobOf, leaseOf, TaskOver, TaskWorkers } from "./workers.js";

const TOPIC = "tasks";
const SWEEP_LEASE = "tasks:sweep";

export interface ServiceOptions {
  readonly cluster: Cluster;
  readonly host: ExtensionHost;
  readonly limits: TasksLimits;
  readonly modeOf: (tool: string) => TaskMode | undefined;
  readonly onCall: (call: Call) => void;
}

/** Tasks of a server: creates them, answers for them, and runs them. */
export class TaskService {
  readonly watchers: TaskWatchers;
  readonly workers: TaskWorkers;
  readonly #options: ServiceOptions;
  readonly #store: TaskStore;
  /** Calls that became tasks while they were running. */
  readonly #promoted = new Map<string, Call>();
  #joined: Promise<void> | undefined;
  #leave: (() => void)[] = [];

  constructor(options: ServiceOptions) {
    const { cluster, host } = options;
    this.#options = options;
    this.#store = new TaskStore(cluster, host.clock);
    this.watchers = new TaskWatchers(this.#store, (error) => host.report(error, { where: "tasks" }));
    const onChange = (record: TaskRecord) => this.#publish(record);
    this.workers = new TaskWorkers({ ...options, store: this.#store, onChange });
  }

  /** Number of tasks that run in this process. */
  get running(): number {
    return this.workers.running + this.#promoted.size;
  }

  /** Hears changes of other processes from now on. Idempotent. */
  join(): Promise<void> {
    this.#joined ??= this.#subscribe().catch((error) => {
      this.#joined = undefined;
      throw error;
    });
    return this.#joined;
  }

  /** Takes jobs from now on, also of tasks whose process ended before their job was added. */
  async work(): Promise<void> {
    const { host } = this.#options;
    void this.workers.start();
    await this.join();
    await this.#sweep().catch((error) => host.report(error, { where: "tasks" }));
  }

  stop(): void {
    this.workers.stop();
    for (const leave of this.#leave.splice(0)) leave();
  }

  /** Creates a task for a call. Returns undefined if there are too many. */
  async create(call: Call, tool: string, mode: TaskMode): Promise<TaskRecord | undefined> {
    const { host, cluster } = this.#options;
    const record = toRecord(call, tool, mode, timeOfDay(host.clock));
    this.#assertSize(record);
    if (await this.#isFull(record)) return undefined;
    await this.#store.add(record);
    await this.#enqueue(record, cluster);
    return record;
  }

  /** Runs a call, which becomes a task if it does not end in time. */
  promote(call: Call, tool: string, mode: TaskMode, afterMs: number): Promotion {
    const { host, limits } = this.#options;
    return new Promotion(call, {
      host,
      limits,
      afterMs,
      create: (journal) => this.#createPromoted(call, tool, mode, journal),
      onRun: (id, own) => this.#promoted.set(id, own),
      onEnd: (id) => this.#promoted.delete(id),
    });
  }

  /**
   * Creates the task of a call that is running here. Its job is for other processes: they take the task over when the
   * lease is free.
   */
  async #createPromoted(
    call: Call,
    tool: string,
    mode: TaskMode,
    journal: TaskRecord["journal"],
  ): Promise<PromotedTask | undefined> {
    const { host, cluster, limits } = this.#options;
    const begun = { stage: "running", promoted: true, fence: 1, journal } as const;
    const record: TaskRecord = { ...toRecord(call, tool, mode, timeOfDay(host.clock)), ...begun };
    this.#assertSize(record);
    if (this.#promoted.size >= limits.maxRunning || (await this.#isFull(record))) return undefined;
    const lease = await cluster.leases.acquire(leaseOf(record.id), limits.leaseMs);
    if (lease === undefined) throw new ClusterError("refused", `the lease of task ${record.id} is held`);
    try {
      await this.join();
      const { id, job } = jobOf(record);
      const stored = await this.#store.add(record);
      await cluster.queue.add(id, job, { delayMs: limits.leaseMs });
      const onChange = (changed: TaskRecord) => this.#publish(changed);
      return {
        held: new HeldTask(stored, { store: this.#store, clock: host.clock, lost: lease.lost, onChange }),
        lease,
      };
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Returns the task of a caller. Other tasks do not exist for it. */
  async find(id: unknown, { principal }: { readonly principal?: string | undefined }): Promise<TaskRecord> {
    const stored = typeof id === "string" && id !== "" ? await this.#store.read(id) : undefined;
    if (stored === undefined || stored.record.caller.principal !== principal) throw unknownTask();
    return stored.record;
  }

  /** Returns the task of a caller. Adds its job again if its process may have ended before it was added. */
  async get(id: unknown, caller: { readonly principal?: string | undefined }): Promise<TaskRecord> {
    const { host, cluster, limits } = this.#options;
    const record = await this.find(id, caller);
    const isOld = timeOfDay(host.clock) - record.updatedAt > limits.leaseMs;
    if (record.stage === "queued" && isOld) await this.#addJob(record, cluster);
    return record;
  }

  /** Stores answers to open questions. Runs the task again when all are answered. */
  async update(id: unknown, given: unknown, caller: { readonly principal?: string | undefined }): Promise<void> {
    const { cluster } = this.#options;
    const { id: known } = await this.find(id, caller);
    if (!isObject(given)) throw malformed("/inputResponses must be an object");
    let answered = false;
    const stored = await this.#store.change(known, (record) => {
      const changed = withAnswers(record, given);
      answered = changed !== undefined;
      if (changed !== undefined) this.#assertSize(changed);
      return changed;
    });
    if (stored?.record.stage === "queued") await this.#addJob(stored.record, cluster);
    if (answered && stored !== undefined) this.#publish(stored.record);
  }

  /** Ends a task. Does nothing if it has ended. */
  async cancel(id: unknown, caller: { readonly principal?: string | undefined }): Promise<TaskRecord | undefined> {
    const { id: known } = await this.find(id, caller);
    let cancelled = false;
    const stored = await this.#store.change(known, (record) => {
      cancelled = !hasEnded(record);
      return cancelled ? ended(record, "cancelled", {}) : undefined;
    });
    if (cancelled && stored !== undefined) this.#publish(stored.record);
    return stored?.record;
  }

  list(owner: string, after: Pick<TaskRecord, "id" | "createdAt"> | undefined, limit: number) {
    return this.#store.list(owner, after, limit);
  }

  async #subscribe(): Promise<void> {
    const { cluster, host } = this.#options;
    this.#leave.push(
      cluster.bus.onGap(() => {
        this.watchers.changedAll();
        this.workers.check().catch((error) => host.report(error, { where: "tasks" }));
      }),
    );
    const leave = await cluster.bus.subscribe(TOPIC, (text) => this.#hear(text));
    this.#leave.push(() => void leave());
  }

  #hear(text: string): void {
    const { id, stage } = JSON.parse(text) as Pick<TaskRecord, "id" | "stage">;
    if (stage === "cancelled") this.#abort(id);
    this.watchers.changed(id);
  }

  #abort(id: string): void {
    const reason = new TaskOver(id);
    this.workers.abort(id, reason);
    this.#promoted.get(id)?.end.abort(reason);
  }

  /** Tells all processes that a task has changed. A lost message costs time only: clients poll. */
  #publish({ id, stage }: TaskRecord): void {
    const { cluster, host } = this.#options;
    const report = (error: unknown) => host.report(error, { where: "tasks" });
    if (stage === "cancelled") this.#abort(id);
    try {
      void Promise.resolve(cluster.bus.publish(TOPIC, JSON.stringify({ id, stage }))).catch(report);
    } catch (error) {
      report(error);
    }
  }

  /** Adds the job of a new task. A task without a job does not stay. */
  async #enqueue(record: TaskRecord, cluster: Cluster): Promise<void> {
    try {
      await this.#addJob(record, cluster);
    } catch (error) {
      const message = "The task could not be queued";
      await this.#store
        .change(record.id, (stored) =>
          stored.stage === "queued"
            ? ended(stored, "failed", { error: { code: -32603, message }, message })
            : undefined,
        )
        .catch(() => undefined);
      throw error;
    }
  }

  async #addJob(record: TaskRecord, { queue }: Cluster): Promise<void> {
    const { id, job } = jobOf(record);
    await queue.add(id, job);
  }

  /** Adds the jobs of tasks that have none. One process of the cluster does so at a time. */
  async #sweep(): Promise<void> {
    const { cluster, limits } = this.#options;
    const lease = await cluster.leases.acquire(SWEEP_LEASE, limits.leaseMs);
    if (lease === undefined) return;
    try {
      for await (const record of this.#store.live()) {
        if (lease.lost.aborted) return;
        if (record.stage === "queued") await this.#addJob(record, cluster);
      }
    } finally {
      await lease.release();
    }
  }

  async #isFull({ caller }: TaskRecord): Promise<boolean> {
    const { maxTasks, maxTasksPerPrincipal, maxKeptPerPrincipal } = this.#options.limits;
    const { live, own, kept } = await this.#store.count(await ownerOf(caller.principal));
    return live >= maxTasks || own >= maxTasksPerPrincipal || kept >= maxKeptPerPrincipal;
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

function toRecord(call: Call, tool: string, mode: TaskMode, createdAt: number): TaskRecord {
  return {
    format: 1,
    id: crypto.randomUUID(),
    tool,
    arguments: call.params.arguments as JsonObject | undefined,
    caller: toCaller(call),
    idempotencyKey: crypto.randomUUID(),
    createdAt,
    updatedAt: createdAt,
    ttlMs: mode.ttlMs,
    stage: "queued",
    round: 1,
    fence: 0,
    losses: 0,
    journal: NO_JOURNAL,
    questions: {},
    mark: crypto.randomUUID(),
  };
}

/** Returns the data of the caller that a task keeps: never the token. */
function toCaller({ client, origin }: Call): TaskCaller {
  const { principal, auth } = origin;
  const { token: _token, ...rest } = isObject(auth) ? auth : { token: undefined };
  return {
    principal,
    auth: isObject(auth) ? rest : undefined,
    version: client.version,
    capabilities: client.capabilities,
    info: client.info,
  };
}

/** Returns the task with answers to its open questions, or undefined if none of the answers has a question. */
function withAnswers(record: TaskRecord, given: { readonly [key: string]: unknown }): TaskRecord | undefined {
  const open = Object.entries(record.questions);
  const answered = record.stage === "waiting" ? open.filter(([wireKey]) => Object.hasOwn(given, wireKey)) : [];
  if (answered.length === 0) return undefined;
  let { journal } = record;
  for (const [wireKey, { key, request, authored }] of answered) {
    const answer = given[wireKey];
    const problem = answerProblem(request, answer);
    if (problem !== undefined) throw malformed(`/inputResponses/${wireKey}${problem.path} must be ${problem.expected}`);
    if (authored === true) {
      const { state, answers = {} } = journal.authored ?? {};
      journal = { ...journal, authored: { state, answers: { ...answers, [key]: answer } } };
    } else journal = { ...journal, answers: { ...journal.answers, [key]: answer } };
  }
  const keys = new Set(answered.map(([wireKey]) => wireKey));
  const questions = Object.fromEntries(open.filter(([wireKey]) => !keys.has(wireKey)));
  if (Object.keys(questions).length > 0) return { ...record, journal, questions };
  return { ...record, journal, questions, stage: "queued", round: record.round + 1 };
}

/** Error for a task that does not exist, has expired, or belongs to another caller. */
function unknownTask(): Refusal {
  return new Refusal(INVALID_PARAMS, "Unknown task: it does not exist for this caller, or it has expired");
}

function malformed(problem: string): Refusal {
  return new Refusal(INVALID_PARAMS, `Invalid params for tasks/update: ${problem}`);
}
