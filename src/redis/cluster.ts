import { type Clock, systemClock } from "../call/clock.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import { ClusterChanges } from "../cluster/changes.js";
import type { ChangingServer, LocalChanges } from "../cluster/cluster.js";
import { Shortage } from "../cluster/engine/shortage.js";
import type { EngineCluster } from "../cluster/engine-cluster.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { RedisBuckets } from "./buckets.js";
import { RedisBus } from "./bus.js";
import { Channels } from "./channels.js";
import type { RedisClient } from "./client.js";
import { Engine } from "./engine.js";
import { examine } from "./examine.js";
import { RedisLeases } from "./leases.js";
import { RedisLogs } from "./logs.js";
import { RedisQueue } from "./queue.js";
import { RedisRecords } from "./records.js";

export interface RedisClusterOptions {
  /** Client library, by `fromNodeRedis` or `fromIoredis`. */
  readonly client: RedisClient;
  /**
   * Begin of all keys and channels. Clusters with different prefixes share nothing.
   * @default "bowline"
   */
  readonly prefix?: string | undefined;
  /**
   * Maximum time of an operation, in milliseconds. The connection is replaced when it has passed.
   * @default 2_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Time between two checks that no message was lost, in milliseconds.
   * @default 2_000
   */
  readonly heartbeatMs?: number | undefined;
  /** Receives warnings about the settings of the server. */
  readonly logger?: { warn?(message: string): void } | undefined;
  readonly clock?: Clock | undefined;
}

/** State that processes share in Redis. */
export type RedisCluster = EngineCluster;

const OPTIONS: Known<RedisClusterOptions> = {
  client: [{ object: "any" }, "required"],
  prefix: "string",
  timeoutMs: "ms",
  heartbeatMs: "period",
  logger: [{ object: "any" }],
  clock: "object",
};

const TIMEOUT_MS = 2_000;
const HEARTBEAT_MS = 2_000;

/** State that processes share in a Redis server of version 6.2 or newer. */
export function redisCluster(options: RedisClusterOptions): RedisCluster {
  assertOptions({ redisCluster }, options, OPTIONS);
  return new SharedByRedis(options);
}

class SharedByRedis implements RedisCluster {
  readonly node = crypto.randomUUID().replaceAll("-", "");
  readonly records: RedisRecords;
  readonly logs: RedisLogs;
  readonly bus: RedisBus;
  readonly leases: RedisLeases;
  readonly queue: RedisQueue;
  readonly buckets: RedisBuckets;
  readonly ready: Promise<void>;
  readonly #engine: Engine;
  readonly #channels: Channels;
  readonly #shortage: Shortage;
  readonly #warned = new Set<string>();
  #closed: Promise<void> | undefined;

  constructor({ client, prefix = "bowline", logger, clock = systemClock, ...times }: RedisClusterOptions) {
    const { timeoutMs = TIMEOUT_MS, heartbeatMs = HEARTBEAT_MS } = times;
    const parts = [RedisRecords, RedisLogs, RedisBus, RedisLeases, RedisQueue, RedisBuckets];
    const scripts = parts.flatMap((part) => part.scripts);
    const warn = (message: string) => {
      if (this.#warned.has(message)) return;
      this.#warned.add(message);
      ignoreErrors(() => logger?.warn?.(message));
    };
    const engine = new Engine({
      node: this.node,
      client,
      prefix,
      clock,
      timeoutMs,
      scripts,
      examine: (command) => examine(command, { prefix, warn }),
    });
    const channels = new Channels({ client, clock, timeoutMs });
    this.#engine = engine;
    this.#channels = channels;
    this.records = new RedisRecords(engine);
    this.logs = new RedisLogs(engine, channels);
    this.bus = new RedisBus(engine, channels, heartbeatMs);
    this.leases = new RedisLeases(engine);
    this.queue = new RedisQueue(engine, channels);
    this.buckets = new RedisBuckets(engine);
    const { node, records } = this;
    const { closing } = engine;
    this.#shortage = new Shortage({ clock, node, records, closing, onOver: () => this.bus.gap() });
    engine.onShort = this.#shortage.note;
    this.ready = Promise.all([engine.tried("start"), channels.tried("start")]).then(() => undefined);
    this.ready.catch(() => {});
  }

  get available(): boolean {
    return this.#engine.isUp && !this.#shortage.isOn;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#engine.startClosing();
    this.bus.close();
    await Promise.all([this.leases.close(), this.queue.close()]);
    await Promise.all([this.#engine.close(), this.#channels.close()]);
  }
}
