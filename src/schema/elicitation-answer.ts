import { isObject, isTextList, pointerTo } from "../protocol/json.js";
import { isDate } from "../protocol/shapes/kit.js";
import { SCHEMA_LIMITS, type StepBudget, spentMessage } from "./json-schema/limits.js";
import { multiplesOf } from "./json-schema/multiple-of.js";
import { Patterns, skippedMessage } from "./json-schema/pattern.js";
import type { JsonSchema, SchemaIssue } from "./json-schema/types.js";

/** Form for the user to fill in: an object with one level of fields. */
export interface RequestedSchema {
  readonly type: "object";
  readonly properties: { readonly [name: string]: FieldSchema };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** Field of a form: text, number, boolean, single choice or multiple choice. */
type FieldSchema = {
  readonly type: "string" | "number" | "integer" | "boolean" | "array";
  readonly title?: string;
  readonly description?: string;
  readonly default?: string | number | boolean | readonly string[];
  readonly [keyword: string]: unknown;
};

/** Answers of the user, by the names of the fields. */
export type AnswerContent = { readonly [name: string]: string | number | boolean | readonly string[] };

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  array: Array.isArray,
};

/** Formats that forms support, with their checks. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && URL.canParse(text),
  date: isDate,
  "date-time": isRfc3339,
};

/** Keywords that are not allowed in forms and fields, except where the type requires them. */
const STRUCTURAL = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "items",
  "prefixItems",
  "properties",
  "patternProperties",
  "dependentSchemas",
  "contains",
  "propertyNames",
];

const atLeast = (size: number, limit: number) => size >= limit;
const atMost = (size: number, limit: number) => size <= limit;

/** Keywords that bound a value, or the length of a text or list: the comparison and its wording in messages. */
export const BOUNDS: Readonly<Record<string, readonly [(size: number, limit: number) => boolean, string, string?]>> = {
  minimum: [atLeast, "be at least"],
  maximum: [atMost, "be at most"],
  exclusiveMinimum: [(size, limit) => size > limit, "be above"],
  exclusiveMaximum: [(size, limit) => size < limit, "be below"],
  multipleOf: [(size, limit) => multiplesOf(limit)(size, { left: Number.POSITIVE_INFINITY }), "be a multiple of"],
  minLength: [atLeast, "have at least", "character"],
  maxLength: [atMost, "have at most", "character"],
  minItems: [atLeast, "have at least", "item"],
  maxItems: [atMost, "have at most", "item"],
};

/** Types whose length is bounded, with the unit of the bound. */
const MEASURED: Readonly<Record<string, string | undefined>> = { string: "character", array: "item" };

/** State of the check of an answer, or of a form's defaults. */
export class AnswerRun implements StepBudget {
  left = SCHEMA_LIMITS.maxSteps;
  readonly issues: SchemaIssue[] = [];
  readonly patterns = new Patterns(SCHEMA_LIMITS.maxPatternStates);
  constructor(readonly lenient: boolean) {}
}

/**
 * Returns the issues of an answer, formats included. If the form, or the field of a value, is not supported, that is an
 * issue too, unless `lenient` is true: then the form comes from the peer, which checks it itself. Patterns that cannot
 * be matched are not applied, and are reported to `onSkip` once per answer.
 */
export function checkAnswer(
  form: RequestedSchema,
  content: unknown,
  options: { readonly lenient?: boolean; readonly onSkip?: (problem: string) => void } = {},
): readonly SchemaIssue[] {
  const { lenient = false, onSkip } = options;
  const odd = oddKeyword(form, "properties");
  if (odd !== undefined) return lenient ? [] : [{ path: "", message: `cannot be checked, since the form uses ${odd}` }];
  if (!isObject(content)) return [{ path: "", message: "must be an object" }];
  const run = new AnswerRun(lenient);
  let skipped: string | undefined;
  try {
    checkFields(form, content, run);
    skipped = skippedMessage(run.patterns.skipped);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = spentMessage(SCHEMA_LIMITS.maxSteps, "simplify the patterns of the form");
    if (lenient) skipped = `the remaining fields: the form ${message}`;
    else run.issues.push({ path: "", message });
  }
  if (skipped !== undefined) onSkip?.(skipped);
  return run.issues;
}

function checkFields(form: RequestedSchema, content: Record<string, unknown>, run: AnswerRun): void {
  const fields = isObject(form.properties) ? form.properties : {};
  for (const name of Array.isArray(form.required) ? form.required : []) {
    if (!Object.hasOwn(content, name) || content[name] === undefined) {
      run.issues.push({ path: pointerTo(name), message: "is required" });
    }
  }
  for (const [name, value] of Object.entries(content)) {
    if (value === undefined) continue;
    if (Object.hasOwn(fields, name)) checkField(fields[name], value, pointerTo(name), run);
    else if (form.additionalProperties === false) run.issues.push({ path: pointerTo(name), message: "is not allowed" });
  }
}

