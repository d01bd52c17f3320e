import type { Cluster } from "#src/cluster/cluster.js";
import type { SimProcess } from "../process.js";
import { SimCluster } from "./cluster.js";
import { type EngineOptions, EngineState } from "./state.js";
import { Topics } from "./topics.js";
import { Bells } from "./wakes.js";

/** Engine in memory, with the state of all nodes. It and the connections to it fail when the simulation says so. */
export class SimEngine {
  readonly state: EngineState;
  readonly topics: Topics;
  readonly bells: Bells;
  readonly #clusters = new Map<Cluster, SimCluster>();

  constructor(options: EngineOptions) {
    this.state = new EngineState(options);
    this.topics = new Topics(this.state);
    this.bells = new Bells(this.state);
  }

  /** Connects a process. */
  connect(process: SimProcess): SimCluster {
    const cluster = new SimCluster(this.state, this.topics, this.bells, process);
    this.#clusters.set(cluster, cluster);
    return cluster;
  }

  find(cluster: Cluster): SimCluster {
    const found = this.#clusters.get(cluster);
    if (found === undefined) throw new Error("the cluster belongs to another engine");
    return found;
  }

  /** Ends the engine. All connections are lost; the state stays. */
  stop(): void {
    this.state.isUp = false;
    for (const cluster of this.#clusters.values()) cluster.cut();
  }

  start(): void {
    this.state.isUp = true;
    for (const cluster of this.#clusters.values()) cluster.mend();
  }
}
