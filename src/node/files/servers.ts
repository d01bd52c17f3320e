import { readFile } from "node:fs/promises";
import { planServers, type ServersConfig } from "../../client/group/config.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";

/**
 * Reads the configuration of a group from a JSON file, which may contain comments. Variables are not expanded; the
 * group does that.
 * @throws DefinitionError that names the file and, if applicable, the server and the field.
 */
export async function readServers(path: string): Promise<ServersConfig> {
  return await atCaller(readServers, () => readConfig(path));
}

async function readConfig(path: string): Promise<ServersConfig> {
  const config = parse(await read(path), path);
  if (!isObject(config)) {
    throw new DefinitionError(`${path}: must be an object with mcpServers`);
  }
  const servers = { ...config, source: path } as ServersConfig;
  planServers(servers);
  return servers;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new DefinitionError(`${path}: cannot be read (${code})`, { cause: error });
  }
}

/** Parses the file. Errors do not contain its text, which may contain secrets. */
function parse(text: string, path: string): unknown {
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
