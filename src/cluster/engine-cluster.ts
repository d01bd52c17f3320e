import type { Cluster } from "./cluster.js";

/** Cluster whose state is in an engine, such as Redis. It starts when it is created. */
export interface EngineCluster extends Cluster {
  /**
   * Settles after the first attempt to start. Rejects with a `ClusterError` if the engine cannot be reached or used.
   * The start is tried again then, so that a process may go on without it.
   */
  readonly ready: Promise<void>;
}
