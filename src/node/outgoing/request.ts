import type { IncomingMessage, RequestOptions } from "node:http";
import { Readable } from "node:stream";
import { parseProxy } from "./proxies.js";
import { ProxyAgents, proxyHeaders } from "./proxy-agents.js";

/** Connection settings of a request that differ from those of `fetch`. */
export interface RequestRoute {
  /** Resolves the host name of the connection. */
  readonly lookup?: NonNullable<RequestOptions["lookup"]>;
  /** Proxy for the request. It resolves the host name. */
  readonly proxy?: string | undefined;
  /**
   * Connections through the proxy.
   * @default those that requests without a client share
   */
  readonly agents?: ProxyAgents;
}

/** Number of idle connections to a server that requests without a client keep. */
const MAX_IDLE = 8;
const shared = new ProxyAgents(MAX_IDLE);

/** Sends a request with `node:http`, as `fetch` would, but over the given route. Does not follow redirects. */
export async function requestBy(url: URL, init: RequestInit, route: RequestRoute): Promise<Response> {
  const { method = "GET", signal } = init;
  const { body, headers } = await messageOf(init);
  const target = await targetOf(url, headers, route);
  const { request } = await (target.url.protocol === "https:" ? import("node:https") : import("node:http"));
  return await new Promise((resolve, reject) => {
    const options = { method, headers, ...target.options, ...(signal ? { signal } : {}) };
    const outgoing = request(target.url, options, (incoming) => {
      try {
        resolve(toResponse(incoming, method));
      } catch (error) {
        incoming.destroy();
        reject(error);
      }
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Returns the headers and the body of a request, with the headers that `fetch` adds. */
async function messageOf({ body, headers: given }: RequestInit): Promise<{
  body: string | Uint8Array | undefined;
  headers: Record<string, string>;
}> {
  const headers = new Headers(given);
  if (!headers.has("user-agent")) headers.set("user-agent", "node");
  const whole = new Response(body ?? null);
  const type = whole.headers.get("content-type");
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  const bytes = typeof body === "string" || whole.body === null ? undefined : new Uint8Array(await whole.arrayBuffer());
  return { body: typeof body === "string" ? body : bytes, headers: Object.fromEntries(headers) };
}

/**
 * Returns the URL and options of the connection. For http, a proxy receives the whole URL. For https, it opens a
 * tunnel.
 */
async function targetOf(
  url: URL,
  headers: Record<string, string>,
  route: RequestRoute,
): Promise<{ url: URL; options: RequestOptions }> {
  const { lookup, agents = shared } = route;
  if (route.proxy === undefined) return { url, options: { agent: false, ...(lookup ? { lookup } : {}) } };
  const proxy = parseProxy(route.proxy);
  const agent = await agents.agentFor(proxy, url.protocol);
  if (url.protocol === "https:") return { url, options: { agent } };
  headers.host = url.host;
  Object.assign(headers, proxyHeaders(proxy));
  const place = new URL(url);
  place.hash = "";
  return { url: new URL(proxy.origin), options: { agent, path: place.href } };
}

/** Converts the response. Throws for a status that a web response cannot have. */
function toResponse(incoming: IncomingMessage, method: string): Response {
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const bodiless = method === "HEAD" || status === 204 || status === 304;
  const body = bodiless ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
