import { defined } from "../protocol/defined.js";
import type { CacheScope } from "../protocol/types/index.js";

/** What clients are told about keeping a result. */
export interface CacheHints {
  /** How long it stays fresh; a whole number of milliseconds. */
  readonly ttlMs?: number;
  /** `public`: the same for every caller. */
  readonly scope?: CacheScope;
}

export interface ServerCacheOptions extends CacheHints {
  /** For the results of one method: `{ "tools/list": { ttlMs: 60_000 } }`. */
  readonly methods?: { readonly [method: string]: CacheHints };
}

/** Throws a `RangeError` for hints that may not be sent. */
export function assertCacheHints(where: string, { ttlMs, scope }: CacheHints): void {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0)) {
    throw new RangeError(`${where}: ttlMs must be a whole number of milliseconds, 0 or more`);
  }
  if (scope !== undefined && scope !== "public" && scope !== "private") {
    throw new RangeError(`${where}: scope must be "public" or "private"`);
  }
}

/** The hints as a result carries them; only those that are set. */
export function toWireHints({ ttlMs, scope }: CacheHints): {
  readonly ttlMs?: number;
  readonly cacheScope?: CacheScope;
} {
  return defined<ReturnType<typeof toWireHints>>({ ttlMs, cacheScope: scope });
}
