import type { Names } from "./tables.js";

/**
 * Returns the statements that create the functions of version 1. A function is one round trip, and each of its statements
 * sees what was committed before it, so that it sees the state under a row lock that it waited for. Names end in the
 * version, so that two releases can work on the same tables.
 */
export function functions(names: Names): string {
  return [put, create, claim, append, trim, drop, bucket, publish, sweep].map((create) => create(names)).join("\n");
}

function put({ of }: Names): string {
  return `
    create function ${of("put_1")}(_key text, _value text, _ttl float8, _mode text, _version bigint, _index text)
    returns bigint language plpgsql as $body$
    declare
      _made bigint := nextval('${of("versions")}');
      _expires timestamptz := clock_timestamp() + _ttl * interval '1 millisecond';
      _found bigint;
    begin
      if _mode = 'version' then
        update ${of("records")} set value = _value, version = _made, expires = _expires
        where key = _key and version = _version and (expires is null or expires > clock_timestamp())
        returning version into _found;
      else
        insert into ${of("records")} as r (key, value, version, expires) values (_key, _value, _made, _expires)
        on conflict (key) do update set value = _value, version = _made, expires = _expires
        where _mode = 'any' or r.expires <= clock_timestamp()
        returning r.version into _found;
      end if;
      if _found is null then return null; end if;
      delete from ${of("indexed")} i where i.key = _key and not exists (
        select from jsonb_to_recordset(_index::jsonb) as x(name text, score float8)
        where x.name = i.name and x.score = i.score);
      insert into ${of("indexed")} (name, score, key)
      select x.name, x.score, _key from jsonb_to_recordset(_index::jsonb) as x(name text, score float8)
      on conflict do nothing;
      return _found;
    end $body$;`;
}

/**
 * Creates a log. Returns false if it was dropped a short time ago. The row of a dropped log stays until the time in
 * `gone`, so that a create that waits for a drop finds it.
 */
function create({ of }: Names): string {
  return `
    create function ${of("create_1")}(_name text, _keep interval, _entries bigint, _bytes bigint, _streams bigint)
    returns boolean language plpgsql as $body$
    declare
      l record;
    begin
      loop
        insert into ${of("logs")} (name, keep, maxentries, maxbytes, maxstreams)
        values (_name, _keep, _entries, _bytes, _streams)
        on conflict (name) do nothing;
        if found then return true; end if;
        select gone into l from ${of("logs")} where name = _name for update;
        if found and (l.gone is null or l.gone > clock_timestamp()) then return l.gone is null; end if;
        delete from ${of("logs")} where name = _name and gone <= clock_timestamp();
      end loop;
    end $body$;`;
}

/** Returns the log and the claim, null without a log, or `full` if the log has too many streams. */
function claim({ of }: Names): string {
  return `
    create function ${of("claim_1")}(_name text, _stream text, _node text) returns text language plpgsql as $body$
    declare
      l record;
      _claim bigint := nextval('${of("versions")}');
    begin
      select * into l from ${of("logs")} where name = _name and gone is null for update;
      if not found then return null; end if;
      update ${of("streams")} set claim = _claim, node = _node, seq = 0 where log = l.id and name = _stream;
      if not found then
        if l.streams >= l.maxstreams then
          perform ${of("trim_1")}(l.id);
          select * into l from ${of("logs")} where id = l.id;
        end if;
        if l.streams >= l.maxstreams then return 'full:' || l.maxstreams; end if;
        insert into ${of("streams")} (log, name, claim, node) values (l.id, _stream, _claim, _node);
        update ${of("logs")} set streams = streams + 1 where id = l.id;
      end if;
      return l.id || ':' || _claim;
    end $body$;`;
}

/** Numbers an entry under the lock of the log's row. A sequence is not in the order of commits. */
function append({ of }: Names): string {
  return `
    create function ${of("append_1")}(
      _log bigint, _stream text, _claim bigint, _seq bigint, _data text, _last boolean
    ) returns text language plpgsql as $body$
    declare
      l record; s record; e record; _n bigint;
    begin
      select * into l from ${of("logs")} where id = _log and gone is null for update;
      if not found then return 'dropped'; end if;
      select * into s from ${of("streams")} where log = _log and name = _stream;
      if not found or s.claim <> _claim then return 'fenced'; end if;
      if _seq < s.seq then
        select * into e from ${of("entries")}
        where log = _log and stream = _stream and claim = _claim and seq = _seq order by n desc limit 1;
        if not found or e.at + l.keep <= clock_timestamp() then return 'missed'; end if;
        if e.data <> _data or e.last <> _last then return 'different:' || s.seq; end if;
        return e.n;
      end if;
      if _seq > s.seq then return 'order:' || s.seq; end if;
      if s.ended then return 'ended'; end if;
      _n := l.top + 1;
      insert into ${of("entries")} (log, n, stream, claim, seq, data, last, at)
      values (_log, _n, _stream, _claim, _seq, _data, _last, clock_timestamp());
      update ${of("streams")} set seq = _seq + 1, top = _n, ended = _last where log = _log and name = _stream;
      update ${of("logs")} set top = _n, entries = entries + 1, bytes = bytes + octet_length(_data),
        expires = coalesce(expires, clock_timestamp() + keep)
      where id = _log returning * into l;
      if l.entries > greatest(l.maxentries, 1) or l.bytes > l.maxbytes or l.expires <= clock_timestamp() then
        perform ${of("trim_1")}(_log);
      end if;
      return _n;
    end $body$;`;
}

