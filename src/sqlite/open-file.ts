import type { Database, Session } from "./database.js";
import { isBusy } from "./failure.js";
import type { FileOptions } from "./messages.js";
import { prepareTables } from "./tables.js";

/** Size to which the journal is cut after its contents were moved to the file. */
export const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;

/** Time between two attempts. */
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
      database.exec(`pragma busy_timeout = ${Math.ceil(timeoutMs)}; pragma synchronous = ${synchronous};
        pragma journal_size_limit = ${MAX_JOURNAL_BYTES}`);
      return prepareTables(database, prefix);
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
