import type { Busy } from "../../era/busy.js";
import type { ServerRuntime } from "../../era/server-era.js";
import type { TasksLimits } from "./options.js";
import type { TaskStore } from "./store.js";

/** Limit of the number of tasks. */
export type RoomLimit = "maxTasks" | "maxTasksPerPrincipal" | "maxKeptPerPrincipal";

const PROBLEMS: { readonly [limit in RoomLimit]: string } = {
  maxTasks: "Too many tasks: wait until some have ended",
  maxTasksPerPrincipal: "Too many tasks of this caller: wait until some have ended, or cancel some",
  maxKeptPerPrincipal: "Too many tasks of this caller are kept, ended ones included: wait until some have expired",
};

/** Returns the refusal of a call whose task has no room. */
export function tooManyTasks(host: Pick<ServerRuntime, "busy">, limit: RoomLimit): Busy {
  return host.busy(429, limit, PROBLEMS[limit]);
}

/**
 * Room for further tasks. Tasks that this process is adding count, so that calls that arrive together do not exceed the
 * limits. Other processes may add some at the same moment.
 */
export class TaskRoom {
  readonly #store: Pick<TaskStore, "count" | "dropOldest">;
  readonly #limits: Pick<TasksLimits, RoomLimit>;
  readonly #adding = new Set<Promise<unknown>>();

  constructor(store: Pick<TaskStore, "count" | "dropOldest">, limits: Pick<TasksLimits, RoomLimit>) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Adds a task of an owner. Returns the limit that is reached if there is no room. */
  async add<T extends object>(owner: string, add: () => Promise<T>): Promise<T | RoomLimit> {
    const adding = this.#addAfter([...this.#adding], owner, add);
    this.#adding.add(adding);
    try {
      return await adding;
    } finally {
      this.#adding.delete(adding);
    }
  }

  async #addAfter<T extends object>(
    earlier: readonly Promise<unknown>[],
    owner: string,
    add: () => Promise<T>,
  ): Promise<T | RoomLimit> {
    let reached = await this.#reached(owner, earlier.length);
    if (reached !== undefined && earlier.length > 0) {
      await Promise.allSettled(earlier);
      reached = await this.#reached(owner, 0);
    }
    return reached ?? add();
  }

  /** Returns the limit that a task reaches if `more` are added before it. */
  async #reached(owner: string, more: number): Promise<RoomLimit | undefined> {
    const { maxTasks, maxTasksPerPrincipal, maxKeptPerPrincipal } = this.#limits;
    const { live, own, kept } = await this.#store.count(owner);
    if (live + more >= maxTasks) return "maxTasks";
    if (own + more >= maxTasksPerPrincipal) return "maxTasksPerPrincipal";
    if (kept + more < maxKeptPerPrincipal) return undefined;
    // Nobody else deletes a task whose life has no end.
    return more === 0 && (await this.#store.dropOldest(owner)) ? undefined : "maxKeptPerPrincipal";
  }
}
