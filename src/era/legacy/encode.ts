import type { JsonText } from "../../jsonrpc/format.js";
import type { Params } from "../../jsonrpc/message.js";
import type { Progress, ProgressToken } from "../../schema/types.js";
import type { Call } from "../call.js";
import type { HandlerResult, Result } from "../era.js";
import { PreparedResult } from "../prepared-result.js";

/** Leaves out what this era has no word for. */
export function encodeResult(call: Call, result: HandlerResult): JsonText {
  if (result instanceof PreparedResult) {
    return result.textFor("handshake", (plain) => JSON.stringify(toWire(call.method, plain)));
  }
  return JSON.stringify(toWire(call.method, result));
}

function toWire(method: string, result: Result): Result {
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...wire } = result;
  if (method === "tools/call") return objectStructured(wire);
  if (method === "tools/list") return { ...wire, tools: (wire.tools as Result[]).map(objectOutput) };
  return wire;
}

/** Structured content is an object in this era; anything else is in the text beside it. */
function objectStructured(result: Result): Result {
  const { structuredContent, ...rest } = result;
  const isObject =
    typeof structuredContent === "object" && structuredContent !== null && !Array.isArray(structuredContent);
  return isObject ? result : rest;
}

function objectOutput(tool: Result): Result {
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || (outputSchema as Result).type === "object" ? tool : rest;
}

/** The first version whose progress has words. */
const MESSAGE_VERSION = "2025-03-26";

export function encodeProgress(call: Call, progressToken: ProgressToken, progress: Progress): Params {
  if (call.client.version >= MESSAGE_VERSION) return { progressToken, ...progress };
  const { message: _, ...known } = progress;
  return { progressToken, ...known };
}
