import { DefinitionError, toError } from "../protocol/errors.js";
import { isObject, pointerTo } from "../protocol/json.js";
import { eachSubschema } from "./json-schema/document.js";
import type { JsonSchema, SchemaCompiler, SchemaIssue } from "./json-schema/types.js";
import {
  type AnySchema,
  type InputOf,
  isStandardSchema,
  type OutputOf,
  type ParseOutcome,
  parseStandard,
  type StandardSchema,
} from "./standard-schema.js";

export * from "./standard-schema.js";

/**
 * `input` describes values that callers send, which must be objects. `output` describes values that are sent to
 * callers.
 */
export type SchemaDirection = "input" | "output";

/** Schema that is ready for use. */
export interface UsableSchema {
  /** JSON Schema to send to the peer. If the author wrote plain JSON Schema, it is the author's own object. */
  readonly jsonSchema: JsonSchema;
  /** Validates a value. Returns a promise only if the author's schema validates asynchronously. */
  parse(value: unknown): ParseOutcome | Promise<ParseOutcome>;
}

const NO_VALIDATOR =
  "plain JSON Schema needs a validator: pass jsonSchemaValidator() of bowline/json-schema as the option `validator`";

/** Keywords with values that tell a host nothing. The numeric bounds are those of the safe integers of JavaScript. */
const NOISE: ReadonlySet<string> = new Set([
  "required[]",
  "minimum-9007199254740991",
  "maximum9007199254740991",
  'propertyNames{"type":"string"}',
  "additionalProperties{}",
]);

/** Remedies for schemas without JSON Schema, by library. For other libraries errors suggest a newer version. */
const DESCRIBED_BY: Readonly<Record<string, string>> = {
  valibot: "toStandardJsonSchema() of @valibot/to-json-schema",
  zod: 'zod 4.2 or newer, imported from "zod" (not "zod/v3" or "zod/mini")',
};

/** JSON Schemas passed to {@link withJsonSchema}. */
const written = new WeakMap<StandardSchema, JsonSchema>();

/**
 * Prepares an author's schema for use. `where` names it in errors, such as `tool "forecast" input`. Plain JSON Schema
 * needs the validator; a schema of a library validates values itself.
 */
export function compileSchema(
  schema: AnySchema,
  where: string,
  direction: SchemaDirection,
  validator: SchemaCompiler | undefined,
): UsableSchema {
  const jsonSchema = toJsonSchema(schema, where, direction);
  if (direction === "input" && jsonSchema.type !== "object") {
    const remedy = Object.values(jsonSchema).some(isStandardSchema)
      ? "put these schemas into an object schema, such as z.object({ ... })"
      : "describe an object";
    throw new DefinitionError(
      `${where}: the schema must have type: "object" at its root, got ${JSON.stringify(jsonSchema.type)}; ${remedy}`,
    );
  }
  if (isStandardSchema(schema)) return { jsonSchema, parse: (value) => parseStandard(schema, value) };
  if (validator === undefined) throw new DefinitionError(`${where}: ${NO_VALIDATOR}`);
  const check = named(where, () => validator.compile(jsonSchema));
  return {
    jsonSchema,
    parse(value) {
      const issues = (check.compiled ?? check)(value);
      return issues instanceof Promise ? issues.then((found) => outcomeOf(value, found)) : outcomeOf(value, issues);
    },
  };
}

/**
 * Returns the schema as JSON Schema: the author's own object unchanged, or a library's schema converted and compacted.
 */
export function toJsonSchema(schema: AnySchema, where: string, direction: SchemaDirection): JsonSchema {
  if (isStandardSchema(schema))
    return written.get(schema) ?? compactJsonSchema(convert(schema, where, direction), direction);
  if (isObject(schema)) return schema;
  throw new DefinitionError(`${where}: expected a JSON Schema object or a Standard Schema`);
}

/** Adds a JSON Schema to a validator that cannot provide one itself. The validator still checks the values. */
export function withJsonSchema<S extends StandardSchema>(
  schema: S,
  jsonSchema: JsonSchema,
): StandardSchema<InputOf<S>, OutputOf<S>> {
  const standard = schema["~standard"] as StandardSchema<InputOf<S>, OutputOf<S>>["~standard"];
  const describe = () => ({ ...jsonSchema });
  const described = { "~standard": { ...standard, jsonSchema: { input: describe, output: describe } } };
  written.set(described, jsonSchema);
  return described;
}

function outcomeOf(value: unknown, issues: readonly SchemaIssue[]): ParseOutcome {
  return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
}

/** Calls `run`. Rethrows its errors as a `DefinitionError` whose message begins with `where`. */
function named<T>(where: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new DefinitionError(`${where}: ${toError(cause).message}`, { cause });
  }
}

/**
 * Removes keywords without information for a host. For input, adds `type` to a union of objects, and `properties` to an
 * object without members.
 */
