import { memoryCluster } from "../../cluster/memory/state.js";
import { missingCapability } from "../../era/capabilities.js";
import type { Call, Result } from "../../era/server-era.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import { assertOptions, withDefaults } from "../../protocol/known-options.js";
import type { CallViews } from "../../server/call-info.js";
import { Caller } from "../../server/context.js";
import type { MethodHandler } from "../../server/definitions/custom-method.js";
import { type ExtensionHost, ServerExtension } from "../../server/extensions/extension.js";
import { CANCEL_TASK, GET_TASK, TASK_CHANGED, TASKS_EXTENSION, UPDATE_TASK } from "../types.js";
import { AugmentedTasks } from "./augmented.js";
import { refusedWhileAway } from "./away.js";
import { tooManyTasks } from "./limits.js";
import {
  assertLimits,
  TASKS_LIMITS,
  TASKS_OPTIONS,
  type TaskMode,
  type TasksLimits,
  type TasksOptions,
  toMode,
} from "./options.js";
import { type TaskRecord, toCreated, toTask } from "./record.js";
import { TaskService } from "./service.js";

type Next = (call: Call) => Promise<Result>;

interface TaskParts {
  readonly host: ExtensionHost;
  readonly service: TaskService;
  readonly augmented: AugmentedTasks;
}

const POLL_MS = 1_000;
/** Code of a header that differs from the body. */
const HEADER_MISMATCH = -32020;

/**
 * Creates the extension that runs tools as tasks.
 *
 * @example
 * ```ts
 * server.extend(tasks()).tool("report", { task: "optional" }, async (_args, ctx) => {
 *   const lines = await ctx.step("read", () => ["a", "b"]);
 *   return lines.join();
 * });
 * ```
 */
export function tasks(options: TasksOptions = {}): TasksExtension {
  return atCaller(tasks, () => new TasksExtension(options));
}

/** Extension that runs tools as tasks. It belongs to one server. */
export class TasksExtension extends ServerExtension {
  readonly #options: TasksOptions;
  readonly #limits: TasksLimits;
  readonly #pollIntervalMs: number;
  readonly #modes = new WeakMap<object, TaskMode>();
  /** Calls of tasks that run. They do not become tasks again. */
  readonly #taskCalls = new WeakSet<Call>();
  #host: ExtensionHost | undefined;
  #parts: TaskParts | undefined;

