import type { Session } from "./database.js";
import { trimmerOf } from "./trim.js";

/** Maximum number of rows of a table that are deleted in one transaction. */
const MAX_ROWS = 1000;

/** Maximum number of logs that are trimmed in one transaction. */
const MAX_LOGS = 100;

/** Time for which messages are kept. A process that reads none for longer is told of a gap. */
const MESSAGES_MS = 60_000;

/** Operations that delete rows whose life is over, in the thread. */
export function sweepOperations(session: Session) {
  const { database, of } = session;
  const trim = trimmerOf(session);
  const begin = database.prepare(`update ${of("counters")} set value = ?1 where name = 'swept' and value <= ?1 - ?2`);
  const some = (table: string, column: string) =>
    `rowid in (select rowid from ${of(table)} where ${column} <= ? limit ${MAX_ROWS})`;
  const overdue = database.prepare(`select key from ${of("records")} where expires <= ? limit ${MAX_ROWS}`);
  const clear = database.prepare(`delete from ${of("indexed")} where key = ?`);
  const remove = database.prepare(`delete from ${of("records")} where key = ?`);
  const deletions = [
    ["leases", "until"],
    ["buckets", "full"],
    ["logs", "gone"],
  ].map(([table = "", column = ""]) => database.prepare(`delete from ${of(table)} where ${some(table, column)}`));
  const messages = database.prepare(`delete from ${of("messages")} where ${some("messages", "at")}`);
  const full = database.prepare(`select id from ${of("logs")} where expires <= ? limit ${MAX_LOGS}`);
  return {
    /** Deletes a part if no process has begun a sweep for `everyMs`. Returns true if there may be more. */
    sweep(everyMs: number): boolean {
      const { now } = session;
      if (begin.run(Math.floor(now), everyMs).changes === 0) return false;
      const ended = overdue.all(now);
      for (const { key } of ended) {
        clear.run(String(key));
        remove.run(String(key));
      }
      const deleted = [...deletions.map((statement) => statement.run(now)), messages.run(now - MESSAGES_MS)];
      const logs = full.all(now);
      for (const { id } of logs) trim(Number(id));
      const rows = Math.max(ended.length, ...deleted.map(({ changes }) => Number(changes)));
      return rows >= MAX_ROWS || logs.length >= MAX_LOGS;
    },
  };
}
