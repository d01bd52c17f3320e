import { pause } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import { type Clock, systemClock, unref } from "../call/clock.js";
import { ClusterChanges } from "../cluster/changes.js";
import type { ChangingServer, LocalChanges } from "../cluster/cluster.js";
import type { EngineBuckets } from "../cluster/engine/buckets.js";
import type { EngineLeases } from "../cluster/engine/leases.js";
import type { EngineLogs } from "../cluster/engine/logs.js";
import type { EngineQueue } from "../cluster/engine/queue.js";
import { Shortage } from "../cluster/engine/shortage.js";
import { Sweep } from "../cluster/engine/sweep.js";
import type { EngineCluster } from "../cluster/engine-cluster.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { postgresBuckets } from "./buckets.js";
import { PostgresBus } from "./bus.js";
import type { PostgresClient } from "./client.js";
import { Engine } from "./engine.js";
import { PostgresFollowers } from "./followers.js";
import { postgresLeases } from "./leases.js";
import { Listener } from "./listener.js";
import { postgresLogs } from "./logs.js";
import { Outbox } from "./outbox.js";
import { postgresQueue } from "./queue.js";
import { PostgresRecords } from "./records.js";
import { prepare } from "./start.js";
import { type Names, namesOf } from "./tables.js";

/** Options of {@link postgresCluster}. */
export interface PostgresClusterOptions {
  /** Client library, by `fromPg` or `fromPostgresJs`. */
  readonly client: PostgresClient;
  /**
   * Client that listens to notifications. Required if `client` connects by a pooler in transaction or statement mode.
   * @default client
   */
  readonly listener?: PostgresClient | undefined;
  /**
   * Schema of the tables. It is created if it does not exist.
   * @default "bowline"
   */
  readonly schema?: string | undefined;
  /**
   * Prefix of the names of tables. Clusters with different prefixes share nothing.
   * @default ""
   */
  readonly prefix?: string | undefined;
  /**
   * Maximum duration of a statement. A statement that takes longer fails.
   * @default 5000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Interval of the notifications by which processes find out that they missed some.
   * @default 3000
   */
  readonly heartbeatMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

const OPTIONS: Known<PostgresClusterOptions> = {
  client: [{ object: "any" }, "required"],
  listener: "object",
  schema: "string",
  prefix: "string",
  timeoutMs: "ms",
  heartbeatMs: "period",
  clock: "object",
};

/** Number of heartbeats between two deletions of rows whose life is over. */
const BEATS_PER_SWEEP = 10;

/** Delays between attempts to start. */
const RESTART: Backoff = { delayMs: 200, maxDelayMs: 5000 };

/** Time for which `close` waits for the server. */
const CLOSE_MS = 1000;

/**
 * State that processes share in PostgreSQL. It cannot start if the server is older than version 13, refuses a right, or is
 * behind a pooler that hides LISTEN.
 */
export type PostgresCluster = EngineCluster;

/**
 * Shares state in a database of PostgreSQL 13 or newer. Creates the tables if they do not exist. Operations wait for the
 * first attempt to start.
 */
export function postgresCluster(options: PostgresClusterOptions): PostgresCluster {
  assertOptions({ postgresCluster }, options, OPTIONS);
  const names = namesOf(options.schema ?? "bowline", options.prefix ?? "");
  return new SharedByPostgres(options, names);
}

class SharedByPostgres implements PostgresCluster {
  readonly node: string = crypto.randomUUID();
  readonly records: PostgresRecords;
  readonly logs: EngineLogs;
  readonly bus: PostgresBus;
  readonly leases: EngineLeases;
  readonly queue: EngineQueue;
  readonly buckets: EngineBuckets;
  readonly ready: Promise<void>;
  readonly #engine: Engine;
  readonly #shortage: Shortage;
  readonly #names: Names;
  readonly #outbox: Outbox;
  readonly #sweep: Sweep;
  readonly #followers: PostgresFollowers;
  readonly #listener: Listener;
  readonly #heartbeatMs: number;
  readonly #stop = new AbortController();
  readonly #offIdleError: () => void;
  #beats = 0;
  #timer: unknown;
  #closing: Promise<void> | undefined;

