import type { Problem } from "../check.js";
import { RpcError } from "../errors.js";
import type { RpcErrorObject } from "./message.js";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** An error that the SDK itself answers with before any handler ran. A transport may give it a status of its own. */
export class Refusal extends RpcError {}

export function methodNotFound(method: string): Refusal {
  return new Refusal(METHOD_NOT_FOUND, `Method not found: ${method}`);
}

/** Names the place and what belongs there, never the value that was sent. */
export function invalidParams(method: string, problem: Problem): Refusal {
  return new Refusal(
    INVALID_PARAMS,
    `Invalid params for ${method}: ${problem.path || "/"} must be ${problem.expected}`,
  );
}

export function toErrorObject(error: RpcError): RpcErrorObject {
  return error.data === undefined
    ? { code: error.rpcCode, message: error.message }
    : { code: error.rpcCode, message: error.message, data: error.data };
}
