import type { TaskRecord } from "./record.js";
import type { TaskStore } from "./store.js";

type Listener = (record: TaskRecord) => void;

/** Subscriptions to tasks in this process. A task is read once for all of them, and again if it changes meanwhile. */
export class TaskWatchers {
  readonly #store: TaskStore;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Tasks that are being read. True if they have changed since. */
  readonly #reading = new Map<string, boolean>();
  readonly #onError: (error: unknown) => void;

  constructor(store: TaskStore, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  /** Number of tasks that are watched. */
  get size(): number {
    return this.#listeners.size;
  }

  /** Calls the listener with each task that has changed. Returns a function that ends this. */
  watch(ids: readonly string[], listener: Listener): () => void {
    for (const id of ids) {
      const listeners = this.#listeners.get(id) ?? new Set();
      this.#listeners.set(id, listeners.add(listener));
    }
    return () => {
      for (const id of ids) {
        const listeners = this.#listeners.get(id);
        listeners?.delete(listener);
        if (listeners?.size === 0) this.#listeners.delete(id);
      }
    };
  }

  /** Reads a task that has changed, if it is watched. */
  changed(id: string): void {
    if (!this.#listeners.has(id)) return;
    const isReading = this.#reading.has(id);
    this.#reading.set(id, isReading);
    if (!isReading) void this.#read(id);
  }

  /** Reads all watched tasks, since messages may have been lost. */
  changedAll(): void {
    for (const id of this.#listeners.keys()) this.changed(id);
  }

  async #read(id: string): Promise<void> {
    try {
      do {
        this.#reading.set(id, false);
        const stored = await this.#store.read(id);
        if (stored !== undefined) for (const listener of [...(this.#listeners.get(id) ?? [])]) listener(stored.record);
      } while (this.#reading.get(id) === true);
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#reading.delete(id);
    }
  }
}
