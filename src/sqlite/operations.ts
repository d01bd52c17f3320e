import type { IndexEntry, IndexPlace, Listed, Stored } from "../cluster/cluster.js";
import { type DueRecord, type StorePut, type TakeDue, type TakenTokens, takenBy } from "../cluster/store.js";
import { logOperations } from "./log-operations.js";
import type { Session } from "./session.js";

/** Maximum number of rows of a table that a sweep deletes in one transaction. */
const MAX_SWEPT = 1_000;

/** Maximum number of records of a listing. */
const MOST = 2 ** 31 - 1;

/** Time for which texts are kept. A process that reads none for longer is told that it missed some. */
const TEXTS_MS = 60_000;

/** Time by which a bucket may be fuller than it is, since times are rounded. */
const ROUNDING_MS = 0.001;

/** Returns the operations of a thread. Each runs in a transaction. */
export function operationsOf(session: Session) {
  const { sweepRecords, ...records } = recordOperations(session);
  const { sweepLogs, ...logs } = logOperations(session);
  const { sweepBuckets, ...buckets } = bucketOperations(session);
  const { sweepTexts, ...texts } = textOperations(session);
  const begin = session.prepare("update {meta} set swept = ?1 where swept <= ?1 - ?2");
  return {
    ...records,
    ...logs,
    ...buckets,
    ...texts,
    /** Deletes rows that are over, if no process has begun that for `everyMs`. Returns true if there may be more. */
    sweep(everyMs: number): boolean {
      if (begin.run(session.now, everyMs).changes === 0) return false;
      const swept = [sweepRecords, sweepLogs, sweepBuckets, sweepTexts].map((sweep) => sweep(MAX_SWEPT));
      return swept.some((rows) => rows >= MAX_SWEPT);
    },
  };
}

export type Operations = ReturnType<typeof operationsOf>;
export type OperationName = keyof Operations;

