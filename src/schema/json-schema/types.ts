import { DefinitionError } from "../../protocol/errors.js";

export { isObject, keysOf, pointerTo } from "../../protocol/json.js";

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

export function toPattern(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

/** A JSON Schema object as an author or a peer gives it. It is never changed and never copied. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What is wrong with a value: `path` is a JSON pointer into the value, `message` never echoes the value. */
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

/** What was evaluated of an object or array so far; kept only where an `unevaluated*` keyword asks for it. */
export interface Seen {
  allKeys: boolean;
  readonly keys: Set<string>;
  /** Items below this index are evaluated. */
  items: number;
  readonly indexes: Set<number>;
}

/** A compiled schema or keyword: true when the value fits; else it has reported why, unless the run is quiet. */
export type Node = (value: unknown, run: Run, seen: Seen | undefined) => boolean;

/** The dialect that a `$schema` names, whichever way its URI is written; undefined for one that is not understood. */
function findDialect(uri: unknown): string | undefined {
  if (typeof uri !== "string") return undefined;
  const plain = (text: string) => text.replace(/^http:/, "https:").replace(/#$/, "");
  return JSON_SCHEMA_DIALECTS.find((dialect) => plain(dialect) === plain(uri));
}

/** The dialect that a `$schema` names; one that is not understood is an error, after `where` if that is given. */
export function expectDialect(uri: unknown, where?: string): string {
  const dialect = findDialect(uri);
  if (dialect !== undefined) return dialect;
  const problem = `the dialect ${JSON.stringify(uri)} ($schema) is not supported; use JSON Schema 2020-12`;
  throw new DefinitionError(where === undefined ? problem : `${where}: ${problem}`);
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

/** The dialects of JSON Schema that are understood, by the URI that `$schema` names them with; the first is the default. */
export const JSON_SCHEMA_DIALECTS: readonly string[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
];
