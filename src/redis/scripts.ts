/** Lua script. The engine runs it without interruption. */
export interface Script {
  /** Name of the operation in errors. */
  readonly name: string;
  readonly lua: string;
  /** True if repeating the script, or losing its reply, has no effect that a caller could see. */
  readonly isRead: boolean;
}

/** Time of the engine in milliseconds. */
const NOW = `
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function text(number) return string.format('%.0f', number) end
`;

export function script(name: string, lua: string): Script {
  return { name, lua: NOW + lua, isRead: false };
}

export function readScript(name: string, lua: string): Script {
  return { name, lua: NOW + lua, isRead: true };
}

/** Maximum duration that the engine is given, about 31 years. */
const LONGEST_MS = 1e12;

/** Writes a duration as the engine reads it. */
export function durationOf(ms: number): string {
  return String(Math.max(1, Math.min(Math.ceil(ms), LONGEST_MS)));
}
