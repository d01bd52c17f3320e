import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { ClientOptions, CommandTarget, LocalTarget } from "../client/options.js";
import { UsageError } from "./failures.js";
import type { Io } from "./io.js";
import { type CommandLine, listOf, textValue } from "./parse.js";
import { planRunner } from "./run-file.js";
import { SERVER_FORMS } from "./table.js";

/** A URL, a process, or a server in this process. */
export type PlannedTarget = string | CommandTarget | LocalTarget;

/** A server that the command line names. */
export interface ServerPlan {
  /** The server as people call it: what they wrote, or the command. */
  readonly label: string;
  /** Targets to try in order. There are several for a URL without a path. */
  readonly targets: readonly PlannedTarget[];
  readonly options: ClientOptions;
}

/** A value as a server, or undefined if it has another form. */
type Form = (spec: string, line: CommandLine, io: Io) => Promise<ServerPlan | undefined> | ServerPlan | undefined;

/** The forms of a server, in the order in which they are tried. */
const FORMS: readonly Form[] = [fromUrl, fromCode, fromRecording, fromPackage, fromName];

/** Finds the server of a command line. Throws a `UsageError` that names the forms if there is none. */
export async function findServer(line: CommandLine, io: Io): Promise<ServerPlan> {
  const { server, program } = line;
  if (program !== undefined) {
    const [command = "", ...args] = program;
    return processPlan(toldCommand(command, args.length), { command, args }, line, io);
  }
  for (const form of FORMS) {
    const plan = await form(server ?? "", line, io);
    if (plan !== undefined) return plan;
  }
  const forms = SERVER_FORMS.map(([form, meaning]) => `${form} (${meaning})`).join("; ");
  throw new UsageError(`${JSON.stringify(server)} is not a server. A server is one of: ${forms}`);
}

