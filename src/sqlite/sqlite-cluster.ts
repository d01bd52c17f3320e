import { settlesWithin } from "../call/abortable.js";
import { type Clock, systemClock, unref } from "../call/clock.js";
import { ClusterChanges } from "../cluster/changes.js";
import type { ChangingServer, LocalChanges } from "../cluster/cluster.js";
import type { EngineBuckets } from "../cluster/engine/buckets.js";
import type { EngineLeases } from "../cluster/engine/leases.js";
import { Shortage } from "../cluster/engine/shortage.js";
import { Sweep } from "../cluster/engine/sweep.js";
import type { EngineCluster } from "../cluster/engine-cluster.js";
import { DefinitionError } from "../protocol/errors.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { SqliteBus } from "./bus.js";
import { Engine } from "./engine.js";
import { SqliteLogs } from "./logs.js";
import type { News, StartThread } from "./messages.js";
import { SqliteRecords } from "./records.js";
import { SqliteQueue, sqliteBuckets, sqliteLeases } from "./rights.js";
import { checkPrefix } from "./tables.js";
import { Watch } from "./watch.js";

/** Options of {@link sqliteCluster}. */
export interface SqliteClusterOptions {
  /**
   * Path of the file, on a disk of this machine. The file is created if it does not exist. Only its owner can read it; the
   * rights of others are taken from a file that exists.
   */
  readonly path: string;
  /**
   * Prefix of the names of tables. Clusters with different prefixes share nothing.
   * @default ""
   */
  readonly prefix?: string | undefined;
  /**
   * Moment at which an operation counts as stored. With `normal`, it survives the end of any process, and a crash of the
   * machine can lose the last operations. With `full`, it is on the disk.
   * @default "normal"
   */
  readonly synchronous?: "normal" | "full" | undefined;
  /**
   * Maximum time for which an operation waits for the writer of another process.
   * @default 5000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Interval in which changes of other processes are looked for, while this process waits for some. It is eight times as
   * long after 200 looks without a change.
   * @default 5
   */
  readonly pollMs?: number | undefined;
  /**
   * Interval in which the process finds out that it was stopped, or that the file was moved or deleted.
   * @default 3000
   */
  readonly heartbeatMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** State that the processes of a machine share in a file. */
export type SqliteCluster = EngineCluster;

const OPTIONS: Known<SqliteClusterOptions> = {
  path: "any",
  prefix: "string",
  synchronous: [{ string: ["normal", "full"] }],
  timeoutMs: "ms",
  pollMs: "period",
  heartbeatMs: "period",
  clock: "object",
};

/** Number of heartbeats between two deletions of rows whose life is over. */
const BEATS_PER_SWEEP = 10;

/** Minimum delay of a heartbeat from which this process counts as stopped for a time. */
const PAUSE_MS = 1000;

/** Time for which `close` waits for the file. */
const CLOSE_MS = 1000;

/** Throws for invalid options. */
export function assertSqliteOptions(options: SqliteClusterOptions): void {
  assertOptions("sqliteCluster", options, OPTIONS);
  const { path, prefix = "" } = options;
  if (typeof path !== "string" || path === "" || path === ":memory:" || path.startsWith("file:"))
    throw new DefinitionError(
      `sqliteCluster: path is ${JSON.stringify(path)}; pass the path of a file, or use memoryCluster for state in memory`,
    );
  checkPrefix(prefix);
}

/** Creates a cluster whose statements run in threads that `start` starts. */
export function createSqliteCluster(options: SqliteClusterOptions, start: StartThread): SqliteCluster {
  return new SharedByFile(options, start);
}

class SharedByFile implements SqliteCluster {
  readonly node: string = crypto.randomUUID();
  readonly records: SqliteRecords;
  readonly logs: SqliteLogs;
  readonly bus: SqliteBus;
  readonly leases: EngineLeases;
  readonly queue: SqliteQueue;
  readonly buckets: EngineBuckets;
  readonly ready: Promise<void>;
  readonly #engine: Engine;
  readonly #shortage: Shortage;
  readonly #sweep: Sweep;
  readonly #heartbeatMs: number;
  readonly #stop = new AbortController();
  #beats = 0;
  #timer: unknown;
  #closing: Promise<void> | undefined;

  constructor(options: SqliteClusterOptions, start: StartThread) {
    const { path, prefix = "", synchronous = "normal", timeoutMs = 5000, pollMs = 5 } = options;
    const { clock = systemClock, heartbeatMs = 3000 } = options;
    const file = { path, prefix, synchronous, timeoutMs, pollMs };
    const { signal } = this.#stop;
    const engine = new Engine({
      clock,
      file,
      start,
      news: (news) => this.#tell(news),
      reopened: () => this.#reopened(),
      onShort: () => this.#shortage.note(),
    });
    const watch = new Watch(engine);
    this.#engine = engine;
    this.#heartbeatMs = heartbeatMs;
    const everyMs = (BEATS_PER_SWEEP * heartbeatMs) / 2;
    this.#sweep = new Sweep(clock, (isFirst) => engine.run("sweep", isFirst ? everyMs : 0));
    this.records = new SqliteRecords(engine);
    this.logs = new SqliteLogs(engine, watch, this.node, signal);
    this.bus = new SqliteBus(engine, watch, this.node);
    this.leases = sqliteLeases(engine);
    this.queue = new SqliteQueue(engine, watch, signal);
    this.buckets = sqliteBuckets(engine);
    const { node, records } = this;
    this.#shortage = new Shortage({ clock, node, records, closing: signal, onOver: () => this.bus.tellAll() });
    this.ready = engine.start();
    this.ready.catch(() => {});
    this.#plan();
  }

  get available(): boolean {
    return this.#engine.isAvailable && !this.#shortage.isOn;
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

  #tell({ messages, isGap, logs, jobs }: News): void {
    if (isGap) this.bus.gap();
    for (const message of messages) this.bus.deliver(message);
    this.logs.wake(logs);
    if (jobs) this.queue.wake();
  }

  #reopened(): void {
    this.bus.reset();
    this.queue.wake();
    this.logs.wakeAll();
  }

  #plan(): void {
    const { clock } = this.#engine;
    const due = clock.now() + this.#heartbeatMs;
    this.#timer = clock.schedule(() => {
      // Others may have taken a process that was stopped for lost.
      if (clock.now() - due > Math.max(PAUSE_MS, 2 * this.#heartbeatMs)) this.bus.gap();
      this.#plan();
      this.#beat();
    }, this.#heartbeatMs);
    unref(this.#timer);
  }

  #beat(): void {
    if (!this.#engine.isAvailable) return;
    this.#engine.check();
    this.#beats++;
    if (this.#beats % BEATS_PER_SWEEP === 0) void this.#sweep.run();
  }
}
