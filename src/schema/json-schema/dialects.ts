/** The dialects of JSON Schema that are understood, by the URI that `$schema` names them with; the first is the default. */
export const JSON_SCHEMA_DIALECTS: readonly string[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
];

/** The dialect that a `$schema` names, whichever way its URI is written; undefined for one that is not understood. */
export function findDialect(uri: unknown): string | undefined {
  if (typeof uri !== "string") return undefined;
  const plain = (text: string) => text.replace(/^http:/, "https:").replace(/#$/, "");
  return JSON_SCHEMA_DIALECTS.find((dialect) => plain(dialect) === plain(uri));
}
