/** Version of the tables that this release creates and uses. */
export const VERSION = 2;

/**
 * Statements that create the tables. Times are milliseconds of the time of the file, which is the time of day in milliseconds
 * since 1970 with the difference `offset`. `swept` is the time of the last sweep.
 */
export const TABLES = `
  create table {records} (
    key text primary key, version text not null, expires real, takes integer not null, value text not null
  );
  create index {records_expires} on {records} (expires) where expires is not null;
  create table {indexed} (
    name text not null, score real not null, key text not null, primary key (name, score, key)
  ) without rowid;
  create index {indexed_key} on {indexed} (key);
  create table {counts} (name text primary key, entries integer not null) without rowid;
  create trigger {indexed_more} after insert on {indexed} begin
    insert into {counts} values (new.name, 1) on conflict do update set entries = entries + 1;
  end;
  create trigger {indexed_less} after delete on {indexed} begin
    update {counts} set entries = entries - 1 where name = old.name;
    delete from {counts} where name = old.name and entries = 0;
  end;

  create table {logs} (
    id integer primary key autoincrement, name text not null unique, keep real not null, maxentries integer not null,
    maxbytes integer not null, maxstreams integer not null, streams integer not null default 0,
    top integer not null default 0, entries integer not null default 0, bytes integer not null default 0,
    expires real, gone real
  );
  create index {logs_expires} on {logs} (expires) where expires is not null;
  create index {logs_gone} on {logs} (gone) where gone is not null;
  create table {streams} (
    log integer not null, name text not null, claim text not null, node text not null, seq integer not null default 0,
    top integer not null default 0, trimmed integer not null default 0, ended integer not null default 0,
    primary key (log, name)
  ) without rowid;
  create index {streams_open} on {streams} (node, log, name) where ended = 0;
  create table {entries} (
    log integer not null, n integer not null, stream text not null, claim text not null, seq integer not null,
    size integer not null, last integer not null, at real not null, data text not null, primary key (log, n)
  );
  create index {entries_stream} on {entries} (log, stream, n);

  create table {buckets} (key text primary key, full real not null) without rowid;
  create index {buckets_full} on {buckets} (full);
  create table {texts} (id integer primary key, at real not null, text text not null)`;
