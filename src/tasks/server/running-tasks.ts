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

/** Reason of the end of a run whose task continues in another process. */
export class TaskHandedOver extends McpError {
  override readonly name = "TaskHandedOver";
  constructor(id: string) {
    super("task_handed_over", `the server is closing; task ${id} continues in another process`);
  }
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
