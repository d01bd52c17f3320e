import type { Clock } from "../../call/clock.js";
import { isThenable } from "../../call/maybe-promise.js";
import { isObject } from "../../protocol/json.js";
import { messageOf } from "../../protocol/text.js";
import type { CacheRecord, CacheStore } from "./store.js";

/** Maximum time of a store operation. */
const PATIENCE_MS = 1000;
/** Maximum number of pending deletions. Beyond it, the store is no longer used. */
const MAX_GONE = 1000;
const nothing = () => undefined;
const NO_STORE: CacheStore = { get: nothing, set: nothing, delete: nothing };

/**
 * Protects calls from a store that fails. A failed or slow operation counts as a miss and is reported once, until an
 * operation succeeds. A malformed record counts as a miss too, and the first one is reported. Deleted results are never
 * returned, even if the store fails to delete them.
 */
export class GuardedStore {
  #store: CacheStore;
  readonly #clock: Clock;
  readonly #onProblem: (problem: Error) => void;
  /** Keys whose deletion is pending. */
  readonly #gone = new Set<string>();
  #failing = false;
  /** True if an invalid record was reported. */
  #isTold = false;

  constructor(store: CacheStore, clock: Clock, onProblem: (problem: Error) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onProblem = onProblem;
  }

  /** Reads a record. `findProblem` returns the problem of a well-formed record that is not to be used. */
  get(
    key: string,
    findProblem: (record: CacheRecord) => string | undefined = () => undefined,
  ): CacheRecord | undefined | Promise<CacheRecord | undefined> {
    if (this.#gone.has(key)) return undefined;
    const read = (given: unknown) => this.#toRecord(given, findProblem);
    return this.#attempt("read", () => {
      const given: unknown = this.#store.get(key);
      return isThenable(given) ? Promise.resolve(given).then(read) : read(given);
    });
  }

  set(key: string, record: CacheRecord, kind: "list" | "read"): void | Promise<void> {
    return this.#settle("write", key, () => this.#store.set(key, record, kind));
  }

  delete(key: string): void | Promise<void> {
    // Stops using the store, since it can no longer be known which keys were deleted.
    if (this.#gone.add(key).size > MAX_GONE) this.#store = NO_STORE;
    return this.#settle("delete", key, () => this.#store.delete(key));
  }

  /** Runs an operation. The key can be read again when the operation has succeeded. */
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
      timer = this.#clock.schedule(() => reject(new Error(`no response within ${PATIENCE_MS} ms`)), PATIENCE_MS);
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

  /** Returns what the store has returned if it can be used. A store of JSON returns null if it has no record. */
  #toRecord(given: unknown, findProblem: (record: CacheRecord) => string | undefined): CacheRecord | undefined {
    if (given === undefined || given === null) return undefined;
    const problem = isRecord(given) ? findProblem(given) : "it is not a list of pages as they were stored";
    if (problem === undefined) return given as CacheRecord;
    if (!this.#isTold)
      this.#onProblem(new Error(`The cache store returned an invalid record, which is ignored: ${problem}`));
    this.#isTold = true;
    return undefined;
  }

  #failed(what: string, cause: unknown): undefined {
    if (!this.#failing) this.#onProblem(new Error(`The cache store failed to ${what}: ${messageOf(cause)}`, { cause }));
    this.#failing = true;
  }
}

function isRecord(given: unknown): given is CacheRecord {
  return Array.isArray(given) && given.every((entry) => Array.isArray(entry) && isKept(entry));
}

function isKept([part, kept]: readonly unknown[]): boolean {
  if (typeof part !== "string" || !isObject(kept)) return false;
  const { result, storedAt, ttlMs } = kept;
  return isObject(result) && Number.isFinite(storedAt) && typeof ttlMs === "number" && !Number.isNaN(ttlMs);
}
