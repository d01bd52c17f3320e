import type { HttpHeaders } from "../../../http/exchange.js";
import { INVALID_REQUEST } from "../../../protocol/jsonrpc/errors.js";
import type { HttpRefusal } from "../../refuse.js";

/** Code of refusals for which JSON-RPC has none. */
const TRANSPORT_ERROR = -32000;
const SESSION_NOT_FOUND = -32001;

export const sessionNotFound: HttpRefusal = {
  status: 404,
  error: { code: SESSION_NOT_FOUND, message: "Session not found" },
};

export const sessionClosed: HttpRefusal = {
  status: 404,
  error: { code: SESSION_NOT_FOUND, message: "The session has ended" },
};

export const shuttingDown: HttpRefusal = {
  status: 503,
  error: { code: TRANSPORT_ERROR, message: "The server is shutting down" },
};

export function invalidRequest(problem: string): HttpRefusal {
  return { status: 400, error: { code: INVALID_REQUEST, message: `Invalid request: ${problem}` } };
}

export function tooManyItems({ length }: readonly unknown[], most: number): string {
  return `a batch has ${length} messages, at most ${most} are allowed (limits.maxBatchItems)`;
}

export function refusal(status: number, message: string, headers?: HttpHeaders): HttpRefusal {
  const error = { code: TRANSPORT_ERROR, message };
  return headers === undefined ? { status, error } : { status, error, headers };
}
