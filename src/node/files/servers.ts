import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { planServers, type ServersConfig } from "../../client/group/config.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";

/**
 * Reads the configuration of a group from a JSON file, which may contain comments. A relative `cwd` becomes a path from
 * the folder of the file. Variables are not expanded; the group does that.
 * @throws DefinitionError that names the file and, if applicable, the server and the field.
 */
export async function readServers(path: string): Promise<ServersConfig> {
  return await atCaller(readServers, () => readConfig(path));
}

async function readConfig(path: string): Promise<ServersConfig> {
  const config = parseConfiguration(await read(path), path);
  if (!isObject(config)) {
    throw new DefinitionError(`${path}: must be an object with mcpServers`);
  }
  const servers = { ...config, source: path } as ServersConfig;
  planServers(servers);
  const member = config.mcpServers === undefined ? "servers" : "mcpServers";
  const folder = dirname(resolve(path));
  const entries = Object.entries(config[member] as object).map(([name, entry]) => [name, placed(entry, folder)]);
  return { ...servers, [member]: Object.fromEntries(entries) };
}

/** Returns a valid entry with its `cwd` as a path from a folder. One that begins with a variable keeps it. */
function placed(entry: Readonly<Record<string, unknown>>, folder: string): object {
  const { cwd } = entry;
  if (typeof cwd !== "string" || isAbsolute(cwd) || cwd.startsWith("${")) return entry;
  return { ...entry, cwd: join(folder, cwd) };
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new DefinitionError(`${path}: cannot be read (${code})`, { cause: error });
  }
}

/** Parses JSON with comments and trailing commas. Errors do not contain the text, which may contain secrets. */
export function parseConfiguration(text: string, path: string): unknown {
  const json = withoutComments(text.replace(/^\uFEFF/, ""));
  try {
    return JSON.parse(json);
  } catch (error) {
    const at = /position (\d+)/.exec((error as Error).message)?.[1];
    const line = at === undefined ? "" : `, line ${json.slice(0, Number(at)).split("\n").length}`;
    throw new DefinitionError(`${path}: is not valid JSON${line}`);
  }
}

/** Replaces comments and trailing commas by spaces, so that positions stay the same. */
function withoutComments(text: string): string {
  const blank = (part: string) => part.replaceAll(/[^\n]/g, " ");
  return text
    .replaceAll(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) => (part.startsWith('"') ? part : blank(part)))
    .replaceAll(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? " " : part));
}
