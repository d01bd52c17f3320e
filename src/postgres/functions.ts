import { ALIVE, type Names } from "./schema.js";

/**
 * Returns the statements that create the functions. A function is one round trip, a connection keeps its plan, and each of
 * its statements sees what was committed before it, so that it sees the state under a row lock that it waited for. Locks are
 * taken in one order: records, their entries, counts by name.
 *
 * Those that send a notice are procedures, which commit before: commits with NOTIFY wait for each other on the server, also for
 * its disk. A notice that is lost between is sent by the repetition of the operation, whose outcome is unknown then.
 */
export function functions(names: Names): string {
  const all = [notify, index, put, remove, takeDue, takeTokens, create, claim, append, trim, read, drop, sweep];
  return all.map((create) => create(names)).join("\n");
}

/** Milliseconds since 1970. */
const NOW_MS = "extract(epoch from clock_timestamp())::float8 * 1000";

const shardOf = (key: string) => `hashtext(${key}) & 15`;

/**
 * Sends a text to all processes. A payload has less than 8,000 bytes, so that a longer text is stored, and its number sent.
 * Without a header the payload has the number of the transaction, so that all payloads differ.
 */
function notify({ of }: Names): string {
  return `
    create function ${of("notify_2")}(_channel text, _header text, _text text) returns void language plpgsql as $body$
    declare
      _id bigint;
    begin
      _header := coalesce(_header, pg_current_xact_id()::text);
      if octet_length(_text) <= 7900 then
        perform pg_notify(_channel, _header || '=' || _text);
      else
        insert into ${of("messages")} (text) values (_text) returning id into _id;
        perform pg_notify(_channel, _header || '@' || _id);
      end if;
    end $body$;`;
}

/**
 * Gives these entries to each of some records, whose rows are locked, in place of the former ones. The plan is made once, since
 * planning takes longer than the work.
 */
function index({ of }: Names): string {
  return `
    create function ${of("index_2")}(_keys text[], _names text[], _scores float8[]) returns void
    language plpgsql set plan_cache_mode = force_generic_plan as $body$
    declare
      _empty text[];
    begin
      with gone as (
        delete from ${of("indexed")} i where i.key = any(_keys) and i.name <> all(_names) returning i.name, i.key
      ), kept as (
        insert into ${of("indexed")} as i (name, score, key)
        select e.name, e.score, k.key from unnest(_keys) as k(key), unnest(_names, _scores) as e(name, score)
        on conflict (key, name) do update set score = excluded.score where i.score <> excluded.score
        returning i.name, i.key, xmax = 0 as added
      ), changes as (
        select name, ${shardOf("key")} as shard, sum(change) as change
        from (select name, key, -1 as change from gone union all select name, key, 1 from kept where added) x
        group by 1, 2 having sum(change) <> 0
      ), counted as (
        insert into ${of("counts")} as c (name, shard, n) select name, shard, change from changes order by name, shard
        on conflict (name, shard) do update set n = c.n + excluded.n returning c.name, c.n
      )
      select array_agg(name) filter (where n = 0) into _empty from counted;
      if _empty is not null then
        delete from ${of("counts")} where name = any(_empty) and n = 0;
      end if;
    end $body$;`;
}

/** `stored` becomes true if the record was stored, or has the version already. */
function put({ of }: Names): string {
  return `
    create procedure ${of("put_2")}(
      _key text, _value text, _ttl float8, _mode text, _expected text, _version text, _entries text, _channel text,
      _notice text, inout stored text
    ) language plpgsql as $body$
    declare
      _expires timestamptz := clock_timestamp() + _ttl * interval '1 millisecond';
      _has boolean := _entries <> '[]'; _had boolean; _names text[]; _scores float8[];
    begin
      if _mode = 'version' then
        update ${of("records")} r set value = _value, version = _version, expires = _expires
        where key = _key and version = _expected and ${ALIVE} returning indexed into _had;
      else
        insert into ${of("records")} as r (key, value, version, indexed, expires)
        values (_key, _value, _version, _has, _expires)
        on conflict (key) do update set value = _value, version = _version, expires = _expires,
          takes = case when ${ALIVE} then r.takes else 0 end
        where _mode = 'any' or not ${ALIVE} returning r.indexed into _had;
      end if;
      stored := _had is not null or exists (
        select from ${of("records")} r where key = _key and version = _version and ${ALIVE});
      if _had is not null and (_had or _has) then
        select coalesce(array_agg(x.name), '{}'), coalesce(array_agg(coalesce(x.score, ${NOW_MS} + x.delay)), '{}')
        into _names, _scores from jsonb_to_recordset(_entries::jsonb) as x(name text, score float8, delay float8);
        perform ${of("index_2")}(array[_key], _names, _scores);
      end if;
      if _has <> _had then
        update ${of("records")} set indexed = _has where key = _key;
      end if;
      if stored::boolean and _notice is not null then
        commit;
        perform ${of("notify_2")}(_channel, null, _notice);
      end if;
    end $body$;`;
}

