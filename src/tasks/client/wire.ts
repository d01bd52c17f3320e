import type { ExtensionClient } from "../../client/extensions.js";
import type { CallOptions } from "../../client/options.js";
import type { ClientEra, ClientResult } from "../../era/client-era.js";
import { callToolResult, callToolResultWithoutContent } from "../../era/result-shapes.js";
import { McpError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import { mustBe } from "../../protocol/text.js";
import type { InputResponses } from "../../protocol/types/index.js";
import { TaskError } from "../error.js";
import { CANCEL_TASK, type DetailedTask, GET_TASK, isTerminal, TASK_RESULT, type Task, UPDATE_TASK } from "../types.js";
import { assertSame, memberOf, toDetailedTask, toTask } from "./shape.js";

/** State of a task as a poll finds it. A state without details ends with a result that is requested separately. */
export type PolledTask = DetailedTask | (Task & { readonly isBare: true });

/** Requests about one task, in the form of the protocol version. */
export class TaskWire {
  readonly #client: ExtensionClient;
  readonly #limits: CallOptions;
  readonly #era: ClientEra;
  /** True if the results of tasks are requested separately, and questions come as requests of the server. */
  readonly isBare: boolean;

  constructor(
    readonly id: string,
    client: ExtensionClient,
    /** Options of the call that the task belongs to. Its timeout holds for each request. */
    { timeoutMs, capabilities }: CallOptions,
  ) {
    this.#client = client;
    this.#limits = { timeoutMs, capabilities };
    this.#era = client.calls.connected().era;
    this.isBare = this.#era.declaresOnce;
  }

  async poll(signal: AbortSignal): Promise<PolledTask> {
    const result = await this.#request(GET_TASK, {}, within(signal));
    const task = this.isBare
      ? { ...toTask(GET_TASK, result), isBare: true as const }
      : toDetailedTask(GET_TASK, result);
    assertSame(GET_TASK, task, this.id);
    return task;
  }

  /** Waits for the result of a task (2025-11-25 only). */
  async result(signal: AbortSignal): Promise<ClientResult> {
    return this.toResult(await this.#request(TASK_RESULT, {}, within(signal)));
  }

  /** Checks the result of a task in the same way as the result of a call. */
  toResult(result: ClientResult): ClientResult {
    const problem = (this.isBare ? callToolResultWithoutContent : callToolResult)(result);
    if (problem === undefined) return { content: [], ...result };
    throw new McpError("invalid_result", `tools/call: the result of the task is invalid: ${mustBe(problem)}`, {
      cause: result,
    });
  }

  /** Returns the outcome of a task that has ended. */
  outcome(task: DetailedTask): ClientResult {
    if (task.status === "completed") return this.toResult(memberOf(GET_TASK, { result: task.result }, "result"));
    if (task.status === "failed") throw this.#era.toError(task.error, "tools/call");
    throw cancelled(task);
  }

  async update(inputResponses: InputResponses, signal?: AbortSignal): Promise<void> {
    if (this.isBare)
      throw new TaskError("tasks_unsupported", `${UPDATE_TASK} does not exist in this protocol version`, this.id);
    await this.#request(UPDATE_TASK, { inputResponses }, signal === undefined ? {} : within(signal));
  }

  /** Cancels the task. Sends nothing if the server did not declare that (2025-11-25 only). */
  async cancel(): Promise<void> {
    const { tasks } = this.#client.calls.connected().server.capabilities;
    if (this.isBare && !isObject(tasks?.cancel))
      throw new TaskError("tasks_unsupported", `${CANCEL_TASK} was not sent: the server did not announce it`, this.id);
    await this.#request(CANCEL_TASK, {}, {});
  }

  #request(method: string, params: Params, options: CallOptions): Promise<ClientResult> {
    const call = { method, params: { taskId: this.id, ...params }, options: { ...this.#limits, ...options } };
    return this.#client.calls.call(call, (result) => result);
  }
}

/** Returns the limits of a request of a run, which alone has a deadline. */
function within(signal: AbortSignal): CallOptions {
  return { signal, deadlineMs: Number.POSITIVE_INFINITY };
}

export function cancelled({ taskId, statusMessage }: Task): TaskError {
  const why = statusMessage === undefined ? "" : `: ${statusMessage}`;
  return new TaskError("task_cancelled", `The task ${taskId} was cancelled${why}`, taskId);
}

/** True if the state has its outcome. */
export function hasEnded(task: PolledTask): boolean {
  return isTerminal(task.status) && (!("isBare" in task) || task.status === "cancelled");
}