function fromUrl(spec: string, line: CommandLine): ServerPlan | undefined {
  if (!/^https?:\/\//i.test(spec)) return undefined;
  if (!URL.canParse(spec)) throw new UsageError(`${JSON.stringify(spec)} is not a valid URL`);
  assertNone(line, ["env", "cwd"], "a process, and the server is at a URL");
  const url = new URL(spec);
  assertWithoutUser(url);
  const isBare = url.pathname === "/" && url.search === "" && !spec.endsWith("/");
  const targets = isBare ? [spec, `${spec}/mcp`, `${spec}/sse`] : [spec];
  return { label: toldUrl(spec), targets, options: { headers: headersOf(line) } };
}

/** Returns a URL as errors and lists show it: without user, query and fragment, which may have secrets. */
export function toldUrl(url: string): string {
  const [address = "", ...rest] = url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, "$1").split(/[?#]/);
  return rest.length > 0 ? `${address}?...` : address;
}

/** Returns a command as errors and lists show it: without arguments, which may have secrets. */
export function toldCommand(command: string, count: number): string {
  return count > 0 ? `${command} ...` : command;
}

/** `fetch` sends no user, and would quote the URL in its error. */
function assertWithoutUser({ username, password }: URL): void {
  if (username !== "" || password !== "")
    throw new UsageError(
      "the URL has a user name or a password, which is not sent; write --header 'Authorization: Basic <base64 of user:password>'",
    );
}

/** Returns the headers of `--header`. */
export function headersOf({ values }: CommandLine): [string, string][] {
  return listOf("header", values).map((text) => {
    const cut = text.indexOf(":");
    const name = text.slice(0, cut).trim();
    if (cut < 1 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      throw new UsageError(`--header must be 'Name: value' (the value is not shown)`);
    const value = text.slice(cut + 1).trim();
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new UsageError(`--header ${name}: the value has a character that no header may have (it is not shown)`);
    return [name, value];
  });
}

/** Returns the path and the export of a file of code, or undefined if a server has another form. */
export function codeFile(spec: string): { readonly path: string; readonly name: string | undefined } | undefined {
  const [, path, name] = /^(.+\.(?:[cm]?[jt]s|[jt]sx))(?:#([\w$]+))?$/.exec(spec) ?? [];
  return path === undefined ? undefined : { path, name };
}

async function fromCode(spec: string, line: CommandLine, io: Io): Promise<ServerPlan | undefined> {
  const code = codeFile(spec);
  if (code === undefined) return undefined;
  const { path, name } = code;
  const file = resolve(io.cwd, path);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new UsageError(`there is no file ${path}`);
  return processPlan(spec, planRunner(file, name), line, io);
}

async function fromRecording(spec: string, line: CommandLine, io: Io): Promise<ServerPlan | undefined> {
  if (!spec.endsWith(".rec.ndjson")) return undefined;
  assertNone(line, ["header"], "HTTP, and the server is a recording");
  assertNone(line, ["cwd"], "a process, and the server is a recording");
  const { playRecording } = await import("./recordings/play.js");
  const target = await playRecording(spec, line.values, environmentOf(line, io), io);
  return { label: spec, targets: [target], options: {} };
}

function fromPackage(spec: string, line: CommandLine, io: Io): ServerPlan | undefined {
  const command = packageCommand(spec);
  return command && processPlan(spec, command, line, io);
}

/** Returns the command that runs a package, or undefined if a server has another form. */
export function packageCommand(spec: string): CommandTarget | undefined {
  const [, kind, name = ""] = /^(npm|pypi):(.*)$/.exec(spec) ?? [];
  if (kind === undefined) return undefined;
  if (!/^[@\w][\w./@~^=<>[\]-]*$/.test(name)) throw new UsageError(`${JSON.stringify(spec)} names no package`);
  return kind === "npm" ? { command: "npx", args: ["-y", name] } : { command: "uvx", args: [name] };
}

async function fromName(spec: string, line: CommandLine, io: Io): Promise<ServerPlan | undefined> {
  if (/^[\w.-]+:\d+(?:\/|$)/.test(spec))
    throw new UsageError(`${JSON.stringify(spec)} has no scheme; did you mean http://${spec}?`);
  const { findConfigured } = await import("./hosts/find.js");
  const { target, options } = await findConfigured(spec, textValue("config", line.values), io);
  if (typeof target !== "string") return processPlan(spec, target, line, io);
  if (URL.canParse(target)) assertWithoutUser(new URL(target));
  assertNone(line, ["env", "cwd"], "a process, and the server is at a URL");
  const headers = [...new Headers(options.headers), ...headersOf(line)];
  return { label: spec, targets: [target], options: { ...options, headers } };
}

/** Returns the plan for a process. Its environment is that of hosts: the usual variables and those that are given. */
function processPlan(label: string, command: CommandTarget, line: CommandLine, io: Io): ServerPlan {
  assertNone(line, ["header"], "HTTP, and the server is a process");
  const cwd = textValue("cwd", line.values);
  const env = { ...command.env, ...environmentOf(line, io) };
  const folder = resolve(io.cwd, cwd ?? command.cwd ?? ".");
  return { label, targets: [{ ...command, env, cwd: folder }], options: {} };
}

/** Returns the variables of `--env`. */
export function environmentOf({ values }: Pick<CommandLine, "values">, io: Io): Record<string, string> {
  return Object.fromEntries(
    listOf("env", values).map((text) => {
      const cut = text.indexOf("=");
      const name = cut === -1 ? text : text.slice(0, cut);
      const value = cut === -1 ? io.env[name] : text.slice(cut + 1);
      if (name === "") throw new UsageError("--env must be NAME or NAME=value");
      if (value === undefined)
        throw new UsageError(`--env ${name}: the variable is not set here; write --env ${name}=value`);
      return [name, value];
    }),
  );
}

function assertNone({ values }: CommandLine, names: readonly string[], what: string): void {
  const given = names.find((name) => values[name] !== undefined);
  if (given !== undefined) throw new UsageError(`--${given} is for ${what}`);
}
