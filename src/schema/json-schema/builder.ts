import type { CheckedSchema } from "./check-schema.js";
import { Compiler } from "./compiler.js";
import type { CompiledSchema, Run, SchemaIssue } from "./types.js";

const NONE: readonly SchemaIssue[] = [];

/** The check of values that a schema stands for. */
export function build(schema: CheckedSchema): CompiledSchema {
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
