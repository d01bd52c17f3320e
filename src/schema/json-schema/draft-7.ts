import { isObject, isTextList } from "./types.js";

/** A draft-07 schema object in the keywords of 2020-12. */
export function draft7View(schema: Record<string, unknown>): Record<string, unknown> {
  // In draft-07 a reference stands alone: what is beside it does not count.
  if (schema.$ref !== undefined) return { $ref: schema.$ref, definitions: schema.definitions };
  const { items, additionalItems, dependencies, ...rest } = schema;
  const view = Array.isArray(items) ? { ...rest, prefixItems: items, items: additionalItems } : { ...rest, items };
  if (!isObject(dependencies)) return view;
  const entries = Object.entries(dependencies);
  const names = entries.filter(([, needs]) => isTextList(needs));
  const schemas = entries.filter(([, needs]) => !isTextList(needs));
  return { ...view, dependentRequired: Object.fromEntries(names), dependentSchemas: Object.fromEntries(schemas) };
}
