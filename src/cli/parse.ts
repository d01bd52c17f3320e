import { parseArgs } from "node:util";
import { UsageError } from "./failures.js";
import { type OptionTable, SERVER_OPTIONS } from "./options.js";
import { meant } from "./suggest.js";
import { type CommandSpec, usesServer } from "./table.js";

/** Values of options by name: true, a text, or texts of an option that may be repeated. */
export interface Values {
  readonly [name: string]: boolean | string | readonly string[] | undefined;
}

/** Command line of one command. */
export interface CommandLine {
  readonly values: Values;
  /** The options before the tail alone. In the tail, an option may belong to the server's item. */
  readonly head: Values;
  /** The server, unless a command is given. */
  readonly server: string | undefined;
  /** Program and arguments after `--`. */
  readonly program: readonly string[] | undefined;
  /** Arguments after the server. */
  readonly names: readonly string[];
  /** What follows the first name, if the command has a `tail`. `values` already has the options of Bowline in it. */
  readonly tail: readonly string[];
}

/** Parses the command line of a command. Throws a `UsageError` for anything that the command does not have. */
export function parseCommand(spec: CommandSpec, argv: readonly string[]): CommandLine {
  const cut = argv.indexOf("--");
  const program = cut === -1 || spec.server === "none" ? undefined : argv.slice(cut + 1);
  if (program?.length === 0) throw new UsageError("a command must follow --, such as -- node server.js");
  const own = program === undefined ? argv : argv.slice(0, cut);
  const table = optionsOf(spec);
  const tokens = tokensOf(own, table);
  const wantsServer = usesServer(spec) && program === undefined;
  const before = (wantsServer ? 1 : 0) + (spec.tail === true ? 1 : 0);
  const arguments_ = tokens.filter(({ kind }) => kind === "positional");
  const last = spec.tail === true ? arguments_[before - 1] : undefined;
  const end = last === undefined ? own.length : last.index;
  const head = tokens.filter(({ index }) => index <= end);
  for (const token of head) assertKnown(token, table);
  const values = valuesOf(
    head.filter(({ kind }) => kind === "option"),
    table,
  );
  const later = tokens.filter(
    ({ kind, name, index }) => kind === "option" && index > end && Object.hasOwn(table, name),
  );
  const texts = head.flatMap(({ kind, value }) => (kind === "positional" && typeof value === "string" ? [value] : []));
  const server = wantsServer ? texts.shift() : undefined;
  const tail = last === undefined ? [] : own.slice(last.index + 1);
  const likely = likelyOf(
    later.filter(({ name }) => typeof values[name] !== "string"),
    table,
  );
  return { values: mergeValues(values, likely), head: values, server, program, names: texts, tail };
}

/** Adds the options after an item of the server to those before it. */
export function mergeValues(head: Values, tail: Values): Values {
  const merged: Record<string, Values[string]> = { ...head };
  for (const [name, value] of Object.entries(tail)) {
    const before = merged[name];
    if (typeof before === "string") throw new UsageError(`--${name} is given twice`);
    merged[name] = Array.isArray(before) ? [...before, ...(value as readonly string[])] : value;
  }
  return merged;
}

/** Returns the values of tokens that fit the options. The others may belong to the server's item, which is not known yet. */
function likelyOf(tokens: readonly Token[], table: OptionTable): Values {
  const fitting = tokens.filter((token) => {
    try {
      return valuesOf([token], table);
    } catch (error) {
      if (error instanceof UsageError) return false;
      throw error;
    }
  });
  const singles = new Map(fitting.map((token) => [token.name, token]));
  return valuesOf(
    fitting.filter((token) => table[token.name]!.multiple === true || singles.get(token.name) === token),
    table,
  );
}

/** Throws if arguments are missing, or if there are more than the command takes. */
export function assertComplete(spec: CommandSpec, { server, program, names }: CommandLine): void {
  const fail = (problem: string) => new UsageError(`${problem}\nUsage: ${spec.usage.join("\n       ")}`);
  if (spec.server === "required" && server === undefined && program === undefined)
    throw fail(`bowline ${spec.name} needs a server: a URL, a file, a name, a package, or -- and a command`);
  const missing = spec.names[names.length];
  if (missing !== undefined && !missing.endsWith("?")) throw fail(`bowline ${spec.name} needs <${missing}>`);
  const stray = names[spec.names.length];
  if (spec.more !== true && stray !== undefined) {
    const hint = program === undefined ? "" : "; the server is the command after --";
    throw fail(`unexpected argument ${JSON.stringify(stray)}${hint}`);
  }
}

