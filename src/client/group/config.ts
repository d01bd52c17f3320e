import { DefinitionError } from "../../protocol/errors.js";
import type { ClientOptions, LocalTarget, Target } from "../options.js";

/** Server process in the configuration format of MCP hosts. */
export interface CommandEntry {
  /** `"stdio"`, if given. */
  readonly type?: string | undefined;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** True to exclude the server from the group. */
  readonly disabled?: boolean | undefined;
}

/** Server at a URL in the configuration format of MCP hosts. */
export interface UrlEntry {
  /** `"http"`, `"streamable-http"` or `"sse"`, if given. */
  readonly type?: string | undefined;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True to exclude the server from the group. */
  readonly disabled?: boolean | undefined;
}

/**
 * Server of a group: a configuration entry, a server in this process, or a function that returns a target for each
 * connection.
 */
export type ServerEntry = CommandEntry | UrlEntry | LocalTarget | (() => Target | Promise<Target>);

export interface ServerEntries {
  readonly [name: string]: ServerEntry;
}

/** Configuration in the format that MCP hosts share. Unknown members are ignored. */
export type ServersConfig = ({ readonly mcpServers: ServerEntries } | { readonly servers: ServerEntries }) & {
  /** File that the configuration was read from, for errors. */
  readonly source?: string | undefined;
};

/** Target and options to connect to a server. */
export interface ConnectPlan {
  readonly target: Target;
  readonly options: ClientOptions;
}

/** Server of a valid configuration. `open` throws if a variable is not set. */
export interface PlannedServer {
  readonly name: string;
  open(variables: Variables): ConnectPlan | Promise<ConnectPlan>;
}

const ADDRESS_TYPES: readonly string[] = ["http", "streamable-http", "streamableHttp", "sse"];
const MOST_NAME = 1000;

/**
 * Validates the configuration and returns its enabled servers. Throws a `DefinitionError` that names the file, the
 * server, the field and the problem.
 */
export function planServers(config: ServersConfig): readonly PlannedServer[] {
  const source = isRecord(config) && typeof config.source === "string" ? config.source : "configuration";
  const entries = entriesOf(config, source);
  return Object.entries(entries).flatMap(([name, entry]) => planServer(entry, name, source));
}

function entriesOf(config: unknown, source: string): Record<string, unknown> {
  if (!isRecord(config)) throw wrongType(`${source}:`, "an object with mcpServers", config);
  const member = config.mcpServers === undefined ? "servers" : "mcpServers";
  const entries = config[member];
  if (entries === undefined) throw new DefinitionError(`${source}: mcpServers is missing`);
  if (!isRecord(entries)) throw wrongType(`${source}: ${member}`, "an object of servers by name", entries);
  return entries;
}

function planServer(entry: unknown, name: string, source: string): PlannedServer[] {
  const place = `${source}: server ${JSON.stringify(name.slice(0, MOST_NAME))}`;
  if (name === "") throw new DefinitionError(`${place}: the name must not be empty`);
  if (typeof entry === "function") {
    const make = entry as () => Target | Promise<Target>;
    return [{ name, open: async () => ({ target: await make(), options: {} }) }];
  }
  if (!isRecord(entry)) throw wrongType(`${place}:`, "an object with command or url", entry);
  if (typeof entry.accept === "function") {
    return [{ name, open: () => ({ target: entry as unknown as LocalTarget, options: {} }) }];
  }
  assertBoolean(entry.disabled, `${place}: disabled`);
  assertText(entry.type, `${place}: type`);
  const open = planEntry(entry, place);
  return entry.disabled === true ? [] : [{ name, open }];
}

function planEntry(entry: Record<string, unknown>, place: string): PlannedServer["open"] {
  const { command, url, type } = entry;
  if (command !== undefined && url !== undefined)
    throw new DefinitionError(`${place}: has both command and url; remove one of them`);
  if (command !== undefined) return planCommand(entry, place);
  if (url !== undefined) return planAddress(entry, place);
  const wanted = type === "stdio" ? "command" : ADDRESS_TYPES.includes(String(type)) ? "url" : "command or url";
  throw new DefinitionError(`${place}: ${wanted} is missing`);
}

