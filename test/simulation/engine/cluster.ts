import { ClusterChanges } from "#src/cluster/changes.js";
import type {
  ChangingServer,
  Cluster,
  ClusterBuckets,
  Lease,
  Leases,
  LocalChanges,
  PutOptions,
  Records,
} from "#src/cluster/cluster.js";
import { MemoryClusterBuckets } from "#src/cluster/memory/buckets.js";
import { Holdings } from "#src/cluster/memory/holdings.js";
import { MemoryLeases } from "#src/cluster/memory/leases.js";
import { Link } from "#src/cluster/memory/link.js";
import { MemoryLogs } from "#src/cluster/memory/logs.js";
import { MemoryQueue } from "#src/cluster/memory/queue.js";
import { MemoryRecords } from "#src/cluster/memory/records.js";
import type { SimProcess } from "../process.js";
import { Connection } from "./connection.js";
import { SimLogs } from "./logs.js";
import { SimQueue } from "./queue.js";
import type { EngineState } from "./state.js";
import { SimBus, type Topics } from "./topics.js";
import type { Bells } from "./wakes.js";

/** Connection of one node to the simulated engine. Buckets are those of the state in memory. */
export class SimCluster implements Cluster {
  readonly records: Records;
  readonly logs: SimLogs;
  readonly bus: SimBus;
  readonly leases: Leases;
  readonly queue: SimQueue;
  readonly buckets: ClusterBuckets;
  readonly #engine: EngineState;
  readonly #process: SimProcess;
  readonly #connection: Connection;
  readonly #link = new Link();
  readonly #holdings: Holdings;
  /** Time since which the connection is up. */
  upSince = 0;

  constructor(engine: EngineState, topics: Topics, bells: Bells, process: SimProcess) {
    const { tables } = engine;
    this.#engine = engine;
    this.#process = process;
    this.#connection = new Connection(engine, process);
    this.#holdings = new Holdings(tables.expiries);
    this.records = createRecords(engine, this.#connection, new MemoryRecords(this.#link, tables.records));
    this.logs = new SimLogs(engine, bells, process, this.#connection, new MemoryLogs(this.#link, tables.logs));
    this.bus = new SimBus(engine, topics, process, this.#connection, this.#link.node);
    const leases = new MemoryLeases(this.#link, tables.leases, this.#holdings);
    this.leases = { acquire: (name, ttlMs) => this.#acquire(leases, name, ttlMs) };
    const jobs = new MemoryQueue(this.#link, tables.jobs, this.#holdings);
    this.queue = new SimQueue(engine, process, this.#connection, jobs);
    this.buckets = new MemoryClusterBuckets(this.#link, tables.buckets);
    if (!engine.isUp) this.cut();
  }

  get node(): string {
    return this.#link.node;
  }

  get available(): boolean {
    return this.#connection.isUp && !this.#connection.isClosed;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  async close(): Promise<void> {
    if (this.#connection.isClosed) return;
    this.#connection.close();
    this.#link.change(false, true);
    this.#holdings.close();
    this.bus.close();
    this.logs.wake();
    this.queue.wake();
  }

  /** Loses the connection. Leases end at the end of their lives. */
  cut(): void {
    if (!this.available) return;
    this.#engine.trace(() => `engine connection of ${this.#process.name} is lost`);
    this.#connection.cut();
    this.#link.change(false, false);
    this.#holdings.cut();
    this.bus.cut();
  }

  /** Connects again, if the engine is there. */
  mend(): void {
    if (this.available || this.#connection.isClosed || this.#process.hasCrashed || !this.#engine.isUp) return;
    this.#engine.trace(() => `engine connection of ${this.#process.name} is back`);
    if (this.#process.isRunning) this.#holdings.mend();
    this.#link.change(true, false);
    this.#connection.mend();
    this.upSince = this.#engine.scheduler.now();
    this.bus.tellGap(this.#engine.delay());
    this.#process.enter(() => {
      this.logs.wake();
      this.queue.wake();
    });
  }

  /** Renews no lease, since the process does not run. */
  pause(): void {
    if (this.available) this.#holdings.cut();
  }

  /** Renews the leases that are not lost. */
  resume(): void {
    if (this.available) this.#holdings.mend();
  }

  async #acquire(leases: MemoryLeases, name: string, ttlMs: number): Promise<Lease | undefined> {
    const acquire = () => leases.acquire(name, ttlMs);
    const { scheduler } = this.#engine;
    // A lease that its holder does not know, or could not release, is not renewed.
    const endLater = (lease: Lease | undefined) => {
      const free = () => {
        if (this.#link.isUp) lease?.release();
        else if (!this.#link.isClosed && !this.#process.hasCrashed) scheduler.schedule(free, 100);
      };
      if (lease !== undefined) scheduler.schedule(free, ttlMs);
    };
    const inner = await this.#connection.operate(`acquire ${name}`, false, acquire, endLater);
    if (inner === undefined) return undefined;
    const lost = new AbortController();
    // A process learns by its own clock that the lease is over.
    const tell = () => this.#process.enterFirst(() => lost.abort(inner.lost.reason));
    if (inner.lost.aborted) tell();
    else inner.lost.addEventListener("abort", tell, { once: true });
    const release = async () => {
      if (lost.signal.aborted) return;
      try {
        await this.#connection.operate(`release ${name}`, false, () => inner.release());
      } catch (error) {
        endLater(inner);
        throw error;
      }
    };
    return { lost: lost.signal, release };
  }
}

/** Records of one node, over the state in memory. */
function createRecords(engine: EngineState, connection: Connection, inner: MemoryRecords): Records {
  const isUnchecked = engine.broken === "answer";
  const write = <T>(name: string, run: () => T) => connection.operate(name, false, run);
  const read = <T>(name: string, run: () => T) => connection.operate(name, true, run);
  const put = (key: string, value: string, { ifVersion, ...rest }: PutOptions) =>
    inner.put(key, value, ifVersion === undefined || isUnchecked ? rest : { ...rest, ifVersion });
  return {
    get: (key) => read(`get ${key}`, () => inner.get(key)),
    put: (key, value, options = {}) => write(`put ${key} ${value}`, () => put(key, value, options)),
    touch: (key, ttlMs) => write(`touch ${key}`, () => inner.touch(key, ttlMs)),
    delete: (key, ifVersion) => write(`delete ${key}`, () => inner.delete(key, isUnchecked ? undefined : ifVersion)),
    list: (index, options) => read(`list ${index}`, () => inner.list(index, options)),
    count: (index) => read(`count ${index}`, () => inner.count(index)),
  };
}
