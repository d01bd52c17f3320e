import { isObject } from "../protocol/json.js";

export type Schema = Readonly<Record<string, unknown>>;

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE: ReadonlySet<string> = new Set([
  ...["items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains"],
  ...["propertyNames", "not", "if", "then", "else", "contentSchema"],
]);
const MANY: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems", "items"]);
const NAMED: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
]);

/** Deepest schema that is visited. */
const MAX_DEPTH = 64;

/** Returns the schemas directly inside a schema. */
function inside(schema: Schema): Schema[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (NAMED.has(keyword) && isObject(value)) return Object.values(value).filter(isObject);
    if (MANY.has(keyword) && Array.isArray(value)) return value.filter(isObject);
    return ONE.has(keyword) && isObject(value) ? [value] : [];
  });
}

/** Visits a schema and all schemas inside. A visitor that returns false keeps those inside from being visited. */
export function visit(schema: unknown, visitor: (schema: Schema) => boolean, depth = 0): void {
  if (!isObject(schema) || depth > MAX_DEPTH || visitor(schema) === false) return;
  for (const one of inside(schema)) visit(one, visitor, depth + 1);
}
