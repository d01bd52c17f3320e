import { OPEN_PAGE } from "../cluster/engine/logs.js";
import { counterOf, type Row, type Session } from "./database.js";
import { trimmerOf } from "./trim.js";

/** Entries of a stream with the state of the log and the stream. */
export interface StreamRows {
  readonly log: number;
  readonly stream: Row | undefined;
  readonly isKept: boolean;
  readonly entries: readonly Row[];
}

/** Operations on logs, in the thread. */
export function logOperations(session: Session) {
  return { ...changing(session), ...reading(session) };
}

function changing(session: Session) {
  const { database, of } = session;
  const nextVersion = counterOf(session, "version");
  const trim = trimmerOf(session);
  const prepare = (text: string) => database.prepare(text);
  const byName = prepare(`select * from ${of("logs")} where name = ?`);
  const byId = prepare(`select * from ${of("logs")} where id = ? and gone is null`);
  const insertLog = prepare(`insert into ${of("logs")} (name, keep, maxentries, maxbytes, maxstreams, changed)
    values (?, ?, ?, ?, ?, 0)`);
  const deleteLog = prepare(`delete from ${of("logs")} where id = ?`);
  const streamOf = prepare(`select * from ${of("streams")} where log = ? and name = ?`);
  const reclaim = prepare(`update ${of("streams")} set claim = ?, node = ?, seq = 0 where log = ? and name = ?`);
  const insertStream = prepare(`insert into ${of("streams")} (claim, node, log, name) values (?, ?, ?, ?)`);
  const countStream = prepare(`update ${of("logs")} set streams = streams + 1 where id = ?`);
  const repeated = prepare(`select * from ${of("entries")} where log = ? and stream = ? and claim = ? and seq = ?`);
  const insertEntry = prepare(`insert into ${of("entries")} (log, n, stream, claim, seq, data, last, at)
    values (?, ?, ?, ?, ?, ?, ?, ?)`);
  const advance = prepare(`update ${of("streams")} set seq = ?, top = ?, ended = ? where log = ? and name = ?`);
  const grow = prepare(`update ${of("logs")} set top = ?, entries = entries + 1, bytes = bytes + ?,
    expires = coalesce(expires, ? + keep), changed = ? where id = ? returning *`);
  const bury = prepare(`update ${of("logs")} set gone = ? + keep, expires = null, changed = ? where id = ?`);
  const deleteStreams = prepare(`delete from ${of("streams")} where log = ?`);
  const deleteEntries = prepare(`delete from ${of("entries")} where log = ?`);

  /** Returns the entry of a repeated seq, or the verdict on it. */
  const repeat = (log: Row, stream: Row, seq: number, data: string, isLast: number): string => {
    const entry = repeated.get(num(log.id), String(stream.name), num(stream.claim), seq);
    if (entry === undefined || num(entry.at) + num(log.keep) <= session.now) return "missed";
    return entry.data === data && entry.last === isLast ? String(entry.n) : `different:${stream.seq}`;
  };

  return {
    create(log: string, keepMs: number, maxEntries: number, maxBytes: number, maxStreams: number): boolean {
      const found = byName.get(log);
      if (found !== undefined && found.gone === null) return true;
      if (found !== undefined && num(found.gone) > session.now) return false;
      if (found !== undefined) deleteLog.run(num(found.id));
      insertLog.run(log, keepMs, maxEntries, maxBytes, maxStreams);
      return true;
    },
    claim(log: string, stream: string, node: string): string | undefined {
      let found = byName.get(log);
      if (found === undefined || found.gone !== null) return undefined;
      const id = num(found.id);
      const claim = nextVersion();
      if (reclaim.run(claim, node, id, stream).changes > 0) return `${id}:${claim}`;
      if (num(found.streams) >= num(found.maxstreams)) {
        trim(id);
        found = byId.get(id) as Row;
      }
      if (num(found.streams) >= num(found.maxstreams)) return `full:${found.maxstreams}`;
      insertStream.run(claim, node, id, stream);
      countStream.run(id);
      return `${id}:${claim}`;
    },
    append(id: number, stream: string, claim: number, seq: number, data: string, isLast: number): string {
      const log = byId.get(id);
      if (log === undefined) return "dropped";
      const found = streamOf.get(id, stream);
      if (found?.claim !== claim) return "fenced";
      if (seq < num(found.seq)) return repeat(log, found, seq, data, isLast);
      if (seq > num(found.seq)) return `order:${found.seq}`;
      if (found.ended === 1) return "ended";
      const n = num(log.top) + 1;
      insertEntry.run(id, n, stream, claim, seq, data, isLast, session.now);
      advance.run(seq + 1, n, isLast, id, stream);
      const { entries, maxentries, bytes, maxbytes, expires } = grow.get(
        n,
        sizeOf(data),
        session.now,
        nextVersion(),
        id,
      ) as Row;
      const isFull = num(entries) > Math.max(num(maxentries), 1) || num(bytes) > num(maxbytes);
      if (isFull || num(expires) <= session.now) trim(id);
      return String(n);
    },
    drop(log: string): number | undefined {
      const found = byName.get(log);
      if (found === undefined || found.gone !== null) return undefined;
      const id = num(found.id);
      bury.run(session.now, nextVersion(), id);
      deleteStreams.run(id);
      deleteEntries.run(id);
      return id;
    },
  };
}

function reading(session: Session) {
  const { database, of } = session;
  const byName = database.prepare(`select id, keep from ${of("logs")} where name = ? and gone is null`);
  const streamOf = database.prepare(`select trimmed, ended, top from ${of("streams")} where log = ? and name = ?`);
  const entryAt = database.prepare(`select stream from ${of("entries")} where log = ? and n = ? and at > ?`);
  const page = database.prepare(`select n, data, last, at <= ? as old from ${of("entries")}
    where log = ? and stream = ? and n > ? order by n limit ?`);
  const openPage = database.prepare(`select l.id, l.name as log, s.name as stream from ${of("streams")} s
    join ${of("logs")} l on l.id = s.log where s.node = ? and s.ended = 0 and (s.log, s.name) > (?, ?)
    order by s.log, s.name limit ${OPEN_PAGE}`);

  return {
    find(log: string, id: number, n: number): Row | undefined {
      const found = byName.get(log);
      return found?.id === id ? entryAt.get(id, n, session.now - num(found.keep)) : undefined;
    },
    read(log: string, stream: string, after: readonly [log: number, n: number] | undefined, limit: number) {
      const found = byName.get(log);
      if (found === undefined) return undefined;
      const id = num(found.id);
      const since = session.now - num(found.keep);
      const isKept = after === undefined || (after[0] === id && entryAt.get(id, after[1], since)?.stream === stream);
      const entries = page.all(since, id, stream, after?.[1] ?? 0, limit);
      const rows: StreamRows = { log: id, stream: streamOf.get(id, stream), isKept, entries };
      return rows;
    },
    open: (node: string, log: number, stream: string): readonly Row[] => openPage.all(node, log, stream),
  };
}

const num = Number;

/** Returns the size of a text in bytes of UTF-8. */
export function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
