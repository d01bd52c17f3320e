import { OPEN_PAGE } from "../cluster/store.js";
import { readScript, script } from "./scripts.js";

/**
 * A log has four keys. `l:<log>` has the id (`g`), the limits (`k`, `c`, `b`, `s`), the number of the last entry (`n`), of
 * the first one that may be kept (`f`) and the bytes (`z`). After a drop it has `d` alone, for the `keepMs` of the log.
 * `s:<log>` has the state of each stream: claim (`w`), node, next sequence number (`q`), numbers of its newest entry (`i`)
 * and of the newest one that was trimmed (`t`), and end (`e`). `e:<log>` has the entries by number, and `o:<log>` a member
 * for each, by which those of a stream are read as a range.
 *
 * `n:<node>` has a member for each open stream that the node claimed last. Texts have no NUL, which separates the parts of
 * members.
 *
 * The entries of a log expire with its newest one, so that a log that nobody uses takes little room. `is_gone` tells it.
 */
const LOGS = `
local log = ARGV[1]
local meta, streams, entries, order = p .. 'l:' .. log, p .. 's:' .. log, p .. 'e:' .. log, p .. 'o:' .. log
local function open_log()
  local m = redis.call('HMGET', meta, 'g', 'k', 'c', 'b', 's', 'n', 'f', 'z')
  if not m[1] then return nil end
  local l = {g = m[1], k = tonumber(m[2]), c = tonumber(m[3]), b = tonumber(m[4]), s = tonumber(m[5])}
  l.n, l.f, l.z, l.t = tonumber(m[6]), tonumber(m[7]), tonumber(m[8]), now()
  l.is_gone = l.f <= l.n and redis.call('EXISTS', entries) == 0
  if l.is_gone then l.f, l.z = l.n + 1, 0 end
  l.is_changed = l.is_gone
  return l
end
local function state(stream)
  local packed = redis.call('HGET', streams, stream)
  return packed and cmsgpack.unpack(packed)
end
local function save(stream, s) redis.call('HSET', streams, stream, cmsgpack.pack(s)) end
local function entry(number)
  local packed = redis.call('HGET', entries, text(number))
  return packed and cmsgpack.unpack(packed)
end
local function is_over(l, e) return e.a + l.k <= l.t end
local function place(stream, number) return stream .. '\\0' .. string.format('%016.0f', number) end
local function open_of(node) return p .. 'n:' .. node end
local function note(l, stream) return log .. '\\0' .. stream .. '\\0' .. l.g end
-- Forgets the streams whose ends have expired.
local function forget_ended(l)
  -- After a write that needs no room, a full server refuses none.
  redis.call('PERSIST', meta)
  local all = redis.call('HGETALL', streams)
  for at = 1, #all, 2 do
    local s = cmsgpack.unpack(all[at + 1])
    if s.e == 1 and s.i < l.f then redis.call('HDEL', streams, all[at]) end
  end
end
-- Forgets the first entry.
local function forget(l, e)
  redis.call('HDEL', entries, text(l.f))
  redis.call('ZREM', order, place(e.s, l.f))
  l.z = l.z - #e.d
  local s = state(e.s)
  if e.l == 1 then redis.call('HDEL', streams, e.s)
  elseif s then
    s.t = l.f
    save(e.s, s)
  end
end
-- Forgets the entries that are not kept, and saves the numbers of the log.
local function trim(l)
  if l.is_gone then forget_ended(l) end
  local count = redis.call('HLEN', entries)
  while l.f <= l.n do
    local e = entry(l.f)
    if e then
      if not is_over(l, e) and (count == 1 or (count <= l.c and l.z <= l.b)) then break end
      forget(l, e)
      count = count - 1
    end
    l.f = l.f + 1
    l.is_changed = true
  end
  if l.is_changed then redis.call('HSET', meta, 'n', text(l.n), 'f', text(l.f), 'z', text(l.z)) end
end
`;

/** ARGV: log, id, keepMs, maxEntries, maxBytes, maxStreams. Returns 0 if the log was dropped. */
export const CREATE = script(
  "create a log",
  `${LOGS}
if redis.call('HEXISTS', meta, 'd') == 1 then return 0 end
if redis.call('EXISTS', meta) == 1 then return 1 end
redis.call('HSET', meta, 'g', ARGV[2], 'k', ARGV[3], 'c', ARGV[4], 'b', ARGV[5], 's', ARGV[6], 'n', 0, 'f', 1, 'z', 0)
redis.call('DEL', streams, entries, order)
return 1`,
);

/** ARGV: log, stream, node, claim. Returns the id of the log, or `full:` with the maximum number of streams, or nothing. */
export const CLAIM = script(
  "claim a stream",
  `${LOGS}
local l = open_log()
if not l then return false end
trim(l)
local stream, node = ARGV[2], ARGV[3]
local s = state(stream)
if not s and redis.call('HLEN', streams) >= l.s then return 'full:' .. text(l.s) end
s = s or {i = 0, t = 0, e = 0}
local former = s.node
s.w, s.node, s.q = ARGV[4], node, 0
save(stream, s)
if s.e == 0 and former ~= node then
  if former then redis.call('ZREM', open_of(former), note(l, stream)) end
  redis.call('ZADD', open_of(node), 0, note(l, stream))
end
return l.g`,
);

