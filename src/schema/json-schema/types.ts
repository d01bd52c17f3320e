import type { SchemaLimits, StepBudget } from "./limits.js";

/** A JSON Schema object as an author or a peer gives it. It is never changed and never copied. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Describes a mistake in a value: `path` is a JSON pointer into the value, `message` never echoes the value. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

/** A compiled schema: no issues when the value fits. */
export type CompiledSchema = (value: unknown) => readonly SchemaIssue[];

/** The seam for another JSON Schema implementation. */
export interface JsonSchemaValidator {
  /**
   * Throws a `DefinitionError` for a schema that it cannot use. With `onSkip`, the schema is the other side's: patterns that
   * cannot be matched in bounded time are not applied, and are reported, once for each schema.
   */
  compile(schema: JsonSchema | boolean, onSkip?: (problem: string) => void): CompiledSchema;
}

/** A `JsonSchemaValidator`, or one that may take a while. */
export interface SchemaCompiler {
  compile(schema: JsonSchema | boolean): (value: unknown) => readonly SchemaIssue[] | Promise<readonly SchemaIssue[]>;
  /** Loads what checking values by the schemas so far would load. */
  prepare?(): unknown;
}

/** A compiled schema or keyword: true when the value fits; else it has reported why, unless the run is quiet. */
export type Node = (value: unknown, run: Run, seen: Seen | undefined) => boolean;

/** The state of one validation. */
export interface Run extends StepBudget {
  readonly limits: SchemaLimits;
  readonly issues: { path: string; message: string }[];
  /** Above zero while a branch is tried whose failure is not a failure of the value. */
  quiet: number;
  /** References being followed. */
  depth: number;
  /** How often a pattern that is not applied let a value pass. */
  doubts: number;
  /** The bases of the schema resources being evaluated, outermost first. Filled only for `$dynamicRef`. */
  readonly scope: string[];
}

/** The parts of an object or array that were evaluated so far; kept only where an `unevaluated*` keyword asks for it. */
export interface Seen {
  allKeys: boolean;
  readonly keys: Set<string>;
  /** Items below this index are evaluated. */
  items: number;
  readonly indexes: Set<number>;
}

type Compile<T> = (schema: JsonSchema | boolean, onSkip?: (problem: string) => void) => T;

/** The same for the same schema object, for as long as that lives. */
export function rememberSchemas<T>(compile: Compile<T>): Compile<T> {
  const known = new WeakMap<object, { readonly compiled: T }>();
  return (schema, onSkip) => {
    if (typeof schema !== "object" || schema === null) return compile(schema, onSkip);
    const entry = known.get(schema) ?? { compiled: compile(schema, onSkip) };
    known.set(schema, entry);
    return entry.compiled;
  };
}
