import { readScript, script } from "./scripts.js";

/** Life of the list of a node after its last claim, 30 days, so that lists of nodes that are gone do not stay. */
const NOTES_MS = 2_592_000_000;

/**
 * A log has four keys in one slot. `meta` has the limits (`k`, `c`, `b`, `s`), the number of the last entry (`n`), of the first entry that may
 * be kept (`f`) and the bytes (`z`). `g` names this creation of the log and is part of the ids of entries. `streams` has
 * the state of each stream: writer (`w`), node, seq of its last entry (`q`), number of the last entry (`i`), of the last
 * entry that was trimmed (`t`), claims (`c`) and end (`e`). `entries` has the entries by number. `order` has a member
 * per entry, by which the entries of a stream can be read as a range. After a drop, `meta` has `d` and no `g`, for the keepMs of
 * the log.
 */
const COMMON = `
local meta, streams, entries, order = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function limits()
  local m = redis.call('HMGET', meta, 'g', 'k', 'c', 'b', 'n', 'f', 'z', 's')
  if not m[1] then return nil end
  return {g = m[1], k = tonumber(m[2]), c = tonumber(m[3]), b = tonumber(m[4]), n = tonumber(m[5]), f = tonumber(m[6]), z = tonumber(m[7]), s = tonumber(m[8])}
end
local function state(stream)
  local packed = redis.call('HGET', streams, stream)
  if packed then return cmsgpack.unpack(packed) end
end
local function save(stream, s) redis.call('HSET', streams, stream, cmsgpack.pack(s)) end
local function entry(number)
  local packed = redis.call('HGET', entries, text(number))
  if packed then return cmsgpack.unpack(packed) end
end
local function place(stream, number) return stream .. '\\0' .. string.format('%016.0f', number) end
local function number_of(m, id)
  local g, n = string.match(id, '^(.*)%-(%d+)$')
  if g == m.g then return tonumber(n) end
end
local function forget(m, number, e)
  redis.call('HDEL', entries, text(number))
  redis.call('ZREM', order, place(e.s, number))
  m.z = m.z - #e.d
  local s = state(e.s)
  if not s then return end
  if e.l == 1 then return redis.call('HDEL', streams, e.s) end
  s.t = number
  save(e.s, s)
end
local function forget_ended()
  local all = redis.call('HGETALL', streams)
  for at = 1, #all, 2 do
    if cmsgpack.unpack(all[at + 1]).e == 1 then redis.call('HDEL', streams, all[at]) end
  end
end
local function trim(m)
  local before, t, count = m.f, now(), redis.call('HLEN', entries)
  if count == 0 and m.f <= m.n then
    m.f, m.z = m.n + 1, 0
    forget_ended()
  end
  while m.f <= m.n do
    local e = entry(m.f)
    if e then
      local is_kept = e.a + m.k > t and count <= m.c and (m.z <= m.b or count == 1)
      if is_kept then break end
      forget(m, m.f, e)
      count = count - 1
    end
    m.f = m.f + 1
  end
  if m.f ~= before then redis.call('HSET', meta, 'f', text(m.f), 'z', text(m.z)) end
end
`;

/** A full server refuses the first command. ARGV: name of this creation, keepMs, maxEntries, maxBytes, maxStreams. */
export const CREATE = script(
  "create a log",
  `if redis.call('HEXISTS', KEYS[1], 'd') == 1 then return 'dropped' end
  if redis.call('EXISTS', KEYS[1]) == 1 then return 'ok' end
  redis.call('HSET', KEYS[1], 'v', '1', 'g', ARGV[1], 'k', ARGV[2], 'c', ARGV[3], 'b', ARGV[4], 's', ARGV[5], 'n', '0', 'f', '1', 'z', '0')
  redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
  return 'ok'`,
);

/** ARGV: stream, token, node. Returns a verdict and, if the log has too many streams, their maximum number. */
export const CLAIM = script(
  "claim a stream",
  `${COMMON}
  local m = limits()
  if not m then return {'dropped'} end
  local s = state(ARGV[1])
  if not s then
    if redis.call('HLEN', streams) >= m.s then trim(m) end
    if redis.call('HLEN', streams) >= m.s then return {'full', text(m.s)} end
    s = {i = 0, t = 0, e = 0, c = 0}
  end
  s.w, s.node, s.q, s.c = ARGV[2], ARGV[3], -1, s.c + 1
  save(ARGV[1], s)
  return {'ok'}`,
);

