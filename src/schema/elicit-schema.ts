import { DefinitionError } from "./errors.js";
import { isObject, pointerTo } from "./json.js";
import { defaultValidator, type JsonSchema, type SchemaIssue } from "./json-schema/validator.js";
import {
  type AnySchema,
  compileSchema,
  isStandardSchema,
  type ParseOutcome,
  type StandardSchema,
  toJsonSchema,
} from "./standard.js";

/** A form to ask a user to fill in: a flat object of fields. */
export interface RequestedSchema {
  readonly type: "object";
  readonly properties: { readonly [name: string]: FieldSchema };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** One field: text, number, yes or no, one choice, or several. */
export type FieldSchema = {
  readonly type: "string" | "number" | "integer" | "boolean" | "array";
  readonly title?: string;
  readonly description?: string;
  readonly default?: string | number | boolean | readonly string[];
  readonly [keyword: string]: unknown;
};

export type AnswerContent = { readonly [name: string]: string | number | boolean | readonly string[] };

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && URL.canParse(text),
  date: isDate,
  "date-time": isDateTime,
};
const SIMPLE = ["string", "number", "integer", "boolean"];
/** Keywords that would make a field or form more than its type says. */
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
];

/** What an author may describe a form with. */
export type FormSchema = StandardSchema<FormInput, unknown> | RequestedSchema;
type FormInput = { readonly [field: string]: string | number | boolean | readonly string[] | undefined };

/** A form, and the way to what the author's schema makes of an answer. */
export interface Form {
  readonly requestedSchema: RequestedSchema;
  parse(content: AnswerContent): ParseOutcome | Promise<ParseOutcome>;
}

const forms = new WeakMap<object, Form>();

/** Makes an author's schema ready for asking, once. */
export function compileForm(schema: AnySchema, where: string): Form {
  let form = forms.get(schema);
  if (form === undefined) {
    const requestedSchema = toRequestedSchema(schema, where);
    const { parse } = isStandardSchema(schema)
      ? compileSchema(schema, where, "input")
      : { parse: (value: unknown): ParseOutcome => ({ ok: true, value }) };
    form = { requestedSchema, parse };
    forms.set(schema, form);
  }
  return form;
}

/** The form for an author's schema. What a form cannot show is an error that names the field. */
export function toRequestedSchema(schema: AnySchema, where: string): RequestedSchema {
  const isConverted = isStandardSchema(schema);
  const form = toJsonSchema(schema, where, "input");
  const wrong = (problem: string) => new DefinitionError(`${where}: ${problem}`);
  if (form.type !== "object" || !isObject(form.properties)) throw wrong("a form must be an object with properties");
  const odd = STRUCTURAL.find((keyword) => keyword !== "properties" && form[keyword] !== undefined);
  if (odd !== undefined) throw wrong(`a form cannot use ${odd}`);
  const { required = [] } = form;
  if (!Array.isArray(required)) throw wrong("required must be a list of property names");
  const stray = required.find((name) => typeof name !== "string" || !Object.hasOwn(form.properties as object, name));
  if (stray !== undefined) throw wrong(`required names ${JSON.stringify(stray)}, which is not among the properties`);
  const fields: [string, unknown][] = [];
  for (const [name, field] of Object.entries(form.properties)) {
    const shown = isConverted ? simplify(field) : field;
    const problem = problemOf(shown);
    if (problem !== undefined) throw wrong(`the property ${JSON.stringify(name)} ${problem}`);
    fields.push([name, shown]);
  }
  const requested = (isConverted ? { ...form, properties: Object.fromEntries(fields) } : form) as RequestedSchema;
  try {
    defaultValidator.compile(requested);
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
  return requested;
}

/** The members of an answer that the form has fields for. */
export function knownFields(form: RequestedSchema, content: AnswerContent): AnswerContent {
  return Object.fromEntries(Object.entries(content).filter(([name]) => Object.hasOwn(form.properties, name)));
}

/**
 * What is wrong with an answer, formats included. A form that cannot be understood fits no answer, unless it is somebody
 * else's (`lenient`): then it is for them to judge.
 */
export function checkAnswer(
  form: RequestedSchema,
  content: unknown,
  options: { readonly lenient?: boolean } = {},
): readonly SchemaIssue[] {
  let issues: readonly SchemaIssue[];
  try {
    issues = defaultValidator.compile(form)(content);
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    return options.lenient === true ? [] : [{ path: "", message: `cannot be checked: ${error.message}` }];
  }
  if (!isObject(content) || !isObject(form.properties)) return issues;
  const misformed: SchemaIssue[] = [];
  for (const [name, field] of Object.entries(form.properties)) {
    const format: unknown = isObject(field) ? field.format : undefined;
    const value = content[name];
    const test = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    if (test === undefined || typeof value !== "string" || test(value)) continue;
    misformed.push({ path: pointerTo(name), message: `must be of the format ${format}` });
  }
  return [...issues, ...misformed];
}

/** What keeps a field from being shown, or undefined. */
function problemOf(field: unknown): string | undefined {
  if (!isObject(field)) return "must be a schema object";
  const { type, format, enumNames, default: preset } = field;
  if (type !== "array" && !SIMPLE.includes(type as string)) {
    return "must be of type string, number, integer or boolean, or a list of choices; forms are flat";
  }
  const choice = type === "array" ? "items" : type === "string" ? "oneOf" : undefined;
  const odd = STRUCTURAL.find((keyword) => keyword !== choice && field[keyword] !== undefined);
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
    return `has a format other than ${Object.keys(FORMATS).join(", ")}`;
  }
  if (preset === undefined) return undefined;
  const fits = defaultValidator.compile(field)(preset).length === 0;
  return fits ? undefined : "has a default that does not fit it";
}

