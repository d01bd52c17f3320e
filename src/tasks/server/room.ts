import type { TasksLimits } from "./options.js";
import type { TaskStore } from "./store.js";

type RoomLimits = Pick<TasksLimits, "maxTasks" | "maxTasksPerPrincipal" | "maxKeptPerPrincipal">;

/**
 * Room for further tasks. Tasks that this process is adding count, so that calls that arrive together do not exceed the
 * limits. Other processes may add some at the same moment.
 */
export class TaskRoom {
  readonly #store: Pick<TaskStore, "count" | "dropOldest">;
  readonly #limits: RoomLimits;
  readonly #adding = new Set<Promise<unknown>>();

  constructor(store: Pick<TaskStore, "count" | "dropOldest">, limits: RoomLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Adds a task of an owner. Returns undefined if there is no room. */
  async add<T>(owner: string, add: () => Promise<T>): Promise<T | undefined> {
    const adding = this.#addAfter([...this.#adding], owner, add);
    this.#adding.add(adding);
    try {
      return await adding;
    } finally {
      this.#adding.delete(adding);
    }
  }

  async #addAfter<T>(
    earlier: readonly Promise<unknown>[],
    owner: string,
    add: () => Promise<T>,
  ): Promise<T | undefined> {
    let isFull = await this.#isFull(owner, earlier.length);
    if (isFull && earlier.length > 0) {
      await Promise.allSettled(earlier);
      isFull = await this.#isFull(owner, 0);
    }
    return isFull ? undefined : add();
  }

  async #isFull(owner: string, more: number): Promise<boolean> {
    const { maxTasks, maxTasksPerPrincipal, maxKeptPerPrincipal } = this.#limits;
    const { live, own, kept } = await this.#store.count(owner);
    if (live + more >= maxTasks || own + more >= maxTasksPerPrincipal) return true;
    // Nobody else deletes a task whose life has no end.
    return kept + more >= maxKeptPerPrincipal && (more > 0 || !(await this.#store.dropOldest(owner)));
  }
}
