import { ordinary } from "../brand.js";
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
import { mustBe, oneLine } from "../text.js";
import type { RpcErrorObject } from "./message.js";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** A limit of the server is reached and no handler ran. The call may be sent again. */
export const LIMIT_EXCEEDED = -32005;
/**
 * The process that served the request has died, has lost the request's stream, or shuts down. The request may have been
 * carried out in part. Another process may serve further requests.
 */
export const PROCESS_GONE = -32006;

/** Reason to refuse a batch in protocol versions without batches. */
export const NO_BATCHES = "batches are not supported in this protocol version";

/** Error response of the SDK itself, before any handler ran. A transport may map it to an HTTP status. */
export class Refusal extends RpcError {
  /** Accepts no instances of another copy of the package, since none arrive. Each request is tested. */
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = ordinary;
}

/** Maximum length of a peer's error message. Longer messages are truncated. */
const MAX_MESSAGE_CHARS = 4000;

export function methodNotFound(method: string): Refusal {
  return new Refusal(METHOD_NOT_FOUND, `Method not found: ${oneLine(method)}`);
}

/** Creates an error that names the place and the expected value, never the value that was sent. */
export function invalidParams(method: string, problem: Problem): Refusal {
  return new Refusal(INVALID_PARAMS, `Invalid params for ${oneLine(method)}: ${mustBe(problem)}`);
}

export function toErrorObject(error: RpcError): RpcErrorObject {
  return error.data === undefined
    ? { code: error.rpcCode, message: error.message }
    : { code: error.rpcCode, message: error.message, data: error.data };
}

/**
 * Converts an error object of a peer to the error class of its code. Invalid `data` makes it a plain {@link RpcError}.
 */
export function fromErrorObject(error: RpcErrorObject, method?: string): RpcError {
  if (error.code === URL_ELICITATION_REQUIRED) {
    const { elicitations } = (error.data ?? {}) as { elicitations?: readonly RequiredUrl[] };
    if (requiredUrlProblem(elicitations) === undefined) {
      return new UrlElicitationRequiredError(elicitations as readonly RequiredUrl[], shown(error.message));
    }
  }
  return toRpcError(error, method);
}

/** Converts an error object of a peer. A rejection by the user becomes a {@link UserRejectedError}. */
export function toRpcError(error: RpcErrorObject, method?: string): RpcError {
  const { code, data, [HTTP_ANSWER]: http } = error;
  const text = shown(error.message);
  if (code === USER_REJECTED) return new UserRejectedError(text);
  const { retryAfterMs: ms } = (data ?? {}) as { readonly retryAfterMs?: unknown };
  const retryAfterMs = code === LIMIT_EXCEEDED && typeof ms === "number" ? ms : undefined;
  return new RpcError(code, text, data, { method, http, retryAfterMs });
}

function shown(message: string): string {
  return oneLine(message, MAX_MESSAGE_CHARS);
}
