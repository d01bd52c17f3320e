import { McpError } from "../protocol/errors.js";
import { type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";

/** The result of a method of the author's own as the caller's schema describes it, without what the protocol adds. */
export async function toCustomResult<S extends StandardSchema>(
  method: string,
  schema: S,
  result: { readonly [key: string]: unknown },
): Promise<OutputOf<S>> {
  const { _meta, resultType, ...own } = result;
  const parsed = await parseStandard(schema, own);
  if (parsed.ok) return parsed.value as OutputOf<S>;
  const issues = parsed.issues.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
  throw new McpError("invalid_result", `${method}: the result does not fit its schema: ${issues}`, { cause: result });
}
