import type { Row, Session } from "./database.js";

/** Number of entries that are looked at together. */
const PAGE = 100;

/**
 * Returns the function that deletes the oldest entries of a log until it is within its limits. A stream that has ended is
 * deleted with its last entry.
 */
export function trimmerOf(session: Session): (log: number) => void {
  const { database, of } = session;
  const logOf = database.prepare(`select * from ${of("logs")} where id = ?`);
  const oldest = database.prepare(`select n, length(cast(data as blob)) as size, at from ${of("entries")}
    where log = ? and n > ? order by n limit ${PAGE}`);
  const endStreams = database.prepare(`delete from ${of("streams")} where log = ?1 and name in (
    select stream from ${of("entries")} where log = ?1 and n <= ?2 and last = 1)`);
  const markStreams = database.prepare(`update ${of("streams")} as s set trimmed = coalesce((
    select max(n) from ${of("entries")} e where e.log = s.log and e.stream = s.name and e.n <= ?2), trimmed)
    where log = ?1 and name in (select stream from ${of("entries")} where log = ?1 and n <= ?2)`);
  const cutEntries = database.prepare(`delete from ${of("entries")} where log = ? and n <= ?`);
  const firstAt = database.prepare(`select at from ${of("entries")} where log = ? order by n limit 1`);
  const shrink = database.prepare(`update ${of("logs")} set entries = ?, bytes = ?, streams = streams - ?, expires = ?
    where id = ?`);

  /** Returns the number of the newest entry to delete, with the size of the rest. */
  const cutOf = (id: number, { keep, entries, bytes, maxentries, maxbytes }: Row) => {
    const rest = { cut: 0, entries: Number(entries), bytes: Number(bytes) };
    for (;;) {
      const page = oldest.all(id, rest.cut);
      for (const { n, size, at } of page) {
        // The newest entry stays even if it is larger than the log may be.
        const fits = rest.entries <= 1 || (rest.entries <= Number(maxentries) && rest.bytes <= Number(maxbytes));
        if (fits && Number(at) + Number(keep) > session.now) return rest;
        rest.cut = Number(n);
        rest.entries--;
        rest.bytes -= Number(size);
      }
      if (page.length < PAGE) return rest;
    }
  };

  return (id) => {
    const log = logOf.get(id) as Row;
    const { cut, entries, bytes } = cutOf(id, log);
    const ended = Number(endStreams.run(id, cut).changes);
    markStreams.run(id, cut);
    cutEntries.run(id, cut);
    const at = firstAt.get(id)?.at;
    shrink.run(entries, bytes, ended, at == null ? null : Number(at) + Number(log.keep), id);
  };
}
