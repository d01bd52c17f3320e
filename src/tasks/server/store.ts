import { type Clock, timeOfDay } from "../../call/clock.js";
import type { Cluster, IndexEntry, Stored } from "../../cluster/cluster.js";
import { ClusterError } from "../../cluster/error.js";
import { type Change, each, update } from "../../cluster/update.js";
import type { Journal, JournalChange } from "../../journal/journal.js";
import type { JournalKeeper } from "../../journal/run.js";
import { McpError } from "../../protocol/errors.js";
import { doneAfterAway } from "./away.js";
import { ownersOf } from "./owner.js";
import { hasEnded, type TaskRecord } from "./record.js";

/** Tasks that have not ended, of callers with and without a principal. */
const LIVE_NAMED = "tasks:live:named";
const LIVE_ANONYMOUS = "tasks:live:anonymous";
/** Tasks of an owner that have not ended. */
const liveOf = (owner: string) => `tasks:live of ${owner}`;
/** Tasks of an owner that have ended, in the order of their ends. */
const endedOf = (owner: string) => `tasks:ended of ${owner}`;
/** Tasks of an owner without a principal that wait for answers, in the order in which they began to wait. */
const waitingOf = (owner: string) => `tasks:waiting of ${owner}`;
/** Tasks in a listing. */
const listedAs = (owner: string) => `tasks:listed for ${owner}`;

/** Task with the version of its record. */
export interface StoredTask {
  readonly record: TaskRecord;
  readonly version: string;
}

/** Count of an index that is under way, and the one after it. */
interface Counting {
  readonly now: Promise<number>;
  next?: Promise<number>;
}

/** Tasks in the records of a cluster. Each change is a compare-and-set, so that a task has one outcome. */
export class TaskStore {
  readonly #cluster: Pick<Cluster, "records">;
  readonly #clock: Clock;
  readonly #counting = new Map<string, Counting>();