  /** @internal */
  constructor(options: TasksOptions) {
    super({ id: TASKS_EXTENSION, results: { task: "tools/call" } });
    assertOptions("tasks", options, TASKS_OPTIONS);
    const { pollIntervalMs = POLL_MS } = options;
    this.#options = options;
    this.#limits = withDefaults(options.limits, TASKS_LIMITS);
    assertLimits(this.#limits);
    this.#pollIntervalMs = pollIntervalMs;
    this.#define();
  }

  /** Number of tasks that run in this process. */
  get running(): number {
    return this.#parts?.service.running ?? 0;
  }

  /** Resolves when no task runs in this process. */
  async idle(): Promise<void> {
    await this.#parts?.service.idle();
  }

  /** @internal */
  override installIn(host: ExtensionHost): void {
    if (this.#host !== undefined)
      throw new DefinitionError("tasks: the extension is already installed; create one with tasks() for each server");
    host.use((call, next) => this.#intercept(call, next));
    super.installIn(host);
    this.#host = host;
    // Without a cluster, the first call starts it: until then the server may join one.
    if ((this.#options.cluster ?? host.options.cluster) !== undefined) this.#parts = this.#start(host);
    else {
      const { onShare } = host;
      host.onShare = () => {
        onShare?.();
        void this.#runtime;
      };
    }
  }

  /** Creates the tasks in the cluster, or in the memory of this process, and takes jobs. */
  #start(host: ExtensionHost): TaskParts {
    const shared = this.#options.cluster ?? host.options.cluster;
    const cluster = shared ?? memoryCluster({ clock: host.clock });
    const report = (error: unknown) => host.report(error, { where: "tasks" });
    const modeOf = (tool: unknown) => this.#modeOf(tool);
    const service = new TaskService({
      cluster,
      isShared: shared !== undefined,
      host,
      limits: this.#limits,
      modeOf,
      onCall: (call) => this.#taskCalls.add(call),
    });
    const augmented = new AugmentedTasks({
      host,
      service,
      pollIntervalMs: this.#pollIntervalMs,
      modeOf,
      sees: (call, tool) => this.#sees(call, tool),
    });
    host.onClosing((isOver) => {
      const stopped = service.stop(isOver);
      // Nobody can ask for tasks in the memory of a server that is closed.
      if (shared === undefined && isOver) cluster.close().catch(report);
      return stopped.catch(report);
    });
    if (this.#options.work !== false) void service.work();
    return { host, service, augmented };
  }

  #define(): void {
    this.#method(GET_TASK, async ({ taskId }, ctx) =>
      toTask(await this.#service.get(taskId, ctx), this.#pollIntervalMs),
    );
    this.#method(UPDATE_TASK, async ({ taskId, inputResponses }, ctx) => {
      await this.#service.update(taskId, inputResponses, ctx);
      return {};
    });
    this.#method(CANCEL_TASK, async ({ taskId }, ctx) => {
      await this.#service.cancel(taskId, ctx);
      return {};
    });
    this.topic("taskIds", (wanted, call) => this.#watch(wanted, this.#views.callOf(call)));
  }

  /** Views of the server in which this extension is installed. */
  get #views(): CallViews {
    return (this.#host as ExtensionHost).views;
  }

  /** Handles a method of tasks. Over HTTP it has the id in the header `Mcp-Name`, by option only if there is one. */
  #method(method: string, serve: MethodHandler<undefined>): void {
    const handler: MethodHandler<undefined> = (params, ctx) =>
      refusedWhileAway(this.#runtime.host, async () => serve(params, ctx));
    if (this.#options.requireName !== false) return void this.method(method, { nameFrom: "taskId" }, handler);
    this.method(method, {}, (params, ctx) => {
      const given = ctx.header("mcp-name");
      if (given !== undefined && given !== params.taskId)
        throw new Refusal(HEADER_MISMATCH, "Header mismatch: Mcp-Name is not the taskId of the body");
      return handler(params, ctx);
    });
  }

  get #service(): TaskService {
    return this.#runtime.service;
  }

  get #runtime(): TaskParts {
    if (this.#host === undefined) throw new DefinitionError("tasks: the extension is not installed in a server");
    this.#parts ??= this.#start(this.#host);
    return this.#parts;
  }

  /** Serves the calls that concern tasks. Passes on all others, and the calls of tasks that run. */
  #intercept(call: Call, next: Next): Promise<Result> {
    if (this.#taskCalls.has(call)) return next(call);
    const { augmented } = this.#runtime;
    if (augmented.serves(call)) return augmented.serve(call, next);
    const mode = call.method === "tools/call" && call.era.typesResults ? this.#modeOf(call.params.name) : undefined;
    if (mode === undefined) return next(call);
    if (this.settingsOf(call) !== undefined) return this.#call(call, mode, next);
    if (mode.support === "required") throw missingCapability({ extensions: { [TASKS_EXTENSION]: {} } });
    return next(call);
  }

  /** Creates a task for a call of a client that declared tasks. */
  async #call(call: Call, mode: TaskMode, next: Next): Promise<Result> {
    const { host, service } = this.#runtime;
    const { name } = call.params;
    // A tool that the caller may not see is refused as it is without tasks.
    if (!(await this.#sees(call, name as string))) return next(call);
    const { promoteAfterMs } = mode;
    if (promoteAfterMs !== undefined) {
      const show = (record: TaskRecord) => this.#created(record);
      return service.promote(call, name as string, { ...mode, promoteAfterMs }, show).run(next);
    }
    if (isLaterRound(call, mode)) return next(call);
    // A call that can run in its request needs no place of another task.
    const mayRunHere = this.#options.whenFull !== "refuse" && mode.support === "optional";
    const created = await service.create(call, name as string, mode, { displaces: !mayRunHere });
    if (typeof created !== "string") return this.#created(created);
    if (mayRunHere) return next(call);
    throw tooManyTasks(host, created);
  }

  async #sees(call: Call, tool: string): Promise<boolean> {
    const { host } = this.#runtime;
    return (await host.registry.tools.find(tool, new Caller(call, host))) !== undefined;
  }

  #created(record: TaskRecord): Result {
    return { resultType: "task", ...toCreated(record, this.#pollIntervalMs) };
  }

  async #watch(wanted: unknown, call: Call) {
    const { maxWatchedTasks } = this.#limits;
    if (!Array.isArray(wanted) || !wanted.every((id) => typeof id === "string") || wanted.length > maxWatchedTasks)
      throw new Refusal(
        INVALID_PARAMS,
        `subscriptions/listen: taskIds must be an array of at most ${maxWatchedTasks} strings (limits.maxWatchedTasks)`,
      );
    const { host, service } = this.#runtime;
    const found = await refusedWhileAway(host, async () => {
      await service.join();
      return Promise.all([...new Set<string>(wanted)].map((id) => findTask(service, id, call)));
    });
    const known = new Map(found.flatMap((record) => (record === undefined ? [] : [[record.id, knownSince(record)]])));
    return {
      honoured: [...known.keys()],
      start: (send: (method: string, params: object) => void | Promise<void>) =>
        service.watchers.watch(known, (record) => send(TASK_CHANGED, toTask(record, this.#pollIntervalMs))),
    };
  }

  #modeOf(name: unknown): TaskMode | undefined {
    const options = this.#host?.registry.tools.get(name as string)?.options;
    if (options?.task === undefined) return undefined;
    let mode = this.#modes.get(options);
    if (mode === undefined) {
      mode = toMode(options.task, this.#options);
      this.#modes.set(options, mode);
    }
    return mode;
  }
}

/**
 * True if an earlier round of the call ran in its request. Its steps and answers are in the params, and are valid in a
 * request only. A tool that runs as a task only never sends answers to be repeated without a state.
 */
function isLaterRound({ params }: Call, { support }: TaskMode): boolean {
  const { requestState = null, inputResponses = null } = params;
  return requestState !== null || (inputResponses !== null && support === "optional");
}

/**
 * Returns the time of the state that a client which subscribes knows. A task that waits or has ended meanwhile is sent at
 * once, since the client would not hear of it any more.
 */
function knownSince({ stage, createdAt, updatedAt }: TaskRecord): number {
  return stage === "queued" || stage === "running" ? updatedAt : createdAt;
}

/** Returns the task of a caller, or undefined if it is unknown. */
async function findTask(service: TaskService, id: string, { origin }: Call): Promise<TaskRecord | undefined> {
  try {
    return await service.find(id, origin);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
