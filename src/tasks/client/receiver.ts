import { AbortSwitch } from "../../call/abort-switch.js";
import { untilAborted } from "../../call/abortable.js";
import { timeOfDay, unref } from "../../call/clock.js";
import type { ClientResult, ClientRuntime, ReceivedRequests, RequestReceiver } from "../../era/client-era.js";
import { RpcError, toError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { INTERNAL_ERROR, INVALID_PARAMS, LIMIT_EXCEEDED } from "../../protocol/jsonrpc/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import {
  CANCEL_TASK,
  GET_TASK,
  isTerminal,
  LIST_TASKS,
  RELATED_TASK_KEY,
  TASK_RESULT,
  type TaskStatus,
} from "../types.js";
import type { TasksClientLimits } from "./options.js";

/** Methods that a server may ask to run as tasks, with their places in the capabilities. */
const KINDS = {
  "elicitation/create": ["elicitation", "create"],
  "sampling/createMessage": ["sampling", "createMessage"],
};

/** Creates the receiver of requests that ask for a task (2025-11-25 only). */
export function taskReceiver(limits: TasksClientLimits): RequestReceiver {
  return {
    declare(capabilities) {
      const declared = Object.values(KINDS).filter(([kind]) => kind !== undefined && kind in capabilities);
      if (declared.length === 0) return capabilities;
      const requests = Object.fromEntries(declared.map(([kind, method]) => [kind, { [method as string]: {} }]));
      return { ...capabilities, tasks: { list: {}, cancel: {}, requests } };
    },
    open: (runtime) => new ReceivedTasks(runtime, limits),
  };
}

/** Request of the server that runs as a task. */
interface ReceivedTask {
  readonly id: string;
  readonly end: AbortSwitch;
  readonly createdAt: string;
  readonly ttl: number;
  readonly timer: unknown;
  readonly outcome: Promise<ClientResult>;
  updatedAt: string;
  status: TaskStatus;
}

/** Tasks that the server of one connection has created in this client. */
class ReceivedTasks implements ReceivedRequests {
  readonly #runtime: ClientRuntime;
  readonly #limits: TasksClientLimits;
  readonly #tasks = new Map<string, ReceivedTask>();

  constructor(runtime: ClientRuntime, limits: TasksClientLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  readonly answer: ReceivedRequests["answer"] = async (method, params, end, progress) => {
    if (method === LIST_TASKS) return { tasks: [...this.#tasks.values()].map(stateOf) };
    if (method === GET_TASK) return stateOf(this.#find(params));
    if (method === CANCEL_TASK) return this.#cancel(this.#find(params));
    if (method === TASK_RESULT) return this.#result(this.#find(params), end);
    if (!Object.hasOwn(KINDS, method) || !isObject(params?.task))
      return this.#runtime.answer(method, params, end, progress);
    return { task: stateOf(this.#create(method, params, params.task.ttl)) };
  };

  close(reason: Error): void {
    for (const task of [...this.#tasks.values()]) this.#remove(task, reason);
  }

  #create(method: string, params: Params, asked: unknown): ReceivedTask {
    this.#makeRoom();
    const { maxReceivedMs } = this.#limits;
    const { clock } = this.#runtime;
    const end = new AbortSwitch();
    const ttl = typeof asked === "number" && asked > 0 ? Math.min(asked, maxReceivedMs) : maxReceivedMs;
    const { task: _, ...question } = params;
    const outcome = untilAborted(
      this.#runtime.answer(method, question, end, () => {}),
      end,
    );
    const id = crypto.randomUUID();
    const timer = clock.schedule(() => this.#remove(task, new Error(`The task has not ended within ${ttl} ms`)), ttl);
    unref(timer);
    const at = this.#now();
    const task: ReceivedTask = { id, end, createdAt: at, updatedAt: at, ttl, timer, outcome, status: "working" };
    outcome.then(
      () => this.#ended(task, "completed"),
      () => this.#ended(task, "failed"),
    );
    this.#tasks.set(id, task);
    return task;
  }

  /** Removes the oldest task that has ended, if there are too many. Throws if none has. */
  #makeRoom(): void {
    const { maxReceived: most } = this.#limits;
    if (this.#tasks.size < most) return;
    const oldest = [...this.#tasks.values()].find(({ status }) => isTerminal(status));
    if (oldest === undefined)
      throw new RpcError(LIMIT_EXCEEDED, `This client runs at most ${most} tasks (limits.maxReceived of tasksClient)`);
    this.#remove(oldest, undefined);
  }

  #cancel(task: ReceivedTask): object & ClientResult {
    if (isTerminal(task.status)) throw new RpcError(INVALID_PARAMS, "The task has ended already");
    this.#ended(task, "cancelled");
    task.end.abort(cancelledTask());
    return stateOf(task);
  }

  /** Waits for the end of a task. Ends with the request for the result too, which leaves the task alone. */
  async #result(task: ReceivedTask, end: AbortSwitch): Promise<ClientResult> {
    try {
      const result = await untilAborted(task.outcome, end);
      const _meta = { ...(isObject(result._meta) ? result._meta : undefined), [RELATED_TASK_KEY]: { taskId: task.id } };
      return { ...result, _meta };
    } catch (error) {
      if (error instanceof RpcError || end.aborted) throw error;
      this.#runtime.onProblem(toError(error));
      throw new RpcError(INTERNAL_ERROR, "Internal error");
    }
  }

  #find(params: Params | undefined): ReceivedTask {
    const task = this.#tasks.get(String(params?.taskId));
    if (task === undefined) throw new RpcError(INVALID_PARAMS, "This client has no such task");
    return task;
  }

  #ended(task: ReceivedTask, status: TaskStatus): void {
    if (isTerminal(task.status)) return;
    task.status = status;
    task.updatedAt = this.#now();
  }

  #remove(task: ReceivedTask, reason: unknown): void {
    this.#tasks.delete(task.id);
    this.#runtime.clock.cancel(task.timer);
    task.end.abort(reason);
  }

  #now(): string {
    return new Date(timeOfDay(this.#runtime.clock)).toISOString();
  }
}

function stateOf({ id, status, createdAt, updatedAt, ttl }: ReceivedTask): ClientResult {
  return { taskId: id, status, createdAt, lastUpdatedAt: updatedAt, ttl };
}

function cancelledTask(): RpcError {
  return new RpcError(INVALID_PARAMS, "The task was cancelled");
}
