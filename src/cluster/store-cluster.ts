import { pause } from "../call/abortable.js";
import { type Clock, systemClock, unref } from "../call/clock.js";
import { atCaller } from "../protocol/at-caller.js";
import type { RingKey } from "../protocol/key-ring.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { StoreBuckets } from "./buckets.js";
import { StoreBus } from "./bus.js";
import { ClusterChanges } from "./changes.js";
import type { ChangingServer, EngineCluster, LocalChanges } from "./cluster.js";
import { Followers } from "./followers.js";
import { StoreLeases } from "./leases.js";
import { ClusterLogs, LOG_NOTICE } from "./logs.js";
import { Operations } from "./operations.js";
import { JOBS_NOTICE, StoreQueue } from "./queue.js";
import { StoreRecords } from "./records.js";
import { SealedStore } from "./sealed.js";
import { Shortage } from "./shortage.js";
import type { Store } from "./store.js";

export interface StoreClusterOptions {
  /**
   * Random name of this process, new for each start.
   * @default a random name
   */
  readonly node?: string | undefined;
  /**
   * Interval in which a process tells the others the number of its last message, in milliseconds. Others notice within it
   * that they have missed one.
   * @default 3_000
   */
  readonly heartbeatMs?: number | undefined;
  /**
   * Keys that seal everything that is stored or sent, so that the engine can neither read nor exchange it. The first key
   * seals, all keys open. Every process needs them.
   */
  readonly sealKeys?: readonly RingKey[] | undefined;
  readonly clock?: Clock | undefined;
}

const HEARTBEAT_MS = 3_000;

/** Time for which `close` waits until leases and jobs are released, and messages sent. */
const CLOSE_MS = 1_000;

/** Least delay of a heartbeat from which this process counts as stopped for a time. */
const PAUSE_MS = 1_000;

const OPTIONS: Known<StoreClusterOptions> = {
  node: "string",
  heartbeatMs: "period",
  sealKeys: "array",
  clock: "object",
};

/** Creates a cluster whose state is in a store, for engines that have no function of their own. */
export function storeCluster(store: Store, options: StoreClusterOptions = {}): EngineCluster {
  assertOptions({ storeCluster }, options, OPTIONS);
  return atCaller(storeCluster, () => new StoreCluster(store, options));
}

/** Cluster whose state is in a store. */
export class StoreCluster implements EngineCluster {
  readonly node: string;
  readonly records: StoreRecords;
  readonly logs: ClusterLogs;
  readonly bus: StoreBus;
  readonly leases: StoreLeases;
  readonly queue: StoreQueue;
  readonly buckets: StoreBuckets;
  readonly ready: Promise<void>;
  readonly #operations: Operations;
  readonly #heartbeatMs: number;
  readonly #followers: Followers;
  readonly #shortage: Shortage;
  #timer: unknown;
  #closed: Promise<void> | undefined;

  constructor(given: Store, options: StoreClusterOptions = {}) {
    const { node = crypto.randomUUID(), clock = systemClock, heartbeatMs = HEARTBEAT_MS, sealKeys } = options;
    const store = sealKeys === undefined ? given : new SealedStore(given, sealKeys);
    const operations = new Operations(store, clock, node);
    this.node = node;
    this.#operations = operations;
    this.#heartbeatMs = heartbeatMs;
    this.#followers = new Followers(operations);
    this.records = new StoreRecords(operations);
    this.logs = new ClusterLogs(operations, (...args) => this.#followers.follow(...args));
    this.bus = new StoreBus(operations, () => this.#wakeAll());
    this.leases = new StoreLeases(operations);
    this.queue = new StoreQueue(operations);
    this.buckets = new StoreBuckets(operations);
    const { closing } = operations;
    this.#shortage = new Shortage({ clock, node, records: this.records, closing, onOver: () => this.bus.gap() });
    this.ready = store.connect({
      onText: (text) => this.#onText(text),
      onMissed: () => this.bus.missed(),
      onShort: this.#shortage.note,
    });
    this.ready.catch(() => {});
    this.#plan();
  }

  get available(): boolean {
    return this.#operations.store.isUp && !this.#shortage.isOn && !this.#operations.closing.aborted;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { clock } = this.#operations;
    clock.cancel(this.#timer);
    this.#operations.close();
    const released = new AbortController();
    void Promise.all([this.leases.close(), this.queue.close(), this.bus.close()]).then(() => released.abort());
    await pause(clock, CLOSE_MS, released.signal);
    await this.#operations.store.close();
  }

  #onText(text: string): void {
    if (text === JOBS_NOTICE) this.queue.wake();
    else if (text.startsWith(LOG_NOTICE)) this.#followers.wake(text.slice(LOG_NOTICE.length));
    else this.bus.onText(text);
  }

  /** Lets all iterations look again, since notices may have been missed. */
  #wakeAll(): void {
    this.queue.wake();
    this.#followers.wakeAll();
  }

  #plan(): void {
    // Nodes of one process lose no message.
    if (this.#heartbeatMs === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#operations;
    const due = clock.now() + this.#heartbeatMs;
    this.#timer = clock.schedule(() => {
      // Others may have taken a process that was stopped for lost.
      const wasStopped = clock.now() - due > Math.max(PAUSE_MS, 2 * this.#heartbeatMs);
      this.#plan();
      if (wasStopped) this.bus.gap();
      if (this.#operations.store.isUp) this.bus.beat();
    }, this.#heartbeatMs);
    unref(this.#timer);
  }
}
