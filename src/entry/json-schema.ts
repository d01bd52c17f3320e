export { JSON_SCHEMA_DIALECTS } from "../schema/json-schema/dialect.js";
export { SCHEMA_LIMITS } from "../schema/json-schema/limits.js";
export type {
  CompiledSchema,
  JsonSchema,
  JsonSchemaValidator,
  JsonSchemaValidatorOptions,
  SchemaIssue,
  SchemaLimits,
} from "../schema/json-schema/validator.js";
export { jsonSchemaValidator } from "../schema/json-schema/validator.js";
