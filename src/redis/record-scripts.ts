import { readScript, script } from "./scripts.js";

/**
 * A record is a hash `r:<key>`: value (`v`), version (`n`) and number of takes (`t`). It expires with the life of the
 * record. An index is a sorted set `i:<index>` of keys. The names of the indexes that have a key are in the hash `e`, and
 * the end of its record in the sorted set `x`, by which entries are removed whose records have expired.
 *
 * A full server refuses a write that needs room, unless the script has made one before that needs none. So the first write
 * of a script that stores something needs room, and the script is refused before it has changed anything.
 */
const RECORDS = `
local function record(key) return p .. 'r:' .. key end
local function index(name) return p .. 'i:' .. name end
local function indexes_of(key)
  local packed = redis.call('HGET', p .. 'e', key)
  return packed and cmsgpack.unpack(packed) or {}
end
-- Replaces the entries of a record. The end is nil if it stays.
local function enter(key, entries, ends)
  local names, is_new, former = {}, {}, indexes_of(key)
  for _, entry in ipairs(entries) do
    redis.call('ZADD', index(entry.name), entry.score, key)
    names[#names + 1] = entry.name
    is_new[entry.name] = true
  end
  for _, name in ipairs(former) do
    if not is_new[name] then redis.call('ZREM', index(name), key) end
  end
  if #names > 0 then redis.call('HSET', p .. 'e', key, cmsgpack.pack(names))
  elseif #former > 0 then redis.call('HDEL', p .. 'e', key) end
  if #names > 0 and ends then redis.call('ZADD', p .. 'x', text(ends), key)
  elseif #former > 0 then redis.call('ZREM', p .. 'x', key) end
end
-- Removes the entries of up to so many records that have expired. Returns false if there are more.
local function purge(most)
  local ended = redis.call('ZRANGEBYSCORE', p .. 'x', '-inf', '(' .. text(now()), 'LIMIT', 0, most)
  for _, key in ipairs(ended) do enter(key, {}) end
  return #ended < most
end
`;

/** Maximum number of records whose entries one script removes. */
const PURGED = 500;

/** Same for a put, so that entries do not accumulate where nobody lists them. */
const PURGED_BY_PUT = 2;

export const GET = readScript("get a record", `${RECORDS} return redis.call('HMGET', record(ARGV[1]), 'v', 'n')`);

/**
 * ARGV: key, value, version, condition (`any`, `none` or `version`), version that the record must have, life or empty,
 * number of entries, then their indexes, `at` or `in`, and scores. A notice may follow. Returns 1 if the record has the
 * version.
 */
export const PUT = script(
  "put a record",
  `${RECORDS}
local key, value, version, condition, count = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[7])
local former = redis.call('HGET', record(key), 'n')
if (condition == 'none' and former) or (condition == 'version' and former ~= ARGV[5]) then
  return former == version and 1 or 0
end
-- A renewal keeps the version, and needs no room after this write.
if condition == 'version' and former == version then redis.call('PERSIST', record(key)) end
redis.call('HSET', record(key), 'v', value, 'n', version)
local t = now()
local ends = ARGV[6] ~= '' and t + ARGV[6] or nil
if ends then redis.call('PEXPIREAT', record(key), text(ends))
elseif former then redis.call('PERSIST', record(key)) end
local entries = {}
for at = 8, 7 + 3 * count, 3 do
  entries[#entries + 1] = {name = ARGV[at], score = ARGV[at + 1] == 'in' and text(t + ARGV[at + 2]) or ARGV[at + 2]}
end
enter(key, entries, ends)
if count > 0 then purge(${PURGED_BY_PUT}) end
local notice = ARGV[8 + 3 * count]
if notice then send(notice) end
return 1`,
);

