import { isObject } from "../protocol/json.js";
import type { Tool } from "../protocol/types/index.js";
import { UsageError } from "./failures.js";
import type { Io } from "./io.js";
import type { OptionTable } from "./options.js";
import {
  assertKnown,
  type CommandLine,
  mergeValues,
  type Token,
  textOf,
  tokensOf,
  type Values,
  valuesOf,
} from "./parse.js";
import { choicesOf, kindOf, resolveSchema } from "./schema-text.js";
import { meant, similarTo } from "./suggest.js";
import { visibleLine } from "./text.js";
import { type Parameter, parametersOf } from "./tool-parameters.js";
import { readInput } from "./values.js";

type Schema = Readonly<Record<string, unknown>>;

/** Part of a command line after the name of a tool. */
export interface ToolLine {
  readonly args: Record<string, unknown>;
  /** Options of Bowline, also those before the tool. */
  readonly values: Values;
  /** Those after the tool alone. */
  readonly own: Values;
}

/**
 * Reads what follows the name of a tool. An option that is a parameter belongs to the tool; any other must be one of Bowline.
 * The schema decides the type of a value, and nothing is guessed.
 */
export async function readToolLine(
  tool: Tool,
  { head, tail }: Pick<CommandLine, "head" | "tail">,
  table: OptionTable,
  io: Io,
): Promise<ToolLine> {
  const parameters = parametersOf(tool);
  const asOptions: OptionTable = Object.fromEntries(
    [...parameters].map(([name, { schema }]) => [
      name,
      { type: kindOf(schema) === "boolean" ? "boolean" : "string", help: "" },
    ]),
  );
  const all = { ...table, ...asOptions };
  const tokens = tokensOf(tail, all);
  const options: Token[] = [];
  const given = new Map<string, unknown[]>();
  for (const token of tokens) {
    const { kind, name } = token;
    if (kind === "positional")
      throw new UsageError(
        `unexpected argument ${JSON.stringify(token.value)} after the tool; parameters are written --name value`,
      );
    const positive =
      name.startsWith("no-") && parameters.has(name.slice(3)) && !Object.hasOwn(all, name) ? name.slice(3) : name;
    const parameter = parameters.get(positive);
    if (parameter === undefined) {
      if (!Object.hasOwn(table, name)) throw unknownParameter(tool, name, [...parameters.keys()], table);
      options.push(token);
      continue;
    }
    const value = await readValue(token, positive, parameter, tool, io);
    given.set(positive, [...(given.get(positive) ?? []), value]);
  }
  for (const token of options) assertKnown(token, table);
  const own = valuesOf(options, table);
  const values = mergeValues(head, own);
  const args = await readJsonArguments(values.args, io);
  for (const [name, list] of given) {
    const { path, schema } = parameters.get(name)!;
    const isList = kindOf(schema) === "list";
    if (!isList && list.length > 1) throw new UsageError(`--${name} is given twice`);
    put(args, path, isList ? list : list[0]);
  }
  return { args, values, own };
}

function unknownParameter(tool: Tool, name: string, names: readonly string[], table: OptionTable): UsageError {
  const hint = meant(name, [...names, ...Object.keys(table)], (best) => `--${visibleLine(best)}`);
  const own = names.filter((one) => !one.includes(".")).map((one) => `--${visibleLine(one)}`);
  const list = own.length === 0 ? "it has no parameters" : `its parameters are: ${own.join(", ")}`;
  return new UsageError(
    `the tool ${visibleLine(tool.name)} has no parameter --${name}${hint}${hint === "" ? "; " : " "}${list}`,
  );
}

async function readValue(token: Token, name: string, { schema }: Parameter, tool: Tool, io: Io): Promise<unknown> {
  if (kindOf(schema) === "boolean") {
    if (token.value !== undefined) throw new UsageError(`--${name} takes no value; write --${name} or --no-${name}`);
    return token.name === name;
  }
  const text = await readInput(textOf(name, token.value, token.inlineValue), name, io);
  const isList = kindOf(schema) === "list";
  return toValue(text, isList ? resolveSchema(schema.items, tool.inputSchema as Schema) : schema, name);
}

function toValue(text: string, schema: Schema, name: string): unknown {
  const wrong = (expected: string) =>
    new UsageError(`--${name} must be ${expected}, got ${JSON.stringify(shortened(text))}`);
  switch (kindOf(schema)) {
    case "text":
      return text;
    case "choice": {
      const choices = choicesOf(schema);
      if (choices.includes(text)) return text;
      const best = similarTo(text, choices);
      throw wrong(
        `one of ${choices.map(visibleLine).join(", ")}${best === undefined ? "" : ` (did you mean ${visibleLine(best)}?)`}`,
      );
    }
    case "number":
    case "integer":
      if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) throw wrong(`a number`);
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw wrong("true or false");
      return text === "true";
    default:
      try {
        return JSON.parse(text);
      } catch {
        throw new UsageError(
          `--${name} takes JSON, and ${JSON.stringify(shortened(text))} is not valid JSON; write a text in double quotes`,
        );
      }
  }
}

function shortened(text: string): string {
  return visibleLine(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** Reads `--args`: JSON, @file, or - for stdin. */
async function readJsonArguments(given: Values[string], io: Io): Promise<Record<string, unknown>> {
  if (typeof given !== "string") return {};
  const text = await readInput(given === "-" ? "@-" : given, "args", io);
  let args: unknown;
  try {
    args = JSON.parse(text);
  } catch {
    throw new UsageError(`--args: is not valid JSON`);
  }
  if (!isObject(args)) throw new UsageError("--args must be a JSON object");
  return { ...args };
}

/** Sets a member, also of an object that is a member. */
function put(args: Record<string, unknown>, [name = "", member]: readonly string[], value: unknown): void {
  const outer = isObject(args[name]) ? { ...args[name] } : {};
  const set = (target: object, key: string, what: unknown) =>
    Object.defineProperty(target, key, { value: what, enumerable: true, configurable: true, writable: true });
  if (member === undefined) set(args, name, value);
  else set(args, name, set(outer, member, value));
}

/** Throws a `UsageError` that names each place at which the arguments do not match the schema of the tool. */
export async function assertFits(tool: Tool, args: object): Promise<void> {
  const { defaultValidator } = await import("../schema/json-schema/validator.js");
  let check: ReturnType<typeof defaultValidator.compile>;
  try {
    check = defaultValidator.compile(tool.inputSchema, () => {});
  } catch (error) {
    const reason = visibleLine((error as Error).message);
    throw new UsageError(
      `the schema of the tool ${visibleLine(tool.name)} cannot be used: ${reason}; --no-check sends anyway`,
    );
  }
  const issues = check(args);
  if (issues.length === 0) return;
  const shown = issues.slice(0, 20).map(({ path, message }) => visibleLine(`${nameOf(path)} ${message}`));
  throw new UsageError(
    `the arguments do not match the tool ${visibleLine(tool.name)}, and nothing was called: ${shown.join("; ")}`,
    {
      issues,
    },
  );
}

/** Returns a JSON pointer as the option that it concerns: `--at.x`. */
function nameOf(path: string): string {
  const parts = path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return parts.length === 0 ? "the arguments" : `--${parts.join(".")}`;
}
