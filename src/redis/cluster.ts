import { type Clock, systemClock } from "../call/clock.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import type { EngineCluster } from "../cluster/cluster.js";
import { StoreCluster } from "../cluster/store-cluster.js";
import type { RingKey } from "../protocol/key-ring.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import type { RedisClient } from "./connection.js";
import { RedisStore } from "./store.js";

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
  /**
   * Keys of 32 bytes that seal everything that is stored or sent, so that Redis can neither read nor exchange it. The first
   * seals, all open. Every process needs them.
   */
  readonly sealKeys?: readonly RingKey[] | undefined;
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
  sealKeys: "array",
  clock: "object",
};

const TIMEOUT_MS = 2_000;
const HEARTBEAT_MS = 2_000;

/** State that processes share in a Redis server of version 6.2 or newer. */
export function redisCluster(options: RedisClusterOptions): RedisCluster {
  assertOptions({ redisCluster }, options, OPTIONS);
  const { client, prefix = "bowline", logger, sealKeys, clock = systemClock } = options;
  const { timeoutMs = TIMEOUT_MS, heartbeatMs = HEARTBEAT_MS } = options;
  const warned = new Set<string>();
  const warn = (message: string) => {
    if (warned.has(message)) return;
    warned.add(message);
    ignoreErrors(() => logger?.warn?.(message));
  };
  const store = new RedisStore({ client, prefix, clock, timeoutMs, warn });
  return new StoreCluster(store, { clock, heartbeatMs, sealKeys });
}
