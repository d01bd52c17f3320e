import { build } from "./builder.js";
import { checkSchema } from "./check-schema.js";
import { isSafePattern } from "./pattern-safety.js";
import { type JsonSchemaValidator, rememberSchemas } from "./types.js";

export type { CompiledSchema, JsonSchema, JsonSchemaValidator, SchemaIssue } from "./types.js";

export interface JsonSchemaValidatorOptions {
  /** Refuses schemas with a pattern that this says no to. For schemas of strangers: `isSafePattern`. */
  readonly acceptPattern?: (source: string) => boolean;
}

/**
 * A validator for JSON Schema 2020-12 (and draft-07 where `$schema` says so). It builds closures, needs no code
 * generation, fetches nothing, treats `format` as an annotation, and bounds the schema's size and depth and the work
 * per value. A schema object is compiled once for as long as it lives, so it must not change afterwards.
 */
export function createValidator(options: JsonSchemaValidatorOptions = {}): JsonSchemaValidator {
  return { compile: rememberSchemas((schema) => build(checkSchema(schema, options.acceptPattern))) };
}

export const defaultValidator: JsonSchemaValidator = createValidator();

/** Compiles schemas of the other side, whose patterns may be hostile. */
export const peerValidator: JsonSchemaValidator = createValidator({ acceptPattern: isSafePattern });
