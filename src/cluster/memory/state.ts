import { atCaller } from "../../protocol/at-caller.js";
import type { Cluster } from "../cluster.js";
import { StoreCluster } from "../store-cluster.js";
import type { MemoryClusterOptions } from "./limits.js";
import { MemoryEngine, MemoryStore } from "./store.js";

/** State in memory that several nodes of one process share. */
export interface MemoryState {
  /** Creates a node. */
  node(): Cluster;
  /**
   * Cuts a node off, as the loss of an engine does. Its operations fail as `unavailable`, it receives no messages, and its
   * leases and jobs pass to others at the end of their lives.
   */
  cut(node: Cluster): void;
  /** Connects a node again after `cut`, and tells its listeners of the gap. */
  mend(node: Cluster): void;
}

/** Creates the state of a cluster in memory, for several nodes in one process. */
export function createMemoryState(options: MemoryClusterOptions = {}): MemoryState {
  const engine = atCaller(createMemoryState, () => new MemoryEngine(options));
  const stores = new WeakMap<Cluster, MemoryStore>();
  return {
    node: () => {
      const store = new MemoryStore(engine);
      // Nodes of one process lose no message, and are stopped together.
      const cluster = new StoreCluster(store, { clock: options.clock, heartbeatMs: Number.POSITIVE_INFINITY });
      stores.set(cluster, store);
      return cluster;
    },
    cut: (node) => stores.get(node)?.cut(),
    mend: (node) => stores.get(node)?.mend(),
  };
}

/** Creates a cluster of this process alone. */
export function memoryCluster(options?: MemoryClusterOptions): Cluster {
  return atCaller(memoryCluster, () => createMemoryState(options)).node();
}