function compactJsonSchema(converted: Record<string, unknown>, direction: SchemaDirection): JsonSchema {
  const { $schema, "~standard": _, ...rest } = converted;
  const schema = structuredClone(rest);
  tidy(schema, direction);
  if (typeof $schema === "string" && !$schema.includes("2020-12")) schema.$schema = $schema;
  if (direction === "output") return schema;
  if (schema.type === undefined && isObjectShape(schema, schema, 0)) return { type: "object", ...schema };
  if (schema.type === "object" && Object.keys(schema).length === 1) schema.properties = {};
  return schema;
}

/**
 * Removes keywords without information, patterns that accompany a format, and, for output, `additionalProperties:
 * false`, since results may gain members.
 */
function tidy(schema: Record<string, unknown>, direction: SchemaDirection): void {
  for (const [key, value] of Object.entries(schema)) if (isNoise(key, value, schema, direction)) delete schema[key];
  eachSubschema(schema, (part) => tidy(part, direction));
}

function isNoise(key: string, value: unknown, schema: object, direction: SchemaDirection): boolean {
  if (key === "pattern") return "format" in schema;
  if (key === "additionalProperties" && value === false) return direction === "output";
  return NOISE.has(key + JSON.stringify(value));
}

function isObjectShape(schema: unknown, root: Record<string, unknown>, depth: number): boolean {
  if (!isObject(schema) || depth > 8) return false;
  if (schema.type === "object") return true;
  const again = (branch: unknown) => isObjectShape(branch, root, depth + 1);
  const { anyOf, oneOf, allOf, $ref, $defs } = schema;
  const union = anyOf ?? oneOf;
  if (Array.isArray(union)) return union.length > 0 && union.every(again);
  if (Array.isArray(allOf)) return allOf.some(again);
  const defs = isObject($defs) ? $defs : root.$defs;
  return typeof $ref === "string" && isObject(defs) && again(defs[$ref.replace("#/$defs/", "")]);
}

function convert(schema: StandardSchema, where: string, direction: SchemaDirection): Record<string, unknown> {
  const { vendor, jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) {
    const hint = DESCRIBED_BY[vendor] ?? "a newer version of it";
    throw new DefinitionError(
      `${where}: this ${vendor} schema has no JSON Schema; use ${hint}, or pass one with withJsonSchema()`,
    );
  }
  try {
    return jsonSchema[direction]({ target: "draft-2020-12" });
  } catch (cause) {
    try {
      return { $schema: "http://json-schema.org/draft-07/schema#", ...jsonSchema[direction]({ target: "draft-07" }) };
    } catch {
      throw inconvertible(schema, where, direction, cause);
    }
  }
}

function inconvertible(
  schema: StandardSchema,
  where: string,
  direction: SchemaDirection,
  cause: unknown,
): DefinitionError {
  const reason = toError(cause).message;
  const place = locate(schema, direction, 0);
  const message = `${where}: the schema cannot be converted to JSON Schema at ${place}: ${reason}; use types that JSON supports, or pass the JSON Schema with withJsonSchema()`;
  return new DefinitionError(message, { cause });
}

/**
 * Returns the place of the part that cannot be converted, for libraries whose object schemas expose their parts as
 * `shape`.
 */
function locate(schema: unknown, direction: SchemaDirection, depth: number): string {
  const shape = isObject(schema) && depth < 16 ? schema.shape : undefined;
  if (!isObject(shape)) return depth === 0 ? locateByMark(schema as StandardSchema, direction) : "";
  for (const [key, part] of Object.entries(shape)) {
    if (!converts(part, direction)) return `/properties${pointerTo(key)}${locate(part, direction, depth + 1)}`;
  }
  return "its root";
}

/** Returns the place of the part that cannot be converted, for valibot, which can substitute a mark for it. */
function locateByMark(schema: StandardSchema, direction: SchemaDirection): string {
  const overrideSchema = ({ errors }: { errors?: unknown }) => errors && { mark: true };
  const libraryOptions = { errorMode: "ignore", overrideSchema };
  try {
    const marked = schema["~standard"].jsonSchema?.[direction]({ target: "draft-2020-12", libraryOptions }) ?? {};
    return markIn(marked, "") ?? "its root or below";
  } catch {
    return "its root or below";
  }
}

function markIn(schema: Record<string, unknown>, path: string): string | undefined {
  if (schema.mark === true) return path || "its root";
  let found: string | undefined;
  eachSubschema(schema, (part, pointer) => {
    found ??= markIn(part, path + pointer);
  });
  return found;
}

function converts(schema: unknown, direction: SchemaDirection): boolean {
  try {
    return (
      isStandardSchema(schema) && schema["~standard"].jsonSchema?.[direction]({ target: "draft-2020-12" }) !== undefined
    );
  } catch {
    return false;
  }
}
