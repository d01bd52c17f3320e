import { settlesWithin } from "../call/abortable.js";
import { type Clock, systemClock, unref } from "../call/clock.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import { ClusterChanges } from "../cluster/changes.js";
import type { ChangingServer, Cluster, LocalChanges } from "../cluster/cluster.js";
import type { EngineBuckets } from "../cluster/engine/buckets.js";
import type { EngineLeases } from "../cluster/engine/leases.js";
import type { EngineQueue } from "../cluster/engine/queue.js";
import { NatsBus } from "./bus.js";
import type { NatsClient, NatsLine } from "./client.js";
import { Documents } from "./documents.js";
import { Engine } from "./engine.js";
import { NatsLogs } from "./logs.js";
import { Mirror } from "./mirror.js";
import { Names } from "./names.js";
import { natsQueue } from "./queue.js";
import { NatsRecords } from "./records.js";
import { natsBuckets, natsLeases } from "./rights.js";
import { prepare } from "./start.js";
import { Sweep } from "./sweep.js";

/** Options of {@link natsCluster}. */
export interface NatsClusterOptions {
  /** Client library, by `fromNats`. */
  readonly client: NatsClient;
  /**
   * Begin of the names of streams and subjects. Clusters with different prefixes share nothing.
   * @default "bowline"
   */
  readonly prefix?: string | undefined;
  /**
   * Number of servers that store the streams, for streams that do not exist yet.
   * @default 1
   */
  readonly replicas?: number | undefined;
  /**
   * Maximum time of an operation, in milliseconds. The connection is replaced when it has passed.
   * @default 2_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Time between two checks that no message was lost and that the server answers, in milliseconds.
   * @default 2_000
   */
  readonly heartbeatMs?: number | undefined;
  /** Receives warnings about the streams of the server. */
  readonly logger?: { warn?(message: string): void } | undefined;
  readonly clock?: Clock | undefined;
}

/** State that processes share in NATS. */
export interface NatsCluster extends Cluster {
  /**
   * Settles after the first attempt to connect. Rejects if the server cannot be reached or used. It is tried again then,
   * so that a process may go on without it.
   */
  readonly ready: Promise<void>;
}

const TIMEOUT_MS = 2_000;
const HEARTBEAT_MS = 2_000;

/** Numbers of heartbeats between two looks at followed logs, and between two sweeps. */
const BEATS_PER_LOOK = 5;
const BEATS_PER_SWEEP = 15;

/** Minimum delay of a heartbeat from which this process counts as stopped for a time. */
const PAUSE_MS = 1_000;

/** Time for which `close` waits for the server. */
const CLOSE_MS = 1_000;

/**
 * Shares state in a NATS server of version 2.9 or newer with JetStream. Creates two streams if they do not exist.
 *
 * @experimental It passes the tests that each engine passes. It has not been shown yet what a crash costs under load.
 */
export function natsCluster(options: NatsClusterOptions): NatsCluster {
  return new SharedByNats(options);
}

class SharedByNats implements NatsCluster {
  readonly node: string = crypto.randomUUID();
  readonly records: NatsRecords;
  readonly logs: NatsLogs;
  readonly bus: NatsBus;
  readonly leases: EngineLeases;
  readonly queue: EngineQueue;
  readonly buckets: EngineBuckets;
  readonly ready: Promise<void>;
  readonly #engine: Engine;
  readonly #mirror: Mirror;
  readonly #sweep: Sweep;
  readonly #heartbeatMs: number;
  readonly #stop = new AbortController();
  readonly #warned = new Set<string>();
  #beats = 0;
  #ups = 0;
  #timer: unknown;
  #closing: Promise<void> | undefined;

  constructor({ client, prefix = "bowline", replicas = 1, logger, clock = systemClock, ...times }: NatsClusterOptions) {
    const { timeoutMs = TIMEOUT_MS, heartbeatMs = HEARTBEAT_MS } = times;
    const { node } = this;
    const { signal: closed } = this.#stop;
    const names = new Names(prefix);
    const warn = (message: string) => {
      if (this.#warned.has(message)) return;
      this.#warned.add(message);
      ignoreErrors(() => logger?.warn?.(message));
    };
    const engine = new Engine({
      client,
      names,
      clock,
      timeoutMs,
      prepare: async (line) => {
        await prepare(line, { names, replicas, clock, warn });
        await this.#open(line);
      },
      onUp: () => this.#onUp(),
    });
    const documents = new Documents(engine);
    const jobs = names.listedSubject("job", "").slice(0, -1);
    this.#engine = engine;
    this.#heartbeatMs = heartbeatMs;
    this.#mirror = new Mirror(engine, timeoutMs, (subject) => {
      if (subject.startsWith(jobs)) this.queue.wake();
    });
    this.#sweep = new Sweep(engine);
    this.bus = new NatsBus({
      engine,
      node,
      onLogs: (logs) => this.logs.wake(logs),
      onHold: (log) => this.logs.hold(log),
    });
    this.records = new NatsRecords(documents, this.#mirror);
    const changed = (log: string) => this.bus.tellLog(log);
    const askToHold = (log: string) => this.bus.askToHold(log);
    this.logs = new NatsLogs({ documents, mirror: this.#mirror, node, closed, changed, askToHold });
    this.leases = natsLeases(documents);
    this.queue = natsQueue(documents, this.#mirror, closed);
    this.buckets = natsBuckets(documents);
    this.ready = engine.tried("start");
    this.ready.catch(() => {});
    this.#plan();
  }

  get available(): boolean {
    return this.#engine.isUp && !this.#stop.signal.aborted;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#engine.clock.cancel(this.#timer);
    this.#stop.abort();
    await settlesWithin(
      Promise.all([this.leases.close(), this.queue.close()]).then(() => {}),
      CLOSE_MS,
    );
    this.bus.close();
    await settlesWithin(this.#engine.close(), CLOSE_MS);
  }

  async #open(line: NatsLine): Promise<void> {
    await this.bus.open(line);
    await this.#mirror.open(line);
  }

  #onUp(): void {
    this.queue.wake();
    this.logs.wakeAll();
    if (this.#ups++ > 0) this.bus.gap();
  }

  #plan(): void {
    const { clock } = this.#engine;
    const due = clock.now() + this.#heartbeatMs;
    this.#timer = clock.schedule(() => {
      // Others may have taken a process that was stopped for lost.
      if (clock.now() - due > Math.max(PAUSE_MS, 2 * this.#heartbeatMs)) this.bus.gap();
      this.#plan();
      this.#beat().catch(() => {});
    }, this.#heartbeatMs);
    unref(this.#timer);
  }

  async #beat(): Promise<void> {
    if (!this.available) return;
    this.bus.beat();
    this.#mirror.check();
    await this.#engine.syncTime();
    this.#beats++;
    if (this.#beats % BEATS_PER_LOOK === 0) await this.logs.look();
    const everyMs = (BEATS_PER_SWEEP * this.#heartbeatMs) / 2;
    // It ends before another process may begin the next one.
    if (this.#beats % BEATS_PER_SWEEP === 0) await this.#sweep.run(everyMs, (everyMs * 2) / 3);
  }
}
