import { type Clock, systemClock } from "../call/clock.js";
import type { EngineCluster } from "../cluster/cluster.js";
import { StoreCluster } from "../cluster/store-cluster.js";
import type { RingKey } from "../protocol/key-ring.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import type { PostgresClient } from "./connection.js";
import { PostgresStore } from "./store.js";

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
  /**
   * Keys of 32 bytes that seal everything that is stored or sent, so that PostgreSQL can neither read nor exchange it. The first
   * seals, all open. Every process needs them.
   */
  readonly sealKeys?: readonly RingKey[] | undefined;
  readonly clock?: Clock | undefined;
}

const OPTIONS: Known<PostgresClusterOptions> = {
  client: [{ object: "any" }, "required"],
  listener: "object",
  schema: "string",
  prefix: "string",
  timeoutMs: "ms",
  heartbeatMs: "period",
  sealKeys: "array",
  clock: "object",
};

const TIMEOUT_MS = 5_000;
const HEARTBEAT_MS = 3_000;

/** Number of heartbeats between two deletions of rows whose life is over. */
const BEATS_PER_SWEEP = 10;

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
  const { client, listener = client, schema = "bowline", prefix = "" } = options;
  const { timeoutMs = TIMEOUT_MS, heartbeatMs = HEARTBEAT_MS, sealKeys, clock = systemClock } = options;
  const sweepMs = BEATS_PER_SWEEP * heartbeatMs;
  const store = new PostgresStore({ client, listener, schema, prefix, timeoutMs, sweepMs, clock });
  return new StoreCluster(store, { clock, heartbeatMs, sealKeys });
}
