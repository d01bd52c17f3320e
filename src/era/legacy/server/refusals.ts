import { type HttpExchange, type HttpHeaders, JSON_HEADERS } from "../../../http/exchange.js";
import { ProtocolError } from "../../../protocol/errors.js";
import { INVALID_REQUEST } from "../../../protocol/jsonrpc/errors.js";
import { formatFailure } from "../../../protocol/jsonrpc/format.js";
import type { RequestId, RpcErrorObject } from "../../../protocol/jsonrpc/message.js";
import type { ServerRuntime } from "../../server-era.js";

/** Why an exchange is not served. */
export interface HttpRefusal {
  readonly status: number;
  readonly error: RpcErrorObject;
  readonly headers?: HttpHeaders;
}

/** A refusal that has no code of its own in JSON-RPC. */
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

export function refusal(status: number, message: string, headers?: HttpHeaders): HttpRefusal {
  const error = { code: TRANSPORT_ERROR, message };
  return headers === undefined ? { status, error } : { status, error, headers };
}

/** Answers with a refusal and tells the server's log. `id` is the refused request's own, if it is one. */
export function refuse(exchange: HttpExchange, runtime: ServerRuntime, why: HttpRefusal, id?: RequestId): undefined {
  const headers = why.headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...why.headers };
  exchange.reply(why.status, headers, formatFailure(id, why.error));
  runtime.report(new ProtocolError(`${exchange.method} refused with ${why.status}: ${why.error.message}`), {
    where: "http",
    id,
  });
}
