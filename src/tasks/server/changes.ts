import { type Clock, unref } from "../../call/clock.js";
import type { Bus } from "../../cluster/cluster.js";
import { needsJob, type TaskRecord } from "./record.js";
import type { TaskStore } from "./store.js";
import type { SoughtTask } from "./workers.js";

const TOPIC = "tasks";

/** Message between processes: a task has changed, or is to be run by a process that can. */
export type TaskMessage = Pick<TaskRecord, "id" | "stage"> | SoughtTask;

export interface TaskMessagesOptions {
  readonly bus: Bus;
  /** Called with each message, also with those of this process. */
  readonly hear: (message: TaskMessage) => void;
  /** Called when messages may have been missed: after a gap, and when this process begins to hear them. */
  readonly onMissed: () => void;
  readonly report: (error: unknown) => void;
  /** Reports an error, and does some work again later. */
  readonly retry: (key: string, error: unknown, work: () => void) => void;
}

/** Messages about tasks between the processes of a cluster. */
export class TaskMessages {
  readonly #options: TaskMessagesOptions;
  /** Messages on their way to other processes. */
  readonly #telling = new Set<Promise<void>>();
  #joined: Promise<void> | undefined;
  #leave: (() => void)[] = [];
  #isOver = false;

  constructor(options: TaskMessagesOptions) {
    this.#options = options;
  }

