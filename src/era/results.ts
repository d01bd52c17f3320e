import { McpError } from "../protocol/errors.js";
import { describeIssues, quoted } from "../protocol/text.js";
import { type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";
import type { Result } from "./server-era.js";

/** Parses the result of a custom method with the caller's schema, without the members that the protocol adds. */
export async function toCustomResult<S extends StandardSchema>(
  method: string,
  schema: S,
  result: { readonly [key: string]: unknown },
): Promise<OutputOf<S>> {
  const { _meta, resultType, ...own } = result;
  const parsed = await parseStandard(schema, own);
  if (parsed.ok) return parsed.value as OutputOf<S>;
  const issues = describeIssues(parsed.issues);
  throw new McpError("invalid_result", `${method}: the result does not match its schema: ${issues}`, { cause: result });
}

/** Converts the return value of a handler to a result: an object, which is empty for undefined. */
export function toResult(value: unknown, method: string): Result {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Result;
  throw new TypeError(`The handler of ${method} must return an object or undefined, got ${quoted(String(value))}`);
}
