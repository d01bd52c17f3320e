import type { Clock } from "../../call/clock.js";
import { McpError } from "../../protocol/errors.js";
import { doneAfterAway } from "./away.js";
import type { JournalKeeper } from "./execution.js";
import type { Journal, TaskRecord } from "./record.js";
import type { StoredTask, TaskStore } from "./store.js";

/** Reason of the end of a run whose task belongs to another run, has ended, or has expired. */
export class TaskLost extends McpError {
  override readonly name = "TaskLost";
  constructor(id: string) {
    super("task_lost", `task ${id} is not held by this run any more; discard its outcome`);
  }
}

export interface HeldTaskOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  /** Maximum number of characters of the task with its journal. */
  readonly maxChars: number;
  /** Aborts when the run has lost the task. */
  readonly lost: AbortSignal;
  /** Called after each change that is stored, those of the journal aside. */
  readonly onChange: (record: TaskRecord) => void;
}

/**
 * Task that this process runs. Only the latest run of a task may change it. While the engine is away, a change waits
 * until the run loses its task.
 */
export class HeldTask implements JournalKeeper {
  readonly #options: HeldTaskOptions;
  readonly #fence: number;
  #stored: StoredTask;
  #last: Promise<unknown> = Promise.resolve();
  readonly #released = new AbortController();

  constructor(stored: StoredTask, options: HeldTaskOptions) {
    this.#options = options;
    this.#stored = stored;
    this.#fence = stored.record.fence;
  }

  /** Ends the run. Changes that wait for the engine are given up. */
  release(): void {
    this.#released.abort();
  }

  get record(): TaskRecord {
    return this.#stored.record;
  }

  get journal(): Journal {
    return this.record.journal;
  }

  keep(change: (journal: Journal) => Journal): Promise<void> {
    return this.#queue((record) => this.#bounded({ ...record, journal: change(record.journal) }), false);
  }

  #bounded(record: TaskRecord): TaskRecord {
    const { maxChars } = this.#options;
    const { length } = JSON.stringify(record);
    if (length <= maxChars) return record;
    const problem = `The task has ${length} characters of arguments, steps and answers, more than ${maxChars}`;
    throw new McpError("task_too_large", `${problem} (limits.maxTaskChars)`);
  }

  /** Changes the task after all earlier changes of this run. Rejects with {@link TaskLost} if the run may not. */
  change(change: (record: TaskRecord) => TaskRecord): Promise<void> {
    return this.#queue(change, true);
  }

  #queue(change: (record: TaskRecord) => TaskRecord, isSeen: boolean): Promise<void> {
    const changing = this.#last.then(async () => {
      await this.#retry(change);
      if (isSeen) this.#options.onChange(this.record);
    });
    this.#last = changing.catch(() => {});
    return changing;
  }

  async #retry(change: (record: TaskRecord) => TaskRecord): Promise<void> {
    const { clock, lost } = this.#options;
    const mark = crypto.randomUUID();
    const over = () => AbortSignal.any([lost, this.#released.signal]);
    if (!(await doneAfterAway(clock, () => this.#change(change, mark), over))) throw new TaskLost(this.record.id);
  }

  async #change(change: (record: TaskRecord) => TaskRecord, mark: string): Promise<void> {
    const { id } = this.record;
    const { store } = this.#options;
    const allowed = (record: TaskRecord) => {
      // A task that does not run was parked by a write of this run whose reply was lost, and may be answered since.
      if (record.fence !== this.#fence || record.stage !== "running") throw new TaskLost(id);
      return change(record);
    };
    const stored = await store.change(id, allowed, { known: this.#stored, mark });
    if (stored === undefined) throw new TaskLost(id);
    this.#stored = stored;
  }
}
