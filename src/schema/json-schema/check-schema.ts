import { DefinitionError } from "../../protocol/errors.js";
import { isObject, isTextList, pointerTo } from "../../protocol/json.js";
import { dialectOf, translate, unknownDialect } from "./dialect.js";
import { type Place, SchemaDocument } from "./document.js";
import type { SchemaLimits } from "./limits.js";
import { Patterns, quotePattern, skippedMessage } from "./pattern.js";
import { NO_PATTERN } from "./pattern-syntax.js";

/** Schema that has been checked. */
export interface CheckedSchema {
  readonly document: SchemaDocument;
  readonly patterns: Patterns;
}

const TYPES = "null, boolean, number, integer, string, array, object";

/** Valid values of keywords. Subschemas in them are checked separately. */
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
  ["pattern", "a regular expression", (value) => typeof value === "string"],
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
/** Keywords that have no effect without another keyword. */
const NEEDED_BY = new Map([
  ["then", "if"],
  ["else", "if"],
  ["minContains", "contains"],
  ["maxContains", "contains"],
]);

/**
 * Checks a schema. Throws a `DefinitionError` with the place of the problem if values cannot be validated by it. With
 * `onSkip`, valid patterns that cannot be matched in bounded time are reported and not applied instead.
 */
export function checkSchema(root: unknown, limits: SchemaLimits, onSkip?: (problem: string) => void): CheckedSchema {
  const dialect = dialectOf(root);
  if (dialect < 0) throw new DefinitionError(unknownDialect(root));
  const document = new SchemaDocument(root, limits, dialect);
  const patterns = new Patterns(limits.maxPatternStates);
  const readPattern = (source: string, at: string): void => {
    const read = patterns.read(source);
    if (read === NO_PATTERN || (typeof read === "string" && onSkip === undefined)) {
      throw new DefinitionError(`${at}: ${quotePattern(source)} ${read}`);
    }
  };
  const seen = new Map<string, Set<unknown>>();
  let isDynamic = false;
  /** Schemas to visit. Targets of references are added here, so that a long chain does not exhaust the stack. */
  const queue: (Place & { readonly where: string })[] = [{ ...document.root, where: "#" }];

  const visit = (schema: unknown, base: string, where: string, depth: number): void => {
    if (typeof schema === "boolean") return;
    if (!isObject(schema)) throw new DefinitionError(`${where}: a schema must be an object or a boolean`);
    const there = seen.get(base) ?? new Set();
    if (there.has(schema)) return;
    seen.set(base, there.add(schema));
    document.count(depth, where);
    const view = translate(schema, dialect);
    const part = (value: unknown, at: string) =>
      visit(value, isObject(value) ? document.baseOf(value, base) : base, at, depth + 1);
    for (const [keyword, value] of Object.entries(view)) {
      const needed = NEEDED_BY.get(keyword) ?? keyword;
      if (value === undefined || view[needed] === undefined) continue;
      const at = `${where}/${keyword}`;
      const [, expected = "", fits] = RULE_OF.get(keyword) ?? [];
      if (fits?.(value) === false) throw new DefinitionError(`${at} must be ${expected}`);
      if (ONE.test(keyword)) part(value, at);
      else if (MANY.test(expected))
        for (const [key, item] of Object.entries(value as object)) part(item, at + pointerTo(key));
    }
    for (const source of Object.keys((view.patternProperties ?? {}) as object)) {
      readPattern(source, `${where}/patternProperties`);
    }
    if (view.pattern !== undefined) readPattern(view.pattern as string, `${where}/pattern`);
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const at = `${where}/${keyword}`;
      if (view[keyword] === undefined) continue;
      queue.push({ ...document.resolve(view[keyword] as string, base, at), where: at });
      if (keyword === "$dynamicRef" && !isDynamic) {
        isDynamic = true;
        for (const place of [...document.dynamicAnchors.values()].flat()) queue.push({ ...place, where: at });
      }
    }
  };

  // The queue grows during the loop.
  for (const { schema, base, where } of queue) visit(schema, base, where, 0);
  const skipped = skippedMessage(patterns.skipped);
  if (skipped !== undefined) onSkip?.(skipped);
  return { document, patterns };
}

function isTypes(value: unknown): boolean {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  return names.length > 0 && names.every((name) => TYPES.split(", ").includes(name as string));
}

function isAbove(value: unknown, limit: number): boolean {
  return typeof value === "number" && value > limit;
}
