import type { ClientResult } from "../../era/client-era.js";

/** A result that is kept, as plain JSON. */
export interface CachedResult {
  readonly result: ClientResult;
  /** When it was received, and how long it counts as fresh from then on. */
  readonly storedAt: number;
  readonly ttlMs: number;
}

/** What is kept under one key: each page of a list by its cursor, anything else by the empty text. */
export type CacheRecord = readonly (readonly [part: string, kept: CachedResult])[];

/** Where results are kept. A store of several clients takes anything; what it loses is fetched again. */
export interface CacheStore {
  get(key: string): CacheRecord | undefined | Promise<CacheRecord | undefined>;
  /** `kind` tells the few lists from the many resources. */
  set(key: string, record: CacheRecord, kind: "list" | "read"): void | Promise<void>;
  delete(key: string): void | Promise<void>;
}

/** Keeps results in this process. Resources push each other out, the least recently used first; lists stay. */
export class MemoryCacheStore implements CacheStore {
  readonly #lists = new Map<string, CacheRecord>();
  readonly #reads = new Map<string, CacheRecord>();
  readonly #most: number;

  constructor(most = 1000) {
    this.#most = most;
  }

  get size(): number {
    return this.#lists.size + this.#reads.size;
  }

  get(key: string): CacheRecord | undefined {
    const read = this.#reads.get(key);
    if (read === undefined) return this.#lists.get(key);
    this.#reads.delete(key);
    this.#reads.set(key, read);
    return read;
  }

  set(key: string, record: CacheRecord, kind: "list" | "read"): void {
    const records = kind === "list" ? this.#lists : this.#reads;
    records.delete(key);
    records.set(key, record);
    for (const oldest of records.keys()) {
      if (records.size <= this.#most) break;
      records.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#lists.delete(key);
    this.#reads.delete(key);
  }
}
