import type { Clock } from "../../call/clock.js";
import type { Busy } from "../../era/busy.js";
import type { ServerRuntime } from "../../era/server-era.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import { ANONYMOUS, type Counted, ownersOf, UNKNOWN } from "./owner.js";
import { ended, type TaskRecord } from "./record.js";
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

const SHARED =
  "tasks: requests of which no public address is known share limits.maxTasksPerPrincipal, which is reached: set http.remoteOf to name their addresses behind a proxy, or use a gate";

type RoomStore = Pick<TaskStore, "count" | "countLive" | "countEnded" | "dropOldest" | "oldestWaiting" | "change">;

export interface RoomOptions {
  readonly store: RoomStore;
  readonly limits: RoomLimits;
  /** Called with a task that gave way. */
  readonly onEnded: (record: TaskRecord) => void;
  readonly warn: (message: string) => void;
}

/**
 * Room for further tasks. If an owner has too many, its task that ended first gives way. If callers who cannot be told
 * apart, or all those without a name, have too many that have not ended, the one that has waited longest for an answer
 * gives way: a stranger could otherwise hold all places until its tasks expire. Tasks that this process is adding count,
 * so that calls that arrive together do not exceed the limits. Other processes may add some at the same moment.
 */
export class TaskRoom {
  readonly #options: RoomOptions;
  readonly #adding = new Set<Promise<unknown>>();
  #warned = false;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /**
   * Adds a task. Returns the limit that is reached if there is no room. With `displaces`, tasks that wait for answers may
   * give way.
   */
  async add<T extends object>(task: Counted, displaces: boolean, add: () => Promise<T>): Promise<T | RoomLimit> {
    const adding = this.#addAfter([...this.#adding], task, displaces, add);
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
    displaces: boolean,
    add: () => Promise<T>,
  ): Promise<T | RoomLimit> {
    let reached = await this.#reached(task, earlier.length, false);
    if (reached !== undefined && (earlier.length > 0 || displaces)) {
      await Promise.allSettled(earlier);
      reached = await this.#reached(task, 0, displaces);
    }
    return reached ?? add();
  }

  /** Returns the limit that a task reaches if `more` are added before it. */
  async #reached(task: Counted, more: number, displaces: boolean): Promise<RoomLimit | undefined> {
    const { store, limits } = this.#options;
    const isAnonymous = task.anonymous === true;
    const [all, own, endedAnonymous] = await Promise.all([
      store.countLive(),
      store.count(task.owner),
      isAnonymous ? store.countEnded(ANONYMOUS) : 0,
    ]);
    const isFull = (count: number, limit: RoomLimit) => count + more >= limits[limit];
    const makesRoom = async (limit: RoomLimit, ...owners: readonly string[]) =>
      displaces && (await this.#endWaiting(owners, limit));
    if (isFull(all.named + all.anonymous, "maxTasks")) return "maxTasks";
    const isShared = task.owner === UNKNOWN;
    const ownFull = isFull(own.live, "maxTasksPerPrincipal");
    if (ownFull && isShared) this.#warnOfShared();
    if (ownFull && !(isShared && (await makesRoom("maxTasksPerPrincipal", UNKNOWN)))) return "maxTasksPerPrincipal";
    const allFull = isAnonymous && !ownFull && isFull(all.anonymous, "anonymousShare");
    if (allFull && !(await makesRoom("anonymousShare", task.owner, ANONYMOUS))) return "anonymousShare";
    const isDropped = isFull(own.live + own.ended, "maxKeptPerPrincipal");
    if (isDropped && !(await this.#drop(task.owner, more))) return "maxKeptPerPrincipal";
    const keptAnonymous = all.anonymous + endedAnonymous - (isDropped ? 1 : 0);
    if (!isAnonymous || !isFull(keptAnonymous, "maxKeptAnonymous")) return undefined;
    return (await this.#drop(ANONYMOUS, more)) ? undefined : "maxKeptAnonymous";
  }

  /** Deletes the task of an owner that ended first. Returns false if none has ended, or if others must be added before. */
  async #drop(owner: string, more: number): Promise<boolean> {
    return more === 0 && this.#options.store.dropOldest(owner);
  }

  /** Fails the task that has waited longest for an answer, of the first owner that has one. Returns false if none waits. */
  async #endWaiting(owners: readonly string[], limit: RoomLimit): Promise<boolean> {
    const { store, onEnded } = this.#options;
    const message = `The task waited for an answer and gave way to a new one: callers without a name have too many (${limit})`;
    const error = { code: INTERNAL_ERROR, message, data: { code: "gave_way" } };
    for (const owner of owners) {
      const oldest = await store.oldestWaiting(owner);
      if (oldest === undefined) continue;
      let isEnded = false;
      const stored = await store.change(oldest.id, (record) => {
        isEnded = record.stage === "waiting";
        return isEnded ? ended(record, "failed", { error, message }) : undefined;
      });
      if (isEnded && stored !== undefined) onEnded(stored.record);
      return isEnded;
    }
    return false;
  }

  /** Warns once that callers of whom nothing is known share a limit. */
  #warnOfShared(): void {
    if (!this.#warned) this.#options.warn(SHARED);
    this.#warned = true;
  }
}

/** Minimum time after which a job without a slot is offered again, and the time between two of them. */
const CROWDED_MS = 200;
const SPACING_MS = 20;

interface Slots {
  running: number;
  /** Time at which the last job without a slot comes back. */
  nextAt: number;
}

/** Maximum numbers of tasks that run at a time. */
export interface SlotLimits {
  /** Of each owner. */
  readonly each: number;
  /** Of all callers without a principal. */
  readonly anonymous: number;
}

/**
 * Slots of principals in this process. A principal with many tasks does not keep those of others waiting, nor do all
 * callers without a principal together. Jobs without a slot come back one after the other, so that their number does not
 * matter.
 */
export class OwnerSlots {
  readonly #most: SlotLimits;
  readonly #clock: Clock;
  readonly #owners = new Map<string, Slots>();

  constructor(most: SlotLimits, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Takes a slot for a job. If there is none, returns the time after which to try again. */
  enter(task: Counted): number | undefined {
    const slots = this.#take(task);
    if (slots === undefined) return undefined;
    const now = this.#clock.now();
    slots.nextAt = Math.max(now + CROWDED_MS, slots.nextAt + SPACING_MS);
    return slots.nextAt - now;
  }

  /** Takes a slot for a task that has no job. Returns false if there is none. */
  enterNow(task: Counted): boolean {
    return this.#take(task) === undefined;
  }

  /** Takes a slot of each owner of a task. If one has none, returns its slots. */
  #take(task: Counted): Slots | undefined {
    const owners = ownersOf(task).map((owner) => {
      const slots = this.#owners.get(owner) ?? { running: 0, nextAt: 0 };
      return { owner, slots, most: owner === ANONYMOUS ? this.#most.anonymous : this.#most.each };
    });
    const full = owners.find(({ slots, most }) => slots.running >= most);
    if (full !== undefined) return full.slots;
    for (const { owner, slots } of owners) {
      slots.running++;
      this.#owners.set(owner, slots);
    }
    return undefined;
  }

  leave(task: Counted): void {
    for (const owner of ownersOf(task)) {
      const slots = this.#owners.get(owner);
      if (slots !== undefined && --slots.running === 0) this.#owners.delete(owner);
    }
  }
}
