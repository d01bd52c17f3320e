import { type HttpExchange, JSON_HEADERS } from "../http/exchange.js";
import { INTERNAL_ERROR } from "../protocol/jsonrpc/errors.js";
import { formatFailure } from "../protocol/jsonrpc/format.js";
import type { RequestId } from "../protocol/jsonrpc/message.js";
import type { ServerRuntime } from "./server-era.js";

/** Answers that something went wrong here, unless it did after the answer, and tells the server's log what. */
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
