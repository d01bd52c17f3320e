import { isObject, pointerTo } from "./types.js";

const ONE_OR_LIST = [
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];
const MAPS = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/** Calls `visit` for each direct subschema, with its pointer from `schema`. Data (`const`, `default`, ...) is no schema. */
export function eachSubschema(
  schema: Record<string, unknown>,
  visit: (child: Record<string, unknown>, pointer: string, keyword: string) => void,
): void {
  for (const keyword of ONE_OR_LIST) {
    const value = schema[keyword];
    if (isObject(value)) visit(value, `/${keyword}`, keyword);
    else if (Array.isArray(value)) visitAll(value.entries(), keyword, visit);
  }
  for (const keyword of MAPS) {
    const value = schema[keyword];
    if (isObject(value)) visitAll(Object.entries(value), keyword, visit);
  }
}

function visitAll(
  entries: Iterable<readonly [PropertyKey, unknown]>,
  keyword: string,
  visit: (child: Record<string, unknown>, pointer: string, keyword: string) => void,
): void {
  for (const [key, child] of entries) {
    if (isObject(child)) visit(child, `/${keyword}${pointerTo(key)}`, keyword);
  }
}
