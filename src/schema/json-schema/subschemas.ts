import { isObject, pointerTo } from "../../protocol/json.js";

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

/** Gets a subschema, its pointer from its parent, the keyword it is under and, inside a map or list, its key there. */
type Visit = (child: Record<string, unknown>, pointer: string, keyword: string, key?: PropertyKey) => void;

/** Calls `visit` for each direct subschema of `schema`. Data (`const`, `default`, ...) is no schema. */
export function eachSubschema(schema: Record<string, unknown>, visit: Visit): void {
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

function visitAll(entries: Iterable<readonly [PropertyKey, unknown]>, keyword: string, visit: Visit): void {
  for (const [key, child] of entries) {
    if (isObject(child)) visit(child, `/${keyword}${pointerTo(key)}`, keyword, key);
  }
}
