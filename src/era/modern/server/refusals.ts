import { andThen, type MaybePromise } from "../../../call/maybe-promise.js";
import { type HttpExchange, JSON_HEADERS } from "../../../http/exchange.js";
import { INTERNAL_ERROR, INVALID_REQUEST, Refusal } from "../../../protocol/jsonrpc/errors.js";
import { formatFailure } from "../../../protocol/jsonrpc/format.js";
import type { Params, RpcNotification } from "../../../protocol/jsonrpc/message.js";
import { answerableId, type Parsed } from "../../../protocol/jsonrpc/parse.js";
import type { ServerWire } from "../../server-era.js";
import { metaOf, VERSION_KEY } from "../envelope.js";
import { assertServed, type Serving } from "./decode.js";
import { assertMethodHeader, assertVersionHeader } from "./headers.js";
import { ModernSession, refuseHandshake } from "./session.js";

/** What belongs to no request has no way back. */
const NO_WIRE: ServerWire = {
  shared: false,
  notify: () => {},
  request: () => Promise.reject(new Error("a server sends no requests in this protocol version")),
};

/** A refusal by the transport itself. */
class HttpRefusal extends Refusal {
  constructor(
    readonly status: number,
    rpcCode: number,
    message: string,
  ) {
    super(rpcCode, message);
  }
}

/** Answers what is no request, or comes too late. */
export function serveOther(
  exchange: HttpExchange,
  body: Parsed | undefined,
  serving: Serving,
  isClosed: boolean,
): MaybePromise<void> {
  if (isClosed) throw new HttpRefusal(503, INTERNAL_ERROR, "The server is shutting down");
  if (body === undefined) throw new HttpRefusal(405, INVALID_REQUEST, `${exchange.method} is not served here`);
  if (body.kind === "notification") return serveNotification(exchange, body.message, serving);
  if (body.kind === "invalid") throw new HttpRefusal(400, body.failure.code, body.failure.message);
  const problem = body.kind === "batch" ? "a body is one message" : "a client sends no responses";
  throw new HttpRefusal(400, INVALID_REQUEST, `Invalid request: ${problem}`);
}

/** Refuses a client that takes no form in which this method could be answered. */
export function refuseForm(method: string): never {
  const forms = `${method === "subscriptions/listen" ? "" : "application/json or "}text/event-stream`;
  throw new HttpRefusal(406, INVALID_REQUEST, `Not acceptable: ${method} is answered as ${forms}`);
}

/** Answers with whatever was thrown before a call began. */
export function refuse(
  exchange: HttpExchange,
  body: Parsed | undefined,
  error: unknown,
  { era, runtime }: Serving,
): void {
  const id = body === undefined ? undefined : answerableId(body);
  const method = body?.kind === "request" || body?.kind === "notification" ? body.message.method : undefined;
  runtime.report(error, { where: "http", method, id });
  const refusal = error instanceof Refusal ? error : new HttpRefusal(500, INTERNAL_ERROR, "Internal error");
  const status = refusal instanceof HttpRefusal ? refusal.status : 400;
  const headers = status === 405 ? { ...JSON_HEADERS, allow: "POST" } : JSON_HEADERS;
  exchange.reply(status, headers, formatFailure(id, era.encodeError(refusal, undefined)));
}

/** Its headers may be missing, because the protocol leaves them open; those that are there must be true. */
function serveNotification(
  exchange: HttpExchange,
  notification: RpcNotification,
  serving: Serving,
): MaybePromise<void> {
  const { method, params } = notification;
  const methodHeader = exchange.header("mcp-method");
  if (methodHeader !== undefined) assertMethodHeader(methodHeader, method);
  const header = exchange.header("mcp-protocol-version");
  const claimed = metaOf(params)?.[VERSION_KEY];
  if (typeof claimed === "string" && header !== undefined) assertVersionHeader(exchange, claimed);
  const version = typeof claimed === "string" ? claimed : header;
  if (version !== undefined) assertServed(serving, version);
  const accept = () => exchange.reply(202, {});
  // On this wire a request is cancelled by closing its own exchange; an id could be anybody's.
  if (method === "notifications/cancelled") return accept();
  return andThen(new ModernSession(serving.era, serving.runtime, NO_WIRE).receive(notification), accept);
}

/** A handshake belongs to older versions: a client that opens with one learns which versions there are. */
export function serveHandshake(exchange: HttpExchange, params: Params, { era, runtime }: Serving): never {
  const { protocolVersion: requested } = params;
  const header = exchange.header("mcp-protocol-version");
  if (header !== undefined && era.versions.includes(header))
    assertVersionHeader(exchange, typeof requested === "string" ? requested : "");
  throw refuseHandshake(params, runtime);
}
