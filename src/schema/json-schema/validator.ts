import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { quoted } from "../../protocol/text.js";
import { type CheckedSchema, checkSchema } from "./check-schema.js";
import { Compiler } from "./compiler.js";
import { dialectOf } from "./dialect.js";
import { SCHEMA_LIMITS, type SchemaLimits, spentMessage } from "./limits.js";
import {
  type CompiledSchema,
  type JsonSchema,
  type JsonSchemaValidator,
  type Run,
  rememberSchemas,
  type SchemaIssue,
} from "./types.js";

export type { SchemaLimits } from "./limits.js";
export type { CompiledSchema, JsonSchema, JsonSchemaValidator, SchemaIssue } from "./types.js";

/** Options of {@link jsonSchemaValidator}. */
export interface JsonSchemaValidatorOptions {
  /** Limits that differ from the defaults. */
  readonly limits?: Optional<SchemaLimits> | undefined;
}

const OPTIONS: Known<JsonSchemaValidatorOptions> = { limits: SCHEMA_LIMITS };
const NONE: readonly SchemaIssue[] = [];

/**
 * Creates a validator for JSON Schema 2020-12, and for older dialects that are named in `$schema`. The validator
 * generates no code, fetches nothing, treats `format` as an annotation, and matches patterns in linear time. It limits
 * the size and depth of a schema and the work per value. It compiles a schema object once, so the object must not
 * change afterwards.
 */
export function jsonSchemaValidator(options: JsonSchemaValidatorOptions = {}): JsonSchemaValidator {
  assertOptions({ jsonSchemaValidator }, options, OPTIONS);
  const limits = withDefaults(options.limits, SCHEMA_LIMITS);
  return {
    compile: rememberSchemas((schema, onSkip) => {
      if (onSkip === undefined || dialectOf(schema) >= 0) return compileChecked(checkSchema(schema, limits, onSkip));
      onSkip(`its schema, whose dialect ${quoted(String((schema as JsonSchema).$schema))} is not supported`);
      return () => NONE;
    }),
  };
}

export const defaultValidator: JsonSchemaValidator = jsonSchemaValidator();

/** Compiles a checked schema to a function that validates values. */
export function compileChecked(schema: CheckedSchema): CompiledSchema {
  const node = new Compiler(schema).compileRoot();
  const { limits } = schema.document;
  return (value) => {
    const run: Run = { limits, left: limits.maxSteps, issues: [], quiet: 0, depth: 0, doubts: 0, scope: [] };
    try {
      const fits = node(value, run, undefined);
      if (run.left < 0) return [{ path: "", message: problemOf(run) }];
      return fits ? NONE : run.issues;
    } catch (error) {
      // Limits are enforced by throwing, since `not` would turn a plain failure into a pass.
      if (!(error instanceof RangeError)) throw error;
      return [{ path: "", message: problemOf(run) }];
    }
  };
}

/** Describes the limit that ended a run. */
function problemOf({ left, depth, limits: { maxSteps, maxRefDepth } }: Run): string {
  if (left < 0) return spentMessage(maxSteps);
  return depth > maxRefDepth
    ? `follows more than ${maxRefDepth} nested references; raise limits.maxRefDepth of jsonSchemaValidator`
    : "is nested too deeply to be checked";
}
