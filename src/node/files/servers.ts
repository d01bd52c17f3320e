import { readFile } from "node:fs/promises";
import { planServers, type ServersConfig } from "../../client/group/config.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";

/**
 * Reads the configuration of a group from a JSON file, comments allowed. Throws a `DefinitionError` that names the file, and,
 * where that is the problem, the server and the field. Variables are left as they are: a group knows their values.
 */
export async function readServers(path: string): Promise<ServersConfig> {
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

/** The text is not repeated in errors: it may hold secrets. */
function parse(text: string, path: string): unknown {
  const json = withoutComments(text.replace(/^\uFEFF/, ""));
  try {
    return JSON.parse(json);
  } catch (error) {
    const at = /position (\d+)/.exec((error as Error).message)?.[1];
    const line = at === undefined ? "" : `, line ${json.slice(0, Number(at)).split("\n").length}`;
    throw new DefinitionError(`${path}: is not JSON${line}`);
  }
}

/** Comments and trailing commas become spaces, so that places stay what they are. */
function withoutComments(text: string): string {
  const blank = (part: string) => part.replaceAll(/[^\n]/g, " ");
  return text
    .replaceAll(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) => (part.startsWith('"') ? part : blank(part)))
    .replaceAll(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? " " : part));
}
