import { HandlerSuspended } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import type { HandlerExtra } from "./extra.js";
import type { CompatToolResult } from "./run-handler.js";
import type { SchemaOrShape, ValuesOf } from "./shape.js";

/** State of a task. */
export type CompatTaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** Task of a call. */
export interface CompatTask {
  readonly taskId: string;
  readonly status: CompatTaskStatus;
  readonly statusMessage?: string;
  readonly ttl: number | null;
  readonly pollInterval?: number;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

/** Tasks of a call, as `extra.taskStore`. */
export interface CompatTaskStore {
  createTask(options: { readonly ttl?: number | null; readonly pollInterval?: number }): Promise<CompatTask>;
  getTask(taskId: string): Promise<CompatTask>;
  storeTaskResult(taskId: string, status: "completed" | "failed", result: CompatToolResult): Promise<void>;
  getTaskResult(taskId: string): Promise<CompatToolResult>;
  updateTaskStatus(taskId: string, status: CompatTaskStatus, statusMessage?: string): Promise<void>;
}

/** Second argument of a handler of `registerToolTask`. */
export type CompatTaskExtra = HandlerExtra & { readonly taskStore: CompatTaskStore };

type Given<I, Extra> = I extends SchemaOrShape ? [args: ValuesOf<I>, extra: Extra] : [extra: Extra];

/**
 * Handlers of `registerToolTask`. Bowline calls `createTask` and answers for the state and the result of the task itself,
 * as the official SDK does.
 */
export interface CompatTaskHandler<I> {
  createTask(...given: Given<I, CompatTaskExtra>): { task: CompatTask } | Promise<{ task: CompatTask }>;
  getTask?(...given: Given<I, CompatTaskExtra & { readonly taskId: string }>): unknown;
  getTaskResult?(...given: Given<I, CompatTaskExtra & { readonly taskId: string }>): unknown;
}

/**
 * Runs a tool that was registered with `registerToolTask`: creates its task and returns the result that the program stores.
 * A call that becomes a task of Bowline runs in the same way.
 */
export async function runToolTask(
  name: string,
  handler: { createTask(...given: never[]): unknown },
  given: readonly unknown[],
): Promise<CompatToolResult> {
  const extra = given.at(-1) as HandlerExtra;
  const store = new CallTasks(extra);
  const create = handler.createTask as (...given: unknown[]) => unknown;
  const created = await create(...given.slice(0, -1), { ...extra, ...store.asking, taskStore: store });
  const task = isObject(created) ? created.task : undefined;
  if (!isObject(task) || !store.has(task.taskId))
    throw new Error(`tool "${name}": createTask must return { task } with a task of extra.taskStore.createTask()`);
  return store.ended;
}

const ENDS: ReadonlySet<CompatTaskStatus> = new Set(["completed", "failed", "cancelled"]);

/** Tasks of one run of a handler. The first task that ends is the result of the call. */
class CallTasks implements CompatTaskStore {
  /** Functions of `extra` that ask the client. A call that continues in a later request ends this run. */
  readonly asking: Pick<HandlerExtra, "sendRequest" | "mcpReq">;
  readonly ended: Promise<CompatToolResult>;
  readonly #tasks = new Map<unknown, CompatTask>();
  readonly #results = new Map<string, CompatToolResult>();
  readonly #extra: HandlerExtra;
  #settle!: (outcome: CompatToolResult | Promise<never>) => void;
  #updates = 0;

  constructor(extra: HandlerExtra) {
    this.#extra = extra;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ended.catch(() => {});
    const { mcpReq } = extra;
    const send = this.#watch(extra.sendRequest);
    const elicitInput = this.#watch(mcpReq.elicitInput);
    const requestSampling = this.#watch(mcpReq.requestSampling);
    this.asking = { sendRequest: send, mcpReq: { ...mcpReq, send, elicitInput, requestSampling } };
    extra.signal.addEventListener("abort", () => this.#cancel(), { once: true });
  }

  has(taskId: unknown): boolean {
    return this.#tasks.has(taskId);
  }

  async createTask({ ttl = null, pollInterval }: Parameters<CompatTaskStore["createTask"]>[0]): Promise<CompatTask> {
    const now = new Date().toISOString();
    const times = { ttl, createdAt: now, lastUpdatedAt: now, ...(pollInterval !== undefined && { pollInterval }) };
    const task: CompatTask = { taskId: crypto.randomUUID(), status: "working", ...times };
    this.#tasks.set(task.taskId, task);
    return task;
  }

  async getTask(taskId: string): Promise<CompatTask> {
    const task = this.#tasks.get(taskId);
    if (task === undefined) throw new Error(`No task of this call has the id ${taskId}`);
    return task;
  }

  async storeTaskResult(taskId: string, status: "completed" | "failed", result: CompatToolResult): Promise<void> {
    this.#results.set((await this.getTask(taskId)).taskId, result);
    await this.updateTaskStatus(taskId, status);
  }

  async getTaskResult(taskId: string): Promise<CompatToolResult> {
    const result = this.#results.get((await this.getTask(taskId)).taskId);
    if (result === undefined) throw new Error(`Task ${taskId} has no result`);
    return result;
  }

  async updateTaskStatus(taskId: string, status: CompatTaskStatus, statusMessage?: string): Promise<void> {
    const task = await this.getTask(taskId);
    if (ENDS.has(task.status)) throw new Error(`Task ${taskId} is ${task.status}`);
    const lastUpdatedAt = new Date().toISOString();
    this.#tasks.set(taskId, { ...task, status, lastUpdatedAt, ...(statusMessage !== undefined && { statusMessage }) });
    if (!ENDS.has(status)) {
      this.#updates += 1;
      if (statusMessage !== undefined) await this.#extra.bowline.progress(this.#updates, undefined, statusMessage);
      return;
    }
    this.#settle(this.#results.get(taskId) ?? Promise.reject(new Error(statusMessage ?? `the task is ${status}`)));
  }

  /** Ends the tasks of a cancelled call, for programs that look at their state. */
  #cancel(): void {
    for (const { taskId, status } of this.#tasks.values())
      if (!ENDS.has(status)) void this.updateTaskStatus(taskId, "cancelled", "the call was cancelled");
  }

  /** Wraps a function that asks the client. */
  #watch<F extends (...given: never[]) => Promise<unknown>>(ask: F): F {
    return (async (...given: Parameters<F>) => {
      try {
        return await ask(...given);
      } catch (error) {
        if (error instanceof HandlerSuspended) this.#settle(Promise.reject(error));
        throw error;
      }
    }) as F;
  }
}
