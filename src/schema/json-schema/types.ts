/** A JSON Schema object as an author or a peer gives it. It is never changed and never copied. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Describes a mistake in a value: `path` is a JSON pointer into the value, `message` never echoes the value. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

/** A compiled schema: no issues when the value fits. */
export type CompiledSchema = (value: unknown) => readonly SchemaIssue[];

/** The seam for another JSON Schema implementation. `compile` throws a `DefinitionError` for a schema it cannot use. */
export interface JsonSchemaValidator {
  compile(schema: JsonSchema | boolean): CompiledSchema;
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
export interface Run {
  readonly issues: { path: string; message: string }[];
  /** Above zero while a branch is tried whose failure is not a failure of the value. */
  quiet: number;
  /** References being followed, and followed in all: both are bounded. */
  depth: number;
  steps: number;
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

/** The regular expression of a `pattern`; undefined for a text that is none. */
export function toPattern(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

/** Whether a number fits `multipleOf`, as far as binary fractions can tell. */
export function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return Math.abs(quotient - Math.round(quotient)) <= 2 * Number.EPSILON * Math.abs(quotient);
}

/** The same for the same schema object, for as long as that lives. */
export function rememberSchemas<T>(compile: (schema: JsonSchema | boolean) => T): (schema: JsonSchema | boolean) => T {
  const known = new WeakMap<object, { readonly compiled: T }>();
  return (schema) => {
    if (typeof schema !== "object" || schema === null) return compile(schema);
    const entry = known.get(schema) ?? { compiled: compile(schema) };
    known.set(schema, entry);
    return entry.compiled;
  };
}
