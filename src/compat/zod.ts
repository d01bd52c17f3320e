import { isObject } from "../protocol/json.js";
import { isStandardSchema, type StandardIssue, type StandardSchema } from "../schema/standard-schema.js";
import type { Direction, Json } from "./zod-conversion.js";
import { type Zod3Schema, zod3ToJsonSchema } from "./zod3-json-schema.js";
import { type Zod4Schema, zod4ToJsonSchema } from "./zod4-json-schema.js";

interface ParsingSchema extends Zod3Schema {
  safeParseAsync(
    value: unknown,
  ): Promise<{ success: true; data: unknown } | { success: false; error: { issues: readonly StandardIssue[] } }>;
}

/** True for a schema of zod 3, or of `zod/v3` of later versions. */
export function isZod3(schema: unknown): schema is ParsingSchema {
  return isObject(schema) && isObject(schema._def) && typeof schema._def.typeName === "string";
}

function isZod4(schema: unknown): schema is Zod4Schema & StandardSchema {
  return isStandardSchema(schema) && "_zod" in schema;
}

/**
 * Returns a schema of zod that does not provide JSON Schema as a Standard Schema that does: those of zod 3, zod/mini, and
 * zod before 4.2. Those of zod before 3.24 are no Standard Schemas. Returns any other schema unchanged.
 */
export function describeZod<S>(schema: S): S | StandardSchema {
  if (isZod3(schema)) {
    const validate: StandardSchema["~standard"]["validate"] = async (value) => {
      const parsed = await schema.safeParseAsync(value);
      return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues };
    };
    return toStandard(validate, (direction) => zod3ToJsonSchema(schema, direction));
  }
  if (!isZod4(schema) || schema["~standard"].jsonSchema !== undefined) return schema;
  return toStandard(schema["~standard"].validate, (direction) => zod4ToJsonSchema(schema, direction));
}

function toStandard(
  validate: StandardSchema["~standard"]["validate"],
  describe: (direction: Direction) => Json,
): StandardSchema {
  const jsonSchema = { input: () => describe("input"), output: () => describe("output") };
  return { "~standard": { version: 1, vendor: "zod", validate, jsonSchema } };
}
