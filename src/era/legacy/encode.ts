import type { JsonText } from "../../jsonrpc/format.js";
import type { Params } from "../../jsonrpc/message.js";
import type { Progress, ProgressToken } from "../../schema/types.js";
import type { Call } from "../call.js";
import type { HandlerResult, Result } from "../era.js";
import { PreparedResult } from "../prepared-result.js";

/** The first versions to know each thing. */
const STRUCTURED_SINCE = "2025-06-18";
const ICONS_SINCE = "2025-11-25";
const EXECUTION_SINCE = "2025-11-25";

/** The members of results that hold listings. */
const LISTS: { readonly [method: string]: string } = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/** Leaves out what the client's version has no word for. */
export function encodeResult(call: Call, result: HandlerResult): JsonText {
  const { version } = call.client;
  if (result instanceof PreparedResult) {
    return result.textFor(version, (plain) => JSON.stringify(toWire(call.method, plain, version)));
  }
  return JSON.stringify(toWire(call.method, result, version));
}

function toWire(method: string, result: Result, version: string): Result {
  if (result.resultType === "input_required") {
    throw new Error(
      `${method}: input_required does not exist in this protocol version; ask with ctx.elicit and the like`,
    );
  }
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...wire } = result;
  if (method === "tools/call") return structuredAt(version, wire);
  const member = Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;
  if (member === undefined || !Array.isArray(wire[member])) return wire;
  return { ...wire, [member]: (wire[member] as Result[]).map((listing) => listingAt(version, listing)) };
}

/** Structured content is an object in this era; anything else is in the text beside it. */
function structuredAt(version: string, result: Result): Result {
  const { structuredContent, ...rest } = result;
  const isObject =
    typeof structuredContent === "object" && structuredContent !== null && !Array.isArray(structuredContent);
  return isObject && version >= STRUCTURED_SINCE ? result : rest;
}

function listingAt(version: string, listing: Result): Result {
  const { outputSchema, icons, execution, ...rest } = listing;
  const structured = version >= STRUCTURED_SINCE && (outputSchema as Result | undefined)?.type === "object";
  return {
    ...rest,
    ...(structured ? { outputSchema } : undefined),
    ...(icons !== undefined && version >= ICONS_SINCE ? { icons } : undefined),
    ...(execution !== undefined && version >= EXECUTION_SINCE ? { execution } : undefined),
  };
}

/** The first version whose progress has words. */
const MESSAGE_VERSION = "2025-03-26";

export function encodeProgress(call: Call, progressToken: ProgressToken, progress: Progress): Params {
  if (call.client.version >= MESSAGE_VERSION) return { progressToken, ...progress };
  const { message: _, ...known } = progress;
  return { progressToken, ...known };
}
