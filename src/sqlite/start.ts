import { ClusterError } from "../cluster/error.js";
import { isBusy } from "./failure.js";
import type { FileOptions } from "./messages.js";
import { TABLES, VERSION } from "./schema.js";
import { type Database, Session } from "./session.js";

/** Size to which the journal is cut after its contents were moved to the file. */
export const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;

/** Time between two attempts to open the file. */
const RETRY_MS = 20;

/**
 * Opens the file and creates its tables. SQLite does not wait for other connections while these change the journal mode or
 * close the file, so that it is tried again.
 */
export function openFile(
  open: () => Database,
  { prefix, synchronous, timeoutMs }: Pick<FileOptions, "prefix" | "synchronous" | "timeoutMs">,
): Session {
  for (const end = performance.now() + timeoutMs; ; sleep(RETRY_MS)) {
    let database: Database | undefined;
    try {
      database = open();
      const session = new Session(database, prefix);
      session.wait(timeoutMs);
      session.exec(`pragma synchronous = ${synchronous}; pragma journal_size_limit = ${MAX_JOURNAL_BYTES}`);
      prepareTables(session);
      return session;
    } catch (error) {
      database?.close();
      if (!isBusy(error) || performance.now() > end) throw error;
    }
  }
}

/** Blocks the thread. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Creates the tables if there are none. Processes that start together wait for each other. After an error, the end of the
 * connection rolls back.
 */
function prepareTables(session: Session): void {
  const { journal_mode: mode } = session.prepare("pragma journal_mode = wal").get() ?? {};
  if (mode !== "wal") {
    const problem = `the file has the journal mode ${mode}, and WAL is not possible`;
    throw refused(`${problem}; use a file on a disk of this machine`);
  }
  session.exec("begin immediate");
  session.exec("create table if not exists {meta} (version integer not null, offset real, swept real)");
  const { version } = session.prepare("select version from {meta}").get() ?? {};
  if (version === undefined) session.exec(`${TABLES}; insert into {meta} values (${VERSION}, 0, 0)`);
  else if (version !== VERSION) throw versionError(session.prefix, Number(version));
  session.exec("commit");
}

function versionError(prefix: string, version: number): ClusterError {
  const problem = `the tables "${prefix}*" have version ${version}, and this release uses version ${VERSION}`;
  const remedy = version > VERSION ? "upgrade bowline, or use another file or prefix" : "use another file or prefix";
  return refused(`${problem}; ${remedy}`);
}

function refused(problem: string): ClusterError {
  return new ClusterError("refused", `sqliteCluster: ${problem}`);
}
