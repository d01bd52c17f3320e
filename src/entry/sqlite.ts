import { assertSqlite, startThread } from "../node/sqlite/thread.js";
import { atCaller } from "../protocol/at-caller.js";
import {
  assertSqliteOptions,
  createSqliteCluster,
  type SqliteCluster,
  type SqliteClusterOptions,
} from "../sqlite/cluster.js";
import type { StartThread } from "../sqlite/messages.js";

export type { Clock } from "../call/clock.js";
export type { Cluster } from "../cluster/cluster.js";
export type { SqliteCluster, SqliteClusterOptions } from "../sqlite/cluster.js";

/** Program of the thread that works on the file. */
const PROGRAM = new URL("./sqlite-thread.js", import.meta.url);

const start: StartThread = (options, heard, lost) =>
  startThread({ url: PROGRAM, options, close: { kind: "close" } as const }, heard, lost);

/**
 * Shares state in a file, between the processes of one machine. Needs Node.js 22.13 or newer. Creates the file if it does
 * not exist. Operations wait for the first attempt to open it.
 */
export function sqliteCluster(options: SqliteClusterOptions): SqliteCluster {
  return atCaller(sqliteCluster, () => {
    assertSqliteOptions(options);
    assertSqlite();
    return createSqliteCluster(options, start);
  });
}
