import { type Clock, systemClock } from "../call/clock.js";
import type { EngineCluster } from "../cluster/cluster.js";
import { StoreCluster } from "../cluster/store-cluster.js";
import { DefinitionError } from "../protocol/errors.js";
import type { RingKey } from "../protocol/key-ring.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import type { StartThread } from "./messages.js";
import { SqliteStore } from "./store.js";

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
   * Interval in which messages of other processes are looked for. It is eight times as long after 200 looks without a
   * change.
   * @default 5
   */
  readonly pollMs?: number | undefined;
  /**
   * Interval in which a process tells the others the number of its last message, so that they notice if they have missed
   * one, and finds out that it was stopped, or that the file was moved or deleted.
   * @default 3000
   */
  readonly heartbeatMs?: number | undefined;
  /**
   * Keys of 32 bytes that seal everything that is stored or sent, so that others can neither read nor exchange it. The first
   * seals, all open. Every process needs them.
   */
  readonly sealKeys?: readonly RingKey[] | undefined;
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
  sealKeys: "array",
  clock: "object",
};

const PREFIX = /^([a-z_][a-z0-9_]{0,30})?$/;

/** Throws for invalid options. */
export function assertSqliteOptions(options: SqliteClusterOptions): void {
  assertOptions("sqliteCluster", options, OPTIONS);
  const { path, prefix = "" } = options;
  if (typeof path !== "string" || path === "" || path === ":memory:" || path.startsWith("file:"))
    throw new DefinitionError(
      `sqliteCluster: path is ${JSON.stringify(path)}; pass the path of a file, or use memoryCluster for state in memory`,
    );
  // The prefix is a part of statements.
  if (!PREFIX.test(prefix))
    throw new DefinitionError(
      `sqliteCluster: the prefix ${JSON.stringify(prefix)} must consist of up to 31 lower-case letters, digits and _, and not begin with a digit`,
    );
}

/** Creates a cluster whose statements run in threads that `start` starts. */
export function createSqliteCluster(options: SqliteClusterOptions, start: StartThread): SqliteCluster {
  const { path, prefix = "", synchronous = "normal", timeoutMs = 5_000, pollMs = 5 } = options;
  const { clock = systemClock, heartbeatMs = 3_000, sealKeys } = options;
  const file = { path, prefix, synchronous, timeoutMs, pollMs, heartbeatMs };
  return new StoreCluster(new SqliteStore({ file, clock, start }), { clock, heartbeatMs, sealKeys });
}
