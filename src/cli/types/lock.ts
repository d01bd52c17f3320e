import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { definitionDigest, definitionOf } from "../../client/pinning/definition.js";
import { isObject } from "../../protocol/json.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import { UsageError } from "../failures.js";
import { toJson } from "../text.js";
import type { DescribedServer } from "./described-server.js";

/** How a lock says that its server is reached: what the command line named, or the command after `--`. */
export type LockedAddress = string | readonly string[];

/** Definition with its digest. */
export interface LockedItem {
  readonly digest: string;
  readonly definition: Definition;
}

export type Definition = Readonly<Record<string, unknown>>;

/** Parts of a server that have a definition each, by name. */
export const PARTS = ["tools", "prompts", "templates"] as const;
export type Part = (typeof PARTS)[number];

/** Server as a lock describes it. `pinned()` takes it as it is. */
export interface LockedServer extends Readonly<Record<Part, Readonly<Record<string, LockedItem>>>> {
  /** How to reach the server. Undefined in a lock of several servers, which are those of its configuration. */
  readonly server?: LockedAddress | undefined;
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly version?: string | undefined;
  readonly protocol?: string | undefined;
  readonly instructions?: string | undefined;
}

/** Lock file: of one server, or of the servers of a configuration. */
export interface Lock {
  /** Folder of the command, from that of the lock. Relative paths of the server begin there. */
  readonly folder: string;
  /** Configuration that names the servers, from `folder`. */
  readonly config?: string | undefined;
  /** Servers by their names in the configuration, or one with an empty name. */
  readonly servers: ReadonlyMap<string, LockedServer>;
}

/** Version of the format. */
const VERSION = 1;

/** Returns the server as a lock describes it: complete definitions, with sorted members, and a digest of each. */
export async function lockOf(described: DescribedServer, server: LockedAddress | undefined): Promise<LockedServer> {
  const { name, title, version, protocol, instructions, tools, prompts, templates } = described;
  return {
    server,
    name,
    title,
    version,
    protocol,
    instructions,
    tools: await locked(
      tools,
      (tool) => tool.name,
      (tool) => ({ ...definitionOf(tool) }),
    ),
    prompts: await locked(
      prompts,
      (prompt) => prompt.name,
      ({ icons: _, _meta, ...rest }) => ({ ...rest }),
    ),
    templates: await locked(
      templates,
      (one) => one.uriTemplate,
      ({ icons: _, _meta, ...rest }) => ({ ...rest }),
    ),
  };
}

async function locked<T>(items: readonly T[], keyOf: (item: T) => string, define: (item: T) => Definition) {
  const entries = items.map(async (item) => {
    const definition = define(item);
    return [keyOf(item), { digest: await definitionDigest(definition), definition }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the text of a lock file. Each definition has a line of its own, so that a difference of two files shows it. */
export function lockText({ folder, config, servers }: Lock): string {
  const head = [["lock", VERSION], ["folder", folder], ...(config === undefined ? [] : [["config", config]])] as const;
  const lines = head.map(([name, value]) => `  ${toJson(name)}: ${toJson(value)}`);
  const only = servers.get("");
  if (only !== undefined) lines.push(...serverLines(only, "  "));
  else {
    const each = [...servers].map(
      ([key, server]) => `    ${toJson(key)}: {\n${serverLines(server, "      ").join(",\n")}\n    }`,
    );
    lines.push(`  "servers": {\n${each.join(",\n")}\n  }`);
  }
  return `{\n${lines.join(",\n")}\n}\n`;
}

function serverLines(server: LockedServer, indent: string): string[] {
  const { server: address, name, title, version, protocol, instructions } = server;
  const told = Object.entries({ server: address, name, title, version, protocol, instructions });
  const lines = told.flatMap(([key, value]) =>
    value === undefined ? [] : [`${indent}${toJson(key)}: ${toJson(value)}`],
  );
  for (const part of PARTS) {
    const items = Object.entries(server[part]).map(
      ([key, { digest, definition }]) =>
        `${indent}  ${toJson(key)}: {"digest":${toJson(digest)},"definition":${toJson(JSON.parse(sortedJson(definition)))}}`,
    );
    lines.push(`${indent}"${part}": ${items.length === 0 ? "{}" : `{\n${items.join(",\n")}\n${indent}}`}`);
  }
  return lines;
}

/** Reads a lock file. Throws a `UsageError` for what `bowline types` has not written. */
export async function readLock(file: string, cwd: string): Promise<Lock> {
  const value = await readJson(file, cwd);
  const fail = (problem: string) => new UsageError(`${file}: ${problem}`);
  if (!isObject(value) || value.lock === undefined) throw fail("is no lock of bowline types");
  if (value.lock !== VERSION) throw fail(`has version ${toJson(value.lock)}; this version of bowline reads ${VERSION}`);
  const { folder = ".", config, servers } = value;
  if (typeof folder !== "string" || (config !== undefined && typeof config !== "string"))
    throw fail("folder and config must be texts");
  const entries = isObject(servers) ? Object.entries(servers) : [["", value] as const];
  const read = entries.map(async ([key, server]) => [key, await checkServer(server, key, fail)] as const);
  return { folder, config, servers: new Map(await Promise.all(read)) };
}

async function readJson(file: string, cwd: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, file), "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${file}: is not valid JSON`);
  }
}

/** Returns the server. Throws if a digest is not that of its definition, since such a lock pins something unknown. */
async function checkServer(server: unknown, key: string, fail: (problem: string) => UsageError): Promise<LockedServer> {
  const place = key === "" ? "" : `server ${toJson(key)}: `;
  if (!isObject(server)) throw fail(`${place}must be an object`);
  for (const part of PARTS) {
    const items = server[part];
    if (!isObject(items)) throw fail(`${place}${part} is missing`);
    for (const [name, item] of Object.entries(items)) {
      if (!isObject(item) || !isObject(item.definition))
        throw fail(`${place}${part}: ${toJson(name)} has no definition`);
      if (item.digest !== (await definitionDigest(item.definition)))
        throw fail(
          `${place}${part}: the digest of ${toJson(name)} is not that of its definition; write the lock again`,
        );
    }
  }
  return server as unknown as LockedServer;
}
