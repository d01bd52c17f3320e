import { UsageError } from "../failures.js";
import type { Place } from "./places.js";
import type { Entry } from "./shapes.js";

/** Entry of a server as its host writes it. */
export interface Native {
  /** Place of the entry in the file. */
  readonly path: readonly [member: string, name: string];
  readonly entry: Readonly<Record<string, unknown>>;
  /** Inputs of VS Code, which it asks for. */
  readonly inputs: readonly NativeInput[];
  /** Variables that must be set where the host starts. */
  readonly variables: readonly string[];
  /** What the user still has to do. */
  readonly note: string | undefined;
}

export interface NativeInput {
  readonly type: "promptString";
  readonly id: string;
  readonly description: string;
  readonly password: true;
}

/** Parts of an entry, with variables as `${NAME}`. */
interface Parts {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly isSse: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

const VARIABLE = /\$\{([^{}]+)\}/g;

/** Returns the variables that a text names. */
export function variablesIn(value: unknown): string[] {
  return [...new Set([...JSON.stringify(value).matchAll(VARIABLE)].map(([, name = ""]) => name))];
}

/** Writes an entry as the host of a file does. Variables are those of the host. Throws for what the host cannot do. */
export function toNative(name: string, entry: Entry, { host, shape }: Place): Native {
  const { command, args = [], env = {}, cwd, url, headers = {}, type } = entry as Partial<Parts> & { type?: string };
  const parts: Parts = { command, args, env, cwd, url, isSse: type === "sse", headers };
  if (cwd !== undefined && (shape === "opencode" || shape === "goose"))
    throw new UsageError(`${host} has no folder for a server; the entry has cwd ${cwd}`);
  const variables = variablesIn(entry);
  const path = [MEMBERS[shape], name] as const;
  const written = { path, inputs: [] as NativeInput[], variables, note: undefined as string | undefined };
  switch (host) {
    case "claude-desktop": {
      if (url !== undefined)
        throw new UsageError(
          "claude-desktop takes only commands in its file; add a URL in its settings, under Connectors",
        );
      const note = `it replaces no variables: write the value of ${variables.join(", ")} into its file`;
      return { ...written, entry: shared(parts), variables: [], note: variables.length > 0 ? note : undefined };
    }
    case "cursor":
      return { ...written, entry: replaced(shared(parts), (variable) => `\${env:${variable}}`) };
    case "windsurf": {
      const { url: serverUrl, ...rest } = shared(parts);
      const own = serverUrl === undefined ? rest : { serverUrl, ...rest };
      return { ...written, entry: replaced(own, (variable) => `\${env:${variable}}`) };
    }
    case "gemini": {
      const { url: address, ...rest } = shared(parts);
      const member = parts.isSse ? "url" : "httpUrl";
      return { ...written, entry: address === undefined ? rest : { [member]: address, ...rest } };
    }
    case "vscode":
    case "vscode-insiders": {
      const idOf = (variable: string) => `${name}-${variable.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
      const inputs = variables.map((variable) => ({
        type: "promptString" as const,
        id: idOf(variable),
        description: `${variable} of ${name}`,
        password: true as const,
      }));
      return {
        ...written,
        inputs,
        variables: [],
        entry: replaced({ type: typeOf(parts), ...shared(parts) }, (variable) => `\${input:${idOf(variable)}}`),
      };
    }
    case "codex":
      return { ...written, entry: toCodex(parts) };
    case "opencode": {
      const own =
        parts.command === undefined
          ? { type: "remote", url: parts.url, ...filled({ headers: parts.headers }) }
          : { type: "local", command: [parts.command, ...parts.args], ...filled({ environment: parts.env }) };
      return { ...written, entry: replaced({ ...own, enabled: true }, (variable) => `{env:${variable}}`) };
    }
    case "goose":
      return { ...written, entry: toGoose(name, parts, variables) };
    default:
      return { ...written, entry: { type: typeOf(parts), ...shared(parts) } };
  }
}

const MEMBERS: Readonly<Record<Place["shape"], string>> = {
  mcpServers: "mcpServers",
  "claude-code": "mcpServers",
  servers: "servers",
  codex: "mcp_servers",
  opencode: "mcp",
  goose: "extensions",
};

function typeOf({ command, isSse }: Parts): string {
  if (command !== undefined) return "stdio";
  return isSse ? "sse" : "http";
}

function shared({ command, args, env, cwd, url, headers }: Parts): Record<string, unknown> {
  if (command === undefined) return { url, ...filled({ headers }) };
  return { command, ...(args.length > 0 && { args }), ...filled({ env }), ...(cwd !== undefined && { cwd }) };
}

/** Returns the members that are not empty. */
function filled(members: Readonly<Record<string, Readonly<Record<string, string>>>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => Object.keys(value).length > 0));
}

/** Replaces the variables in all texts of a value. */
function replaced<Value>(value: Value, write: (variable: string) => string): Value {
  if (typeof value === "string") return value.replaceAll(VARIABLE, (_, name: string) => write(name)) as Value;
  if (Array.isArray(value)) return value.map((one) => replaced(one, write)) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one, write)])) as Value;
}

/** Divides variables of the process into the names that the host passes on, and plain values. */
function divided(env: Readonly<Record<string, string>>, host: string): { names: string[]; plain: object } {
  const names = Object.entries(env).flatMap(([key, value]) => (value === `\${${key}}` ? [key] : []));
  const plain = Object.fromEntries(Object.entries(env).filter(([key]) => !names.includes(key)));
  const other = Object.entries(plain).find(([, value]) => variablesIn(value).length > 0);
  if (other !== undefined)
    throw new UsageError(`${host} passes a variable on under its own name only; write --env ${other[0]}`);
  return { names, plain };
}

function assertPlain(value: unknown, host: string): void {
  const [variable] = variablesIn(value ?? "");
  if (variable !== undefined) throw new UsageError(`${host} replaces no variable in a command or a URL: ${variable}`);
}

/** Codex names the variables of headers in members of their own. */
function toCodex({ command, args, env, cwd, url, headers }: Parts): Record<string, unknown> {
  assertPlain([command, args, url], "codex");
  if (command !== undefined) {
    const { names, plain } = divided(env, "codex");
    return {
      command,
      args,
      ...(Object.keys(plain).length > 0 && { env: plain }),
      ...(names.length > 0 && { env_vars: names }),
      ...(cwd !== undefined && { cwd }),
    };
  }
  const plain: Record<string, string> = {};
  const fromEnv: Record<string, string> = {};
  let bearer: string | undefined;
  for (const [name, value] of Object.entries(headers)) {
    const token = /^Bearer \$\{([^{}]+)\}$/i.exec(value)?.[1];
    const variable = /^\$\{([^{}]+)\}$/.exec(value)?.[1];
    if (name.toLowerCase() === "authorization" && token !== undefined) bearer = token;
    else if (variable !== undefined) fromEnv[name] = variable;
    else if (variablesIn(value).length === 0) plain[name] = value;
    else throw new UsageError(`codex takes the whole value of a header from a variable: ${name}`);
  }
  return {
    url,
    ...(bearer !== undefined && { bearer_token_env_var: bearer }),
    ...filled({ http_headers: plain, env_http_headers: fromEnv }),
  };
}

function toGoose(name: string, { command, args, env, url, isSse, headers }: Parts, variables: readonly string[]) {
  assertPlain([command, args, url], "goose");
  const common = { name, enabled: true, timeout: 300 };
  if (command === undefined) {
    const type = isSse ? "sse" : "streamable_http";
    return { type, uri: url, ...filled({ headers }), ...(variables.length > 0 && { env_keys: variables }), ...common };
  }
  const { names, plain } = divided(env, "goose");
  return { type: "stdio", cmd: command, args, envs: plain, ...(names.length > 0 && { env_keys: names }), ...common };
}