/** ARGV: key, life, version that the record must have, or empty. Returns 1 if there is such a record. */
export const TOUCH = script(
  "touch a record",
  `${RECORDS}
local key, ends = ARGV[1], text(now() + ARGV[2])
local version = redis.call('HGET', record(key), 'n')
if not version or (ARGV[3] ~= '' and ARGV[3] ~= version) then return 0 end
redis.call('PEXPIREAT', record(key), ends)
if redis.call('HEXISTS', p .. 'e', key) == 1 then redis.call('ZADD', p .. 'x', ends, key) end
return 1`,
);

/** ARGV: key, version that the record must have, or empty. Returns 1 if a record was deleted. */
export const DELETE = script(
  "delete a record",
  `${RECORDS}
local key = ARGV[1]
local version = redis.call('HGET', record(key), 'n')
if not version or (ARGV[2] ~= '' and ARGV[2] ~= version) then return 0 end
redis.call('DEL', record(key))
enter(key, {})
return 1`,
);

/** Returns the number of entries of an index, or nothing if the script must run again. ARGV: index. */
export const COUNT = readScript(
  "count an index",
  `${RECORDS}
return purge(${PURGED}) and redis.call('ZCARD', index(ARGV[1]))`,
);

/**
 * ARGV: index, limit, score and key of the place, or nothing. Returns key, score, value, version and remaining life of
 * each record, or nothing if the script must run again.
 */
export const LIST = readScript(
  "list an index",
  `${RECORDS}
-- Compares bytes, as sorted sets do. Lua would compare by the locale of the server.
local function is_after(one, other)
  for at = 1, #one do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then return not b or a > b end
  end
  return false
end
-- Returns the number of entries up to a place, whose record may be gone.
local function rank(keys, score, key)
  local from, to = redis.call('ZCOUNT', keys, '-inf', '(' .. score), redis.call('ZCOUNT', keys, '-inf', score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if is_after(redis.call('ZRANGE', keys, middle, middle)[1], key) then to = middle else from = middle + 1 end
  end
  return from
end
if not purge(${PURGED}) then return false end
local keys, listed, is_whole = index(ARGV[1]), {}, true
local from = ARGV[3] and rank(keys, ARGV[3], ARGV[4]) or 0
local found = redis.call('ZRANGE', keys, from, from + ARGV[2] - 1, 'WITHSCORES')
for at = 1, #found, 2 do
  local key = found[at]
  local r = redis.call('HMGET', record(key), 'v', 'n')
  if r[2] then
    local left = redis.call('PTTL', record(key))
    for _, part in ipairs({key, found[at + 1], r[1], r[2], left < 0 and '' or text(left)}) do
      listed[#listed + 1] = part
    end
  else
    -- The server has evicted the record.
    redis.call('ZREM', keys, key)
    enter(key, {})
    is_whole = false
  end
end
return is_whole and listed`,
);

/**
 * ARGV: index, maximum number of records, lease, token, index of the taken ones. Returns key, value and takes of each
 * record, or the time until the first one is due, or an empty list, or nothing if the script must run again.
 */
export const TAKE_DUE = script(
  "take due records",
  `${RECORDS}
if not purge(${PURGED}) then return false end
local t, taken, is_whole = now(), {}, true
local first = redis.call('ZRANGE', index(ARGV[1]), 0, ARGV[2] - 1, 'WITHSCORES')
if not first[1] then return {} end
if tonumber(first[2]) > t then return {text(math.ceil(first[2] - t))} end
for at = 1, #first, 2 do
  local key = first[at]
  if tonumber(first[at + 1]) > t then break end
  local value = redis.call('HGET', record(key), 'v')
  if value then
    redis.call('HSET', record(key), 'n', ARGV[4])
    redis.call('PERSIST', record(key))
    enter(key, {{name = ARGV[1], score = text(t + ARGV[3])}, {name = ARGV[5], score = 0}})
    for _, part in ipairs({key, value, text(redis.call('HINCRBY', record(key), 't', 1))}) do
      taken[#taken + 1] = part
    end
  else
    -- The server has evicted the record.
    redis.call('ZREM', index(ARGV[1]), key)
    enter(key, {})
    is_whole = false
  end
end
return (is_whole or taken[1]) and taken`,
);
