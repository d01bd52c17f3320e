import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { SecretNames } from "../../recording/secret-names.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";
import { type CommandLine, listOf, textValue } from "../parse.js";
import { loaderOf, planRunner } from "../run-file.js";
import { codeFile, headersOf, packageCommand } from "../target.js";
import { findEntry, folderOf } from "./find.js";
import type { Place } from "./places.js";
import type { Entry } from "./shapes.js";

/** Server to write into a file, in the format that hosts share. Secrets are `${NAME}`. */
export interface Source {
  readonly name: string;
  readonly entry: Entry;
}

const NAME = /^[\w.-]{1,64}$/;

/** Returns the server of a command line. Its name is that of `--name`, or made of the server. Nothing is started. */
export async function sourceOf(line: CommandLine, place: Place, io: Io): Promise<Source> {
  const [spec = ""] = line.names;
  const found = await described(spec, line, place, io);
  const name = textValue("name", line.values) ?? found.name;
  if (name === undefined) throw new UsageError("a command has no name of its own; write --name <name>");
  if (!NAME.test(name))
    throw new UsageError(`--name must be 1 to 64 letters, digits, _, . or -, got ${JSON.stringify(name)}`);
  const { entry } = found;
  const isRemote = entry.url !== undefined;
  if (isRemote && line.values.env !== undefined)
    throw new UsageError("--env is for a process, and the server is at a URL");
  if (!isRemote && line.values.header !== undefined)
    throw new UsageError("--header is for HTTP, and the server is a process");
  const env = { ...withoutSecrets(entry.env as Texts), ...envOf(line) };
  const headers = headersAsVariables(name, { ...(entry.headers as Texts), ...Object.fromEntries(headersOf(line)) });
  return { name, entry: isRemote ? { ...entry, headers } : { ...entry, env } };
}

type Texts = Readonly<Record<string, string>> | undefined;

async function described(
  spec: string,
  line: CommandLine,
  place: Place,
  io: Io,
): Promise<{ readonly name: string | undefined; readonly entry: Entry }> {
  if (line.program !== undefined) {
    const [command = "", ...args] = line.program.map((word) => inFolder(word, place, io));
    return { name: undefined, entry: { command, args } };
  }
  if (/^https?:\/\//i.test(spec)) {
    if (!URL.canParse(spec)) throw new UsageError(`${JSON.stringify(spec)} is not a valid URL`);
    return { name: hostName(new URL(spec)), entry: { type: "http", url: spec } };
  }
  const code = codeFile(spec);
  if (code !== undefined) {
    const file = resolve(io.cwd, code.path);
    if (!isFile(file)) throw new UsageError(`there is no file ${code.path}`);
    return { name: fileName(file), entry: codeEntry(file, code.name, place) };
  }
  if (spec.endsWith(".rec.ndjson"))
    throw new UsageError(`a recording is installed as a command: -- npx bowline replay ${resolve(io.cwd, spec)}`);
  const command = packageCommand(spec);
  if (command !== undefined)
    return { name: packageName(spec), entry: { command: command.command, args: command.args ?? [] } };
  const { name, entry, place: from } = await findEntry(spec, textValue("config", line.values), io);
  return { name, entry: fromFile(entry, from, io) };
}

/** A file of the project is shared, so that its paths begin in its folder; a host starts others anywhere. */
function inFolder(word: string, { project }: Place, io: Io): string {
  const file = resolve(io.cwd, word);
  if (word.startsWith("-") || !/[./\\]/.test(word) || !isFile(file)) return word;
  return project === undefined ? file : relative(project, file).replaceAll("\\", "/");
}

/** A file of the project serves itself there, since other machines have this package at another place. */
function codeEntry(file: string, name: string | undefined, { project }: Place): Entry {
  if (project === undefined) {
    const { command, args } = planRunner(file, name);
    return { command, args };
  }
  if (name !== undefined)
    throw new UsageError(`with --project the file must serve itself, without #${name}: await serveStdio(${name})`);
  const loader = loaderOf(file).length > 0 ? ["--import", "tsx"] : [];
  return { command: "node", args: [...loader, relative(project, file).replaceAll("\\", "/")] };
}

/** Returns an entry of another file with variables as `${NAME}` and paths that hold everywhere. */
function fromFile(entry: Entry, place: Place, io: Io): Entry {
  const { disabled: _, cwd, ...rest } = entry;
  const text = JSON.stringify(rest).replaceAll(/\$\{([^{}]+)\}/g, (whole, inside: string) => {
    if (inside === "workspaceFolder") return inJson(place.project ?? io.cwd);
    if (inside === "userHome") return inJson(io.home);
    const name = inside.replace(/^(?:env|input):/, "").replace(/:-.*$/, "");
    const variable = inside.startsWith("input:") ? name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_") : name;
    return /^[A-Za-z_]\w*$/.test(variable) ? `\${${variable}}` : whole;
  });
  return { ...(JSON.parse(text) as Entry), ...(typeof cwd === "string" && { cwd: resolve(folderOf(place), cwd) }) };
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the variables of `--env` by their names. The values stay where they are. */
function envOf(line: CommandLine): Record<string, string> {
  return Object.fromEntries(
    listOf("env", line.values).map((text) => {
      const [name = "", ...rest] = text.split("=");
      const value = rest.join("=");
      if (!/^[A-Za-z_]\w*$/.test(name)) throw new UsageError("--env must be NAME or NAME=value");
      return [name, /^\$\{\w+\}$/.test(value) ? value : `\${${name}}`];
    }),
  );
}

/** Replaces the values of variables whose names say that they are secret. */
function withoutSecrets(env: Texts = {}): Record<string, string> {
  const names = new SecretNames([], []);
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      names.hides(name, value) && !value.includes("${") ? `\${${name}}` : value,
    ]),
  );
}

/** Names variables for the values of headers, such as `FILES_TOKEN`. A value that names one keeps it. */
function headersAsVariables(server: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (value.includes("${")) return [name, value];
      const scheme = /^(bearer|basic) /i.exec(value)?.[0] ?? "";
      const what = scheme === "" ? name : "token";
      return [name, `${scheme}\${${`${server}_${what}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}}`];
    }),
  );
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

/** Returns the part of a host name that people know: `example` of `mcp.example.com`. */
function hostName({ hostname }: URL): string {
  const labels = hostname.split(".").filter((label) => !/^(?:www|mcp|api)$/.test(label));
  return plain(/^[\d.]+$|:/.test(hostname) ? hostname : (labels[0] ?? hostname));
}

function fileName(file: string): string {
  const name = basename(file).replace(/\.[^.]+$/, "");
  return plain(/^(?:server|index|main)$/.test(name) ? basename(dirname(join(file))) : name);
}

function packageName(spec: string): string {
  const name = spec
    .replace(/^\w+:/, "")
    .replace(/^@[^/]*\//, "")
    .replace(/[@=<>~^[].*$/, "");
  return plain(name.replace(/^(?:mcp-server-|server-|mcp-)/, "").replace(/(?:-mcp-server|-server|-mcp)$/, ""));
}

function plain(text: string): string {
  return text.replaceAll(/[^\w.-]+/g, "-").slice(0, 64) || "server";
}
