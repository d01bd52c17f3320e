import { dirname, resolve } from "node:path";
import { planServers, type ServersConfig } from "../../client/group/config.js";
import type { ClientOptions, CommandTarget } from "../../client/options.js";
import { isObject } from "../../protocol/json.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";
import { Prompter } from "../prompter.js";
import { unknownName } from "../suggest.js";
import { visibleLine } from "../text.js";
import { HOSTS, type Place, projectPlaces } from "./places.js";
import { type ConfiguredServer, readConfigured } from "./read.js";

/**
 * Finds a server by its name, or by `host:name`. A file of the project comes before those of the user. A bare name must be
 * the same server in all files that have it. Throws a `UsageError` otherwise; nothing is started.
 */
export async function findConfigured(
  spec: string,
  config: string | undefined,
  io: Io,
): Promise<{ readonly target: string | CommandTarget; readonly options: ClientOptions }> {
  return open(await findEntry(spec, config, io), io);
}

/** The same without its variables replaced. */
export async function findEntry(spec: string, config: string | undefined, io: Io): Promise<ConfiguredServer> {
  const { servers, problems } = await readConfigured(config, io);
  const [, host, bare] = /^([a-z-]+):(.+)$/.exec(spec) ?? [];
  const isPrefixed = host !== undefined && HOSTS.includes(host);
  const matching = servers.filter(({ name, place }) =>
    isPrefixed ? place.host === host && name === bare : name === spec,
  );
  const ofProject = matching.filter(({ place }) => place.project !== undefined);
  const candidates = ofProject.length > 0 ? ofProject : matching;
  const [first] = candidates;
  if (first === undefined) throw notFound(spec, servers, [...searched(config, io), ...problems]);
  const isOne = isPrefixed || candidates.every(({ entry }) => sortedJson(entry) === sortedJson(first.entry));
  if (!isOne) {
    const names = [...new Set(candidates.map(({ name, place }) => `${place.host}:${name}`))].join(", ");
    const files = candidates.map(({ place }) => place.file).join(", ");
    throw new UsageError(
      `${JSON.stringify(spec)} is a different server in ${files}; write one of ${names}, or --config`,
    );
  }
  return first;
}

/** Tells where the files of the project were looked for. */
function searched(config: string | undefined, io: Io): string[] {
  if (config !== undefined) return [];
  const folders = [...new Set(projectPlaces(io).map(({ project }) => project))];
  return [`files of the project were looked for in ${folders.join(", ")}`];
}

function notFound(spec: string, servers: readonly ConfiguredServer[], problems: readonly string[]): UsageError {
  const names = [...new Set(servers.map(({ name }) => name))];
  const forms = "; a server is also a URL, a file, npm:package, pypi:package, or -- and a command";
  return unknownName("configured server", spec, names, [forms, ...problems].join("; "));
}

/** Returns the target of a configured server. Its variables are replaced. */
async function open(server: ConfiguredServer, io: Io) {
  const { name, place, entry } = server;
  const { disabled: _, ...rest } = entry;
  const values = await variablesOf(server, io);
  const config = { mcpServers: { [name]: rest }, source: place.file } as unknown as ServersConfig;
  const [planned] = planServers(config);
  const { target, options } = await planned!.open((variable) => values.get(variable));
  return { target: placed(target as string | CommandTarget, place), options };
}

/** Returns a target with its `cwd` as a path from the project of the file, or from the folder of a file of the user. */
function placed(target: string | CommandTarget, place: Place): string | CommandTarget {
  if (typeof target === "string" || target.cwd === undefined) return target;
  return { ...target, cwd: resolve(folderOf(place), target.cwd) };
}

/** Returns the folder that relative paths of a file begin in. */
export function folderOf({ file, project, host }: Place): string {
  // The file of --config may lie in another folder than the project.
  return host === "mcp" ? dirname(file) : (project ?? dirname(file));
}

/** Returns the values of the variables that an entry uses. Throws for one that is not set and has no default. */
async function variablesOf({ name, place, entry, inputs }: ConfiguredServer, io: Io): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  for (const [, inside = ""] of sortedJson(entry).matchAll(/\$\{([^{}]*)\}/g)) {
    const [variable = "", preset] = inside.split(":-");
    const value = variable.startsWith("input:")
      ? await askInput(variable.slice("input:".length), inputs, io)
      : variableValue(variable, place.project, io);
    if (value !== undefined) values.set(variable, value);
    else if (preset === undefined)
      throw new UsageError(`${place.file}: server ${JSON.stringify(name)}: the variable ${variable} is not set`);
  }
  return values;
}

function variableValue(variable: string, project: string | undefined, { env, home, cwd }: Io): string | undefined {
  if (variable === "workspaceFolder") return project ?? cwd;
  if (variable === "userHome") return home;
  return env[variable.startsWith("env:") ? variable.slice("env:".length) : variable];
}

/** Returns the value of an input of VS Code: that of BOWLINE_INPUT_<ID>, or what the user types. */
async function askInput(id: string, inputs: readonly unknown[], io: Io): Promise<string> {
  const variable = `BOWLINE_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
  const given = io.env[variable];
  if (given !== undefined) return given;
  const input = inputs.find((one) => isObject(one) && one.id === id) as Readonly<Record<string, unknown>> | undefined;
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true)
    throw new UsageError(`the server needs the input ${JSON.stringify(id)}; set ${variable}`);
  const text = await new Prompter(io).ask(`${visibleLine(String(input?.description ?? id))}: `, {
    secret: input?.password === true,
  });
  if (text === undefined) throw new UsageError(`no value was given for the input ${JSON.stringify(id)}`);
  return text === "" && typeof input?.default === "string" ? input.default : text;
}
