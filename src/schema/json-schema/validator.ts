import { type CheckedSchema, checkSchema } from "./check-schema.js";
import { Compiler } from "./compiler.js";
import { isSafePattern } from "./pattern-safety.js";
import { type CompiledSchema, type JsonSchemaValidator, type Run, rememberSchemas, type SchemaIssue } from "./types.js";

export type { CompiledSchema, JsonSchema, JsonSchemaValidator, SchemaIssue } from "./types.js";

export interface JsonSchemaValidatorOptions {
  /** Refuses schemas with a pattern that this says no to. For schemas of strangers: `isSafePattern`. */
  readonly acceptPattern?: (source: string) => boolean;
}

const NONE: readonly SchemaIssue[] = [];

/**
 * A validator for JSON Schema 2020-12 (and draft-07 where `$schema` says so). It builds closures, needs no code
 * generation, fetches nothing, treats `format` as an annotation, and bounds the schema's size and depth and the work
 * per value. A schema object is compiled once for as long as it lives, so it must not change afterwards.
 */
export function createValidator(options: JsonSchemaValidatorOptions = {}): JsonSchemaValidator {
  return { compile: rememberSchemas((schema) => compileChecked(checkSchema(schema, options.acceptPattern))) };
}

export const defaultValidator: JsonSchemaValidator = createValidator();

/** Compiles schemas of the other side, whose patterns may be hostile. */
export const peerValidator: JsonSchemaValidator = createValidator({ acceptPattern: isSafePattern });

/** The check of values that a schema stands for. */
export function compileChecked(schema: CheckedSchema): CompiledSchema {
  const node = new Compiler(schema).compileRoot();
  return (value) => {
    const run: Run = { issues: [], quiet: 0, depth: 0, steps: 0, scope: [] };
    try {
      return node(value, run, undefined) ? NONE : run.issues;
    } catch (error) {
      // Bounds are enforced by throwing: a mere failure would turn into a pass under `not`.
      if (error instanceof RangeError) return [{ path: "", message: "is nested too deeply, or too costly to check" }];
      throw error;
    }
  };
}
