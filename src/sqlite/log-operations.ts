import {
  type AppendResult,
  type ClaimedStream,
  type LogPlace,
  OPEN_PAGE,
  type OpenStream,
  type StoreLogLimits,
  type StreamPage,
} from "../cluster/store.js";
import type { Session } from "./session.js";

interface Log {
  readonly id: number;
  readonly keep: number;
  readonly maxentries: number;
  readonly maxbytes: number;
  readonly maxstreams: number;
  readonly streams: number;
  readonly entries: number;
  readonly bytes: number;
  /** Time at which the oldest entry is over. */
  readonly expires: number | null;
  /** Time from which the name of a dropped log can be used. */
  readonly gone: number | null;
}

interface Stream {
  readonly name: string;
  readonly claim: string;
  readonly seq: number;
  readonly top: number;
  readonly trimmed: number;
  readonly ended: number;
}

interface Entry {
  readonly n: number;
  readonly stream: string;
  readonly claim: string;
  readonly size: number;
  readonly last: number;
  readonly at: number;
  readonly data: string;
}

/** Operations on logs, in the thread. */
export function logOperations(session: Session) {
  const find = finder(session);
  const evict = evictor(session);
  /** Returns a log without the entries that are over. */
  const current = (name: string): Log | undefined => {
    const log = find(name);
    if (log?.expires == null || log.expires > session.now) return log;
    evict(log);
    return find(name);
  };
  return {
    ...creation(session, find),
    ...writing(session, current, evict),
    ...reading(session, find),
    ...sweeping(session, evict),
  };
}

/** Returns the function that finds a log that was not dropped. */
function finder(session: Session): (name: string) => Log | undefined {
  const byName = session.prepare<Log>("select * from {logs} where name = ? and gone is null");
  return (name) => byName.get(name);
}

/**
 * Returns the function that deletes the oldest entries of a log, at most `most`, until it is within its limits. A stream is
 * deleted with its last entry. Returns the number of entries that were deleted.
 */
function evictor(session: Session): (log: Log, most?: number) => number {
  const oldest = session.prepare<Entry>(
    "select n, stream, size, last, at from {entries} where log = ? order by n limit 1",
  );
  const cut = session.prepare("delete from {entries} where log = ? and n = ?");
  const forget = session.prepare("delete from {streams} where log = ? and name = ?");
  const mark = session.prepare("update {streams} set trimmed = ? where log = ? and name = ?");
  const shrink = session.prepare("update {logs} set streams = ?, entries = ?, bytes = ?, expires = ? where id = ?");

  return ({ id, keep, maxentries, maxbytes, ...log }, most = Number.POSITIVE_INFINITY) => {
    let { streams, entries, bytes } = log;
    // The newest entry stays even if it is larger than the log may be.
    const fits = ({ at }: Entry) =>
      at + keep > session.now && (entries <= 1 || (entries <= maxentries && bytes <= maxbytes));
    let evicted = 0;
    let first = oldest.get(id);
    for (; first !== undefined && evicted < most && !fits(first); first = oldest.get(id)) {
      const { n, stream, size, last } = first;
      cut.run(id, n);
      if (last === 1) forget.run(id, stream);
      else mark.run(n, id, stream);
      streams -= last;
      entries--;
      bytes -= size;
      evicted++;
    }
    shrink.run(streams, entries, bytes, first === undefined ? null : first.at + keep, id);
    return evicted;
  };
}

function creation(session: Session, find: (name: string) => Log | undefined) {
  const byName = session.prepare<Log>("select * from {logs} where name = ?");
  const insert = session.prepare(`insert into {logs} (name, keep, maxentries, maxbytes, maxstreams)
    values (?, ?, ?, ?, ?)`);
  const remove = session.prepare("delete from {logs} where id = ?");
  const bury = session.prepare("update {logs} set gone = ? + keep, expires = null where id = ?");
  const deletions = ["streams", "entries"].map((table) => session.prepare(`delete from {${table}} where log = ?`));
  return {
    create(log: string, { keepMs, maxEntries, maxBytes, maxStreams }: StoreLogLimits): boolean {
      const found = byName.get(log);
      if (found !== undefined && found.gone === null) return true;
      if (found?.gone != null && found.gone > session.now) return false;
      if (found !== undefined) remove.run(found.id);
      insert.run(log, keepMs, maxEntries, maxBytes, maxStreams);
      return true;
    },
    drop(log: string, notice: string): void {
      const found = find(log);
      if (found === undefined) return;
      bury.run(session.now, found.id);
      for (const deletion of deletions) deletion.run(found.id);
      session.notices.add(notice);
    },
  };
}

