import { type HttpExchange, type HttpHeaders, JSON_HEADERS } from "../http/exchange.js";
import { ProtocolError } from "../protocol/errors.js";
import { INTERNAL_ERROR } from "../protocol/jsonrpc/errors.js";
import { formatFailure } from "../protocol/jsonrpc/format.js";
import type { RequestId, RpcErrorObject } from "../protocol/jsonrpc/message.js";
import type { ServerRuntime } from "./server-era.js";

/** Response to an exchange that is not served. */
export interface HttpRefusal {
  readonly status: number;
  readonly error: RpcErrorObject;
  readonly headers?: HttpHeaders;
}

/**
 * Responds with a refusal and reports it to the server's log. `id` is the id of the refused request, if there is one.
 */
export function refuse(exchange: HttpExchange, runtime: ServerRuntime, why: HttpRefusal, id?: RequestId): undefined {
  const headers = why.headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...why.headers };
  exchange.reply(why.status, headers, formatFailure(id, why.error));
  const error = new ProtocolError(`${exchange.method} refused with ${why.status}: ${why.error.message}`);
  runtime.report(error, { where: "http", id }, "warn");
}

/** Responds with 500, unless a response was already sent, and reports the error to the server's log. */
export function refuseFailed(
  exchange: HttpExchange,
  runtime: ServerRuntime,
  error: unknown,
  id?: RequestId,
): undefined {
  if (!exchange.answered) {
    exchange.reply(500, JSON_HEADERS, formatFailure(id, { code: INTERNAL_ERROR, message: "Internal error" }));
  }
  runtime.report(error, { where: "http", id });
}