function recordOperations(session: Session) {
  const alive = "(expires is null or expires > ?2)";
  const find = session.prepare<Stored>(`select key, value, version from {records} where key = ?1 and ${alive}`);
  const state = session.prepare<{ version: string; takes: number }>(
    `select version, takes from {records} where key = ?1 and ${alive}`,
  );
  const store = session.prepare(`insert into {records} (key, value, version, expires, takes) values (?1, ?2, ?3, ?4, ?5)
    on conflict (key) do update set value = ?2, version = ?3, expires = ?4, takes = ?5`);
  const extend = session.prepare("update {records} set expires = ? where key = ?");
  const remove = session.prepare("delete from {records} where key = ?");
  const entriesOf = session.prepare<{ name: string; score: number }>("select name, score from {indexed} where key = ?");
  const enter = session.prepare("insert into {indexed} (name, score, key) values (?, ?, ?)");
  const leave = session.prepare("delete from {indexed} where name = ? and score = ? and key = ?");
  const clear = session.prepare("delete from {indexed} where key = ?");
  const page = session.prepare<Listed & { left: number | null }>(
    `select r.key, value, version, score, expires - ?2 as left from {indexed} i join {records} r on r.key = i.key
    where name = ?1 and ${alive} and (score, i.key) > (?3, ?4) order by score, i.key limit ?5`,
  );
  // The records that are over and not swept are few, and are found first (cross join): the others are not looked at.
  const total = session.prepare(`select coalesce((select entries from {counts} where name = ?1), 0)
    - (select count(*) from {records} r cross join {indexed} i on i.key = r.key and i.name = ?1
      where r.expires <= ?2) as count`);
  const overdue = session.prepare<{ key: string }>("select key from {records} where expires <= ? limit ?");

  const endOf = (ttlMs = Number.POSITIVE_INFINITY) => (ttlMs === Number.POSITIVE_INFINITY ? null : session.now + ttlMs);

  /** True if there is a record, with `ifVersion` one of that version. */
  const isThere = (key: string, ifVersion: string | undefined): boolean => {
    const found = state.get(key, session.now);
    return found !== undefined && (ifVersion === undefined || found.version === ifVersion);
  };

  const erase = (key: string): void => {
    clear.run(key);
    remove.run(key);
  };

  const write = (stored: Stored, takes: number, expires: number | null, index: readonly IndexEntry[]): void => {
    const { key, value, version } = stored;
    store.run(key, value, version, expires, takes);
    const old = entriesOf.all(key).map(({ name, score }) => ({ index: name, score }));
    for (const entry of old) if (!has(index, entry)) leave.run(entry.index, entry.score, key);
    for (const entry of index) if (!has(old, entry)) enter.run(entry.index, entry.score, key);
  };

  const list = (index: string, after: IndexPlace | undefined, limit: number): readonly Listed[] => {
    const { score, key } = after ?? { score: Number.NEGATIVE_INFINITY, key: "" };
    return page
      .all(index, session.now, score, key, Math.min(limit, MOST))
      .map(({ key, value, version, score, left }) => ({ key, value, version, score, leftMs: left ?? undefined }));
  };

  return {
    get(key: string): Stored | undefined {
      return find.get(key, session.now);
    },
    put(key: string, value: string, { version, ifVersion, ttlMs, index = [], notice }: StorePut): boolean {
      const found = state.get(key, session.now);
      if (ifVersion !== undefined && (found?.version ?? null) !== ifVersion) return found?.version === version;
      const entries = index.map((entry) =>
        "score" in entry ? entry : { index: entry.index, score: session.now + entry.inMs },
      );
      write({ key, value, version }, found?.takes ?? 0, endOf(ttlMs), entries);
      if (notice !== undefined) session.notices.add(notice);
      return true;
    },
    touch(key: string, ttlMs: number, ifVersion: string | undefined): boolean {
      return isThere(key, ifVersion) && extend.run(endOf(ttlMs), key).changes > 0;
    },
    delete(key: string, ifVersion: string | undefined): boolean {
      const isDeleted = isThere(key, ifVersion);
      if (isDeleted) erase(key);
      return isDeleted;
    },
    list,
    count(index: string): number {
      return Number(total.get(index, session.now)?.count);
    },
    takeDue(index: string, { most, leaseMs, token }: TakeDue): readonly DueRecord[] | number | undefined {
      const { now } = session;
      const first = list(index, undefined, most);
      const due = first.filter(({ score }) => score <= now);
      if (due.length === 0) return first[0] && first[0].score - now;
      const entries = [
        { index, score: now + leaseMs },
        { index: takenBy(token), score: 0 },
      ];
      return due.map(({ key, value }) => {
        const takes = Number(state.get(key, now)?.takes) + 1;
        write({ key, value, version: token }, takes, null, entries);
        return { key, value, version: token, takes };
      });
    },
    sweepRecords(most: number): number {
      const ended = overdue.all(session.now, most);
      for (const { key } of ended) erase(key);
      return ended.length;
    },
  };
}

function has(entries: readonly IndexEntry[], { index, score }: IndexEntry): boolean {
  return entries.some((entry) => entry.index === index && entry.score === score);
}

function bucketOperations(session: Session) {
  const find = session.prepare<{ full: number }>("select full from {buckets} where key = ?");
  const store = session.prepare(`insert into {buckets} (key, full) values (?1, ?2)
    on conflict (key) do update set full = ?2`);
  const sweep = session.prepare(
    "delete from {buckets} where key in (select key from {buckets} where full <= ? limit ?)",
  );
  return {
    takeTokens(key: string, burst: number, refillMs: number, want: number): TakenTokens {
      const { now } = session;
      const untilFull = Math.min(Math.max((find.get(key)?.full ?? 0) - now, 0), burst * refillMs);
      const refilled = burst * refillMs - untilFull;
      const given = Math.min(want, Math.floor((refilled + ROUNDING_MS) / refillMs));
      if (given > 0) store.run(key, now + untilFull + given * refillMs);
      return { given, retryInMs: given > 0 ? 0 : refillMs - refilled };
    },
    sweepBuckets: (most: number) => Number(sweep.run(session.now, most).changes),
  };
}

function textOperations(session: Session) {
  const insert = session.prepare("insert into {texts} (at, text) values (?, ?)");
  // The newest text stays, so that the numbers continue.
  const sweep = session.prepare(`delete from {texts} where at <= ? and id in (
    select id from {texts} where id < (select max(id) from {texts}) order by id limit ?)`);
  return {
    send(texts: Iterable<string>): void {
      for (const text of texts) insert.run(session.now, text);
    },
    sweepTexts: (most: number) => Number(sweep.run(session.now - TEXTS_MS, most).changes),
  };
}
