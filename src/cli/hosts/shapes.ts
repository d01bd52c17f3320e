import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { Io } from "../io.js";
import type { Place } from "./places.js";

/** Entry of a server in the format that hosts share. Its members are checked by `planServers`. */
export type Entry = Readonly<Record<string, unknown>>;

/** Returns the entries of a parsed file by name, in the format that hosts share. */
export function entriesOf(
  config: unknown,
  { file, shape, project }: Place,
  { cwd }: Pick<Io, "cwd">,
): Record<string, Entry> {
  if (!isObject(config)) throw new DefinitionError(`${file}: must be an object`);
  switch (shape) {
    case "mcpServers":
      return eachOf(config.mcpServers ?? config.servers, file, "mcpServers", fromShared);
    case "servers":
      return eachOf(config.servers ?? config.mcpServers, file, "servers", fromShared);
    case "claude-code": {
      const projects = isObject(config.projects) ? config.projects : {};
      const own = projects[project ?? cwd];
      return {
        ...eachOf(config.mcpServers, file, "mcpServers", fromShared),
        ...(isObject(own) ? eachOf(own.mcpServers, file, "mcpServers", fromShared) : undefined),
      };
    }
    case "codex":
      return eachOf(config.mcp_servers, file, "mcp_servers", fromCodex);
    case "opencode":
      return eachOf(config.mcp, file, "mcp", fromOpencode);
    case "goose":
      return withoutOthers(eachOf(config.extensions, file, "extensions", fromGoose));
  }
}

function eachOf(
  entries: unknown,
  file: string,
  member: string,
  convert: (entry: Entry) => Entry,
): Record<string, Entry> {
  if (entries === undefined || entries === null) return {};
  if (!isObject(entries)) throw new DefinitionError(`${file}: ${member} must be an object of servers by name`);
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => {
      if (!isObject(entry)) throw new DefinitionError(`${file}: server ${JSON.stringify(name)} must be an object`);
      return [name, convert(entry)];
    }),
  );
}

/** Windsurf has `serverUrl`, Gemini `httpUrl`; there, `url` is an address of HTTP+SSE. Gemini also expands `$NAME`. */
function fromShared(entry: Entry): Entry {
  const { serverUrl, httpUrl, url, ...rest } = entry;
  const address = httpUrl ?? serverUrl ?? url;
  const { command, args, env, cwd, headers, type, disabled } = rest;
  if (command !== undefined) return defined({ type, command, args, env: textsOf(env), cwd, disabled });
  return defined({ type, url: address, headers, disabled });
}

function fromCodex(entry: Entry): Entry {
  const { command, args, env, env_vars, cwd, url, http_headers, env_http_headers, bearer_token_env_var, enabled } =
    entry;
  const disabled = enabled === false ? true : undefined;
  if (command !== undefined) return defined({ command, args, env: withPassed(env_vars, textsOf(env)), cwd, disabled });
  const fromEnv = isObject(env_http_headers)
    ? Object.entries(env_http_headers).map(([name, variable]) => [name, `\${${String(variable)}}`])
    : [];
  const bearer =
    bearer_token_env_var === undefined ? [] : [["authorization", `Bearer \${${String(bearer_token_env_var)}}`]];
  const headers = { ...(isObject(http_headers) ? http_headers : {}), ...Object.fromEntries([...fromEnv, ...bearer]) };
  return defined({ url, headers, disabled });
}

function fromOpencode(entry: Entry): Entry {
  const { command, environment, url, headers, enabled, cwd } = entry;
  const disabled = enabled === false ? true : undefined;
  if (command !== undefined) {
    const [program, ...args] = Array.isArray(command) ? command.map(withBraces) : [withBraces(command)];
    return defined({ command: program, args, env: mapTexts(environment), cwd, disabled });
  }
  return defined({ url: withBraces(url), headers: mapTexts(headers), disabled });
}

/** Adds the variables that a host passes on under their own names. */
function withPassed(names: unknown, env: unknown): unknown {
  if (!Array.isArray(names)) return env;
  return { ...Object.fromEntries(names.map((name) => [String(name), `\${${String(name)}}`])), ...(env as object) };
}

/** OpenCode writes `{env:NAME}`. */
function withBraces(text: unknown): unknown {
  return typeof text === "string" ? text.replace(/(?<!\$)\{env:([^{}]+)\}/g, `\${$1}`) : text;
}

function mapTexts(texts: unknown): unknown {
  return isObject(texts)
    ? Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, withBraces(text)]))
    : texts;
}

function fromGoose(entry: Entry): Entry {
  const { type, cmd, args, envs, env_keys, uri, url, headers, enabled } = entry;
  const disabled = enabled === false ? true : undefined;
  if (cmd !== undefined)
    return defined({
      command: cmd,
      args,
      env: withPassed(env_keys, textsOf(envs)) ?? {},
      disabled,
    });
  const address = uri ?? url;
  if (address === undefined) return { other: type };
  return defined({ type: type === "sse" ? "sse" : "http", url: address, headers, disabled });
}

/** Goose lists its built-in extensions among the servers. */
function withoutOthers(entries: Record<string, Entry>): Record<string, Entry> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => !("other" in entry)));
}

/** Hosts accept numbers and booleans as values of variables. */
function textsOf(values: unknown): unknown {
  if (!isObject(values)) return values;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "number" || typeof value === "boolean" ? String(value) : value,
    ]),
  );
}

function defined(entry: Entry): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value !== null));
}
