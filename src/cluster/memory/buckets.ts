import type { BucketLimit, BucketVerdict, MemoryBuckets } from "../../call/buckets.js";
import type { ClusterBuckets } from "../cluster.js";
import type { Link } from "./link.js";

/** Token buckets that the nodes of a process share. */
export class MemoryClusterBuckets implements ClusterBuckets {
  readonly #link: Link;
  readonly #buckets: MemoryBuckets;

  constructor(link: Link, buckets: MemoryBuckets) {
    this.#link = link;
    this.#buckets = buckets;
  }

  take(key: string, limit: BucketLimit): BucketVerdict {
    this.#link.check();
    return this.#buckets.take(key, limit);
  }
}
