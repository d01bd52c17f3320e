import type { Clock } from "../../call/clock.js";
import type { CacheRecord, CacheStore } from "./store.js";

/** How long a store may take. */
const PATIENCE_MS = 1000;
/** A store with more deletions outstanding is not asked any more. */
const MAX_GONE = 1000;
const nothing = () => undefined;
const NO_STORE: CacheStore = { get: nothing, set: nothing, delete: nothing };

/**
 * A store that cannot harm: what fails or takes too long counts as a miss, or as done, and is reported once until it works
 * again. What was deleted is gone at once, whatever the store makes of it.
 */
export class GuardedStore {
  #store: CacheStore;
  readonly #clock: Clock;
  readonly #onProblem: (problem: Error) => void;
  /** Keys whose deletion has not come to its end. */
  readonly #gone = new Set<string>();
  #failing = false;

  constructor(store: CacheStore, clock: Clock, onProblem: (problem: Error) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onProblem = onProblem;
  }

  get(key: string): CacheRecord | undefined | Promise<CacheRecord | undefined> {
    return this.#gone.has(key) ? undefined : this.#attempt("read", () => this.#store.get(key));
  }

  set(key: string, record: CacheRecord, kind: "list" | "read"): void | Promise<void> {
    return this.#settle("write", key, () => this.#store.set(key, record, kind));
  }

  delete(key: string): void | Promise<void> {
    // What was deleted could not be told from what was not any more.
    if (this.#gone.add(key).size > MAX_GONE) this.#store = NO_STORE;
    return this.#settle("delete", key, () => this.#store.delete(key));
  }

  /** Once it is done, the store can be asked for the key again. */
  #settle(what: string, key: string, operation: () => void | Promise<void>): void | Promise<void> {
    const settled = this.#attempt(what, () => {
      const done = operation();
      return done instanceof Promise ? done.then(() => this.#gone.delete(key)) : this.#gone.delete(key);
    });
    if (settled instanceof Promise) return settled.then(() => {});
  }

  #attempt<T>(what: string, operation: () => T | Promise<T>): T | undefined | Promise<T | undefined> {
    try {
      const value = operation();
      if (value instanceof Promise) return this.#patiently(what, value);
      this.#failing = false;
      return value;
    } catch (error) {
      return this.#failed(what, error);
    }
  }

  async #patiently<T>(what: string, value: Promise<T>): Promise<T | undefined> {
    let timer: unknown;
    const tooLate = new Promise<never>((_, reject) => {
      timer = this.#clock.schedule(() => reject(new Error(`no answer in ${PATIENCE_MS} ms`)), PATIENCE_MS);
    });
    try {
      const settled = await Promise.race([value, tooLate]);
      this.#failing = false;
      return settled;
    } catch (error) {
      return this.#failed(what, error);
    } finally {
      this.#clock.cancel(timer);
    }
  }

  #failed(what: string, cause: unknown): undefined {
    if (!this.#failing) this.#onProblem(new Error(`the cache store failed to ${what}`, { cause }));
    this.#failing = true;
  }
}