export function optionsOf(spec: CommandSpec): OptionTable {
  return usesServer(spec) ? { ...SERVER_OPTIONS, ...spec.options } : { ...spec.options, help: SERVER_OPTIONS.help! };
}

/** Part of a command line. */
export interface Token {
  readonly kind: "option" | "positional";
  readonly index: number;
  /** Name of an option without dashes, else "". */
  readonly name: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean;
}

/** Divides a command line. An unknown option counts as one without a value. */
export function tokensOf(argv: readonly string[], table: OptionTable): Token[] {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { type, short }]) => [name, { type, ...(short && { short }), multiple: true }]),
  );
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  return tokens.map((token) => ({
    kind: token.kind === "option" ? "option" : "positional",
    index: token.index,
    name: token.kind === "option" ? token.name : "",
    value: token.kind === "option-terminator" ? "--" : token.value,
    inlineValue: token.kind === "option" && token.inlineValue === true,
  }));
}

/** Throws for an option that the table lacks, and suggests the one that was probably meant. */
export function assertKnown({ kind, name }: Token, table: OptionTable): void {
  if (kind === "positional" || Object.hasOwn(table, name)) return;
  const dashes = name.length === 1 ? "-" : "--";
  throw new UsageError(`unknown option ${dashes}${name}${meant(name, Object.keys(table), (best) => `--${best}`)}`);
}

/** Returns the values of tokens that are options of the table. Throws for a value that is missing or not allowed. */
export function valuesOf(tokens: readonly Token[], table: OptionTable): Values {
  const values: Record<string, boolean | string | string[]> = {};
  for (const { name, value, inlineValue } of tokens) {
    const { type, multiple, choices } = table[name]!;
    if (type === "boolean") {
      if (value !== undefined) throw new UsageError(`--${name} takes no value`);
      values[name] = true;
      continue;
    }
    const text = textOf(name, value, inlineValue);
    if (choices !== undefined && !choices.includes(text))
      throw new UsageError(`--${name} must be ${choices.join(", ")}, got ${JSON.stringify(text)}`);
    if (multiple === true) values[name] = [...((values[name] as string[] | undefined) ?? []), text];
    else if (values[name] !== undefined) throw new UsageError(`--${name} is given twice`);
    else values[name] = text;
  }
  return values;
}

/** Returns the value of an option. A value that begins with dashes must be written after `=`, since it is rarely meant. */
export function textOf(name: string, value: string | undefined, inlineValue: boolean): string {
  if (value === undefined) throw new UsageError(`--${name} needs a value`);
  if (!inlineValue && value.startsWith("--"))
    throw new UsageError(`--${name} needs a value; write --${name}=${value} if it begins with dashes`);
  return value;
}

const TIMES: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const SIZES: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9 };

/** Reads a time such as 500ms, 30s, 5m or 1h. */
export function timeOf(name: string, values: Values): number | undefined {
  const text = values[name];
  if (typeof text !== "string") return undefined;
  return measureOf(name, text, TIMES, "a time such as 500ms, 30s, 5m or 1h");
}

/** Reads a size such as 500kB, 20MB or 1GB. */
export function sizeOf(name: string, values: Values): number | undefined {
  const text = values[name];
  if (typeof text !== "string") return undefined;
  return Math.round(measureOf(name, text, SIZES, "a size such as 500kB, 20MB or 1GB"));
}

/** Reads a number with one of these units. */
function measureOf(name: string, text: string, units: Readonly<Record<string, number>>, form: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]+)$/.exec(text) ?? [];
  if (!Object.hasOwn(units, unit)) throw new UsageError(`--${name} must be ${form}, got ${JSON.stringify(text)}`);
  return Number(number) * units[unit]!;
}

/** Reads a whole number above zero. */
export function countOf(name: string, values: Values): number | undefined {
  const text = values[name];
  if (typeof text !== "string") return undefined;
  if (!/^[1-9]\d*$/.test(text))
    throw new UsageError(`--${name} must be a whole number above zero, got ${JSON.stringify(text)}`);
  return Number(text);
}

/** Reads a port to listen on. 0 is any free one. */
export function portOf(name: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new UsageError(`--${name} must be a number from 0 to 65535, got ${JSON.stringify(text)}`);
}

/** Returns the texts of an option that may be repeated. */
export function listOf(name: string, values: Values): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

export function textValue(name: string, values: Values): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}