function remove({ of }: Names): string {
  return `
    create function ${of("delete_2")}(_key text, _version text) returns boolean language plpgsql as $body$
    declare
      _alive boolean; _indexed boolean;
    begin
      delete from ${of("records")} r where key = _key and (_version is null or version = _version)
      returning ${ALIVE}, indexed into _alive, _indexed;
      if _indexed then
        perform ${of("index_2")}(array[_key], '{}', '{}');
      end if;
      return coalesce(_alive, false);
    end $body$;`;
}

/**
 * Takes due records that no other transaction works on, or returns the time until the first one is due. A row lock of both
 * the record and its entry makes sure that what was taken meanwhile is looked at again.
 */
function takeDue({ of }: Names): string {
  const alive = `from ${of("records")} r join ${of("indexed")} i on i.key = r.key where i.name = _index and ${ALIVE}`;
  return `
    create function ${of("take_2")}(_index text, _taken text, _most int, _lease float8, _token text)
    returns table (key text, value text, takes text, wait text) language plpgsql as $body$
    #variable_conflict use_column
    declare
      _now float8 := ${NOW_MS}; _keys text[];
    begin
      select array_agg(due.key order by due.score, due.key) into _keys from (
        select i.key, i.score ${alive} and i.score <= _now
        order by i.score, i.key limit _most for update of r, i skip locked
      ) due;
      if _keys is null then
        -- One that is due is being taken. It comes back if that fails.
        return query select null, null, null, greatest(i.score - _now, 10)::text
        ${alive} order by i.score, i.key limit 1;
        return;
      end if;
      perform ${of("index_2")}(_keys, array[_index, _taken], array[_now + _lease, 0]);
      return query with taken as (
        update ${of("records")} r set version = _token, takes = r.takes + 1, indexed = true, expires = null
        where r.key = any(_keys) returning r.key, r.value, r.takes
      ) select t.key, t.value, t.takes::text, null from taken t order by array_position(_keys, t.key);
    end $body$;`;
}

/**
 * Takes tokens of a bucket, of which the time until it is full is stored. The clock of the statement is earlier than that of a
 * lock which it waited for, so that it gives too few at most.
 */
function takeTokens({ of }: Names): string {
  const now = "statement_timestamp()";
  const ms = (ms: string) => `${ms} * interval '1 millisecond'`;
  const leftMs = (until: string) => `extract(epoch from ${until} - ${now})::float8 * 1000`;
  return `
    create function ${of("tokens_2")}(_key text, _burst float8, _refill float8, _want float8)
    returns table (given text, wait text) language plpgsql as $body$
    #variable_conflict use_column
    begin
      return query insert into ${of("buckets")} as b (key, full_at, given)
      values (_key, ${now} + ${ms("least(_burst, _want) * _refill")}, least(_burst, _want))
      on conflict (key) do update set (full_at, given) = (
        select greatest(b.full_at, ${now}) + ${ms("x.given * _refill")}, x.given from (
          select least(_want, floor(greatest(0, _burst - greatest(0, ${leftMs("b.full_at")}) / _refill))) as given
        ) x
      )
      returning b.given::text, (${leftMs("b.full_at")} - (_burst - 1) * _refill)::text;
    end $body$;`;
}