/** ARGV: stream, token, seq, data, 1 for the last entry, channel. */
export const APPEND = script(
  "append to a stream",
  `${COMMON}
  local m = limits()
  if not m then return {'dropped'} end
  local stream, seq = ARGV[1], tonumber(ARGV[3])
  local s = state(stream)
  if not s or s.w ~= ARGV[2] then return {'fenced'} end
  if seq <= s.q then
    local found = redis.call('ZREVRANGEBYLEX', order, '(' .. stream .. '\\1', '[' .. stream .. '\\0', 'LIMIT', s.q - seq, 1)
    local number = found[1] and tonumber(string.sub(found[1], -16))
    local e = number and entry(number)
    if not e or e.q ~= seq or e.c ~= s.c or e.a + m.k <= now() then return {'missed'} end
    if e.d ~= ARGV[4] or e.l ~= tonumber(ARGV[5]) then return {'different', text(s.q + 1)} end
    return {'ok', m.g .. '-' .. text(number)}
  end
  if s.e == 1 then return {'ended'} end
  if seq ~= s.q + 1 then return {'skipped', text(s.q + 1)} end
  m.n = m.n + 1
  m.z = m.z + #ARGV[4]
  s.q, s.i, s.e = seq, m.n, tonumber(ARGV[5])
  save(stream, s)
  redis.call('HSET', entries, text(m.n), cmsgpack.pack({s = stream, d = ARGV[4], l = s.e, q = seq, c = s.c, a = now()}))
  redis.call('ZADD', order, 0, place(stream, m.n))
  redis.call('HSET', meta, 'n', text(m.n), 'z', text(m.z))
  trim(m)
  redis.call('PEXPIRE', entries, text(m.k))
  redis.call('PEXPIRE', order, text(m.k))
  redis.call('PUBLISH', ARGV[6], '+' .. stream)
  return {'ok', m.g .. '-' .. text(m.n)}`,
);

/** ARGV: id. Returns the stream, or nothing. */
export const FIND = readScript(
  "find an entry",
  `${COMMON}
  local m = limits()
  local number = m and number_of(m, ARGV[1])
  local e = number and entry(number)
  if e and e.a + m.k > now() then return e.s end
  return false`,
);

/**
 * ARGV: stream, id or empty, 1 if the entry of that id must be kept, 1 if the stream was there at the last read, maximum
 * number of entries. Returns a verdict, the place for the next read, 1 if the stream is there, then id, data and 1 for
 * the last of each entry.
 */
export const READ = readScript(
  "read a stream",
  `${COMMON}
  local m = limits()
  if not m then return {'dropped'} end
  trim(m)
  local stream, after, s = ARGV[1], 0, state(ARGV[1])
  if ARGV[2] ~= '' then
    after = number_of(m, ARGV[2])
    if ARGV[3] == '1' then
      local e = after and entry(after)
      if not e or e.s ~= stream then return {'missed'} end
    elseif not after then return {'dropped'}
    elseif s and (s.t > after or (s.i < m.f and s.i > after)) then return {'missed'}
    elseif not s and ARGV[4] == '1' then return {'missed'} end
  end
  local found = redis.call('ZRANGEBYLEX', order, '(' .. place(stream, after), '(' .. stream .. '\\1', 'LIMIT', 0, ARGV[5])
  local verdict = 'ok'
  if #found == 0 and s and s.e == 1 then verdict = 'ended' end
  local out = {verdict, '', s and '1' or '0'}
  local number = m.n
  for at, member in ipairs(found) do
    number = tonumber(string.sub(member, -16))
    local e = entry(number)
    out[#out + 1] = m.g .. '-' .. text(number)
    out[#out + 1] = e.d
    out[#out + 1] = text(e.l)
  end
  if #found > 0 and #found < tonumber(ARGV[5]) then number = m.n end
  out[2] = m.g .. '-' .. text(number)
  return out`,
);

/** ARGV: stream, node. Returns 1 if the node claimed the stream last and it has no end. */
export const OPEN = readScript(
  "look at a stream",
  `${COMMON}
  local s = limits() and state(ARGV[1])
  return s and s.node == ARGV[2] and s.e == 0 and 1 or 0`,
);

/** ARGV: channel. */
export const DROP = script(
  "drop a log",
  `local keep = redis.call('HGET', KEYS[1], 'k')
  if not keep then return 0 end
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
  redis.call('HSET', KEYS[1], 'v', '1', 'd', '1')
  redis.call('PEXPIRE', KEYS[1], keep)
  redis.call('PUBLISH', ARGV[1], '-')
  return 1`,
);

/** Notes a stream in the list of a node before the node claims it. ARGV: member. */
export const NOTE = script(
  "note a stream",
  `redis.call('ZADD', KEYS[1], text(now()), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ${NOTES_MS})
  return 1`,
);

/** Removes streams from the list of a node that were noted before so many milliseconds. ARGV: milliseconds, members. */
export const UNNOTE = readScript(
  "remove a stream",
  `local t = now() - ARGV[1]
  for at = 2, #ARGV do
    local noted = redis.call('ZSCORE', KEYS[1], ARGV[at])
    if noted and tonumber(noted) <= t then redis.call('ZREM', KEYS[1], ARGV[at]) end
  end
  return 1`,
);

/** ARGV: first and last rank. */
export const NOTED = readScript("list streams", "return redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])");
