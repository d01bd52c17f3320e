import { followSignal } from "../../call/abortable.js";
import type { CallOptions } from "../../client/options.js";
import type { ToolOutcome } from "../../client/results.js";
import type { InputRequests, InputResponses } from "../../protocol/types/index.js";
import { TaskError } from "../error.js";
import { isTerminal, type Task, type TaskStatus } from "../types.js";
import { FOLLOWER, type FollowerOption, type TaskFollower } from "./extension.js";
import { type FollowedTask, notFollowed } from "./followed-task.js";

/** State of a task, with the input requests that it waits for (2026-07-28 only). */
export interface TaskState extends Task {
  readonly inputRequests?: InputRequests;
}

/**
 * Call that may run as a task. It is followed until it ends: iterate over the handle for the changes of the task, and
 * await `result` for the result. A call that the server answered without a task has no id and is completed.
 */
export class TaskHandle<Structured = unknown> implements AsyncIterable<TaskState> {
  /** Result of the call. Rejects with the same errors as a call without a task, or with a `TaskError`. */
  readonly result: Promise<ToolOutcome<Structured>>;
  readonly #end = new AbortController();
  readonly #changes: TaskState[] = [];
  #id: string | undefined;
  #run: FollowedTask | undefined;
  #task: TaskState | undefined;
  #isOver = false;
  /** Wakes the readers of changes, and the caller who waits for the first state. */
  #wake: (() => void)[] = [];

  /** @internal */
  private constructor(
    call: (options: CallOptions) => Promise<ToolOutcome<Structured>>,
    signal: AbortSignal | undefined,
    taskId: string | undefined,
  ) {
    this.#id = taskId;
    const follower: TaskFollower = {
      ...(taskId === undefined ? undefined : { taskId }),
      onRun: (run) => {
        this.#run = run;
      },
      onTask: (task) => this.#note(task),
    };
    const unfollow = signal && followSignal(signal, () => this.#end.abort(signal.reason));
    const options: CallOptions & FollowerOption = { signal: this.#end.signal, [FOLLOWER]: follower };
    this.result = call(options).finally(() => {
      unfollow?.();
      this.#isOver = true;
      this.#tell();
    });
    // A caller that only reads the changes does not await the result.
    this.result.catch(() => {});
  }

  /**
   * Starts a call, with options that are added to those of the call. Resolves when the task, or the result, is there.
   * Rejects if the call fails before.
   * @internal
   */
  static async start<Structured>(
    call: (options: CallOptions) => Promise<ToolOutcome<Structured>>,
    signal: AbortSignal | undefined,
    taskId?: string,
  ): Promise<TaskHandle<Structured>> {
    const handle = new TaskHandle(call, signal, taskId);
    while (handle.#task === undefined && !handle.#isOver) await handle.#next();
    if (handle.#task === undefined) await handle.result;
    return handle;
  }

  /** Id of the task. Another process can take the task up by it. Undefined if the server created no task. */
  get id(): string | undefined {
    return this.#id;
  }

  get status(): TaskStatus {
    return this.#task?.status ?? "completed";
  }

  /** Last known state of the task. Undefined if the server created no task. */
  get task(): TaskState | undefined {
    return this.#task;
  }

  /**
   * Answers input requests by their keys (2026-07-28 only). Only needed with `input: "manual"`. Otherwise the handlers of
   * the client answer.
   */
  async update(inputResponses: InputResponses): Promise<void> {
    if (this.#run === undefined) throw new TaskError("tasks_unsupported", "The call did not become a task", this.#id);
    await this.#run.update(inputResponses);
  }

  /**
   * Cancels the task, even one that is no longer followed. Resolves when the server has acknowledged that, and `result`
   * rejects then; the work may end later. Sends nothing if the call did not become a task, or if the task has ended.
   * Rejects if the server does not acknowledge it, as one that cannot cancel tasks (2025-11-25 only): the task is followed as
   * before, and `cancel` can be called again.
   */
  async cancel(): Promise<void> {
    if (this.#run === undefined || isTerminal(this.status)) return;
    await this.#run.cancel();
    this.#end.abort(new TaskError("task_cancelled", `The task ${this.#id} was cancelled by this client`, this.#id));
  }

  /** Stops following the task, which continues. `result` rejects with `task_detached`. */
  detach(): void {
    if (this.#id !== undefined) this.#end.abort(notFollowed(this.#id));
  }

  /**
   * Iterates over the states of the task from its creation, in order, until it ends or is no longer followed. Several
   * readers share the states.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TaskState, void, void> {
    for (;;) {
      const change = this.#changes.shift();
      if (change !== undefined) yield change;
      else if (this.#isOver) return;
      else await this.#next();
    }
  }

  #note(given: Task): void {
    const { result: _, error: __, isBare: ___, ...task } = given as TaskState & { result?: 1; error?: 1; isBare?: 1 };
    const isNew = this.#task === undefined || markOf(this.#task) !== markOf(task);
    this.#id = task.taskId;
    this.#task = task;
    if (!isNew) return;
    this.#changes.push(task);
    if (this.#changes.length > (this.#run?.limits.maxChanges ?? 1)) this.#changes.shift();
    this.#tell();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #tell(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Returns a text that differs if a reader sees a difference. */
function markOf({ status, statusMessage, lastUpdatedAt, inputRequests }: TaskState): string {
  return JSON.stringify([status, statusMessage, lastUpdatedAt, Object.keys(inputRequests ?? {})]);
}
