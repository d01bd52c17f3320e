import { readScript, script } from "./scripts.js";

/**
 * A record is a hash: value (`v`), version (`n`), index entries as JSON (`i`) and a number that rises with each write
 * (`s`), by which the later of two changes of an index is known.
 */
const COMMON = `
local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local function rise(was)
  local s = micros()
  if was and tonumber(was) >= s then s = tonumber(was) + 1 end
  return text(s)
end
local function due(ttl)
  if ttl < 0 then return '' end
  return text(now() + ttl)
end
`;

export const GET = readScript("get a record", "return redis.call('HMGET', KEYS[1], 'v', 'n')");

/**
 * A put needs no marks if the record has its entries already and its life is not shortened. The end of a life is computed
 * anew for each put, so that it differs by the time that a put takes: an end that is earlier by at most a thousandth of the
 * life counts as the same, and stays.
 */
const UNMARKED = `
local function has(index, entries)
  if index == entries then return true end
  local scores = {}
  for _, entry in ipairs(cjson.decode(index == '' and '[]' or index)) do scores[entry.index] = entry.score end
  for _, entry in ipairs(cjson.decode(entries)) do
    if scores[entry.index] ~= entry.score then return false end
  end
  return true
end
local function lasts(left, life)
  if life == '' then return true end
  return left >= 0 and left - life <= left / 1000
end
`;

/**
 * ARGV: condition (`any`, `none` or `version`), version that it must have, value, new version, life or empty, index, and 1
 * if its entries are marked. Returns 1 or 0 for stored, the former index, `s`, and the time at which the record is gone.
 * Returns `marks` if nothing was stored because the put needs marks.
 */
export const PUT = script(
  "put a record",
  `${COMMON}${UNMARKED}
  local old = redis.call('HMGET', KEYS[1], 'n', 'i', 's')
  if ARGV[1] == 'none' and old[1] then return {'0'} end
  if ARGV[1] == 'version' and old[1] ~= ARGV[2] then return {'0'} end
  local s = rise(old[3])
  local left, isMarked = redis.call('PTTL', KEYS[1]), ARGV[7] == '1'
  if not (isMarked or (has(old[2] or '', ARGV[6]) and lasts(left, ARGV[5]))) then return {'marks'} end
  redis.call('HSET', KEYS[1], 'v', ARGV[3], 'n', ARGV[4], 'i', ARGV[6], 's', s)
  if ARGV[5] == '' then redis.call('PERSIST', KEYS[1])
  elseif isMarked or left < tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
  return {'1', old[2] or '', s, due(tonumber(ARGV[5]) or -1)}`,
);

/** ARGV: life. Returns 1 or 0 for found, the index if the life was shortened, `s`, and the time of its end. */
export const TOUCH = script(
  "touch a record",
  `${COMMON}
  local before = redis.call('PTTL', KEYS[1])
  if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then return {'0'} end
  if before >= 0 and before <= tonumber(ARGV[1]) then return {'1', ''} end
  local old = redis.call('HMGET', KEYS[1], 'i', 's')
  local s = rise(old[2])
  redis.call('HSET', KEYS[1], 's', s)
  return {'1', old[1], s, due(tonumber(ARGV[1]))}`,
);

/** ARGV: version or empty. Returns 1 or 0 for deleted, the former index, and `s`. */
export const DELETE = script(
  "delete a record",
  `${COMMON}
  local old = redis.call('HMGET', KEYS[1], 'n', 'i', 's')
  if not old[1] or (ARGV[1] ~= '' and ARGV[1] ~= old[1]) then return {'0'} end
  redis.call('DEL', KEYS[1])
  return {'1', old[2], rise(old[3])}`,
);