function writing(session: Session, current: (name: string) => Log | undefined, evict: (log: Log) => void) {
  const streamOf = session.prepare<Stream>("select * from {streams} where log = ? and name = ?");
  const reclaim = session.prepare("update {streams} set claim = ?, node = ?, seq = 0 where log = ? and name = ?");
  const insertStream = session.prepare("insert into {streams} (claim, node, log, name) values (?, ?, ?, ?)");
  const countStream = session.prepare("update {logs} set streams = streams + 1 where id = ?");
  const repeated = session.prepare<Entry>(`select n, data, last from {entries}
    where log = ? and stream = ? and claim = ? and seq = ? order by n desc limit 1`);
  const insertEntry = session.prepare(`insert into {entries} (log, n, stream, claim, seq, size, last, at, data)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const advance = session.prepare("update {streams} set seq = ?, top = ?, ended = ? where log = ? and name = ?");
  const grow = session.prepare<
    Log & { readonly n: number }
  >(`update {logs} set top = top + 1, entries = entries + 1, bytes = bytes + ?,
    expires = coalesce(expires, ? + keep) where id = ? returning *, top as n`);

  /** Appends an entry. Returns its number, or the reason why it is refused. */
  const append = (id: number, name: string, claim: string, seq: number, data: string, last: boolean): AppendResult => {
    const stream = streamOf.get(id, name);
    if (stream?.claim !== claim) return "fenced";
    if (seq < stream.seq) {
      const entry = repeated.get(id, name, claim, seq);
      if (entry === undefined) return "missed";
      return entry.data === data && entry.last === Number(last) ? String(entry.n) : `different:${stream.seq}`;
    }
    if (stream.ended === 1) return "ended";
    if (seq > stream.seq) return `order:${stream.seq}`;
    const size = sizeOf(data);
    const log = grow.get(size, session.now, id) as Log & { readonly n: number };
    insertEntry.run(id, log.n, name, claim, seq, size, Number(last), session.now, data);
    advance.run(seq + 1, log.n, Number(last), id, name);
    if (log.entries > Math.max(log.maxentries, 1) || log.bytes > log.maxbytes) evict(log);
    return String(log.n);
  };

  return {
    claim(log: string, stream: string, node: string, claim: string): string | undefined {
      const found = current(log);
      if (found === undefined) return undefined;
      const { id, streams, maxstreams } = found;
      if (reclaim.run(claim, node, id, stream).changes === 0) {
        if (streams >= maxstreams) return `full:${maxstreams}`;
        insertStream.run(claim, node, id, stream);
        countStream.run(id);
      }
      return String(id);
    },
    append(
      { log, stream, id, claim }: ClaimedStream,
      seq: number,
      entries: readonly { readonly data: string; readonly last: boolean }[],
      notice: string,
    ): readonly AppendResult[] {
      const found = current(log);
      const results: AppendResult[] = [];
      for (const { data, last } of entries) {
        const at = seq + results.length;
        const isKnown = found !== undefined && String(found.id) === id;
        const result = isKnown ? append(found.id, stream, claim, at, data, last) : "dropped";
        results.push(result);
        if (!/^\d+$/.test(result)) break;
        session.notices.add(notice);
      }
      return results;
    },
  };
}

function reading(session: Session, find: (name: string) => Log | undefined) {
  const streamOf = session.prepare<Stream>("select * from {streams} where log = ? and name = ?");
  const entryAt = session.prepare<Entry>(`select stream from {entries}
    where log = ? and n = ? and claim = ? and at > ?`);
  const newestOver = session.prepare<{ n: number | null }>(`select max(n) as n from {entries}
    where log = ? and stream = ? and at <= ?`);
  const page = session.prepare<Entry>(`select n, claim, data, last from {entries}
    where log = ? and stream = ? and n > ? order by n limit ?`);
  const openPage = session.prepare<{
    id: number;
    log: string;
    stream: string;
  }>(`select l.id, l.name as log, s.name as stream
    from {streams} s join {logs} l on l.id = s.log where s.node = ? and s.ended = 0 and (s.log, s.name) > (?, ?)
    order by s.log, s.name limit ${OPEN_PAGE}`);

  /** Returns the stream of an entry that is kept. */
  const streamAt = (log: Log, { id, n, claim }: LogPlace): string | undefined =>
    id === String(log.id) ? entryAt.get(log.id, Number(n), claim, session.now - log.keep)?.stream : undefined;

  return {
    find(log: string, place: LogPlace): string | undefined {
      const found = find(log);
      return found && streamAt(found, place);
    },
    read(log: string, stream: string, after: LogPlace | undefined, limit: number): StreamPage | undefined {
      const found = find(log);
      if (found === undefined) return undefined;
      const { id, keep, expires } = found;
      const isSwept = expires === null || expires > session.now;
      const over = isSwept ? 0 : (newestOver.get(id, stream, session.now - keep)?.n ?? 0);
      const state = streamOf.get(id, stream);
      // A stream whose end is over is forgotten.
      const isKnown = state !== undefined && (state.ended === 0 || state.top > over);
      const entries = page.all(id, stream, Math.max(over, Number(after?.n ?? 0)), limit);
      return {
        id: String(id),
        entries: entries.map(({ n, last, ...entry }) => ({ ...entry, n: String(n), last: last === 1 })),
        isKept: after === undefined || streamAt(found, after) === stream,
        trimmed: String(isKnown ? Math.max(state.trimmed, over) : 0),
        isKnown,
        isEnded: isKnown && state.ended === 1,
        top: String(isKnown ? state.top : 0),
      };
    },
    open(node: string, after: OpenStream | undefined): readonly OpenStream[] {
      const rows = openPage.all(node, Number(after?.id ?? 0), after?.stream ?? "");
      return rows.map((row) => ({ ...row, id: String(row.id) }));
    },
  };
}

function sweeping(session: Session, evict: (log: Log, most: number) => number) {
  const expired = session.prepare<Log>("select * from {logs} where expires <= ? limit 1");
  const bury = session.prepare("delete from {logs} where id in (select id from {logs} where gone <= ? limit ?)");
  return {
    /** Deletes entries that are over, and the names of dropped logs that can be used again. */
    sweepLogs(most: number): number {
      let evicted = 0;
      for (let log = expired.get(session.now); log !== undefined && evicted < most; log = expired.get(session.now))
        evicted += evict(log, most - evicted);
      return Math.max(evicted, Number(bury.run(session.now, most).changes));
    },
  };
}

/** Returns the size of a text in bytes of UTF-8. */
function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
