import type { ClientResult } from "../../era/client-era.js";
import { CLIENT_LIMITS } from "../../era/client-limits.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";

/** Cached result as plain JSON. */
export interface CachedResult {
  readonly result: ClientResult;
  /** Time of receipt, and time that the result stays fresh from then on. */
  readonly storedAt: number;
  readonly ttlMs: number;
}

/** Results under one key: each page of a list by its cursor, any other result by the empty string. */
export type CacheRecord = readonly (readonly [part: string, kept: CachedResult])[];

/** Store of cached results. It may be shared by several clients and may lose results, which are fetched again. */
export interface CacheStore {
  get(key: string): CacheRecord | undefined | Promise<CacheRecord | undefined>;
  /** Stores a record. `kind` distinguishes the few lists from the many resources. */
  set(key: string, record: CacheRecord, kind: "list" | "read"): void | Promise<void>;
  delete(key: string): void | Promise<void>;
}

/** Options of `memoryCache`. */
export interface MemoryCacheOptions {
  /**
   * Maximum number of lists, and also of resources.
   * @default 1000
   */
  readonly maxEntries?: number | undefined;
  /**
   * Maximum length of all results as JSON, in characters.
   * @default 67_108_864
   */
  readonly maxChars?: number | undefined;
}

const OPTIONS: Known<MemoryCacheOptions> = { maxEntries: "limit", maxChars: "limit" };

/**
 * Stores results in memory, for the option `cache.store` of several clients. Removes the least recently used resources
 * first, then the lists stored longest ago.
 */
export function memoryCache(options: MemoryCacheOptions = {}): CacheStore {
  assertOptions({ memoryCache }, options, OPTIONS);
  return new MemoryCacheStore(options.maxEntries, options.maxChars);
}

/** Cache store in memory. Removes the least recently used resources first, then the lists stored longest ago. */
export class MemoryCacheStore implements CacheStore {
  readonly #lists = new Map<string, CacheRecord>();
  readonly #reads = new Map<string, CacheRecord>();
  readonly #most: number;
  readonly #maxChars: number;
  /** Lengths of parts. Each part is serialized once, even if its record is stored several times. */
  readonly #sizes = new WeakMap<CacheRecord[number], number>();
  #chars = 0;

  /**
   * `most` is the maximum number of lists, and also of resources. `maxChars` is the maximum length of all results as
   * JSON.
   */
  constructor(most: number = CLIENT_LIMITS.maxCacheEntries, maxChars: number = CLIENT_LIMITS.maxCacheChars) {
    this.#most = most;
    this.#maxChars = maxChars;
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
    const size = this.#sizeOf(record);
    this.#remove(records, key);
    if (size > this.#maxChars) return;
    records.set(key, record);
    this.#chars += size;
    for (const oldest of records.keys()) {
      if (records.size <= this.#most) break;
      this.#remove(records, oldest);
    }
    for (const pushed of [this.#reads, this.#lists]) {
      for (const oldest of pushed.keys()) {
        if (this.#chars <= this.#maxChars) return;
        this.#remove(pushed, oldest);
      }
    }
  }

  delete(key: string): void {
    this.#remove(this.#lists, key);
    this.#remove(this.#reads, key);
  }

  #remove(records: Map<string, CacheRecord>, key: string): void {
    const record = records.get(key);
    if (record !== undefined) this.#chars -= this.#sizeOf(record);
    records.delete(key);
  }

  #sizeOf(record: CacheRecord): number {
    let chars = 0;
    for (const part of record) {
      const size = this.#sizes.get(part) ?? JSON.stringify(part).length;
      this.#sizes.set(part, size);
      chars += size;
    }
    return chars;
  }
}
