import { DecoratedExchange } from "./decorated-exchange.js";
import type { HttpExchange, HttpHeaders } from "./exchange.js";

/** Headers that scripts of allowed origins may send and read, in addition to those that CORS always allows. */
const ALLOWED =
  "accept, authorization, content-type, dpop, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";
const EXPOSED = "dpop-nonce, mcp-protocol-version, mcp-session-id, retry-after, www-authenticate";
/** Headers with copies of arguments. Tools choose their names. */
const PARAM = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/;
const MAX_AGE_SECONDS = "7200";

/**
 * Allows scripts of the origin, which the guard has accepted, to read the response. Responds to a preflight request
 * itself, and returns undefined then.
 */
export function allowOrigin(exchange: HttpExchange, methods: string): HttpExchange | undefined {
  const origin = exchange.header("origin");
  if (origin === undefined) return exchange;
  if (exchange.method === "OPTIONS" && exchange.header("access-control-request-method") !== undefined)
    return void exchange.reply(204, preflightHeaders(origin, methods, exchange));
  const headers = { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED, vary: "Origin" };
  return new DecoratedExchange(exchange, { headers });
}

/** Returns the headers of the response to a preflight request. */
function preflightHeaders(origin: string, methods: string, exchange: HttpExchange): HttpHeaders {
  const requested = exchange.header("access-control-request-headers")?.toLowerCase().split(",") ?? [];
  const params = requested.map((name) => name.trim()).filter((name) => PARAM.test(name));
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": methods,
    "access-control-allow-headers": [ALLOWED, ...params].join(", "),
    "access-control-max-age": MAX_AGE_SECONDS,
    vary: "Origin, Access-Control-Request-Headers",
  };
}
