/** The dialects of JSON Schema that are understood, by the URI that `$schema` names them with; the first is the default. */
export const JSON_SCHEMA_DIALECTS: readonly string[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
];
