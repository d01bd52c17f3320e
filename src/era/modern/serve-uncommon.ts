import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import type { HttpExchange } from "../../http/exchange.js";
import type { Params, RpcNotification } from "../../jsonrpc/message.js";
import type { ServerWire } from "../era.js";
import { assertMethodHeader, assertRequestHeaders, assertVersionHeader } from "./check-headers.js";
import { metaOf, VERSION_KEY } from "./envelope.js";
import { ModernSession, refuseHandshake } from "./session.js";
import { assertServed, type Serving } from "./to-call.js";

export { assertRequestHeaders };

/** What belongs to no request has no way back. */
const NO_WIRE: ServerWire = {
  shared: false,
  notify: () => {},
  request: () => Promise.reject(new Error("a server sends no requests in this protocol version")),
};

/** Its headers may be missing, because the protocol leaves them open; those that are there must be true. */
export function serveNotification(
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
  return andThen(new ModernSession(serving.era, serving.host, NO_WIRE).receive(notification), accept);
}

/** A handshake belongs to older versions: a client that opens with one learns which versions there are. */
export function serveHandshake(exchange: HttpExchange, params: Params, { era, host }: Serving): never {
  const { protocolVersion: requested } = params;
  const header = exchange.header("mcp-protocol-version");
  if (header !== undefined && era.versions.includes(header))
    assertVersionHeader(exchange, typeof requested === "string" ? requested : "");
  throw refuseHandshake(params, host);
}
