import type { JsonText } from "../../../protocol/jsonrpc/format.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { Progress, ProgressToken } from "../../../protocol/types/index.js";
import { PreparedResult } from "../../prepared-result.js";
import { writeResult } from "../../results.js";
import type { Call, HandlerResult, Result, ServerHost } from "../../server-era.js";
import { isWrapped, wrapSchema, wrapValue } from "./wrap-output.js";

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

/** Leaves out what the client's version has no word for, and wraps outputs that are no objects. */
export function encodeResult(call: Call, result: HandlerResult, host: ServerHost): JsonText {
  const { version } = call.client;
  if (result instanceof PreparedResult) {
    return result.textFor(version, (plain) => JSON.stringify(toWire(call, plain, host)));
  }
  return isPlain(call.method, result) ? (writeResult(result) as JsonText) : JSON.stringify(toWire(call, result, host));
}

/** Whether every version has a word for all of it, so that nothing need be copied: most results of tools are such. */
function isPlain(method: string, { resultType, ttlMs, cacheScope, structuredContent }: Result): boolean {
  return method === "tools/call" && (resultType ?? ttlMs ?? cacheScope ?? structuredContent) === undefined;
}

function toWire(call: Call, result: Result, host: ServerHost): Result {
  const { method, client } = call;
  if (result.resultType === "input_required") {
    throw new Error(
      `${method}: input_required does not exist in this protocol version; ask with ctx.elicit and the like`,
    );
  }
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...wire } = result;
  if (method === "tools/call")
    return structuredAt(client.version, wire, () => host.outputSchema(call.params.name as string));
  const member = Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;
  if (member === undefined || !Array.isArray(wire[member])) return wire;
  return { ...wire, [member]: (wire[member] as Result[]).map((listing) => listingAt(client.version, listing)) };
}

function structuredAt(version: string, result: Result, schema: () => Result | undefined): Result {
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || version < STRUCTURED_SINCE) return rest;
  return { ...rest, structuredContent: wrapValue(structuredContent, schema()) };
}

function listingAt(version: string, listing: Result): Result {
  const { outputSchema, icons, execution, ...rest } = listing;
  const output = version < STRUCTURED_SINCE ? undefined : (outputSchema as Result | undefined);
  return {
    ...rest,
    ...(output !== undefined && { outputSchema: isWrapped(output) ? wrapSchema(output) : output }),
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
