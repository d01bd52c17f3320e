import { ClusterError } from "../cluster/error.js";
import { DefinitionError } from "../protocol/errors.js";
import type { Database, Session } from "./database.js";

/** Version of the tables that this release creates and uses. */
const VERSION = 1;

const PREFIX = /^[a-z_][a-z0-9_]{0,30}$/;

/** Checks a prefix, which is part of statements. */
export function checkPrefix(prefix: string): void {
  if (prefix !== "" && !PREFIX.test(prefix))
    throw new DefinitionError(
      `sqliteCluster: the prefix ${JSON.stringify(prefix)} must consist of up to 31 lower-case letters, digits and _, and not begin with a digit`,
    );
}

/** Creates the tables, or upgrades them. Processes that start together wait for each other. */
export function prepareTables(database: Database, prefix: string): Session {
  const of = (name: string) => `"${prefix}${name}"`;
  const { journal_mode: mode } = database.prepare("pragma journal_mode = wal").get() ?? {};
  if (mode !== "wal")
    throw new ClusterError(
      "refused",
      `sqliteCluster: the file has the journal mode ${mode}, and WAL is not possible. Use a file on a disk of this machine.`,
    );
  database.exec("begin immediate");
  try {
    migrate(database, of);
    database.exec("commit");
  } catch (error) {
    database.exec("rollback");
    throw error;
  }
  return { database, of, now: 0 };
}

function migrate(database: Database, of: Session["of"]): void {
  database.exec(`create table if not exists ${of("meta")} (version integer not null, readable integer not null)`);
  const { version = 0, readable = 0 } = database.prepare(`select version, readable from ${of("meta")}`).get() ?? {};
  if (Number(readable) > VERSION)
    throw new ClusterError(
      "refused",
      `sqliteCluster: the tables ${of("*")} have version ${version}. This release works with versions up to ${VERSION}. Upgrade it, or use another file or prefix.`,
    );
  if (Number(version) >= VERSION) return;
  database.exec(tables(of));
  database.exec(`delete from ${of("meta")}; insert into ${of("meta")} values (${VERSION}, ${VERSION})`);
}

/**
 * Returns the statements that create the tables of version 1. Times are milliseconds of the time of the
 * file, which is the time of day in milliseconds since 1970 with the counter `offset`, if there is one. `changed` of a log is
 * the value of the counter `version` at its last change, so that one statement finds the logs that have changed.
 */
function tables(of: Session["of"]): string {
  return `
    create table ${of("counters")} (name text primary key, value integer not null) without rowid;
    insert into ${of("counters")} values ('version', 0), ('message', 0), ('jobs', 0), ('swept', 0);

    create table ${of("records")} (key text primary key, value text not null, version integer not null, expires real);
    create index ${of("records_expires")} on ${of("records")} (expires) where expires is not null;
    create table ${of("indexed")} (
      name text not null, score real not null, key text not null, primary key (name, score, key)
    ) without rowid;
    create index ${of("indexed_key")} on ${of("indexed")} (key);

    create table ${of("logs")} (
      id integer primary key autoincrement, name text not null unique, keep real not null, maxentries integer not null,
      maxbytes integer not null, maxstreams integer not null, streams integer not null default 0,
      top integer not null default 0, entries integer not null default 0, bytes integer not null default 0,
      expires real, gone real, changed integer not null
    );
    create index ${of("logs_changed")} on ${of("logs")} (changed);
    create index ${of("logs_expires")} on ${of("logs")} (expires) where expires is not null;
    create index ${of("logs_gone")} on ${of("logs")} (gone) where gone is not null;
    create table ${of("streams")} (
      log integer not null, name text not null, claim integer not null, node text not null,
      seq integer not null default 0, top integer not null default 0, trimmed integer not null default 0,
      ended integer not null default 0, primary key (log, name)
    ) without rowid;
    create index ${of("streams_open")} on ${of("streams")} (node, log, name) where ended = 0;
    create table ${of("entries")} (
      log integer not null, n integer not null, stream text not null, claim integer not null, seq integer not null,
      data text not null, last integer not null, at real not null, primary key (log, n)
    );
    create index ${of("entries_stream")} on ${of("entries")} (log, stream, n);

    create table ${of("leases")} (name text primary key, token text not null, until real not null);
    create table ${of("jobs")} (
      id text primary key, job text not null, attempt integer not null default 0, token text, due real not null
    );
    create index ${of("jobs_due")} on ${of("jobs")} (due);
    create table ${of("buckets")} (key text primary key, tokens real not null, at real not null, full real not null);
    create index ${of("buckets_full")} on ${of("buckets")} (full);
    create table ${of("messages")} (
      id integer primary key, sender text not null, topic text not null, text text not null, at real not null
    );
    create index ${of("messages_at")} on ${of("messages")} (at);`;
}
