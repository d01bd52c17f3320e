import type { RpcError } from "../../../protocol/errors.js";
import { isObject } from "../../../protocol/json.js";
import { INTERNAL_ERROR, INVALID_PARAMS, toErrorObject } from "../../../protocol/jsonrpc/errors.js";
import { type JsonText, writeResult } from "../../../protocol/jsonrpc/format.js";
import type { RpcErrorObject } from "../../../protocol/jsonrpc/message.js";
import { type Call, type HandlerResult, PreparedResult, type Result, type ServerRuntime } from "../../server-era.js";
import { UNSUPPORTED_VERSION } from "../../versions.js";
import { HEADER_MISMATCH, MISSING_CAPABILITY, SERVER_INFO_KEY } from "../envelope.js";
import { modernMethods } from "../methods.js";

/** Error codes of earlier versions. */
const RESOURCE_NOT_FOUND_BEFORE = -32002;
const URL_ELICITATION_BEFORE = -32042;

const DEFINED: ReadonlySet<number> = new Set([HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION]);

/**
 * Serializes a result with the members that this era requires: `resultType`, the server's identity, and cache hints.
 */
export function encodeResult(call: Call, result: HandlerResult, runtime: ServerRuntime): JsonText {
  if (result instanceof PreparedResult) {
    return result.textFor("stateless", (plain) => JSON.stringify(stamp(call.method, plain, runtime)));
  }
  return stampText(call.method, result, runtime) ?? JSON.stringify(stamp(call.method, result, runtime));
}

/**
 * Serializes a plain result without copying it. Plain means that it sets no stamped member and is not cacheable, as
 * most results. Returns undefined for other results.
 */
function stampText(method: string, result: Result, runtime: ServerRuntime): JsonText | undefined {
  if (result.resultType !== undefined || result._meta !== undefined) return undefined;
  if (modernMethods.get(method)?.cacheable === true) return undefined;
  const text = writeResult(result);
  if (text?.startsWith('{"') !== true) return undefined;
  // These members are the same for all plain results of a server.
  runtime.plainStamp ??= `,${JSON.stringify(stamp(method, {}, runtime)).slice(1)}`;
  return text.slice(0, -1) + runtime.plainStamp;
}

function stamp(method: string, result: Result, runtime: ServerRuntime): Result {
  if (result.resultType === "input_required" && modernMethods.get(method)?.asks !== true) {
    throw new Error(`${method} must not return input_required`);
  }
  const meta = result._meta as Result | undefined;
  const stamped: Record<string, unknown> = {
    ...result,
    resultType: result.resultType ?? "complete",
    _meta: runtime.options.identify !== false ? { [SERVER_INFO_KEY]: runtime.info, ...meta } : meta,
  };
  if (method === "tools/list" && Array.isArray(stamped.tools)) stamped.tools = stamped.tools.map(withoutExecution);
  if (modernMethods.get(method)?.cacheable === true && stamped.resultType === "complete")
    hint(method, stamped, runtime);
  return stamped;
}

/** Adds the cache hints that the result lacks, and replaces invalid ones. */
function hint(method: string, stamped: Record<string, unknown>, runtime: ServerRuntime): void {
  const { ttlMs, cacheScope } = stamped;
  const ttlFits = Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0;
  const scopeFits = cacheScope === "public" || cacheScope === "private";
  if (ttlFits && scopeFits) return;
  const configured = runtime.cacheHints(method);
  const replace = (member: keyof typeof configured, rule: string) => {
    const got = stamped[member];
    const problem = `${method}: ${member} of the handler's result must be ${rule}, got ${JSON.stringify(got)}`;
    stamped[member] = configured[member];
    if (got !== undefined) runtime.report(new RangeError(problem), { where: "encode", method });
  };
  if (!ttlFits) replace("ttlMs", "an integer of 0 or more");
  if (!scopeFits) replace("cacheScope", '"public" or "private"');
}

/** Removes `execution` from a tool, since this version does not define it. */
function withoutExecution(tool: unknown): unknown {
  if (!isObject(tool) || !("execution" in tool)) return tool;
  const { execution: _, ...rest } = tool;
  return rest;
}

/**
 * Converts an error. The code that earlier versions use for an unknown resource becomes "invalid params". A code that
 * the protocol reserves and this version does not define becomes "internal error".
 */
export function encodeError(error: RpcError): RpcErrorObject {
  const { rpcCode } = error;
  if (rpcCode === RESOURCE_NOT_FOUND_BEFORE) return { ...toErrorObject(error), code: INVALID_PARAMS };
  return isForeign(rpcCode) ? { code: INTERNAL_ERROR, message: "Internal error" } : toErrorObject(error);
}

/** Returns why a handler's error code cannot be sent, and the remedy. Returns undefined if it can. */
export function codeMisuse(rpcCode: number): string | undefined {
  if (!isForeign(rpcCode)) return undefined;
  const instead =
    rpcCode === URL_ELICITATION_BEFORE
      ? "use ctx.elicitUrl or return inputRequired"
      : "it is reserved for the protocol, use another code";
  return `Error code ${rpcCode} must not be sent in this protocol version: ${instead}`;
}

/** True if the protocol reserves the code but this version does not define it. */
function isForeign(rpcCode: number): boolean {
  return rpcCode <= -32020 && rpcCode >= -32099 && !DEFINED.has(rpcCode);
}
