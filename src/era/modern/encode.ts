import { INTERNAL_ERROR, INVALID_PARAMS, toErrorObject } from "../../jsonrpc/error-codes.js";
import type { JsonText } from "../../jsonrpc/format.js";
import type { RpcErrorObject } from "../../jsonrpc/message.js";
import type { RpcError } from "../../schema/errors.js";
import type { Call } from "../call.js";
import type { HandlerResult, Result, ServerHost } from "../era.js";
import { PreparedResult } from "../prepared-result.js";
import { HEADER_MISMATCH, MISSING_CAPABILITY, SERVER_INFO_KEY, UNSUPPORTED_VERSION } from "./envelope.js";
import { modernMethods } from "./methods.js";

const RESOURCE_NOT_FOUND_BEFORE = -32002;

/** Stamps what every result of this era carries: its type, who sent it, and how long it stays fresh. */
export function encodeResult(call: Call, result: HandlerResult, host: ServerHost): JsonText {
  if (result instanceof PreparedResult) {
    return result.textFor("stateless", (plain) => JSON.stringify(stamp(call.method, plain, host)));
  }
  return JSON.stringify(stamp(call.method, result, host));
}

function stamp(method: string, result: Result, host: ServerHost): Result {
  if (result.resultType === "input_required" && modernMethods.get(method)?.asks !== true) {
    throw new Error(`${method} may not be answered with input_required`);
  }
  const meta = result._meta as Result | undefined;
  const stamped: Record<string, unknown> = {
    ...result,
    resultType: result.resultType ?? "complete",
    _meta: host.identify ? { [SERVER_INFO_KEY]: host.info, ...meta } : meta,
  };
  if (modernMethods.get(method)?.cacheable === true && stamped.resultType === "complete") {
    stamped.ttlMs ??= 0;
    stamped.cacheScope ??= "private";
  }
  return stamped;
}

/** Codes that this era reserves may only be sent with their own meaning. */
export function encodeError(error: RpcError): RpcErrorObject {
  const { rpcCode } = error;
  if (rpcCode === RESOURCE_NOT_FOUND_BEFORE) return { ...toErrorObject(error), code: INVALID_PARAMS };
  const reserved = rpcCode <= -32020 && rpcCode >= -32099;
  const defined = rpcCode === HEADER_MISMATCH || rpcCode === MISSING_CAPABILITY || rpcCode === UNSUPPORTED_VERSION;
  return reserved && !defined ? { code: INTERNAL_ERROR, message: "Internal error" } : toErrorObject(error);
}

/** Whether a handler used a code that this era does not let through. */
export function misusesCode(error: RpcError): boolean {
  return encodeError(error).code === INTERNAL_ERROR && error.rpcCode !== INTERNAL_ERROR;
}
