import type { ClusterBuckets } from "../cluster.js";
import type { Expiries } from "./expiries.js";
import type { Link } from "./link.js";

/** Number of least recently used keys that are compared when one must be evicted. */
const CANDIDATES = 16;
const TAKEN = { ok: true, retryInMs: 0 };

/**
 * Token buckets that the nodes of a process share. A bucket is stored as the time at which it will be full. A full
 * bucket equals an absent one, so its eviction has no effect.
 */
export class BucketTable {
  /** Time at which each bucket will be full, by key. The bucket whose last token was taken longest ago is first. */
  readonly #fullAt = new Map<string, number>();

  constructor(
    readonly expiries: Expiries,
    readonly maxBuckets: number,
  ) {}

  get size(): number {
    return this.#fullAt.size;
  }

  take(key: string, burst: number, perMs: number): { readonly ok: boolean; readonly retryInMs: number } {
    const now = this.expiries.now();
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + perMs;
    const retryInMs = fullAt - now - burst * perMs;
    if (retryInMs > 0) return { ok: false, retryInMs };
    if (!this.#fullAt.delete(key) && this.#fullAt.size >= this.maxBuckets) this.#evict(now);
    this.#fullAt.set(key, fullAt);
    return TAKEN;
  }

  /** Evicts, of the least recently used buckets, the one that will be full first. */
  #evict(now: number): void {
    let seen = 0;
    let [found, earliest] = ["", Number.POSITIVE_INFINITY];
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt < earliest) [found, earliest] = [key, fullAt];
      if (earliest <= now || ++seen === CANDIDATES) break;
    }
    this.#fullAt.delete(found);
  }
}

export class MemoryClusterBuckets implements ClusterBuckets {
  readonly #link: Link;
  readonly #table: BucketTable;

  constructor(link: Link, table: BucketTable) {
    this.#link = link;
    this.#table = table;
  }

  take(key: string, { burst, perMs }: { readonly burst: number; readonly perMs: number }) {
    this.#link.check();
    return this.#table.take(key, burst, perMs);
  }
}
