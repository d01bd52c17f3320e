export { JSON_SCHEMA_DIALECTS } from "../schema/json-schema/dialect.js";
export type { CompiledSchema, JsonSchema, JsonSchemaValidator, SchemaIssue } from "../schema/json-schema/types.js";
export type {
  ConverterOptions,
  InputOf,
  OutputOf,
  StandardConverter,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from "../schema/standard-schema.js";
