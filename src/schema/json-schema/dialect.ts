import { isObject, isTextList } from "../../protocol/json.js";

/** URIs of the supported dialects of JSON Schema, newest first. The first is the default. */
export const JSON_SCHEMA_DIALECTS: readonly string[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "https://json-schema.org/draft/2019-09/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-06/schema#",
  "http://json-schema.org/draft-04/schema#",
];

/** Index of a dialect in {@link JSON_SCHEMA_DIALECTS}. Older dialects have higher numbers. */
export type Dialect = number;

/** Oldest dialect that applies keywords beside `$ref`. */
const DRAFT_2019: Dialect = 1;
/** Draft 4 has `id` instead of `$id`, and `exclusiveMinimum` and `exclusiveMaximum` as booleans. */
export const DRAFT_4: Dialect = 4;

/** Returns the dialect that `$schema` names, with http or https. Returns -1 if it is not supported. */
export function dialectOf(schema: unknown): Dialect {
  const uri = isObject(schema) ? schema.$schema : undefined;
  const plain = (text: unknown) =>
    String(text)
      .replace(/^http:/, "https:")
      .replace(/#$/, "");
  return uri === undefined ? 0 : JSON_SCHEMA_DIALECTS.findIndex((dialect) => plain(dialect) === plain(uri));
}

export function unknownDialect(schema: unknown): string {
  const { $schema } = schema as { readonly $schema?: unknown };
  return `the dialect ${JSON.stringify($schema)} ($schema) is not supported; use JSON Schema 2020-12`;
}

/** True if the schema has a `$ref` and the dialect ignores keywords beside a reference. */
export function isBareReference(schema: Record<string, unknown>, dialect: Dialect): boolean {
  return dialect > DRAFT_2019 && schema.$ref !== undefined;
}

/** Translates a schema object to the keywords of the newest dialect. */
export function translate(schema: Record<string, unknown>, dialect: Dialect): Record<string, unknown> {
  if (dialect === 0) return schema;
  if (isBareReference(schema, dialect)) return { $ref: schema.$ref, definitions: schema.definitions };
  const { items, additionalItems, dependencies, $recursiveRef, ...rest } = schema;
  const list = Array.isArray(items) ? { prefixItems: items, items: additionalItems } : { items };
  const view: Record<string, unknown> = { ...rest, ...list, $dynamicRef: $recursiveRef };
  if (dialect === DRAFT_4) {
    for (const bound of ["Minimum", "Maximum"]) {
      const limit = view[bound.toLowerCase()];
      view[`exclusive${bound}`] = view[`exclusive${bound}`] === true ? limit : undefined;
    }
  }
  if (!isObject(dependencies)) return view;
  const entries = Object.entries(dependencies);
  const names = entries.filter(([, needs]) => isTextList(needs));
  const schemas = entries.filter(([, needs]) => !isTextList(needs));
  return { ...view, dependentRequired: Object.fromEntries(names), dependentSchemas: Object.fromEntries(schemas) };
}
