import type { SkillResource } from "../types.js";

/** Identifies a file in a cache. Files of different servers are never shared, even if they are equal. */
export interface SkillCacheKey {
  /** The host's name of the server. */
  readonly server: string;
  readonly uri: string;
  readonly digest: string;
}

/**
 * Cache of files of skills. Size and digest of a file from the cache are verified at each use, so a cache may return
 * files that are damaged.
 */
export interface SkillCache {
  get(key: SkillCacheKey): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  set(key: SkillCacheKey, bytes: Uint8Array): void | Promise<void>;
  /** Removes a file that failed the verification. */
  delete(key: SkillCacheKey): void | Promise<void>;
}

/** Files of one server in a cache. A failure of the cache is reported, and the file counts as not cached. */
export class ServerCache {
  readonly #cache: SkillCache;
  readonly #server: string;
  readonly #onError: (error: unknown) => void;

  constructor(cache: SkillCache, server: string, onError: (error: unknown) => void) {
    this.#cache = cache;
    this.#server = server;
    this.#onError = onError;
  }

  get(file: SkillResource): Promise<Uint8Array | undefined> {
    return this.#attempt(() => this.#cache.get(this.#keyOf(file)));
  }

  set(file: SkillResource, bytes: Uint8Array): Promise<void> {
    return this.#attempt(() => this.#cache.set(this.#keyOf(file), bytes));
  }

  delete(file: SkillResource): Promise<void> {
    return this.#attempt(() => this.#cache.delete(this.#keyOf(file)));
  }

  #keyOf({ uri, digest }: SkillResource): SkillCacheKey {
    return { server: this.#server, uri, digest };
  }

  async #attempt<T>(work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }
}
