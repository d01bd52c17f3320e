import { atCaller } from "../../protocol/at-caller.js";
import type { Cluster } from "../cluster.js";
import { MemoryNode } from "./node.js";
import type { MemoryClusterOptions } from "./options.js";
import { createTables } from "./tables.js";

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
  const tables = atCaller(createMemoryState, () => createTables(options));
  const nodes = new Set<Cluster>();
  const own = (node: Cluster) => (nodes.has(node) ? (node as MemoryNode) : undefined);
  const onClose = (node: Cluster) => {
    nodes.delete(node);
    if (nodes.size === 0) tables.expiries.stop();
  };
  return {
    node: () => {
      const node = new MemoryNode(tables, onClose);
      nodes.add(node);
      return node;
    },
    cut: (node) => own(node)?.cut(),
    mend: (node) => own(node)?.mend(),
  };
}

/** Creates a cluster of this process alone. Its methods return values, not promises. */
export function memoryCluster(options?: MemoryClusterOptions): Cluster {
  return atCaller(memoryCluster, () => createMemoryState(options)).node();
}
