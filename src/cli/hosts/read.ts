import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseConfiguration } from "../../node/files/servers.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { Io } from "../io.js";
import { type Place, projectPlaces, userPlaces } from "./places.js";
import { type Entry, entriesOf } from "./shapes.js";

/** A server of a configuration file. */
export interface ConfiguredServer {
  readonly name: string;
  readonly place: Place;
  readonly entry: Entry;
  /** Inputs of VS Code, which `${input:id}` names. */
  readonly inputs: readonly unknown[];
}

/** Servers of the files that exist, and the files that cannot be used, with the reasons. */
export interface Configured {
  readonly servers: readonly ConfiguredServer[];
  readonly problems: readonly string[];
}

/** Reads all configuration files: those of the project first. With `config`, that file alone, which must be valid. */
export async function readConfigured(config: string | undefined, io: Io): Promise<Configured> {
  if (config !== undefined) {
    const place: Place = { host: "mcp", file: resolve(io.cwd, config), shape: "mcpServers", project: io.cwd };
    const servers = await readPlace(place, io);
    if (servers === undefined) throw new DefinitionError(`${config}: cannot be read (ENOENT)`);
    return { servers, problems: [] };
  }
  const problems: string[] = [];
  const servers: ConfiguredServer[] = [];
  for (const place of [...projectPlaces(io), ...userPlaces(io)]) {
    try {
      servers.push(...((await readPlace(place, io)) ?? []));
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      problems.push(error.message);
    }
  }
  return { servers, problems };
}

/** Returns the servers of a file, or undefined if there is no such file. */
async function readPlace(place: Place, io: Io): Promise<readonly ConfiguredServer[] | undefined> {
  const text = await readText(place.file);
  if (text === undefined) return undefined;
  const config = await parsePlace(text, place);
  const inputs = (config as { readonly inputs?: unknown } | undefined)?.inputs;
  return Object.entries(entriesOf(config, place, io)).map(([name, entry]) => ({
    name,
    place,
    entry,
    inputs: Array.isArray(inputs) ? inputs : [],
  }));
}

export async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new DefinitionError(`${file}: cannot be read (${code ?? "unknown error"})`, { cause: error });
  }
}

/** Parses the text of a file. Throws an error with the line, and no text of the file. */
export async function parsePlace(text: string, { file, shape }: Place): Promise<unknown> {
  if (shape === "codex") return (await import("./toml.js")).parseToml(text, file);
  if (shape === "goose") return parseYaml(text, file);
  return parseConfiguration(text, file);
}

/** Returns the package `yaml`, which is optional. */
export async function loadYaml(file: string): Promise<typeof import("yaml")> {
  const yaml = await import("yaml").catch(() => undefined);
  if (yaml === undefined) throw new DefinitionError(`${file}: is YAML; install the package yaml to read it`);
  return yaml;
}

async function parseYaml(text: string, file: string): Promise<unknown> {
  const yaml = await loadYaml(file);
  try {
    return yaml.parse(text);
  } catch (error) {
    const line = (error as { readonly linePos?: readonly { readonly line: number }[] }).linePos?.[0]?.line;
    throw new DefinitionError(`${file}: is not valid YAML${line === undefined ? "" : `, line ${line}`}`);
  }
}
