/** Lua script. The server runs it without interruption. */
export interface Script {
  /** Name of the operation in errors. */
  readonly name: string;
  readonly lua: string;
  /** True if repeating the script, or losing its reply, has no effect that a caller could see. */
  readonly isRead: boolean;
}

/**
 * KEYS[1] is the begin of all keys. It has a hash tag, so that all keys are in one slot of a Redis Cluster, and a script
 * may use several. Times are in milliseconds.
 */
const COMMON = `
local p = KEYS[1]
local function text(number) return string.format('%.0f', number) end
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function send(notice) redis.call('PUBLISH', p .. 'texts', notice) end
`;

export function script(name: string, lua: string): Script {
  return { name, lua: COMMON + lua, isRead: false };
}

export function readScript(name: string, lua: string): Script {
  return { name, lua: COMMON + lua, isRead: true };
}

/** Returns the begin of all keys, and the channel of the scripts above. */
export function namesOf(prefix: string): { readonly keys: string; readonly channel: string } {
  const keys = `${prefix}:{${prefix}}:`;
  return { keys, channel: `${keys}texts` };
}

/** Sends texts. It stores nothing, so that it needs no room. ARGV: texts. */
export const SEND = script("send", "for _, notice in ipairs(ARGV) do send(notice) end");

/**
 * A bucket is stored as the time at which it will be full. ARGV: key, burst, milliseconds per token, wanted tokens.
 * Returns the number of tokens that were taken, and the time until there is another one.
 */
export const TAKE_TOKENS = script(
  "take tokens of a bucket",
  `
local key, burst, per, want = p .. 'b:' .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local t = redis.call('TIME')
t = t[1] * 1000 + t[2] / 1000
local full = math.min(math.max(t, tonumber(redis.call('GET', key) or t)), t + burst * per)
-- The addend makes up for the rounding of a time with fractions.
local given = math.max(0, math.min(want, math.floor((t + burst * per - full) / per + 0.000001)))
if given > 0 then
  full = full + given * per
  redis.call('SET', key, string.format('%.3f', full), 'PX', text(math.ceil(full - t) + 1))
end
return {text(given), string.format('%.3f', math.max(0, full + per - t - burst * per))}`,
);

/** Maximum duration that the server is given, about 31 years. */
const LONGEST_MS = 1e12;

/** Writes a life as the server reads it. */
export function lifeOf(ms: number): string {
  return String(Math.max(1, Math.min(Math.ceil(ms), LONGEST_MS)));
}

/** Writes a delay as the server reads it. */
export function delayOf(ms: number): string {
  return ms <= 0 ? "0" : lifeOf(ms);
}