/**
 * Deletes the oldest entries of a log whose row is locked, until it is within its limits. A stream that has ended is
 * deleted with its last entry.
 */
function trim({ of }: Names): string {
  return `
    create function ${of("trim_1")}(_log bigint) returns void language plpgsql as $body$
    declare
      l record; e record; _cut bigint := 0; _ended bigint;
    begin
      select * into l from ${of("logs")} where id = _log;
      for e in select n, octet_length(data) as size, at from ${of("entries")} where log = _log order by n loop
        -- The newest entry stays even if it is larger than the log may be.
        exit when e.at + l.keep > clock_timestamp()
          and (l.entries <= 1 or l.entries <= l.maxentries and l.bytes <= l.maxbytes);
        _cut := e.n;
        l.entries := l.entries - 1;
        l.bytes := l.bytes - e.size;
      end loop;
      delete from ${of("streams")} s using ${of("entries")} x
      where s.log = _log and x.log = _log and x.n <= _cut and x.last and s.name = x.stream;
      get diagnostics _ended = row_count;
      update ${of("streams")} s set trimmed = x.n
      from (select stream, max(n) as n from ${of("entries")} where log = _log and n <= _cut group by stream) x
      where s.log = _log and s.name = x.stream;
      delete from ${of("entries")} where log = _log and n <= _cut;
      update ${of("logs")} set entries = l.entries, bytes = l.bytes, streams = l.streams - _ended,
        expires = (select at + l.keep from ${of("entries")} where log = _log order by n limit 1)
      where id = _log;
    end $body$;`;
}

function drop({ of }: Names): string {
  return `
    create function ${of("drop_1")}(_name text) returns text language plpgsql as $body$
    declare
      _log bigint;
    begin
      update ${of("logs")} set gone = clock_timestamp() + keep, expires = null where name = _name and gone is null
      returning id into _log;
      if not found then return null; end if;
      delete from ${of("streams")} where log = _log;
      delete from ${of("entries")} where log = _log;
      return _log;
    end $body$;`;
}

function bucket({ of }: Names): string {
  return `
    create function ${of("bucket_1")}(_key text, _burst float8, _per float8, _want float8)
    returns text language plpgsql as $body$
    declare
      b record; _now timestamptz; _tokens float8; _given float8;
    begin
      loop
        insert into ${of("buckets")} (key, tokens, at, full_at)
        values (_key, _burst, clock_timestamp(), clock_timestamp()) on conflict do nothing;
        select * into b from ${of("buckets")} where key = _key for update;
        exit when found;
      end loop;
      _now := greatest(clock_timestamp(), b.at);
      _tokens := least(_burst, b.tokens + extract(epoch from _now - b.at) * 1000 / _per);
      _given := least(_want, floor(_tokens));
      update ${of("buckets")} set tokens = _tokens - _given, at = _now,
        full_at = _now + (_burst - _tokens + _given) * _per * interval '1 millisecond'
      where key = _key;
      return _given || ':' || case when _given > 0 then 0 else (1 - _tokens) * _per end;
    end $body$;`;
}

function publish({ of }: Names): string {
  return `
    create function ${of("publish_1")}(_channel text, _sender text, _messages text, _payloads text)
    returns void language plpgsql as $body$
    begin
      insert into ${of("messages")} (sender, seq, topic, text)
      select _sender, x.seq, x.topic, x.text
      from jsonb_to_recordset(_messages::jsonb) as x(seq bigint, topic text, text text);
      perform pg_notify(_channel, x.payload) from jsonb_array_elements_text(_payloads::jsonb) as x(payload);
    end $body$;`;
}

/**
 * Deletes up to `_limit` rows of each table whose life is over. Returns `more` if there may be more, `none`, or `busy` while
 * another process does it.
 */
function sweep({ of }: Names): string {
  const deleted = "get diagnostics _rows = row_count; _most := greatest(_most, _rows);";
  return `
    create function ${of("sweep_1")}(_lock bigint, _limit int, _messages_keep interval)
    returns text language plpgsql as $body$
    declare
      _log bigint; _now timestamptz := clock_timestamp(); _rows int; _most int := 0; _logs int := 0;
    begin
      if not pg_try_advisory_xact_lock(_lock) then return 'busy'; end if;
      delete from ${of("records")} where key in (
        select key from ${of("records")} where expires <= _now limit _limit for update skip locked);
      ${deleted}
      delete from ${of("leases")} where name in (
        select name from ${of("leases")} where until <= _now limit _limit for update skip locked);
      ${deleted}
      delete from ${of("buckets")} where key in (
        select key from ${of("buckets")} where full_at <= _now limit _limit for update skip locked);
      ${deleted}
      delete from ${of("messages")} where (sender, seq) in (
        select sender, seq from ${of("messages")} where at <= _now - _messages_keep limit _limit
        for update skip locked);
      ${deleted}
      delete from ${of("logs")} where id in (
        select id from ${of("logs")} where gone <= _now limit _limit for update skip locked);
      ${deleted}
      for _log in select id from ${of("logs")} where expires <= _now limit _limit / 10 for update skip locked loop
        perform ${of("trim_1")}(_log);
        _logs := _logs + 1;
      end loop;
      return case when _most >= _limit or _logs >= _limit / 10 then 'more' else 'none' end;
    end $body$;`;
}
