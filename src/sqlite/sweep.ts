import type { Session } from "./database.js";
import { trimmerOf } from "./trim.js";

/** Maximum number of rows of a table that one sweep deletes. */
const MAX_ROWS = 1000;

/** Maximum number of logs that one sweep trims. */
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
    /** Sweeps if no process has done so for `everyMs`. */
    sweep(everyMs: number): void {
      const { now } = session;
      if (begin.run(Math.floor(now), everyMs).changes === 0) return;
      for (const { key } of overdue.all(now)) {
        clear.run(String(key));
        remove.run(String(key));
      }
      for (const statement of deletions) statement.run(now);
      messages.run(now - MESSAGES_MS);
      for (const { id } of full.all(now)) trim(Number(id));
    },
  };
}
