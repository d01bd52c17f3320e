import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import type { CommandContext } from "../context.js";
import { EXIT, UsageError } from "../failures.js";
import { readConfigured } from "../hosts/read.js";
import type { Io } from "../io.js";
import { type CommandLine, textValue } from "../parse.js";
import { withPlan } from "../session.js";
import { similarTo } from "../suggest.js";
import { findServer } from "../target.js";
import { visibleLine } from "../text.js";
import { CHANGE_KINDS, type Change, type ChangeKind, changesOf } from "../types/changes.js";
import { type DescribedServer, describeServer } from "../types/described-server.js";
import { type Lock, type LockedAddress, type LockedServer, lockOf, lockText, readLock } from "../types/lock.js";
import { groupSourceOf, sourceOf, typeName, WRITTEN_BY } from "../types/source.js";

const LOCKS = ".mcp.lock.json";

/** Writes the types and the lock of a server or of a configuration, or compares locks with their servers. */
export async function types(context: CommandContext): Promise<void> {
  const { line, values } = context;
  if (values.check === true) return check(context);
  if (values["fail-on"] !== undefined) throw new UsageError("--fail-on is for --check");
  const [stray] = line.names;
  if (stray !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(stray)}`);
  const out = outOf(context);
  if (line.server !== undefined || line.program !== undefined) return writeServer(out, context);
  if (values.config === undefined)
    throw new UsageError("bowline types needs a server, or --config with the servers of a file, or --check");
  return writeGroup(out, context);
}

interface Out {
  readonly types: string;
  readonly lock: string;
}

/** Returns the files to write, or undefined for stdout. */
function outOf({ values, io }: CommandContext): Out | undefined {
  const out = textValue("out", values);
  if (out === undefined) return undefined;
  const [, base] = /^(.*[^/\\])\.[cm]?ts$/.exec(out) ?? [];
  if (base === undefined)
    throw new UsageError(`-o must name a file of TypeScript, such as harbour.mcp.ts, got ${JSON.stringify(out)}`);
  const lock = `${base.replace(/\.d$/, "").replace(/\.mcp$/, "")}${LOCKS}`;
  return { types: resolve(io.cwd, out), lock: resolve(io.cwd, lock) };
}

async function writeServer(out: Out | undefined, context: CommandContext): Promise<void> {
  const { line, values, io } = context;
  const plan = await findServer(line, io);
  const server = await withPlan(context, plan, describeServer);
  const name = nameOf(context) ?? typeName(server, line.server);
  const config = textValue("config", values);
  const address = addressOf(line, context);
  await write({ out, source: sourceOf(server, name), servers: new Map([["", server]]), address, config }, context);
}

async function writeGroup(out: Out | undefined, context: CommandContext): Promise<void> {
  const { values, io } = context;
  if (values.record !== undefined) throw new UsageError("--record is for one server; name it");
  const config = textValue("config", values)!;
  const { servers } = await readConfigured(config, io);
  const names = servers
    .filter(({ entry }) => (entry as { disabled?: unknown }).disabled !== true)
    .map(({ name }) => name);
  if (names.length === 0) throw new UsageError(`${config} has no servers`);
  const found = new Map<string, DescribedServer>();
  for (const name of names) found.set(name, await describeConfigured(name, context.line, io, context));
  const source = groupSourceOf([...found], nameOf(context) ?? "Servers");
  await write({ out, source, servers: found, address: undefined, config }, context);
}

/** Describes a server of the file of `--config`. */
async function describeConfigured(
  name: string,
  line: CommandLine,
  io: Io,
  context: CommandContext,
): Promise<DescribedServer> {
  const plan = await findServer({ ...line, server: `mcp:${name}`, program: undefined }, io);
  return withPlan(context, plan, describeServer);
}

function nameOf({ values }: CommandContext): string | undefined {
  const name = textValue("name", values);
  if (name !== undefined && !/^[A-Za-z_$][\w$]*$/.test(name))
    throw new UsageError(`--name must be a name of TypeScript, such as Harbour, got ${JSON.stringify(name)}`);
  return name;
}

/** Returns how the lock tells where the server is. A query of a URL may be secret, so the lock does not have it. */
function addressOf({ server, program }: CommandLine, { screen }: CommandContext): LockedAddress {
  if (program !== undefined) return program;
  const spec = server ?? "";
  if (!/^https?:/i.test(spec)) return spec;
  const [address = ""] = spec.split(/[?#]/);
  if (address !== spec)
    screen.note(
      screen.tint(
        "yellow",
        "The lock has the URL without its query, which may be secret. Name the server in mcp.json, with a variable in its URL.",
      ),
    );
  return address;
}

interface Written {
  readonly out: Out | undefined;
  readonly source: string;
  readonly servers: ReadonlyMap<string, DescribedServer>;
  readonly address: LockedAddress | undefined;
  readonly config: string | undefined;
}

async function write({ out, source, servers, address, config }: Written, context: CommandContext): Promise<void> {
  const { io, screen } = context;
  const told = [...servers].map(([key, { name, tools }]) => ({ server: key || (name ?? ""), tools: tools.length }));
  if (out === undefined) return context.finish({ servers: told, source }, () => screen.line(source.trimEnd()));
  const locked = [...servers].map(async ([key, server]) => [key, await lockOf(server, address)] as const);
  const lock: Lock = {
    folder: posix(relative(dirname(out.lock), io.cwd)) || ".",
    config,
    servers: new Map(await Promise.all(locked)),
  };
  await assertOwn(out.types, (text) => text.includes(WRITTEN_BY));
  await assertOwn(out.lock, (text) => /^\{\s*"lock":/.test(text));
  await writeInto(out.types, source);
  await writeInto(out.lock, lockText(lock));
  context.finish({ servers: told, types: out.types, lock: out.lock }, () => {
    for (const { server, tools } of told)
      screen.note(`${visibleLine(server)}: ${tools} ${tools === 1 ? "tool" : "tools"}`);
    for (const file of [out.types, out.lock]) screen.line(visibleLine(relative(io.cwd, file)));
  });
}

/** Writes a file, and its folders. Throws a `UsageError` if it cannot. */
async function writeInto(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  } catch (error) {
    throw new UsageError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? error})`);
  }
}

