import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../node/files/replace-file.js";
import { RpcError } from "../protocol/errors.js";
import { METHOD_NOT_FOUND } from "../protocol/jsonrpc/errors.js";
import type { Tool } from "../protocol/types/index.js";
import type { CommandContext } from "./context.js";
import { cacheFolder, fileNameFor } from "./folders.js";
import type { Io } from "./io.js";

/** What completion needs of a tool. */
export interface KeptTool {
  readonly name: string;
  readonly inputSchema: object;
}

/**
 * Returns the items of a list, or undefined if the server lacks its method. A server may announce resources, and have no
 * method for templates.
 */
export async function ifSupported<T>(items: Promise<T>): Promise<T | undefined> {
  try {
    return await items;
  } catch (error) {
    if (error instanceof RpcError && error.rpcCode === METHOD_NOT_FOUND) return undefined;
    throw error;
  }
}

/** Longest catalogue that is kept. Completion must be quick. */
const MOST_CHARS = 1_000_000;

/** Servers whose catalogues are kept. The one that was used least recently gives way. */
const MOST_SERVERS = 100;

/** Keeps the tools of a server for completion. That it cannot is no failure of the command. */
export async function keepCatalogue({ line, io }: CommandContext, tools: readonly Tool[]): Promise<void> {
  const path = catalogueFile(line.server, line.program, io);
  if (path === undefined) return;
  const kept: KeptTool[] = tools.map(({ name, inputSchema }) => ({ name, inputSchema }));
  const text = JSON.stringify({ tools: kept });
  if (text.length > MOST_CHARS) return;
  try {
    await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
    await replaceFile(path, text);
    await dropOldest(join(path, ".."));
  } catch {
    // A cache folder that cannot be written leaves completion without tools.
  }
}

async function dropOldest(folder: string): Promise<void> {
  const names = await readdir(folder);
  if (names.length <= MOST_SERVERS) return;
  const files = names.map((name) => join(folder, name));
  const times = await Promise.all(files.map(async (file) => ({ file, at: (await stat(file)).mtimeMs })));
  times.sort((one, two) => one.at - two.at);
  for (const { file } of times.slice(0, names.length - MOST_SERVERS)) await rm(file, { force: true });
}

/** Returns the tools of the last use of a server. */
export async function keptCatalogue(
  server: string | undefined,
  program: readonly string[] | undefined,
  io: Io,
): Promise<readonly KeptTool[]> {
  const path = catalogueFile(server, program, io);
  if (path === undefined) return [];
  try {
    const { tools } = JSON.parse(await readFile(path, "utf8")) as { readonly tools?: readonly KeptTool[] };
    return Array.isArray(tools) ? tools : [];
  } catch {
    return [];
  }
}

/** Returns the file for a server. Its name is a digest, since the text may contain a secret. */
function catalogueFile(server: string | undefined, program: readonly string[] | undefined, io: Io): string | undefined {
  if (io.env.BOWLINE_CACHE === "off") return undefined;
  const isElsewhere = server !== undefined && /^https?:/.test(server);
  const key = JSON.stringify([server, program, isElsewhere ? "" : io.cwd]);
  return join(cacheFolder(io), `tools-${fileNameFor(key)}.json`);
}