/** Returns the value, version, index, `s`, end and remaining life of a record. Without a record only `s` has a meaning. */
export const LOOK = readScript(
  "look at a record",
  `${COMMON}
  local r = redis.call('HMGET', KEYS[1], 'v', 'n', 'i', 's')
  if not r[2] then return {'', '', '', rise()} end
  local left = redis.call('PTTL', KEYS[1])
  return {r[1], r[2], r[3], r[4], due(left), left < 0 and '' or text(left)}`,
);

/**
 * An index has four keys in one slot: `members` are the keys of records by score, `ends` the times from which an entry
 * must be compared with its record, `marks` the puts that are on their way, and `seen` the `s` of each entry.
 */
const INDEX = `
local members, ends, marks, seen = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
`;

/** Announces a put. ARGV: token, key. */
export const MARK = script(
  "mark a put",
  `${INDEX}
  redis.call('HSET', marks, ARGV[1], text(now()) .. ' ' .. ARGV[2])
  return 1`,
);

/** Writes the entry of a record as it is. ARGV: key, token of a mark or empty, `s`, score or empty, end or empty. */
export const APPLY = script(
  "write an index entry",
  `${INDEX}
  local key = ARGV[1]
  if ARGV[2] ~= '' then redis.call('HDEL', marks, ARGV[2]) end
  local s = redis.call('HGET', seen, key)
  if ARGV[3] == '' or (s and tonumber(s) > tonumber(ARGV[3])) then return 0 end
  if ARGV[4] == '' then
    redis.call('ZREM', members, key)
    redis.call('ZREM', ends, key)
    redis.call('HDEL', seen, key)
    return 1
  end
  redis.call('ZADD', members, ARGV[4], key)
  redis.call('HSET', seen, key, ARGV[3])
  if ARGV[5] == '' then redis.call('ZREM', ends, key) else redis.call('ZADD', ends, ARGV[5], key) end
  return 1`,
);

/** Returns the marks: key, token, and 1 if it is over, or 0. ARGV: age from which a mark is over. */
const MARKED = `
local function marked(before)
  local out = {}
  local all = redis.call('HGETALL', marks)
  for at = 1, #all, 2 do
    if #out >= 300 then break end
    local since, key = string.match(all[at + 1], '^(%d+) (.*)$')
    out[#out + 1] = key
    out[#out + 1] = all[at]
    out[#out + 1] = tonumber(since) <= before and '1' or '0'
  end
  return out
end
`;

/**
 * Counts an index. ARGV: age of a mark that is over, number of samples. Returns the number of entries, the keys that must
 * be compared with their records, the marks, and keys that were chosen at random.
 */
export const COUNT = readScript(
  "count an index",
  `${INDEX}${MARKED}
  local t = now()
  local due = redis.call('ZRANGEBYSCORE', ends, '-inf', text(t), 'LIMIT', 0, 100)
  local samples = ARGV[2] == '0' and {} or redis.call('ZRANDMEMBER', members, ARGV[2])
  return {text(redis.call('ZCARD', members)), due, marked(t - ARGV[1]), samples}`,
);

/**
 * Lists keys of an index. ARGV: age of a mark that is over, limit, score and key of the place, or nothing. The place is
 * made an entry for a moment, so that its rank is known although its record is gone. Returns keys with scores, and the
 * marks.
 */
export const LIST = readScript(
  "list an index",
  `${INDEX}${MARKED}
  local from = 0
  if ARGV[3] then
    local key, score = ARGV[4], tonumber(ARGV[3])
    local was = redis.call('ZSCORE', members, key)
    if was and tonumber(was) == score then
      from = redis.call('ZRANK', members, key) + 1
    else
      redis.call('ZADD', members, ARGV[3], key)
      from = redis.call('ZRANK', members, key)
      if was then
        redis.call('ZADD', members, was, key)
        if tonumber(was) < score then from = from + 1 end
      else redis.call('ZREM', members, key) end
    end
  end
  local found = redis.call('ZRANGE', members, from, from + ARGV[2] - 1, 'WITHSCORES')
  return {found, marked(now() - ARGV[1])}`,
);