/** Throws if a file exists that this command has not written. */
async function assertOwn(file: string, isOwn: (text: string) => boolean): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`${file} cannot be read (${error.code ?? "unknown error"})`);
  });
  if (text !== undefined && !isOwn(text))
    throw new UsageError(`${file} exists and was not written by bowline types: choose another name`);
}

function posix(path: string): string {
  return path.replaceAll("\\", "/");
}

/** Compares locks with their servers. */
async function check(context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  for (const name of ["out", "name"])
    if (values[name] !== undefined) throw new UsageError(`--${name} is not for --check`);
  const failing = failingKinds(context);
  const given = [line.server, ...line.names].filter((name) => name !== undefined);
  const files = given.length > 0 ? given : (await locksBelow(io.cwd)).map((file) => relative(io.cwd, file));
  if (files.length === 0)
    throw new UsageError(`there is no lock (*${LOCKS}) to check; bowline types <server> -o <file> writes one`);
  if ((line.program !== undefined || values.record !== undefined) && files.length > 1)
    throw new UsageError(`${line.program === undefined ? "--record" : "a command after --"} is for one lock`);
  const told: object[] = [];
  for (const file of files) {
    for (const [key, changes] of await changesOfLock(file, context)) {
      const marked = changes.map((change) => ({ ...change, fails: failing.has(change.kind) }));
      told.push({ lock: file, ...(key !== "" && { server: key }), changes: marked });
      if (marked.some(({ fails }) => fails)) context.exit = EXIT.checkFailed;
      if (!context.isJson) printChanges(key === "" ? file : `${file}: ${key}`, marked, context);
    }
  }
  context.finish({ same: context.exit === EXIT.done, locks: told }, () => {
    if (context.exit === EXIT.checkFailed)
      screen.note("Review the changes, then run bowline types again to accept them.");
  });
}

function failingKinds({ values }: CommandContext): ReadonlySet<ChangeKind> {
  const kinds = (textValue("fail-on", values) ?? "breaking,text,hints").split(",").map((kind) => kind.trim());
  for (const kind of kinds) {
    if (CHANGE_KINDS.includes(kind as ChangeKind)) continue;
    const best = similarTo(kind, CHANGE_KINDS);
    throw new UsageError(
      `--fail-on must be some of ${CHANGE_KINDS.join(",")}; got ${JSON.stringify(kind)}${best === undefined ? "" : `; did you mean ${best}?`}`,
    );
  }
  return new Set(kinds as ChangeKind[]);
}

/** Finds the locks below a folder. Folders of packages and hidden ones are left out. */
async function locksBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile() && entry.name.endsWith(LOCKS)) found.push(path);
    if (entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
      found.push(...(await locksBelow(path)));
  }
  return found.sort();
}

async function changesOfLock(file: string, context: CommandContext): Promise<(readonly [string, Change[]])[]> {
  const { line, values, io } = context;
  const lock = await readLock(file, io.cwd);
  const given = textValue("config", values);
  const config = given === undefined ? lock.config : resolve(io.cwd, given);
  // The streams of an `Io` open on first use, so it is not copied.
  const there: Io = Object.create(io, { cwd: { value: resolve(io.cwd, dirname(file), lock.folder) } });
  const found: (readonly [string, Change[]])[] = [];
  for (const [key, before] of lock.servers) {
    const at: CommandLine = {
      ...line,
      server: undefined,
      names: [],
      values: { ...values, ...(config !== undefined && { config }) },
    };
    const described =
      key === "" ? await describeLocked(before, at, there, context) : await describeConfigured(key, at, there, context);
    found.push([key, changesOf(before, await lockOf(described, undefined))]);
  }
  return found;
}

/** Describes the server of a lock, or the command of the command line in its place. */
async function describeLocked(
  { server }: LockedServer,
  line: CommandLine,
  io: Io,
  context: CommandContext,
): Promise<DescribedServer> {
  const program = line.program ?? (Array.isArray(server) ? (server as readonly string[]) : undefined);
  const named = program === undefined && typeof server === "string" ? server : undefined;
  const plan = await findServer({ ...line, program, server: named }, line.program === undefined ? io : context.io);
  return withPlan(context, plan, describeServer);
}

const STYLE = { breaking: "red", text: "yellow", hints: "yellow", compatible: "dim" } as const;

function printChanges(
  label: string,
  changes: readonly (Change & { readonly fails: boolean })[],
  { screen }: CommandContext,
): void {
  const count = `${changes.length} ${changes.length === 1 ? "change" : "changes"}`;
  screen.line(`${screen.paint("bold", visibleLine(label))}: ${changes.length === 0 ? "no changes" : count}`);
  for (const { kind, item, message } of changes)
    screen.line(`  ${screen.paint(STYLE[kind], kind.padEnd(10))}  ${visibleLine(item)}  ${visibleLine(message)}`);
}