/** Returns the members of an answer that have a field in the form. */
export function knownFields(form: RequestedSchema, content: AnswerContent): AnswerContent {
  return Object.fromEntries(Object.entries(content).filter(([name]) => Object.hasOwn(form.properties, name)));
}

/** Adds the issues of a field's value. */
export function checkField(field: unknown, value: unknown, path: string, run: AnswerRun): void {
  const type = isObject(field) && Object.hasOwn(TYPES, String(field.type)) ? String(field.type) : undefined;
  const wrong = (message: string, at = path) => run.issues.push({ path: at, message });
  if (!isObject(field) || type === undefined || oddKeyword(field, choiceKeyword(type)) !== undefined) {
    if (!run.lenient) wrong("cannot be checked, since its field has a type or keyword that forms do not support");
    return;
  }
  if (TYPES[type]?.(value) !== true) return void wrong(`must be ${/^[ai]/.test(type) ? "an" : "a"} ${type}`);
  const choices = choicesOf(field);
  const allowed = new Set<unknown>(choices);
  const isChoice = (item: unknown) => choices === undefined || allowed.has(item);
  const shown = choices?.map((choice) => JSON.stringify(choice)).join(", ") ?? "";
  const message = `must be ${shown.length > 200 ? "one of the allowed values" : choices?.length === 1 ? shown : `one of ${shown}`}`;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) if (!isChoice(item)) wrong(message, `${path}/${index}`);
    if (field.uniqueItems === true && new Set(value).size < value.length) wrong("must not repeat an item");
  } else if (!isChoice(value)) wrong(message);
  if (field.const !== undefined && value !== field.const) wrong(`must be ${JSON.stringify(field.const)}`);
  for (const [keyword, [fits, words, unit]] of Object.entries(BOUNDS)) {
    const limit = field[keyword];
    if (typeof limit !== "number" || unit !== MEASURED[type] || type === "boolean") continue;
    const size = typeof value === "number" ? value : sizeOf(value as string | unknown[]);
    if (!fits(size, limit))
      wrong(`must ${words} ${limit}${unit === undefined ? "" : ` ${unit}${limit === 1 ? "" : "s"}`}`);
  }
  if (typeof value === "string") checkText(field, value, run, wrong);
}

/** Returns the number of items or code points. */
function sizeOf(value: string | unknown[]): number {
  if (Array.isArray(value)) return value.length;
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

/** Returns the keyword, besides `enum`, by which a field of this type lists its choices. */
export function choiceKeyword(type: string): string | undefined {
  return type === "array" ? "items" : type === "string" ? "oneOf" : undefined;
}

/** Returns a keyword that forms and fields must not have, other than the allowed one. */
export function oddKeyword(schema: JsonSchema, allowed: string | undefined): string | undefined {
  return STRUCTURAL.find((keyword) => keyword !== allowed && schema[keyword] !== undefined);
}

/** Returns the choices of a field, if it is a valid choice field. */
export function choicesOf(field: JsonSchema): readonly string[] | undefined {
  const { type, items } = field;
  if (type !== "array") return field.oneOf === undefined ? texts(field.enum) : titled(field.oneOf);
  if (!isObject(items)) return undefined;
  return items.anyOf === undefined ? (items.type === "string" ? texts(items.enum) : undefined) : titled(items.anyOf);
}

/** Returns the list if it is a non-empty list of strings. */
export function texts(list: unknown): readonly string[] | undefined {
  return isTextList(list) && list.length > 0 ? list : undefined;
}

/** Returns the values of a list of choices that all have a title. */
export function titled(list: unknown): readonly string[] | undefined {
  if (!Array.isArray(list) || !list.every((item) => isObject(item) && typeof item.title === "string")) return undefined;
  return texts(list.map((item: JsonSchema) => item.const));
}

function checkText(
  { pattern, format }: JsonSchema,
  value: string,
  run: AnswerRun,
  wrong: (message: string) => void,
): void {
  const matcher = typeof pattern === "string" ? run.patterns.read(pattern) : undefined;
  if (typeof matcher === "object" && !matcher.test(value, run)) wrong(`must match ${pattern}`);
  const test = Object.hasOwn(FORMATS, String(format)) ? FORMATS[String(format)] : undefined;
  if (test?.(value) === false) wrong(`must have the format ${format}`);
}

/**
 * True for a date and time of RFC 3339. Unlike the times of MCP itself, it may have a leap second, a space or
 * lower-case letters.
 */
function isRfc3339(text: string): boolean {
  const parts = /^(\d{4}-\d\d-\d\d)[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.exec(
    text,
  );
  return parts !== null && isDate(parts[1]!);
}
