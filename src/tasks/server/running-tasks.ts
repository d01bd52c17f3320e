import { type Clock, LONGEST_DELAY, unref } from "../../call/clock.js";
import type { Call } from "../../era/server-era.js";
import { McpError } from "../../protocol/errors.js";
import { timeOfDay } from "./options.js";
import type { TaskRecord } from "./record.js";

/** Reason of the end of a run whose task was cancelled or has expired. */
export class TaskOver extends McpError {
  override readonly name = "TaskOver";
  constructor(id: string) {
    super("task_over", `task ${id} was cancelled or has expired`);
  }
}

/** Reason of the end of a run whose task goes on in another process. */
export class TaskHandedOver extends McpError {
  override readonly name = "TaskHandedOver";
  constructor(id: string) {
    super("task_handed_over", `the server is closing; task ${id} goes on in another process`);
  }
}

interface Run {
  readonly call: Call;
  readonly restartable: boolean;
}

/** Tasks that run in this process. A task runs here once at a time. */
export class RunningTasks {
  readonly #clock: Clock;
  readonly #runs = new Map<string, Run>();
  #onIdle: (() => void)[] = [];
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#runs.size;
  }

  has(id: string): boolean {
    return this.#runs.has(id);
  }

  ids(): readonly string[] {
    return [...this.#runs.keys()];
  }

  /** Adds a run, which is aborted when the life of its task is over. Returns a function that removes it. */
  begin({ id, createdAt, ttlMs }: TaskRecord, call: Call, restartable: boolean): () => void {
    this.#runs.set(id, { call, restartable });
    const leftMs = ttlMs === null ? LONGEST_DELAY : createdAt + ttlMs - timeOfDay(this.#clock);
    // The system clock cannot wait longer. The change that ends such a run finds that the task is gone.
    const timer = leftMs < LONGEST_DELAY ? this.#clock.schedule(() => this.abort(id), leftMs) : undefined;
    unref(timer);
    if (this.#isStopped && restartable) call.end.abort(new TaskHandedOver(id));
    return () => {
      this.#clock.cancel(timer);
      this.#runs.delete(id);
      if (this.#runs.size === 0) for (const idle of this.#onIdle.splice(0)) idle();
    };
  }

  /** Ends the run of a task that was cancelled or has expired. */
  abort(id: string): void {
    this.#runs.get(id)?.call.end.abort(new TaskOver(id));
  }

  /** Ends the runs of restartable tools, now and later, so that other processes go on with their tasks. */
  stop(): void {
    this.#isStopped = true;
    for (const [id, { call, restartable }] of [...this.#runs]) if (restartable) call.end.abort(new TaskHandedOver(id));
  }

  /** Resolves when no task runs. */
  idle(): Promise<void> {
    return this.#runs.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