  constructor(options: PostgresClusterOptions, names: Names) {
    const { client, listener = client, clock = systemClock, timeoutMs = 5000, heartbeatMs = 3000 } = options;
    const { node } = this;
    const { signal } = this.#stop;
    const engine = new Engine(client, clock, timeoutMs);
    this.#engine = engine;
    this.#names = names;
    this.#heartbeatMs = heartbeatMs;
    this.#outbox = new Outbox(engine, names, node);
    this.#sweep = new Sweep(clock, () => this.#outbox.sweep());
    this.#followers = new PostgresFollowers(engine, names, this.#outbox, signal);
    this.records = new PostgresRecords(engine, names);
    this.logs = postgresLogs(engine, names, node, this.#followers);
    this.bus = new PostgresBus(engine, names, this.#outbox, () => this.#listener.isUp);
    this.leases = postgresLeases(engine, names);
    this.queue = postgresQueue(engine, names, this.#outbox, signal);
    this.buckets = postgresBuckets(engine, names);
    const { records } = this;
    this.#shortage = new Shortage({ clock, node, records, closing: signal, onOver: () => this.bus.gap() });
    engine.onShort = this.#shortage.note;
    const heard = (payload: string) => this.#heard(payload);
    const reopened = () => this.#reopened();
    const { channel } = names;
    this.#listener = new Listener({ client: listener, engine, channel, node, heartbeatMs, timeoutMs, heard, reopened });
    this.#offIdleError = client.onIdleError(() => this.#listener.look());
    this.ready = this.#start();
    engine.startBy(this.ready);
    this.ready.catch(() => this.#startAgain());
  }

  get available(): boolean {
    return this.#engine.isAvailable && !this.#shortage.isOn;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  async #start(): Promise<void> {
    await prepare(this.#engine, this.#names);
    await this.#listener.open();
    this.#engine.started();
    this.#plan();
  }

  async #startAgain(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; failures++) {
      await pause(this.#engine.clock, backoffMs(Math.min(failures, 10), RESTART), signal);
      if (signal.aborted) return;
      const isStarted = await this.#start().then(
        () => true,
        () => false,
      );
      if (isStarted) return;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#engine.clock.cancel(this.#timer);
    this.#stop.abort();
    const released = Promise.all([this.leases.close(), this.queue.close()]).then(() => {});
    await this.#within(released);
    this.#engine.close();
    this.bus.close();
    this.#offIdleError();
    await this.#within(this.#listener.close());
  }

  /** Resolves when the work ends, but at the latest after `CLOSE_MS`. */
  async #within(work: Promise<void>): Promise<void> {
    const { clock } = this.#engine;
    await new Promise<void>((resolve) => {
      const timer = clock.schedule(resolve, CLOSE_MS);
      work
        .catch(() => {})
        .finally(() => {
          clock.cancel(timer);
          resolve();
        });
    });
  }

  #heard(payload: string): void {
    const [kind, ...ids] = payload.split(" ");
    const [from = "", first, last] = ids;
    if (kind === "m") this.bus.announced(from, Number(first), Number(last));
    // A heartbeat names the last message only. A sender that was not heard before has sent it earlier.
    else if (kind === "h") this.bus.announced(from, Number(first) + 1, Number(first));
    else if (kind === "l") for (const id of ids) this.#followers.wake(id);
    else if (kind === "q") this.queue.wake();
  }

  #reopened(): void {
    this.bus.reset();
    this.queue.wake();
    this.#followers.look().catch(() => {});
  }

  #plan(): void {
    this.#timer = this.#engine.clock.schedule(() => {
      this.#plan();
      void this.#beat();
    }, this.#heartbeatMs);
    unref(this.#timer);
  }

  async #beat(): Promise<void> {
    if (this.#engine.isAway) return;
    this.#outbox.beat();
    await this.#followers.look().catch(() => {});
    this.#beats++;
    if (this.#beats % BEATS_PER_SWEEP === 0) void this.#sweep.run();
  }
}
