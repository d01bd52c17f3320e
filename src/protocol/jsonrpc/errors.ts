import { HTTP_ANSWER } from "../delivery.js";
import {
  type RequiredUrl,
  RpcError,
  requiredUrlProblem,
  URL_ELICITATION_REQUIRED,
  UrlElicitationRequiredError,
  USER_REJECTED,
  UserRejectedError,
} from "../errors.js";
import type { Problem } from "../json.js";
import { oneLine } from "../text.js";
import type { RpcErrorObject } from "./message.js";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** A bound of the server is reached, and nothing ran: the call may come again. */
export const LIMIT_EXCEEDED = -32005;

/** An error that the SDK itself answers with before any handler ran. A transport may give it a status of its own. */
export class Refusal extends RpcError {}

/** The longest message of a peer's error that is kept. */
const MAX_MESSAGE_CHARS = 4000;

export function methodNotFound(method: string): Refusal {
  return new Refusal(METHOD_NOT_FOUND, `Method not found: ${oneLine(method)}`);
}

/** Names the place and what belongs there, never the value that was sent. */
export function invalidParams(method: string, problem: Problem): Refusal {
  const place = oneLine(problem.path) || "/";
  return new Refusal(INVALID_PARAMS, `Invalid params for ${oneLine(method)}: ${place} must be ${problem.expected}`);
}

export function toErrorObject(error: RpcError): RpcErrorObject {
  return error.data === undefined
    ? { code: error.rpcCode, message: error.message }
    : { code: error.rpcCode, message: error.message, data: error.data };
}

/** The error of a peer as a class of its own where its code has one; a known code with data that makes no sense is a plain error. */
export function fromErrorObject(error: RpcErrorObject, method?: string): RpcError {
  if (error.code === URL_ELICITATION_REQUIRED) {
    const { elicitations } = (error.data ?? {}) as { elicitations?: readonly RequiredUrl[] };
    if (requiredUrlProblem(elicitations) === undefined) {
      return new UrlElicitationRequiredError(elicitations as readonly RequiredUrl[], shown(error.message));
    }
  }
  return toRpcError(error, method);
}

/** What a client answers with as an error; the word of its user has a class of its own. */
export function toRpcError(error: RpcErrorObject, method?: string): RpcError {
  const { code, data, [HTTP_ANSWER]: http } = error;
  const text = shown(error.message);
  return code === USER_REJECTED ? new UserRejectedError(text) : new RpcError(code, text, data, { method, http });
}

function shown(message: string): string {
  return oneLine(message, MAX_MESSAGE_CHARS);
}
