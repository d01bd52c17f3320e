import { McpError } from "../protocol/errors.js";
import type { JsonText } from "../protocol/jsonrpc/format.js";
import { type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";
import type { Result } from "./server-era.js";

/**
 * A result as JSON. One that is a single text and nothing else, as most results of tools are, is written around the text:
 * that takes a third of the time. Undefined for what JSON cannot hold.
 */
export function writeResult(result: Result): JsonText | undefined {
  const text = loneText(result);
  return text === undefined ? JSON.stringify(result) : `{"content":[{"type":"text","text":${JSON.stringify(text)}}]}`;
}

/** The text of a result that has nothing else to it. */
function loneText(result: Result): string | undefined {
  const { content } = result;
  if (!Array.isArray(content) || content.length !== 1 || !isWrittenAs(result, 1) || !isWrittenAs(content, 1))
    return undefined;
  const block: unknown = content[0];
  if (typeof block !== "object" || block === null || !isWrittenAs(block, 2)) return undefined;
  const { type, text } = block as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : undefined;
}

/** Whether an object has this many members and says nothing else of how it is written. */
function isWrittenAs(value: object, members: number): boolean {
  if ((value as { toJSON?: unknown }).toJSON !== undefined) return false;
  let count = 0;
  for (const _ in value) if (++count > members) return false;
  return count === members;
}

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

/** What a handler returned as a result on the wire: that is an object, and nothing is an empty one. */
export function toResult(value: unknown, method: string): Result {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Result;
  throw new TypeError(`the handler of ${method} must return an object or nothing`);
}
