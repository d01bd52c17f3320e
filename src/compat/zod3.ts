import { isObject } from "../protocol/json.js";
import type { StandardIssue, StandardSchema } from "../schema/standard-schema.js";
import { type Zod3Schema, zod3ToJsonSchema } from "./zod3-json-schema.js";

interface ParsingSchema extends Zod3Schema {
  safeParseAsync(
    value: unknown,
  ): Promise<{ success: true; data: unknown } | { success: false; error: { issues: readonly StandardIssue[] } }>;
}

/** True for a schema of zod 3, or of `zod/v3` of later versions. */
export function isZod3(schema: unknown): schema is ParsingSchema {
  return isObject(schema) && isObject(schema._def) && typeof schema._def.typeName === "string";
}

/**
 * Returns a schema of zod 3 as a Standard Schema with JSON Schema: versions before 3.24 are no Standard Schemas, and none
 * provides JSON Schema. Returns any other schema unchanged.
 */
export function describeZod3<S>(schema: S): S | StandardSchema {
  if (!isZod3(schema)) return schema;
  return {
    "~standard": {
      version: 1,
      vendor: "zod",
      async validate(value) {
        const parsed = await schema.safeParseAsync(value);
        return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues };
      },
      jsonSchema: { input: () => zod3ToJsonSchema(schema, "input"), output: () => zod3ToJsonSchema(schema, "output") },
    },
  };
}