/** The values to choose from, where the field is a well-formed choice. */
function choicesOf(field: Record<string, unknown>): readonly string[] | undefined {
  const { type, items } = field;
  if (type !== "array") return field.oneOf === undefined ? texts(field.enum) : titled(field.oneOf);
  if (!isObject(items)) return undefined;
  return items.anyOf === undefined ? (items.type === "string" ? texts(items.enum) : undefined) : titled(items.anyOf);
}

function texts(list: unknown): readonly string[] | undefined {
  return Array.isArray(list) && list.length > 0 && list.every((item) => typeof item === "string") ? list : undefined;
}

function titled(list: unknown): readonly string[] | undefined {
  if (!Array.isArray(list) || !list.every((item) => isObject(item) && typeof item.title === "string")) return undefined;
  return texts(list.map((item: JsonSchema) => item.const));
}

/** A field as a library describes it, in the shapes that forms have. What remains unknown is left for `problemOf`. */
function simplify(field: unknown): unknown {
  if (!isObject(field)) return field;
  const { anyOf, oneOf, const: only, format, items, ...rest } = field;
  const union = anyOf ?? oneOf;
  if (Array.isArray(union)) return fromUnion(union, rest, "oneOf") ?? field;
  if (typeof only === "string") return { ...rest, type: "string", enum: [only] };
  if (rest.type === undefined && texts(field.enum) !== undefined) return { ...field, type: "string" };
  if (rest.type === "array" && isObject(items)) return { ...rest, items: simplifyItems(items) };
  // A format that forms do not know is still enforced by the library when the answer arrives.
  if (rest.type === "string" && !Object.hasOwn(FORMATS, String(format))) return rest;
  return field;
}

function simplifyItems(items: Record<string, unknown>): unknown {
  const { anyOf, oneOf, ...rest } = items;
  const union = anyOf ?? oneOf;
  return Array.isArray(union) ? (fromUnion(union, rest, "anyOf") ?? items) : simplify(items);
}

/** A union of literal texts as a choice; with titles where each has one. */
function fromUnion(union: readonly unknown[], rest: Record<string, unknown>, keyword: "oneOf" | "anyOf"): unknown {
  const values = texts(union.map((branch) => (isObject(branch) ? branch.const : undefined)));
  if (values === undefined) return undefined;
  if (titled(union) === undefined) return { ...rest, type: "string", enum: values };
  const choices = (union as JsonSchema[]).map((branch) => ({ const: branch.const, title: branch.title }));
  return keyword === "anyOf" ? { ...rest, anyOf: choices } : { ...rest, type: "string", oneOf: choices };
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const parts = /^(\d{4}-\d\d-\d\d)[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.exec(
    text,
  );
  return parts !== null && isDate(parts[1]!);
}
