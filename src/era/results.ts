import type { JsonText } from "../protocol/jsonrpc/format.js";
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
