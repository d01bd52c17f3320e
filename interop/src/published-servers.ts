import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { programIn } from "./fetched.js";

/** Published server of `published.json`, which starts without an account. `{folder}` stands for a folder of its own. */
export interface PublishedServer {
  readonly name: string;
  /** Package with its exact version. */
  readonly package: string;
  /** Program in the package. */
  readonly file: string;
  readonly args?: readonly string[];
  /** Environment. Tokens are placeholders, and are sent nowhere. */
  readonly env?: Readonly<Record<string, string>>;
  /** Files to put into the folder before the start. */
  readonly files?: Readonly<Record<string, string>>;
  /** Calls that need no network. */
  readonly calls?: readonly PublishedCall[];
}

export interface PublishedCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** How a published server is started. */
export interface PublishedStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly cwd: string;
}

const list = new URL("../../published.json", import.meta.url);

export const publishedServers = JSON.parse(readFileSync(list, "utf8")) as readonly PublishedServer[];

/** Fetches a server, and prepares its folder. Rejects with the reason if the package is not available. */
export async function prepare(server: PublishedServer, folder: string): Promise<PublishedStart> {
  const { node, file } = await programIn(server.package, server.file);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { args, env, files } = inFolder(server, folder);
  for (const [name, text] of Object.entries(files ?? {})) writeFileSync(join(folder, name), text);
  return { command: node, args: [file, ...(args ?? [])], env: { DO_NOT_TRACK: "1", ...env }, cwd: folder };
}

/** Returns the server with the path of its folder. */
export function inFolder(server: PublishedServer, folder: string): PublishedServer {
  const path = JSON.stringify(folder).slice(1, -1);
  return JSON.parse(JSON.stringify(server).replaceAll("{folder}", () => path)) as PublishedServer;
}

/** Returns a server of the list. */
export function publishedServer(name: string): PublishedServer {
  const found = publishedServers.find((server) => server.name === name);
  if (found === undefined) throw new Error(`published.json has no server ${name}`);
  return found;
}
