import type { CallLifetime } from "../../call/lifetime.js";
import type { ExtensionClient, InterceptingExtension } from "../../client/extensions.js";
import type { ClientCall, ClientExtension, ClientInterceptor, ToolCallOptions } from "../../client/options.js";
import { Pages } from "../../client/pages.js";
import type { ClientResult } from "../../era/client-era.js";
import { atCaller } from "../../protocol/at-caller.js";
import { afterFirstAnswer, ConnectionError, RpcError, TimeoutError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { METHOD_NOT_FOUND } from "../../protocol/jsonrpc/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import { dropOldest } from "../../protocol/oldest.js";
import type { ServerCapabilities, Tool } from "../../protocol/types/index.js";
import { TaskError } from "../error.js";
import { CANCEL_TASK, GET_TASK, TASKS_EXTENSION, type Task, UPDATE_TASK } from "../types.js";
import { FollowedTask } from "./followed-task.js";
import { TakenKeys } from "./input.js";
import { TaskListener } from "./listener.js";
import { type ResolvedOptions, resolveOptions, type TasksClientOptions } from "./options.js";
import { taskReceiver } from "./receiver.js";
import { toTask } from "./shape.js";
import { TaskWire } from "./wire.js";

/**
 * Turns tasks on: `connect(target, { extensions: [tasksClient()] })`. A call that the server answers with a task then resolves
 * with the result of the task. Several clients may share the object.
 */
export function tasksClient(options: TasksClientOptions = {}): ClientExtension {
  const resolved = atCaller(tasksClient, () => resolveOptions(options));
  const extension: InterceptingExtension = {
    id: TASKS_EXTENSION,
    results: { task: { method: ["tools/call", GET_TASK], resolve: (result) => result } },
    names: { [GET_TASK]: "taskId", [UPDATE_TASK]: "taskId", [CANCEL_TASK]: "taskId" },
    intercept: (client) => new TaskCalls(client, resolved).intercept,
    receiver: resolved.receive ? taskReceiver(resolved.limits) : undefined,
  };
  return extension;
}

/** Option of a call that follows the call's task. It is a symbol, so that it reaches the extension and nothing else. */
export const FOLLOWER = Symbol("bowline.task.follower");

/** Follower of a call that may become a task. */
export interface TaskFollower {
  /** Id of a task that exists already. Nothing is sent for the call then. */
  readonly taskId?: string;
  onRun(run: FollowedTask): void;
  onTask(task: Task): void;
}

export interface FollowerOption {
  readonly [FOLLOWER]?: TaskFollower;
}

type Next = (call: ClientCall) => Promise<ClientResult>;

type FollowedCall = Omit<ClientCall, "options"> & {
  readonly options: ToolCallOptions & FollowerOption;
};

/** Calls of one client. It asks for tasks where the protocol version requires that, and follows those that it gets. */
class TaskCalls {
  readonly #client: ExtensionClient;
  readonly #options: ResolvedOptions;
  readonly #listener: TaskListener;
  readonly #taken = new TakenKeys();
  /** Listed tools that run as tasks on request (2025-11-25 only). */
  readonly #tools = new Set<string>();

  constructor(client: ExtensionClient, options: ResolvedOptions) {
    this.#client = client;
    this.#options = options;
    this.#listener = new TaskListener(client, options);
  }

  readonly intercept: ClientInterceptor = async (given, next) => {
    const call: FollowedCall = given;
    const began = this.#client.clock.now();
    const taskId = call.options[FOLLOWER]?.taskId;
    if (taskId !== undefined) return this.#follow(taskId, undefined, call, began);
    const [sent, result] = await this.#send(this.#augmented(call), next);
    if (call.method === "tools/list") this.#learn(result);
    const created = createdTask(sent, result);
    return created === undefined ? result : this.#follow(created.taskId, created, call, began);
  };

  /** Sends a call. Returns it as it was sent at last, and its result. */
  async #send(call: FollowedCall, next: Next): Promise<readonly [FollowedCall, ClientResult]> {
    try {
      return [call, await next(call)];
    } catch (error) {
      const again = await this.#augmentedAfter(error, call);
      return [again, await next(again)];
    }
  }

  /** Follows a task until it ends. Any failure is one of a call whose task exists, so that it must not be repeated. */
  async #follow(id: string, first: Task | undefined, call: FollowedCall, began: number): Promise<ClientResult> {
    try {
      return await this.#track(id, first, call, began);
    } catch (error) {
      throw afterFirstAnswer(error);
    }
  }

  /** The call's limits hold: one of them ends the call, and cancels the task. */
  async #track(id: string, first: Task | undefined, call: FollowedCall, began: number): Promise<ClientResult> {
    const { options } = call;
    const { [FOLLOWER]: follower, signal, input, deadlineMs = this.#client.options.deadlineMs } = options;
    const wire = new TaskWire(id, this.#client, options);
    const run = new FollowedTask({
      client: this.#client,
      options: this.#options,
      wire,
      onTask: follower && ((task) => follower.onTask(task)),
      isManual: (input ?? this.#client.options.input) === "manual",
      taken: this.#taken.open(id),
      listen: (onTask) => this.#listener.listen(wire, onTask),
    });
    follower?.onRun(run);
    const leftMs =
      deadlineMs === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(0, deadlineMs - (this.#client.clock.now() - began));
    const limits = { signal, timeoutMs: Number.POSITIVE_INFINITY, deadlineMs: leftMs };
    let life: CallLifetime | undefined;
    try {
      return await this.#client.calls.runOffWire(call.method, limits, (lifetime) => {
        life = lifetime;
        return run.follow(first, lifetime);
      });
    } catch (error) {
      const isAborted = life === undefined || life.aborted;
      const isKnown = first !== undefined || run.isKnown;
      const isAbandoned = isKnown && (isAborted ? !leavesTask(error) : run.hasGivenUp);
      if (isAbandoned) void run.abandon();
      const isTooLate = isAborted && error instanceof TimeoutError && deadlineMs !== undefined;
      throw isTooLate ? tooLate(`${call.method}: the task ${id}`, deadlineMs, isAbandoned) : error;
    } finally {
      this.#taken.close(id);
    }
  }

  /** Adds the request for a task, if the tool supports tasks and the protocol version lets clients ask. */
  #augmented(call: FollowedCall): FollowedCall {
    if (!this.#mayAsk(call)) return call;
    const { tool } = call.options;
    const isTask = tool === undefined ? this.#tools.has(String(call.params?.name)) : runsAsTask(tool);
    return isTask ? this.#withTask(call) : call;
  }

  /** True if a call may ask for a task, and does not yet. */
  #mayAsk(call: FollowedCall): boolean {
    if (call.method !== "tools/call" || !this.#options.experimental || call.params?.task !== undefined) return false;
    const { era, server } = this.#client.calls.connected();
    return era.declaresOnce && offersTasks(server.capabilities);
  }

  #withTask(call: FollowedCall): FollowedCall {
    return { ...call, params: { ...call.params, task: { ttl: this.#options.ttlMs } } };
  }

  /**
   * Returns the call with the request for a task, if a server has refused it because its tool runs as a task only, which
   * the client did not know yet. Throws the error otherwise.
   */
  async #augmentedAfter(error: unknown, call: FollowedCall): Promise<FollowedCall> {
    const isRefused = error instanceof RpcError && error.rpcCode === METHOD_NOT_FOUND && !error.local;
    if (!isRefused || call.options.tool !== undefined || !this.#mayAsk(call)) throw error;
    const { name } = call.params as { readonly name?: unknown };
    const { signal, timeoutMs, deadlineMs } = call.options;
    const list = (at: Params | undefined) =>
      this.#client.calls.call(
        { method: "tools/list", params: at, options: { signal, timeoutMs, deadlineMs } },
        (page) => page,
      );
    for await (const tool of new Pages<Tool>("tools", list, this.#client.limits)) {
      // The server refuses each call of such a tool without a task, so that no handler has run.
      if (tool.name === name && supportOf(tool) === "required") return this.#withTask(call);
    }
    throw error;
  }

  #learn({ tools }: ClientResult): void {
    for (const tool of tools as readonly Tool[]) {
      this.#tools.delete(tool.name);
      if (runsAsTask(tool)) this.#tools.add(tool.name);
    }
    dropOldest(this.#tools, this.#client.limits.maxTools);
  }
}

/** Returns the task that a call got instead of its result. */
function createdTask({ method, params }: FollowedCall, result: ClientResult): Task | undefined {
  if (method !== "tools/call") return undefined;
  if (result.resultType === "task") return toTask(method, result);
  return params?.task !== undefined && isObject(result.task) ? toTask(method, result.task) : undefined;
}

function runsAsTask(tool: Tool): boolean {
  const support = supportOf(tool);
  return support === "optional" || support === "required";
}

function supportOf({ execution }: Tool): unknown {
  return (execution as { readonly taskSupport?: unknown } | undefined)?.taskSupport;
}

/** True if the server declared that calls may ask for tasks. */
export function offersTasks({ tasks }: ServerCapabilities): boolean {
  const { requests } = (tasks ?? {}) as { readonly requests?: { readonly tools?: { readonly call?: unknown } } };
  return isObject(requests?.tools?.call);
}

/** Creates the error for the option of the call, of which the part before the task was taken off. */
function tooLate(task: string, deadlineMs: number, isAbandoned: boolean): TimeoutError {
  const message = `${task} was not finished within ${deadlineMs} ms (deadlineMs)`;
  return new TimeoutError(
    "deadline",
    deadlineMs,
    isAbandoned ? `${message}, and is cancelled` : message,
    "answer_lost",
  );
}

/** True if this end of a call does not cancel its task: the connection ended, or the caller left or cancelled the task. */
function leavesTask(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof TaskError && (error.code === "task_detached" || error.code === "task_cancelled");
}
