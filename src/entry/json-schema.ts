export { JSON_SCHEMA_DIALECTS } from "../schema/json-schema/document.js";
export { isSafePattern } from "../schema/json-schema/pattern-safety.js";
export type {
  CompiledSchema,
  JsonSchema,
  JsonSchemaValidator,
  JsonSchemaValidatorOptions,
  SchemaIssue,
} from "../schema/json-schema/validator.js";
export { createValidator, defaultValidator as jsonSchemaValidator } from "../schema/json-schema/validator.js";
