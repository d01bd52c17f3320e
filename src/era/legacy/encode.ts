import type { JsonText } from "../../jsonrpc/format.js";
import type { Call } from "../call.js";
import type { HandlerResult, Result } from "../era.js";
import { PreparedResult } from "../prepared-result.js";

/** Leaves out what this era has no word for. */
export function encodeResult(call: Call, result: HandlerResult): JsonText {
  if (result instanceof PreparedResult) {
    const structured = knowsStructured(call);
    const form = structured ? "handshake" : "handshake, text only";
    return result.textFor(form, (plain) => JSON.stringify(toWire(call.method, plain, structured)));
  }
  return JSON.stringify(toWire(call.method, result, knowsStructured(call)));
}

/** Structured output came with 2025-06-18; before, there is the text beside it. */
function knowsStructured(call: Call): boolean {
  return call.client.version >= "2025-06-18";
}

function toWire(method: string, result: Result, structured: boolean): Result {
  if (result.resultType === "input_required") {
    throw new Error(
      `${method}: input_required does not exist in this protocol version; ask with ctx.elicit and the like`,
    );
  }
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...wire } = result;
  if (method === "tools/call") return objectStructured(wire, structured);
  if (method === "tools/list") {
    return { ...wire, tools: (wire.tools as Result[]).map((tool) => objectOutput(tool, structured)) };
  }
  return wire;
}

/** Structured content is an object in this era; anything else is in the text beside it. */
function objectStructured(result: Result, structured: boolean): Result {
  const { structuredContent, ...rest } = result;
  const isObject =
    typeof structuredContent === "object" && structuredContent !== null && !Array.isArray(structuredContent);
  return isObject && structured ? result : rest;
}

function objectOutput(tool: Result, structured: boolean): Result {
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || (structured && (outputSchema as Result).type === "object") ? tool : rest;
}
