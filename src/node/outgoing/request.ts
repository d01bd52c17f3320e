import type { Agent, IncomingMessage, RequestOptions } from "node:http";
import { Readable } from "node:stream";
import { parseProxy } from "./proxies.js";

/** Connection settings of a request that differ from those of `fetch`. */
export interface RequestRoute {
  /** Resolves the host name of the connection. */
  readonly lookup?: NonNullable<RequestOptions["lookup"]>;
  /** Proxy for the request. It resolves the host name. */
  readonly proxy?: string | undefined;
}

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
  const { lookup } = route;
  if (route.proxy === undefined) return { url, options: { agent: false, ...(lookup ? { lookup } : {}) } };
  const proxy = parseProxy(route.proxy);
  if (url.protocol === "https:") return { url, options: { agent: await tunnelBy(proxy) } };
  headers.host = url.host;
  Object.assign(headers, proxyHeaders(proxy));
  const place = new URL(url);
  place.hash = "";
  return { url: new URL(proxy.origin), options: { path: place.href } };
}

function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}

/** Options of the connection to a server. */
interface Connection {
  readonly host: string;
  readonly port: number;
  /** Empty if the host is an IP address. */
  readonly servername: string;
  readonly signal?: AbortSignal;
}

/** Maximum time for a proxy to open a tunnel. */
const TUNNEL_MS = 30_000;
const tunnels = new Map<string, Promise<Agent>>();

/** Returns the agent for connections through a proxy. It keeps connections for later requests to the same server. */
function tunnelBy(proxy: URL): Promise<Agent> {
  const known = tunnels.get(proxy.href) ?? createTunnels(proxy);
  tunnels.set(proxy.href, known);
  return known;
}

async function createTunnels(proxy: URL): Promise<Agent> {
  const { Agent } = await import("node:https");
  const { connect } = await import("node:tls");
  const { request } = await (proxy.protocol === "https:" ? import("node:https") : import("node:http"));
  const open: Agent["createConnection"] = (options, done = () => {}) => {
    const { host, port, servername, signal } = options as Connection;
    const path = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const headers = { host: path, ...proxyHeaders(proxy) };
    const asked = request(proxy.origin, { method: "CONNECT", path, headers, agent: false, ...(signal && { signal }) });
    const fail = (error: Error) => done(error, undefined as never);
    asked.setTimeout(TUNNEL_MS, () => asked.destroy(noTunnel(proxy, `no response within ${TUNNEL_MS} ms`)));
    asked.on("error", fail);
    asked.once("connect", ({ statusCode }, socket) => {
      socket.setTimeout(0);
      if (statusCode === 200) return done(null, connect({ socket, host, servername, ALPNProtocols: ["http/1.1"] }));
      socket.destroy();
      fail(noTunnel(proxy, `HTTP status ${statusCode}`));
    });
    asked.end();
    return undefined as never;
  };
  return Object.assign(new Agent({ keepAlive: true }), { createConnection: open });
}

/**
 * Creates the error of a tunnel that was not opened. `syscall` marks it as a failure to connect: no data has reached
 * the server.
 */
function noTunnel({ host }: URL, why: string): Error {
  const error = new Error(`the proxy ${host} did not open a connection to the server: ${why}`);
  return Object.assign(error, { code: "ERR_PROXY", syscall: "connect" });
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
