import { isObject, pointerTo } from "../protocol/json.js";
import type { JsonSchema, SchemaIssue } from "./json-schema/types.js";

/** Schema of a validator library, as defined by Standard Schema and Standard JSON Schema (version 1). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema?: StandardConverter | undefined;
  };
}

/** Conversion of a schema to JSON Schema, for values before (`input`) and after (`output`) validation. */
export interface StandardConverter {
  readonly input: (options: ConverterOptions) => Record<string, unknown>;
  readonly output: (options: ConverterOptions) => Record<string, unknown>;
}

/** Options of a conversion. */
export interface ConverterOptions {
  readonly target: "draft-2020-12" | "draft-07";
  /** Options that only one library understands. */
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

/** Result of a validation: the value, or the issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** Problem that a validation reports, with its place in the value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Schema by which an author describes data: a schema of a validator library, or plain JSON Schema. */
export type AnySchema = StandardSchema | JsonSchema;

type TypesOf<S> = S extends { readonly "~standard": { readonly types?: infer Types } } ? NonNullable<Types> : never;

/**
 * Type before validation: the arguments that a caller sends, or the result that a handler returns. `Plain` is the type
 * for JSON Schema, which has no static type.
 */
export type InputOf<S, Plain = Record<string, unknown>> = S extends StandardSchema
  ? TypesOf<S> extends { readonly input: infer Input }
    ? Input
    : unknown
  : Plain;

/** Type after validation: the arguments that a handler receives, or the result that is sent. */
export type OutputOf<S, Plain = Record<string, unknown>> = S extends StandardSchema
  ? TypesOf<S> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Plain;

/** Outcome of a validation. */
export type ParseOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  // Schemas of some libraries are functions.
  const canHold = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  return canHold && isObject((schema as Record<string, unknown>)["~standard"]);
}

/** Validates a value with the library. Returns a promise only if the schema validates asynchronously. */
export function parseStandard(schema: StandardSchema, value: unknown): ParseOutcome | Promise<ParseOutcome> {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then(toOutcome) : toOutcome(result);
}

function toOutcome(result: StandardResult<unknown>): ParseOutcome {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, issues: result.issues.map(toIssue) };
}

function toIssue({ message, path }: StandardIssue): SchemaIssue {
  const keys = (path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  return { path: keys.map(pointerTo).join(""), message };
}
