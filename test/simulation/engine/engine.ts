import type { Cluster } from "#src/cluster/cluster.js";
import { createTables, type Tables } from "#src/cluster/memory/tables.js";
import type { Dice } from "../dice.js";
import type { SimProcess } from "../process.js";
import type { Scheduler } from "../scheduler.js";
import { SimCluster } from "./cluster.js";
import { Topics } from "./topics.js";
import { Bells } from "./wakes.js";

/** Safeguard of the engine that a run switches off, to show that the checks see its absence. */
export type Break = "fence" | "end" | "gap" | "answer" | "wake" | "drop";

export const BREAKS: readonly Break[] = ["fence", "end", "gap", "answer", "wake", "drop"];

export interface EngineOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly broken?: Break | undefined;
  /** True for an engine that answers at once. */
  readonly isInstant?: boolean;
  readonly trace?: (text: () => string) => void;
}

/** Faults that happen by chance while they are on, in percent of the operations or messages. */
export interface Weather {
  /** Operations whose reply does not arrive. */
  lostReplies: number;
  /** Messages of the bus that do not reach one node. */
  lostMessages: number;
  /** Operations and messages that take up to `slowMs`. */
  slow: number;
  slowMs: number;
}

/** Engine in memory, with the state of all nodes. It and the connections to it fail when the simulation says so. */
export class SimEngine {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly broken: Break | undefined;
  readonly tables: Tables;
  readonly topics: Topics;
  readonly bells: Bells;
  readonly weather: Weather = { lostReplies: 0, lostMessages: 0, slow: 0, slowMs: 0 };
  readonly trace: (text: () => string) => void;
  readonly #isInstant: boolean;
  readonly #clusters = new Map<Cluster, SimCluster>();
  isUp = true;

  constructor(options: EngineOptions) {
    const { scheduler, dice, broken, isInstant = false, trace = () => {} } = options;
    this.scheduler = scheduler;
    this.dice = dice;
    this.broken = broken;
    this.trace = trace;
    this.#isInstant = isInstant;
    this.tables = createTables({ clock: scheduler });
    this.topics = new Topics(this);
    this.bells = new Bells(this);
  }

  /** Connects a process. */
  connect(process: SimProcess): SimCluster {
    const cluster = new SimCluster(this, process);
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
    this.isUp = false;
    for (const cluster of this.#clusters.keys()) this.find(cluster).cut();
  }

  start(): void {
    this.isUp = true;
    for (const cluster of this.#clusters.keys()) this.find(cluster).mend();
  }

  /** Time of one way between a node and the engine. */
  delay(): number {
    if (this.#isInstant) return 0;
    const { slow, slowMs } = this.weather;
    return slow > 0 && this.dice.chance(slow) ? this.dice.between(1, slowMs) : this.dice.between(0.1, 2);
  }
}