/**
 * Creates a log. Returns false if it was dropped a short time ago. The row of a dropped log stays until the time in
 * `gone`, so that a create that waits for a drop finds it.
 */
function create({ of }: Names): string {
  return `
    create function ${of("create_2")}(_name text, _keep interval, _entries bigint, _bytes bigint, _streams bigint)
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

/** Returns the number of the log, null without a log, or `full` if the log has too many streams. */
function claim({ of }: Names): string {
  return `
    create function ${of("claim_2")}(_name text, _stream text, _node text, _claim text)
    returns text language plpgsql as $body$
    declare
      l record;
    begin
      select * into l from ${of("logs")} where name = _name and gone is null for update;
      if not found then return null; end if;
      if l.expires <= clock_timestamp() then
        perform ${of("trim_2")}(l.id);
        select * into l from ${of("logs")} where id = l.id;
      end if;
      update ${of("streams")} set claim = _claim, node = _node, seq = 0 where log = l.id and name = _stream;
      if not found then
        if l.streams >= l.maxstreams then return 'full:' || l.maxstreams; end if;
        insert into ${of("streams")} (log, name, claim, node) values (l.id, _stream, _claim, _node);
        update ${of("logs")} set streams = streams + 1 where id = l.id;
      end if;
      return l.id;
    end $body$;`;
}

/**
 * Appends entries. `results` gets a result for each up to the first that was refused. Numbers them under the lock of the log's
 * row, since a sequence is not in the order of commits.
 */
function append({ of }: Names): string {
  return `
    create procedure ${of("append_2")}(
      _log bigint, _stream text, _claim text, _seq bigint, _entries text, _channel text, _notice text, inout results text
    ) language plpgsql as $body$
    declare
      l record; s record; e record; was record; _top bigint; _result text;
    begin
      results := 'dropped';
      select * into l from ${of("logs")} where id = _log and gone is null for update;
      if not found then return; end if;
      results := 'fenced';
      select * into s from ${of("streams")} where log = _log and name = _stream;
      if not found or s.claim <> _claim then return; end if;
      results := '';
      _top := l.top;
      for e in
        select value->>'data' as data, (value->>'last')::boolean as last, _seq + place - 1 as seq
        from jsonb_array_elements(_entries::jsonb) with ordinality as x(value, place) order by place
      loop
        if e.seq < s.seq then
          select n, data, last, at + l.keep > clock_timestamp() as kept into was from ${of("entries")}
          where log = _log and stream = _stream and claim = _claim and seq = e.seq order by n desc limit 1;
          _result := case when was.kept is not true then 'missed'
            when was.data <> e.data or was.last <> e.last then 'different:' || s.seq else was.n::text end;
        elsif s.ended then
          _result := 'ended';
        elsif e.seq > s.seq then
          _result := 'order:' || s.seq;
        else
          _top := _top + 1;
          insert into ${of("entries")} (log, n, stream, claim, seq, data, last, at)
          values (_log, _top, _stream, _claim, e.seq, e.data, e.last, clock_timestamp());
          s.seq := s.seq + 1;
          s.ended := e.last;
          l.bytes := l.bytes + octet_length(e.data);
          _result := _top;
        end if;
        results := ltrim(results || ' ' || _result);
        exit when _result !~ '^[0-9]+$';
      end loop;
      if _top > l.top then
        update ${of("streams")} set seq = s.seq, top = _top, ended = s.ended where log = _log and name = _stream;
        update ${of("logs")} set top = _top, entries = entries + _top - l.top, bytes = l.bytes,
          expires = coalesce(expires, clock_timestamp() + keep)
        where id = _log returning * into l;
        if l.entries > greatest(l.maxentries, 1) or l.bytes > l.maxbytes or l.expires <= clock_timestamp() then
          perform ${of("trim_2")}(_log);
        end if;
      end if;
      if results ~ '^[0-9]' then
        commit;
        perform ${of("notify_2")}(_channel, null, _notice);
      end if;
    end $body$;`;
}

/**
 * Deletes the oldest entries of a log whose row is locked, until it is within its limits. A stream that has ended is
 * deleted with its last entry.
 */
function trim({ of }: Names): string {
  return `
    create function ${of("trim_2")}(_log bigint) returns void language plpgsql as $body$
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

/**
 * Returns the state of a stream in each row, and the entries after a place. Without entries there is one row, without a log
 * none. The newest entry that is not kept is looked for only if the log has some that are not deleted yet.
 */
function read({ of }: Names): string {
  const isKept = "x.at + l.keep > clock_timestamp()";
  return `
    create function ${of("read_2")}(_name text, _stream text, _log text, _n bigint, _claim text, _limit bigint)
    returns table (
      log text, top text, ended text, trimmed text, kept text, n text, claim text, data text, last text
    ) language plpgsql set plan_cache_mode = force_generic_plan as $body$
    #variable_conflict use_column
    begin
      return query with head as materialized (
        select l.id, l.keep, s.top, s.ended, greatest(s.trimmed, case when l.expires <= clock_timestamp() then (
            select max(x.n) from ${of("entries")} x where x.log = l.id and x.stream = _stream and not ${isKept}
          ) end) as trimmed,
          _log is null or l.id::text = _log and exists (
            select from ${of("entries")} x
            where x.log = l.id and x.n = _n and x.stream = _stream and x.claim = _claim and ${isKept}
          ) as kept
        from ${of("logs")} l left join ${of("streams")} s on s.log = l.id and s.name = _stream
        where l.name = _name and l.gone is null
      )
      select l.id::text, l.top::text, l.ended::text, l.trimmed::text, l.kept::text,
        e.n::text, e.claim, e.data, e.last::text
      from head l left join lateral (
        select * from ${of("entries")} x
        where x.log = l.id and x.stream = _stream and x.n > _n and ${isKept} order by x.n limit _limit
      ) e on true order by e.n;
    end $body$;`;
}

function drop({ of }: Names): string {
  return `
    create procedure ${of("drop_2")}(_name text, _channel text, _notice text) language plpgsql as $body$
    declare
      _log bigint;
    begin
      update ${of("logs")} set gone = clock_timestamp() + keep, expires = null where name = _name and gone is null
      returning id into _log;
      if not found then return; end if;
      delete from ${of("streams")} where log = _log;
      delete from ${of("entries")} where log = _log;
      commit;
      perform ${of("notify_2")}(_channel, null, _notice);
    end $body$;`;
}

/**
 * Deletes up to `_limit` rows of each table whose life is over. Returns `more` if there may be more, `none`, or `busy` while
 * another process does it.
 */
function sweep({ of, lock }: Names): string {
  const deleted = "get diagnostics _rows = row_count; _most := greatest(_most, _rows);";
  return `
    create function ${of("sweep_2")}(_limit int, _messages_keep interval) returns text language plpgsql as $body$
    declare
      _log bigint; _keys text[]; _now timestamptz := clock_timestamp(); _rows int; _most int := 0; _logs int := 0;
    begin
      if not pg_try_advisory_xact_lock(${lock}) then return 'busy'; end if;
      delete from ${of("records")} where key in (
        select key from ${of("records")} where not indexed and expires <= _now limit _limit for update skip locked);
      ${deleted}
      with gone as (
        delete from ${of("records")} where key in (
          select key from ${of("records")} where indexed and expires <= _now limit _limit for update skip locked)
        returning key
      ) select array_agg(key) into _keys from gone;
      if _keys is not null then
        _most := greatest(_most, cardinality(_keys));
        perform ${of("index_2")}(_keys, '{}', '{}');
      end if;
      delete from ${of("buckets")} where key in (
        select key from ${of("buckets")} where full_at <= _now limit _limit for update skip locked);
      ${deleted}
      delete from ${of("messages")} where id in (
        select id from ${of("messages")} where at <= _now - _messages_keep limit _limit for update skip locked);
      ${deleted}
      delete from ${of("logs")} where id in (
        select id from ${of("logs")} where gone <= _now limit _limit for update skip locked);
      ${deleted}
      for _log in select id from ${of("logs")} where expires <= _now limit _limit / 10 for update skip locked loop
        perform ${of("trim_2")}(_log);
        _logs := _logs + 1;
      end loop;
      return case when _most >= _limit or _logs >= _limit / 10 then 'more' else 'none' end;
    end $body$;`;
}