/**
 * ARGV: log, id, stream, claim, sequence number, notice, then data of each entry and 1 if it is the last one. The first
 * write needs room, so that a full server appends nothing.
 */
export const APPEND = script(
  "append to a stream",
  `${LOGS}
local l = open_log()
if not l or l.g ~= ARGV[2] then return {'dropped'} end
local stream, seq = ARGV[3], tonumber(ARGV[5])
local s = state(stream)
if not s or s.w ~= ARGV[4] then return {'fenced'} end
-- Returns the result of an entry that was appended before.
local function repeated(data, last)
  local from, to = '(' .. stream .. '\\1', '[' .. stream .. '\\0'
  local found = redis.call('ZREVRANGEBYLEX', order, from, to, 'LIMIT', s.q - 1 - seq, 1)
  local number = found[1] and tonumber(string.sub(found[1], -16))
  local e = number and entry(number)
  if not e or e.q ~= seq or e.w ~= s.w or is_over(l, e) then return 'missed' end
  if e.d ~= data or e.l ~= last then return 'different:' .. text(s.q) end
  return text(number)
end
local results, is_new = {}, false
for at = 7, #ARGV, 2 do
  local data, last, result = ARGV[at], tonumber(ARGV[at + 1])
  if seq < s.q then result = repeated(data, last)
  elseif s.e == 1 then result = 'ended'
  elseif seq > s.q then result = 'order:' .. text(s.q)
  else
    if s.i < l.f then s.t = s.i end
    is_new, l.is_changed = true, true
    l.n, l.z = l.n + 1, l.z + #data
    s.q, s.i, s.e = seq + 1, l.n, last
    result = text(l.n)
    local packed = cmsgpack.pack({s = stream, d = data, l = last, q = seq, w = s.w, a = l.t})
    redis.call('HSET', entries, result, packed)
    redis.call('ZADD', order, 0, place(stream, l.n))
  end
  results[#results + 1] = result
  if not tonumber(result) then break end
  seq = seq + 1
end
if is_new then
  save(stream, s)
  if s.e == 1 then redis.call('ZREM', open_of(s.node), note(l, stream)) end
  trim(l)
  redis.call('PEXPIREAT', entries, text(l.t + l.k))
  redis.call('PEXPIREAT', order, text(l.t + l.k))
  send(ARGV[6])
end
return results`,
);

/** ARGV: log, id, number and claim of the entry. Returns its stream, or nothing. */
export const FIND = readScript(
  "find an entry",
  `${LOGS}
local l = open_log()
local e = l and l.g == ARGV[2] and entry(tonumber(ARGV[3]))
return e and e.w == ARGV[4] and not is_over(l, e) and e.s`,
);

/**
 * ARGV: log, stream, limit, then id, number and claim of the place, or nothing. Returns the id of the log, 1 if the place
 * is kept, 1 if the stream is known, the number of the newest entry that is not kept, 1 if the stream has ended and the
 * number of its newest entry, then number, claim, data and end mark of each entry. Returns an empty list without a log.
 */
export const READ = readScript(
  "read a stream",
  `${LOGS}
local l = open_log()
if not l then return {} end
trim(l)
local stream, is_kept, after = ARGV[2], true, 0
local s = state(stream) or {i = 0, t = 0, e = 0}
if ARGV[4] then
  after = tonumber(ARGV[5])
  local e = l.g == ARGV[4] and entry(after)
  is_kept = e and e.s == stream and e.w == ARGV[6]
end
local trimmed = s.i < l.f and s.i or s.t
local page = {l.g, is_kept and '1' or '0', s.w and '1' or '0', text(trimmed), text(s.e), text(s.i)}
local from, to = '(' .. place(stream, after), '(' .. stream .. '\\1'
for _, member in ipairs(redis.call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, ARGV[3])) do
  local number = tonumber(string.sub(member, -16))
  local e = entry(number)
  for _, part in ipairs({text(number), e.w, e.d, text(e.l)}) do page[#page + 1] = part end
end
return page`,
);

/** ARGV: node, then log, stream and id after which the page begins, or nothing. Returns the same of each open stream. */
export const OPEN = readScript(
  "list open streams",
  `
local after = ARGV[2] and '(' .. ARGV[2] .. '\\0' .. ARGV[3] .. '\\0' .. ARGV[4] or '-'
local page = {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', p .. 'n:' .. ARGV[1], after, '+', 'LIMIT', 0, ${OPEN_PAGE})) do
  for _, part in ipairs({string.match(member, '^(.-)%z(.-)%z(.*)$')}) do page[#page + 1] = part end
end
return page`,
);

/** ARGV: log, notice. */
export const DROP = script(
  "drop a log",
  `${LOGS}
local l = open_log()
if not l then return end
local all = redis.call('HGETALL', streams)
for at = 1, #all, 2 do
  local s = cmsgpack.unpack(all[at + 1])
  if s.e == 0 then redis.call('ZREM', open_of(s.node), note(l, all[at])) end
end
redis.call('UNLINK', meta, streams, entries, order)
redis.call('HSET', meta, 'd', 1)
redis.call('PEXPIREAT', meta, text(l.t + l.k))
send(ARGV[2])`,
);