  constructor(cluster: Pick<Cluster, "records">, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** Stores a new task. */
  async add(record: TaskRecord): Promise<StoredTask> {
    const { value, ...options } = this.#written(record);
    const version = await this.#cluster.records.put(keyOf(record.id), value, { ...options, ifVersion: null });
    if (version === undefined) throw new ClusterError("refused", `task ${record.id} exists already`);
    return { record, version };
  }

  /** Deletes a task whose creation may not have been carried out. */
  async discard(id: string): Promise<void> {
    await this.#cluster.records.delete(keyOf(id));
  }

  async read(id: string): Promise<StoredTask | undefined> {
    const stored = await this.#cluster.records.get(keyOf(id));
    return stored && { record: parsed(stored), version: stored.version };
  }

  /**
   * Changes a task. `change` returns the new task, or undefined if nothing is to be changed; it is called again if another
   * process has changed the task meanwhile. Returns the task as it is then, or undefined if there is none. `known` is the
   * task as it was read before. A change that is repeated with the same `mark` is carried out once.
   */
  async change(
    id: string,
    change: (record: TaskRecord) => TaskRecord | undefined,
    { known, mark = crypto.randomUUID() }: { readonly known?: StoredTask; readonly mark?: string } = {},
  ): Promise<StoredTask | undefined> {
    const key = keyOf(id);
    // The record that is known need not be parsed again.
    const first = known && { key, value: "", version: known.version };
    let current: TaskRecord | undefined;
    const stored = await update(
      this.#cluster.records,
      key,
      (stored) => {
        current = stored === first ? known?.record : stored && parsed(stored);
        if (current === undefined || current.mark === mark) return undefined;
        const changed = change(current);
        if (changed === undefined) return undefined;
        const updatedAt = Math.max(timeOfDay(this.#clock), current.updatedAt + 1);
        current = { ...changed, updatedAt, mark };
        return this.#written(current);
      },
      { known: first },
    );
    return stored && current && { record: current, version: stored.version };
  }

  /** Returns the numbers of all tasks that have not ended: of callers with and without a principal. */
  async countLive(): Promise<{ readonly named: number; readonly anonymous: number }> {
    const [named, anonymous] = await Promise.all([this.#count(LIVE_NAMED), this.#count(LIVE_ANONYMOUS)]);
    return { named, anonymous };
  }

  /** Returns the numbers of an owner's tasks that have not ended, and that have ended. */
  async count(owner: string): Promise<{ readonly live: number; readonly ended: number }> {
    const [live, ended] = await Promise.all([this.#count(liveOf(owner)), this.countEnded(owner)]);
    return { live, ended };
  }

  countEnded(owner: string): Promise<number> {
    return this.#count(endedOf(owner));
  }

  /** Counts an index. Calls that come while it is counted share the next count, which begins after them. */
  #count(index: string): Promise<number> {
    const counting = this.#counting.get(index);
    if (counting === undefined) return this.#startCount(index);
    counting.next ??= counting.now.catch(() => {}).then(() => this.#startCount(index));
    return counting.next;
  }

  #startCount(index: string): Promise<number> {
    const now = (async () => this.#cluster.records.count(index))();
    const counting: Counting = { now };
    this.#counting.set(index, counting);
    return now.finally(() => {
      if (this.#counting.get(index) === counting && counting.next === undefined) this.#counting.delete(index);
    });
  }

  /** Deletes the task of an owner that ended first. Returns false if none has ended. */
  async dropOldest(owner: string): Promise<boolean> {
    const { records } = this.#cluster;
    const [oldest] = await records.list(endedOf(owner), { limit: 1 });
    if (oldest !== undefined) await records.delete(oldest.key);
    return oldest !== undefined;
  }

  /** Returns the task of an owner without a principal that has waited longest for an answer. */
  async oldestWaiting(owner: string): Promise<TaskRecord | undefined> {
    const [oldest] = await this.#cluster.records.list(waitingOf(owner), { limit: 1 });
    return oldest && (JSON.parse(oldest.value) as TaskRecord);
  }

  /** Returns tasks of an owner in the order of their creation. `after` is the last one of the page before. */
  async list(
    owner: string,
    after: Pick<TaskRecord, "id" | "createdAt"> | undefined,
    limit: number,
  ): Promise<readonly TaskRecord[]> {
    const place = after && { score: after.createdAt, key: keyOf(after.id) };
    const options = place === undefined ? { limit } : { after: place, limit };
    const listed = await this.#cluster.records.list(listedAs(owner), options);
    return listed.map(parsed);
  }

  /** Yields all tasks that have not ended. */
  async *live(limit = 100): AsyncIterable<TaskRecord> {
    yield* this.#all(LIVE_NAMED, limit);
    yield* this.#all(LIVE_ANONYMOUS, limit);
  }

  async *#all(index: string, limit: number): AsyncIterable<TaskRecord> {
    for await (const stored of each(this.#cluster.records, index, limit)) yield parsed(stored);
  }

  /** Returns a task as it is stored. */
  #written(record: TaskRecord): Change {
    const { createdAt, ttlMs } = record;
    const leftMs = ttlMs === null ? undefined : Math.max(1, createdAt + ttlMs - timeOfDay(this.#clock));
    const value = JSON.stringify(record);
    return { value, index: indexOf(record), ...(leftMs !== undefined && { ttlMs: leftMs }) };
  }
}

const parsed = ({ value }: Stored) => JSON.parse(value) as TaskRecord;

const keyOf = (id: string) => `task:${id}`;

function indexOf(record: TaskRecord): readonly IndexEntry[] {
  const { owner, listedFor, createdAt, updatedAt, anonymous, stage } = record;
  const places = hasEnded(record)
    ? ownersOf(record).map((one) => ({ index: endedOf(one), score: updatedAt }))
    : [anonymous === true ? LIVE_ANONYMOUS : LIVE_NAMED, liveOf(owner)].map((index) => ({ index, score: createdAt }));
  if (anonymous === true && stage === "waiting")
    places.push(...ownersOf(record).map((one) => ({ index: waitingOf(one), score: updatedAt })));
  return listedFor === undefined ? places : [...places, { index: listedAs(listedFor), score: createdAt }];
}

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

  keep(change: JournalChange): Promise<void> {
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
