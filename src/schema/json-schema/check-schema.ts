import { DefinitionError } from "../errors.js";
import { expectDialect, JSON_SCHEMA_DIALECTS } from "./dialects.js";
import { draft7View } from "./draft-7.js";
import { baseOf, type Place, SchemaDocument } from "./schema-document.js";
import { isObject, isTextList, pointerTo, toPattern } from "./types.js";

/** A schema with which nothing is wrong. */
export interface CheckedSchema {
  readonly document: SchemaDocument;
  readonly draft7: boolean;
}

/** Whether a pattern may be used. */
export type AcceptPattern = (source: string) => boolean;

const TYPES = "null, boolean, number, integer, string, array, object";

/** What the values of keywords must be; schemas in them are looked at one by one. */
const RULES: readonly (readonly [keywords: string, expected: string, fits: (value: unknown) => boolean])[] = [
  ["type", `one of ${TYPES}, or a list of these`, isTypes],
  ["enum", "a list", Array.isArray],
  [
    "minimum maximum exclusiveMinimum exclusiveMaximum",
    "a number",
    (value) => isAbove(value, Number.NEGATIVE_INFINITY),
  ],
  ["multipleOf", "a number above 0", (value) => isAbove(value, 0)],
  [
    "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties",
    "an integer of 0 or more",
    (value) => Number.isInteger(value) && isAbove(value, -1),
  ],
  ["pattern", "a regular expression", isPattern],
  ["uniqueItems", "true or false", (value) => typeof value === "boolean"],
  ["required", "a list of property names", isTextList],
  [
    "dependentRequired",
    "an object of lists of property names",
    (value) => isObject(value) && Object.values(value).every(isTextList),
  ],
  ["$ref $dynamicRef", "a string", (value) => typeof value === "string"],
  ["prefixItems allOf anyOf oneOf", "a list of schemas", Array.isArray],
  ["$defs definitions properties patternProperties dependentSchemas", "an object of schemas", isObject],
];

const RULE_OF = new Map(RULES.flatMap((rule) => rule[0].split(" ").map((keyword) => [keyword, rule] as const)));
const ONE =
  /^(additionalProperties|propertyNames|unevaluatedProperties|items|contains|unevaluatedItems|not|if|then|else)$/;
const MANY = /schemas$/;

/** Throws a `DefinitionError` for a schema that no value can be checked by, with the place of what is wrong. */
export function checkSchema(schema: unknown, accept?: AcceptPattern): CheckedSchema {
  const uri = isObject(schema) ? schema.$schema : undefined;
  const draft7 = uri !== undefined && expectDialect(uri) !== JSON_SCHEMA_DIALECTS[0];
  const checked = { document: new SchemaDocument(schema), draft7 };
  new SchemaCheck(checked, accept).run();
  return checked;
}

class SchemaCheck {
  readonly #schema: CheckedSchema;
  readonly #accept: AcceptPattern | undefined;
  readonly #seen = new Map<string, Set<unknown>>();
  /** What references lead to: a long chain of them must not exhaust the stack. */
  readonly #queue: (Place & { readonly where: string })[] = [];

  constructor(schema: CheckedSchema, accept: AcceptPattern | undefined) {
    this.#schema = schema;
    this.#accept = accept;
  }

  run(): void {
    this.#queue.push({ ...this.#schema.document.root, where: "#" });
    // It grows while it is worked through.
    for (const { schema, base, where } of this.#queue) this.#visit(schema, base, where, 0);
  }

  #visit(schema: unknown, base: string, where: string, depth: number): void {
    if (typeof schema === "boolean") return;
    if (!isObject(schema)) throw new DefinitionError(`${where}: a schema must be an object or a boolean`);
    const seen = this.#seen.get(base) ?? new Set();
    if (seen.has(schema)) return;
    this.#seen.set(base, seen.add(schema));
    const { document, draft7 } = this.#schema;
    document.count(depth, where);
    const view = draft7 ? draft7View(schema) : schema;
    const part = (value: unknown, pointer: string) =>
      this.#visit(value, isObject(value) ? baseOf(value, base) : base, where + pointer, depth + 1);
    for (const [keyword, value] of Object.entries(view)) {
      if (value === undefined) continue;
      const [, expected = "", fits] = RULE_OF.get(keyword) ?? [];
      if (fits?.(value) === false) throw new DefinitionError(`${where}/${keyword} must be ${expected}`);
      if (ONE.test(keyword)) part(value, `/${keyword}`);
      else if (MANY.test(expected))
        for (const [key, item] of Object.entries(value as object)) part(item, `/${keyword}${pointerTo(key)}`);
    }
    this.#checkPatterns(view, where);
    this.#follow(view.$ref, base, `${where}/$ref`);
    if (view.$dynamicRef === undefined) return;
    this.#follow(view.$dynamicRef, base, `${where}/$dynamicRef`);
    for (const place of document.dynamicAnchors.values()) this.#queue.push({ ...place, where: `${where}/$dynamicRef` });
  }

  #follow(reference: unknown, base: string, where: string): void {
    if (typeof reference !== "string") return;
    this.#queue.push({ ...this.#schema.document.resolve(reference, base, where), where });
  }

  #checkPatterns({ pattern, patternProperties = {} }: Record<string, unknown>, where: string): void {
    const keys = Object.keys(patternProperties as object);
    if (!keys.every(isPattern))
      throw new DefinitionError(`${where}/patternProperties must be an object with regular expressions as keys`);
    const sources = pattern === undefined ? keys : [pattern as string, ...keys];
    const refused = sources.find((source) => this.#accept?.(source) === false);
    if (refused !== undefined) throw new DefinitionError(`${where}: the pattern ${JSON.stringify(refused)} is refused`);
  }
}

function isTypes(value: unknown): boolean {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  return names.length > 0 && names.every((name) => TYPES.split(", ").includes(name as string));
}

function isAbove(value: unknown, limit: number): boolean {
  return typeof value === "number" && value > limit;
}

function isPattern(value: unknown): boolean {
  return typeof value === "string" && toPattern(value) !== undefined;
}
