import type { IndexEntry, IndexPlace } from "../cluster/cluster.js";
import { counterOf, type Row, type Session } from "./database.js";

/** Condition of a put: the version of the record, null for no record, undefined for none. */
export type PutCondition = number | null | undefined;

/** Operations on records, in the thread. */
export function recordOperations(session: Session) {
  const { database, of } = session;
  const records = of("records");
  const alive = "(r.expires is null or r.expires > ?)";
  const nextVersion = counterOf(session, "version");
  const find = database.prepare(`select key, value, version from ${records} r where key = ? and ${alive}`);
  const store = database.prepare(`insert into ${records} (key, value, version, expires) values (?, ?, ?, ?)
    on conflict (key) do update set value = excluded.value, version = excluded.version, expires = excluded.expires`);
  const extend = database.prepare(`update ${records} as r set expires = ? where key = ? and ${alive}`);
  const remove = database.prepare(`delete from ${records} where key = ?`);
  const clear = database.prepare(`delete from ${of("indexed")} where key = ?`);
  const entriesOf = database.prepare(`select name, score from ${of("indexed")} where key = ?`);
  const enter = database.prepare(`insert or ignore into ${of("indexed")} (name, score, key) values (?, ?, ?)`);
  const indexed = `${of("indexed")} i join ${records} r on r.key = i.key where i.name = ? and ${alive}`;
  const columns = "r.key, r.value, r.version, i.score, r.expires - ? as left";
  const first = database.prepare(`select ${columns} from ${indexed} order by i.score, i.key limit ?`);
  const further = database.prepare(
    `select ${columns} from ${indexed} and (i.score, i.key) > (?, ?) order by i.score, i.key limit ?`,
  );
  // The records that are over and not swept are few, and are found first (cross join): the others are not looked at.
  const total = database.prepare(`select (select count(*) from ${of("indexed")} where name = ?1)
    - (select count(*) from ${records} r cross join ${of("indexed")} i on i.key = r.key and i.name = ?1
      where r.expires <= ?2) as count`);
  const expiryOf = (ttlMs: number | undefined) =>
    ttlMs === undefined || ttlMs === Number.POSITIVE_INFINITY ? null : session.now + ttlMs;

  return {
    get: (key: string): Row | undefined => find.get(key, session.now),
    put(
      key: string,
      value: string,
      condition: PutCondition,
      ttlMs: number | undefined,
      index: readonly IndexEntry[],
    ): number | undefined {
      if (condition !== undefined) {
        const found = find.get(key, session.now);
        if ((found?.version ?? null) !== condition) return undefined;
      }
      const version = nextVersion();
      store.run(key, value, version, expiryOf(ttlMs));
      if (!hasEntries(entriesOf.all(key), index)) {
        clear.run(key);
        for (const { index: name, score } of index) enter.run(name, score, key);
      }
      return version;
    },
    touch: (key: string, ttlMs: number): boolean => extend.run(expiryOf(ttlMs), key, session.now).changes > 0,
    remove(key: string, version: number | undefined): boolean {
      const found = find.get(key, session.now);
      if (found === undefined || (version !== undefined && found.version !== version)) return false;
      clear.run(key);
      return remove.run(key).changes > 0;
    },
    list(index: string, after: IndexPlace | undefined, limit: number): readonly Row[] {
      const { now } = session;
      if (after === undefined) return first.all(now, index, now, limit);
      return further.all(now, index, now, after.score, after.key, limit);
    },
    count: (index: string): number => Number(total.get(index, session.now)?.count),
  };
}

/** True if a record has these entries and no others. */
function hasEntries(rows: readonly Row[], index: readonly IndexEntry[]): boolean {
  return (
    rows.length === index.length &&
    index.every(({ index: name, score }) => rows.some((row) => row.name === name && row.score === score))
  );
}
