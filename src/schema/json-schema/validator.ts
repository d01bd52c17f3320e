import { Compiler } from "./compiler.js";
import { expectDialect, JSON_SCHEMA_DIALECTS } from "./dialects.js";
import { SchemaDocument } from "./schema-document.js";
import { type CompiledSchema, isObject, type JsonSchemaValidator, type Run, type SchemaIssue } from "./types.js";

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
  const cache = new WeakMap<object, CompiledSchema>();
  return {
    compile(schema) {
      const known = typeof schema === "object" && schema !== null ? cache.get(schema) : undefined;
      if (known !== undefined) return known;
      const compiled = compile(schema, options);
      if (typeof schema === "object") cache.set(schema, compiled);
      return compiled;
    },
  };
}

export const defaultValidator: JsonSchemaValidator = createValidator();

function compile(schema: unknown, options: JsonSchemaValidatorOptions): CompiledSchema {
  const draft7 = isDraft7(schema);
  const node = new Compiler(new SchemaDocument(schema), draft7, options.acceptPattern).compileRoot();
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

function isDraft7(schema: unknown): boolean {
  const uri = isObject(schema) ? schema.$schema : undefined;
  return uri !== undefined && expectDialect(uri) !== JSON_SCHEMA_DIALECTS[0];
}
