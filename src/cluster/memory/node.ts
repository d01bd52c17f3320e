import { ClusterChanges } from "../changes.js";
import type { ChangingServer, Cluster, LocalChanges } from "../cluster.js";
import { MemoryClusterBuckets } from "./buckets.js";
import { MemoryBus } from "./bus.js";
import { Holdings } from "./holdings.js";
import { MemoryLeases } from "./leases.js";
import { Link } from "./link.js";
import { MemoryLogs } from "./logs.js";
import { MemoryQueue } from "./queue.js";
import { MemoryRecords } from "./records.js";
import type { Tables } from "./tables.js";

/** Node whose state is in memory. Its methods return values, not promises. */
export class MemoryNode implements Cluster {
  readonly records: MemoryRecords;
  readonly logs: MemoryLogs;
  readonly bus: MemoryBus;
  readonly leases: MemoryLeases;
  readonly queue: MemoryQueue;
  readonly buckets: MemoryClusterBuckets;
  readonly #link = new Link();
  readonly #holdings: Holdings;
  readonly #onClose: () => void;

  constructor(tables: Tables, onClose: (node: MemoryNode) => void) {
    this.#holdings = new Holdings(tables.expiries);
    this.#onClose = () => onClose(this);
    this.records = new MemoryRecords(this.#link, tables.records);
    this.logs = new MemoryLogs(this.#link, tables.logs);
    this.bus = new MemoryBus(this.#link, tables.topics);
    this.leases = new MemoryLeases(this.#link, tables.leases, this.#holdings);
    this.queue = new MemoryQueue(this.#link, tables.jobs, this.#holdings);
    this.buckets = new MemoryClusterBuckets(this.#link, tables.buckets);
  }

  get node(): string {
    return this.#link.node;
  }

  get available(): boolean {
    return this.#link.isUp;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  async close(): Promise<void> {
    if (this.#link.isClosed) return;
    this.#link.change(false, true);
    this.#holdings.close();
    this.bus.close();
    this.#onClose();
  }

  /** Cuts the node off. Its leases and jobs pass to others at the end of their lives. */
  cut(): void {
    if (!this.#link.isUp) return;
    this.#link.change(false, false);
    this.#holdings.cut();
  }

  /** Connects the node again. Messages may have been missed. */
  mend(): void {
    if (this.#link.isUp || this.#link.isClosed) return;
    this.#holdings.mend();
    this.#link.change(true, false);
    this.bus.tellGap();
  }
}
