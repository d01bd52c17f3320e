import type { Busy } from "../../era/busy.js";
import type { ServerRuntime } from "../../era/server-era.js";
import { ANONYMOUS, type Counted } from "./owner.js";
import type { TaskStore } from "./store.js";

/** Limit of the number of tasks. */
export type RoomLimit =
  | "maxTasks"
  | "maxTasksPerPrincipal"
  | "anonymousShare"
  | "maxKeptPerPrincipal"
  | "maxKeptAnonymous";

/** Limits with the number of tasks that `anonymousShare` of the server allows. */
type RoomLimits = { readonly [limit in RoomLimit]: number };

const PROBLEMS: { readonly [limit in RoomLimit]: string } = {
  maxTasks: "Too many tasks: wait until some have ended",
  maxTasksPerPrincipal: "Too many tasks of this caller: wait until some have ended, or cancel some",
  anonymousShare: "Too many tasks of callers without a name: wait until some have ended",
  maxKeptPerPrincipal: "Too many tasks of this caller are kept, and none has ended: wait until some have",
  maxKeptAnonymous: "Too many tasks of callers without a name are kept, and none has ended: wait until some have",
};

/** Returns the refusal of a call whose task has no room. */
export function tooManyTasks(host: Pick<ServerRuntime, "busy">, limit: RoomLimit): Busy {
  return host.busy(429, limit, PROBLEMS[limit]);
}

type RoomStore = Pick<TaskStore, "count" | "countLive" | "countEnded" | "dropOldest">;

/**
 * Room for further tasks. If an owner has too many, its task that ended first gives way. Tasks that this process is adding
 * count, so that calls that arrive together do not exceed the limits. Other processes may add some at the same moment.
 */
export class TaskRoom {
  readonly #store: RoomStore;
  readonly #limits: RoomLimits;
  readonly #adding = new Set<Promise<unknown>>();

  constructor(store: RoomStore, limits: RoomLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Adds a task. Returns the limit that is reached if there is no room. */
  async add<T extends object>(task: Counted, add: () => Promise<T>): Promise<T | RoomLimit> {
    const adding = this.#addAfter([...this.#adding], task, add);
    this.#adding.add(adding);
    try {
      return await adding;
    } finally {
      this.#adding.delete(adding);
    }
  }

  async #addAfter<T extends object>(
    earlier: readonly Promise<unknown>[],
    task: Counted,
    add: () => Promise<T>,
  ): Promise<T | RoomLimit> {
    let reached = await this.#reached(task, earlier.length);
    if (reached !== undefined && earlier.length > 0) {
      await Promise.allSettled(earlier);
      reached = await this.#reached(task, 0);
    }
    return reached ?? add();
  }

  /** Returns the limit that a task reaches if `more` are added before it. */
  async #reached(task: Counted, more: number): Promise<RoomLimit | undefined> {
    const isAnonymous = task.anonymous === true;
    const [all, own, endedAnonymous] = await Promise.all([
      this.#store.countLive(),
      this.#store.count(task.owner),
      isAnonymous ? this.#store.countEnded(ANONYMOUS) : 0,
    ]);
    const isFull = (count: number, limit: RoomLimit) => count + more >= this.#limits[limit];
    if (isFull(all.named + all.anonymous, "maxTasks")) return "maxTasks";
    if (isAnonymous && isFull(all.anonymous, "anonymousShare")) return "anonymousShare";
    if (isFull(own.live, "maxTasksPerPrincipal")) return "maxTasksPerPrincipal";
    const isDropped = isFull(own.live + own.ended, "maxKeptPerPrincipal");
    if (isDropped && !(await this.#drop(task.owner, more))) return "maxKeptPerPrincipal";
    const keptAnonymous = all.anonymous + endedAnonymous - (isDropped ? 1 : 0);
    if (!isAnonymous || !isFull(keptAnonymous, "maxKeptAnonymous")) return undefined;
    return (await this.#drop(ANONYMOUS, more)) ? undefined : "maxKeptAnonymous";
  }

  /** Deletes the task of an owner that ended first. Returns false if none has ended, or if others must be added before. */
  async #drop(owner: string, more: number): Promise<boolean> {
    return more === 0 && this.#store.dropOldest(owner);
  }
}