function planCommand(entry: Record<string, unknown>, place: string): PlannedServer["open"] {
  const { type, command, args = [], env = {}, cwd } = entry;
  if (type !== undefined && type !== "stdio") {
    throw new DefinitionError(`${place}: type must be "stdio" with command, got ${JSON.stringify(type)}`);
  }
  assertText(command, `${place}: command`);
  if (command === "") throw new DefinitionError(`${place}: command is empty`);
  if (!Array.isArray(args)) throw wrongType(`${place}: args`, "an array of strings", args);
  for (const [index, arg] of args.entries()) assertText(arg ?? null, `${place}: args[${index}]`);
  assertTexts(env, `${place}: env`);
  assertText(cwd, `${place}: cwd`);
  return (variables) => {
    const expand = (text: string, field: string) => expandVariables(text, variables, `${place}: ${field}`);
    return {
      target: {
        command: expand(command as string, "command"),
        args: (args as readonly string[]).map((arg, index) => expand(arg, `args[${index}]`)),
        env: expandEach(env as Record<string, string>, "env", expand),
        ...(cwd === undefined ? undefined : { cwd: expand(cwd as string, "cwd") }),
      },
      options: {},
    };
  };
}

function planAddress(entry: Record<string, unknown>, place: string): PlannedServer["open"] {
  const { type, url, headers = {} } = entry;
  if (type !== undefined && !ADDRESS_TYPES.includes(type as string)) {
    const problem = `type must be "http", "streamable-http" or "sse" with url, got ${JSON.stringify(type)}`;
    throw new DefinitionError(`${place}: ${problem}`);
  }
  assertText(url, `${place}: url`);
  // A URL with variables is checked after expansion.
  if (!(url as string).includes("${")) assertAddress(url as string, `${place}: url`);
  assertTexts(headers, `${place}: headers`);
  return (variables) => {
    const expand = (text: string, field: string) => expandVariables(text, variables, `${place}: ${field}`);
    const target = expand(url as string, "url");
    assertAddress(target, `${place}: url`);
    return {
      target,
      options: {
        headers: expandEach(headers as Record<string, string>, "headers", expand),
        ...(type === "sse" ? { sse: "any-4xx" as const } : undefined),
      },
    };
  };
}

function expandEach(
  texts: Readonly<Record<string, string>>,
  field: string,
  expand: (text: string, field: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, expand(text, `${field}.${name}`)]));
}

/** Throws for an invalid URL. The message omits the URL, which may contain a secret. */
function assertAddress(text: string, place: string): void {
  const protocol = URL.canParse(text) ? new URL(text).protocol : undefined;
  if (protocol === undefined) throw new DefinitionError(`${place} must be an absolute URL with http: or https:`);
  if (protocol !== "http:" && protocol !== "https:") {
    throw new DefinitionError(`${place} must begin with http: or https:, got ${protocol}`);
  }
}

function assertText(value: unknown, place: string): void {
  if (value !== undefined && typeof value !== "string") throw wrongType(place, "a string", value);
}

function assertBoolean(value: unknown, place: string): void {
  if (value !== undefined && typeof value !== "boolean") throw wrongType(place, "true or false", value);
}

function assertTexts(value: unknown, place: string): void {
  if (!isRecord(value)) throw wrongType(place, "an object of strings", value);
  for (const [name, text] of Object.entries(value)) assertText(text ?? null, `${place}.${name}`);
}

/** Creates the error for a value of another type. It shows the type alone, because the value may be a secret. */
function wrongType(place: string, expected: string, value: unknown): DefinitionError {
  const type = value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
  return new DefinitionError(`${place} must be ${expected}, got ${type}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Values of variables: by name, or a function. */
export type Variables = Readonly<Record<string, string | undefined>> | ((name: string) => string | undefined);

const VARIABLE = /\$\{([^{}]*)\}/g;

/**
 * Expands `${NAME}`, `${env:NAME}` and `${NAME:-default}`. Values are not expanded again. Throws if a variable is not
 * set. The error names the place and the variable, and no value.
 */
export function expandVariables(text: string, variables: Variables, place: string): string {
  return text.replaceAll(VARIABLE, (_, inside: string) => {
    const cut = inside.indexOf(":-");
    const name = cut === -1 ? inside : inside.slice(0, cut);
    const value = lookUp(name, variables);
    // As in shells, `:-` also applies to an empty value.
    if (cut !== -1) return value === undefined || value === "" ? inside.slice(cut + 2) : value;
    if (value === undefined)
      throw new DefinitionError(`${place}: the variable ${JSON.stringify(name)} is not set (option variables)`);
    return value;
  });
}

function lookUp(name: string, variables: Variables): string | undefined {
  if (typeof variables === "function") return variables(name);
  const key = name.startsWith("env:") ? name.slice(4) : name;
  return Object.hasOwn(variables, key) ? variables[key] : undefined;
}

/** Returns the environment of this process, if the runtime has one. */
export function environment(): Variables {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}

/** Merges headers. If both have a header, the second value wins. */
export function mergeHeaders(first: HeadersInit | undefined, second: HeadersInit | undefined): Headers {
  const merged = new Headers(first);
  for (const [name, value] of new Headers(second)) merged.set(name, value);
  return merged;
}