  /** Hears the messages of other processes from now on. Idempotent. */
  join(): Promise<void> {
    this.#joined ??= this.#subscribe().catch((error) => {
      this.#joined = undefined;
      throw error;
    });
    return this.#joined;
  }

  /** Sends a message to all processes. It is sent again if that fails, unless a later one has the same key. */
  tell(key: string, message: TaskMessage): void {
    const { bus, retry } = this.#options;
    const telling = (async () => bus.publish(TOPIC, JSON.stringify(message)))()
      .catch((error: unknown) => retry(key, error, () => this.tell(key, message)))
      .finally(() => this.#telling.delete(telling));
    this.#telling.add(telling);
  }

  /** Resolves when the messages of this process are sent. */
  async told(): Promise<void> {
    await Promise.all(this.#telling);
  }

  /** Hears no more messages. A subscription that is under way ends when it is complete. */
  stop(): void {
    this.#isOver = true;
    for (const leave of this.#leave.splice(0)) leave();
  }

  async #subscribe(): Promise<void> {
    const { bus, hear, onMissed, report } = this.#options;
    const leave = await bus.subscribe(TOPIC, (text) => {
      try {
        hear(JSON.parse(text) as TaskMessage);
      } catch (error) {
        report(error);
      }
    });
    this.#leave.push(() => void (async () => leave())().catch(report), bus.onGap(onMissed));
    if (this.#isOver) this.stop();
    else onMissed();
  }
}

/** Pause before work is tried again. */
const RETRY_MS = 1_000;
/** Maximum number of tasks whose work waits. Further ones are left to the polls of their clients. */
const MAX_WAITING = 10_000;

/** Tries work again that has failed, such as a message about a task. One timer serves all of it. */
export class Retries {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, () => void>();
  #timer: unknown;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does some work after a pause. Replaces work with the same key that waits. */
  add(key: string, work: () => void): void {
    if (this.#isStopped || (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(key))) return;
    this.#waiting.set(key, work);
    if (this.#timer !== undefined) return;
    this.#timer = this.#clock.schedule(() => this.#run(), RETRY_MS);
    unref(this.#timer);
  }

  /** Does no more work. */
  stop(): void {
    this.#isStopped = true;
    this.#clock.cancel(this.#timer);
    this.#waiting.clear();
  }

  #run(): void {
    const waiting = [...this.#waiting.values()];
    this.#timer = undefined;
    this.#waiting.clear();
    for (const work of waiting) work();
  }
}

/** Sends a task. Returns a promise if the client reads too slowly, which settles when there is room again. */
type Send = (record: TaskRecord) => void | Promise<void>;

/** Subscription to tasks. While its client reads too slowly, changes are only noted. */
class Watch {
  readonly #send: Send;
  readonly #changed: (id: string) => void;
  /** Times of the states that the client knows. */
  readonly #known: Map<string, number>;
  readonly #missed = new Set<string>();
  #isFull = false;
  isOver = false;

  constructor(known: ReadonlyMap<string, number>, send: Send, changed: (id: string) => void) {
    this.#known = new Map(known);
    this.#send = send;
    this.#changed = changed;
  }

  /** Sends a task unless the client knows this state. */
  tell(record: TaskRecord): void {
    const { id, updatedAt } = record;
    if (this.isOver || updatedAt <= (this.#known.get(id) ?? 0)) return;
    if (this.#isFull) return void this.#missed.add(id);
    this.#known.set(id, updatedAt);
    const written = this.#send(record);
    if (written === undefined) return;
    this.#isFull = true;
    const onRoom = () => {
      this.#isFull = false;
      const missed = [...this.#missed];
      this.#missed.clear();
      if (!this.isOver) for (const id of missed) this.#changed(id);
    };
    written.then(onRoom, onRoom);
  }
}

export interface WatchersOptions {
  readonly store: Pick<TaskStore, "read">;
  readonly clock: Clock;
  /** Time after which a task that needs its job is read again. */
  readonly lookMs: number;
  /** Called with each task that was read and needs its job. The process that had to add the job may have ended. */
  readonly onQueued: (record: TaskRecord) => void;
  /** Called with a task that has changed and could not be read. */
  readonly onFailure: (id: string, error: unknown) => void;
}

/** Subscriptions to tasks in this process. A task is read once for all of them, and again if it changes meanwhile. */
export class TaskWatchers {
  readonly #options: WatchersOptions;
  readonly #watches = new Map<string, Set<Watch>>();
  /** Tasks that are being read. True if they have changed since. */
  readonly #reading = new Map<string, boolean>();
  /** Watched tasks that needed their job when they were read. One timer serves all of them. */
  readonly #queued = new Set<string>();
  #timer: unknown;

  constructor(options: WatchersOptions) {
    this.#options = options;
  }

  /** Number of tasks that are watched. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * Sends each task that has changed since its known time, now and later. Returns a function that ends this.
   */
  watch(known: ReadonlyMap<string, number>, send: Send): () => void {
    const watch = new Watch(known, send, (id) => this.changed(id));
    for (const id of known.keys()) {
      const watches = this.#watches.get(id) ?? new Set();
      this.#watches.set(id, watches.add(watch));
      this.changed(id);
    }
    return () => {
      watch.isOver = true;
      for (const id of known.keys()) {
        const watches = this.#watches.get(id);
        watches?.delete(watch);
        if (watches?.size === 0) this.#forget(id);
      }
    };
  }

  /** Reads a task that has changed, if it is watched. */
  changed(id: string): void {
    if (!this.#watches.has(id)) return;
    const isReading = this.#reading.has(id);
    this.#reading.set(id, isReading);
    if (!isReading) void this.#read(id);
  }

  /** Reads all watched tasks, since messages may have been lost. */
  changedAll(): void {
    for (const id of this.#watches.keys()) this.changed(id);
  }

  async #read(id: string): Promise<void> {
    try {
      do {
        this.#reading.set(id, false);
        const stored = await this.#options.store.read(id);
        this.#note(id, stored?.record);
        if (stored !== undefined) for (const watch of [...(this.#watches.get(id) ?? [])]) watch.tell(stored.record);
      } while (this.#reading.get(id) === true);
    } catch (error) {
      this.#options.onFailure(id, error);
    } finally {
      this.#reading.delete(id);
    }
  }

  /** Looks at a watched task again later if it needs its job. */
  #note(id: string, record: TaskRecord | undefined): void {
    if (record === undefined || !needsJob(record) || !this.#watches.has(id)) return void this.#queued.delete(id);
    this.#queued.add(id);
    this.#timer ??= this.#schedule();
    this.#options.onQueued(record);
  }

  #schedule(): unknown {
    const { clock, lookMs } = this.#options;
    const look = () => {
      this.#timer = undefined;
      for (const id of this.#queued) this.changed(id);
    };
    const timer = clock.schedule(look, lookMs);
    unref(timer);
    return timer;
  }

  #forget(id: string): void {
    this.#watches.delete(id);
    this.#queued.delete(id);
    if (this.#queued.size > 0) return;
    this.#options.clock.cancel(this.#timer);
    this.#timer = undefined;
  }
}
