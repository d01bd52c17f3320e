import { DefinitionError } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import {
  type AnySchema,
  compileSchema,
  isStandardSchema,
  type ParseOutcome,
  type StandardSchema,
  toJsonSchema,
} from "./compile.js";
import {
  type AnswerContent,
  AnswerRun,
  BOUNDS,
  checkField,
  choiceKeyword,
  choicesOf,
  FORMATS,
  oddKeyword,
  type RequestedSchema,
  texts,
  titled,
} from "./elicitation-answer.js";
import { dialectOf, unknownDialect } from "./json-schema/dialect.js";
import { quotePattern } from "./json-schema/pattern.js";
import { NO_PATTERN } from "./json-schema/pattern-syntax.js";
import type { JsonSchema } from "./json-schema/types.js";

/** Schema by which an author describes a form. */
export type FormSchema = StandardSchema<FormInput, unknown> | RequestedSchema;
type FormInput = { readonly [field: string]: string | number | boolean | readonly string[] | undefined };

/** Form, with the function that applies the author's schema to an answer. */
export interface Form {
  readonly requestedSchema: RequestedSchema;
  parse(content: AnswerContent): ParseOutcome | Promise<ParseOutcome>;
}

const SIMPLE = ["string", "number", "integer", "boolean"];

const forms = new WeakMap<object, Form>();

/** Prepares an author's schema for elicitation, once per schema. */
export function compileForm(schema: AnySchema, where: string): Form {
  let form = forms.get(schema);
  if (form === undefined) {
    const requestedSchema = toRequestedSchema(schema, where);
    const { parse } = isStandardSchema(schema)
      ? compileSchema(schema, where, "input", undefined)
      : { parse: (value: unknown): ParseOutcome => ({ ok: true, value }) };
    form = { requestedSchema, parse };
    forms.set(schema, form);
  }
  return form;
}

/** Converts an author's schema to a form. Throws an error that names the field if a form cannot represent it. */
export function toRequestedSchema(schema: AnySchema, where: string): RequestedSchema {
  const isConverted = isStandardSchema(schema);
  const form = toJsonSchema(schema, where, "input");
  const wrong = (problem: string) => new DefinitionError(`${where}: ${problem}`);
  if (form.type !== "object" || !isObject(form.properties)) throw wrong("a form must be an object with properties");
  if (dialectOf(form) < 0) throw wrong(unknownDialect(form));
  const odd = oddKeyword(form, "properties");
  if (odd !== undefined) throw wrong(`a form cannot use ${odd}`);
  const { required = [] } = form;
  if (!Array.isArray(required)) throw wrong("required must be a list of property names");
  const stray = required.find((name) => typeof name !== "string" || !Object.hasOwn(form.properties as object, name));
  if (stray !== undefined) throw wrong(`required names ${JSON.stringify(stray)}, which is not among the properties`);
  const fields: [string, unknown][] = [];
  const run = new AnswerRun(false);
  for (const [name, field] of Object.entries(form.properties)) {
    const shown = isConverted ? simplify(field) : field;
    const problem = problemOf(shown, run, isConverted);
    if (problem !== undefined) throw wrong(`the property ${JSON.stringify(name)} ${problem}`);
    fields.push([name, shown]);
  }
  return (isConverted ? { ...form, properties: Object.fromEntries(fields) } : form) as RequestedSchema;
}

/** Returns the answer with defaults for missing fields. Values that were given are kept, even if empty. */
export function applyDefaults(form: RequestedSchema, content: AnswerContent): AnswerContent {
  const filled: Record<string, AnswerContent[string]> = { ...content };
  for (const [name, field] of Object.entries(form.properties ?? {})) {
    const value = isObject(field) ? field.default : undefined;
    if (value !== undefined && (filled[name] === undefined || !Object.hasOwn(filled, name))) filled[name] = value;
  }
  return filled;
}

/**
 * Returns the reason why a field cannot be shown, or undefined. In a converted schema, a pattern that cannot be matched
 * here is left to the library.
 */
function problemOf(field: unknown, run: AnswerRun, isConverted: boolean): string | undefined {
  if (!isObject(field)) return "must be a schema object";
  const { type, format, enumNames, default: preset } = field;
  if (type !== "array" && !SIMPLE.includes(type as string)) {
    return "must be of type string, number, integer or boolean, or a list of choices; forms are flat";
  }
  const odd = oddKeyword(field, choiceKeyword(type as string));
  if (odd !== undefined) return `cannot use ${odd}`;
  const choices = choicesOf(field);
  if (choices === undefined && (type === "array" || field.oneOf !== undefined || field.enum !== undefined)) {
    return "must list its choices as strings: by enum, or by const and title";
  }
  if (choices !== undefined && type !== "array" && type !== "string") return "must have choices that are strings";
  if (enumNames !== undefined && !(Array.isArray(enumNames) && enumNames.length === choices?.length)) {
    return "must have one enumNames entry for each choice";
  }
  if (format !== undefined && type === "string" && !Object.hasOwn(FORMATS, String(format))) {
    return `has the format ${JSON.stringify(format)}; forms support ${Object.keys(FORMATS).join(", ")}`;
  }
  const broken = Object.keys(BOUNDS).find((bound) => field[bound] !== undefined && !Number.isFinite(field[bound]));
  if (broken !== undefined) return `has a ${broken} that is not a number`;
  const { pattern } = field;
  const matcher = pattern === undefined ? undefined : run.patterns.read(String(pattern));
  if (matcher === NO_PATTERN || (typeof matcher === "string" && !isConverted)) {
    return `cannot use ${quotePattern(String(pattern))}: it ${matcher}`;
  }
  if (preset !== undefined) checkField(field, preset, "", run);
  const [issue] = run.issues;
  return issue && `has an invalid default: it ${issue.message}`;
}

/** Converts a field that a library describes to the form of MCP. Unsupported parts remain for `problemOf` to report. */
function simplify(field: unknown): unknown {
  if (!isObject(field)) return field;
  const { anyOf, oneOf, const: only, format, items, ...rest } = field;
  const union = anyOf ?? oneOf;
  if (Array.isArray(union)) return fromUnion(union, rest, "oneOf") ?? field;
  if (typeof only === "string") return { ...rest, type: "string", enum: [only] };
  if (rest.type === undefined && texts(field.enum) !== undefined) return { ...field, type: "string" };
  if (rest.type === "array" && isObject(items)) return { ...rest, items: simplifyItems(items) };
  // The library still enforces a format that forms do not support when the answer arrives.
  if (rest.type === "string" && !Object.hasOwn(FORMATS, String(format))) return rest;
  return field;
}

function simplifyItems(items: Record<string, unknown>): unknown {
  const { anyOf, oneOf, ...rest } = items;
  const union = anyOf ?? oneOf;
  return Array.isArray(union) ? (fromUnion(union, rest, "anyOf") ?? items) : simplify(items);
}

/** Converts a union of string literals to a choice, with titles if each literal has one. */
function fromUnion(union: readonly unknown[], rest: Record<string, unknown>, keyword: "oneOf" | "anyOf"): unknown {
  const values = texts(union.map((branch) => (isObject(branch) ? branch.const : undefined)));
  if (values === undefined) return undefined;
  if (titled(union) === undefined) return { ...rest, type: "string", enum: values };
  const choices = (union as JsonSchema[]).map((branch) => ({ const: branch.const, title: branch.title }));
  return keyword === "anyOf" ? { ...rest, anyOf: choices } : { ...rest, type: "string", oneOf: choices };
}
