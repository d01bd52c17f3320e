import { type HttpExchange, JSON_HEADERS } from "../../../http/exchange.js";
import { INTERNAL_ERROR, INVALID_REQUEST, NO_BATCHES, Refusal } from "../../../protocol/jsonrpc/errors.js";
import { formatFailure } from "../../../protocol/jsonrpc/format.js";
import type { RpcNotification } from "../../../protocol/jsonrpc/message.js";
import { answerableId, type Parsed } from "../../../protocol/jsonrpc/parse.js";
import { oneLine } from "../../../protocol/text.js";
import { metaOf, VERSION_KEY } from "../envelope.js";
import { type Serving, versionRefusal } from "./decode.js";
import { plainHeaderRefusal } from "./headers.js";

/** Refusal by the transport, with an HTTP status other than 400. */
class TransportRefusal extends Refusal {
  constructor(
    override readonly status: number,
    rpcCode: number,
    message: string,
  ) {
    super(rpcCode, message);
  }
}

export function shuttingDown(): Refusal {
  return new TransportRefusal(503, INTERNAL_ERROR, "The server is shutting down");
}

/** Refuses a body that is neither a request nor a notification. */
export function bodyRefusal(exchange: HttpExchange, body: Parsed | undefined): Refusal {
  if (body === undefined)
    return new TransportRefusal(405, INVALID_REQUEST, `Method not allowed: ${oneLine(exchange.method)}`);
  if (body.kind === "invalid") return new Refusal(body.failure.code, body.failure.message);
  const problem = body.kind === "batch" ? NO_BATCHES : "a client must not send responses";
  return new Refusal(INVALID_REQUEST, `Invalid request: ${problem}`);
}

/** Refuses a client that accepts no media type in which this method can be answered. */
export function notAcceptable(method: string): Refusal {
  const types = `${method === "subscriptions/listen" ? "" : "application/json and "}text/event-stream`;
  return new TransportRefusal(406, INVALID_REQUEST, `Not acceptable: the Accept header must allow ${types}`);
}

/**
 * Refuses a notification whose headers differ from its body, or whose version the server does not support. Unlike a
 * request, it may omit the headers and the version.
 */
export function notificationRefusal(
  exchange: HttpExchange,
  { method, params }: RpcNotification,
  serving: Serving,
): Refusal | undefined {
  const methodHeader = exchange.header("mcp-method");
  const header = exchange.header("mcp-protocol-version");
  const claimed = metaOf(params)?.[VERSION_KEY];
  const version = typeof claimed === "string" ? claimed : header;
  return (
    (methodHeader === undefined ? undefined : plainHeaderRefusal("Mcp-Method", methodHeader, method)) ??
    (typeof claimed === "string" && header !== undefined
      ? plainHeaderRefusal("MCP-Protocol-Version", header, claimed)
      : undefined) ??
    (version === undefined ? undefined : versionRefusal(serving, version))
  );
}

/** Responds with a refusal and reports it to the server's log. */
export function refuse(exchange: HttpExchange, body: Parsed | undefined, refusal: Refusal, serving: Serving): void {
  const { era, runtime } = serving;
  const id = body === undefined ? undefined : answerableId(body);
  const method = body?.kind === "request" || body?.kind === "notification" ? body.message.method : undefined;
  runtime.report(refusal, { where: "http", method, id }, "warn");
  const { status = 400 } = refusal;
  const headers = status === 405 ? { ...JSON_HEADERS, allow: "POST" } : JSON_HEADERS;
  exchange.reply(status, headers, formatFailure(id, era.encodeError(refusal, undefined)));
}
