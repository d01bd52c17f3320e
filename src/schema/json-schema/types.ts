import type { JsonSchema } from "../../protocol/types/index.js";
import type { SchemaLimits, StepBudget } from "./limits.js";

export type { JsonSchema };

/**
 * Mistake in a value. `path` is a JSON pointer into the value. `message` never contains the value, unless a validator
 * library wrote it.
 */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

/** Compiled schema. Returns no issues if the value is valid. */
export type CompiledSchema = (value: unknown) => readonly SchemaIssue[];

/** Implementation of JSON Schema. It can be replaced by another one. */
export interface JsonSchemaValidator {
  /**
   * Compiles a schema. With `onSkip`, the schema comes from the peer: patterns that cannot be matched in bounded time,
   * and schemas of an unknown dialect, are not applied, and are reported once per schema.
   * @throws DefinitionError if the schema cannot be used.
   */
  compile(schema: JsonSchema | boolean, onSkip?: (problem: string) => void): CompiledSchema;
}

/** Check of a schema. It may be asynchronous until the code that checks values is loaded. */
export interface SchemaCheck {
  (value: unknown): readonly SchemaIssue[] | Promise<readonly SchemaIssue[]>;
  /** The same check without that step, once the code is loaded. */
  compiled?: CompiledSchema;
}

/** A {@link JsonSchemaValidator}, or a validator whose checks may be asynchronous. */
export interface SchemaCompiler {
  compile(schema: JsonSchema | boolean): SchemaCheck;
  /** Loads the code that the checks of the schemas compiled so far need. */
  prepare?(): unknown;
}

/**
 * Compiled schema or keyword. Returns true if the value is valid. Otherwise reports the reason, unless the run is
 * quiet.
 */
export type Node = (value: unknown, run: Run, seen: Seen | undefined) => boolean;

/** State of a validation. */
export interface Run extends StepBudget {
  readonly limits: SchemaLimits;
  readonly issues: { path: string; message: string }[];
  /** Above zero while a branch is tried whose failure does not make the value invalid. */
  quiet: number;
  /** Number of references being followed. */
  depth: number;
  /** Number of times that a pattern was not applied and the value was accepted. */
  doubts: number;
  /** Base URIs of the schema resources being evaluated, outermost first. Filled only for `$dynamicRef`. */
  readonly scope: string[];
}

/** Parts of an object or array that have been evaluated. Recorded only if an `unevaluated*` keyword needs them. */
export interface Seen {
  allKeys: boolean;
  readonly keys: Set<string>;
  /** Number of leading items that have been evaluated. */
  items: number;
  readonly indexes: Set<number>;
}

type Compile<T> = (schema: JsonSchema | boolean, onSkip?: (problem: string) => void) => T;

/** Caches the outcome per schema object, for as long as the object lives. */
export function rememberSchemas<T>(compile: Compile<T>): Compile<T> {
  const known = new WeakMap<object, { readonly compiled: T }>();
  return (schema, onSkip) => {
    if (typeof schema !== "object" || schema === null) return compile(schema, onSkip);
    const entry = known.get(schema) ?? { compiled: compile(schema, onSkip) };
    known.set(schema, entry);
    return entry.compiled;
  };
}
