import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { HttpExchange } from "../../http/exchange.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { createNodeExchange, type NodeExchangeOptions } from "./exchange.js";
import { type FetchServerLike, toFetchListener } from "./fetch-listener.js";

/** A server, as far as serving it over HTTP needs to know. */
export interface HttpServerLike {
  handle(exchange: HttpExchange): void;
  /** Told where it is listened for; answers with the paths that it has beside the one it is given. */
  onListening?(host: string): readonly string[];
  drain?(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface ServeHttpOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** 127.0.0.1 unless told otherwise: reachable from this machine only. */
  readonly host?: string;
  /** The one path that is served. */
  readonly path?: string;
}

/** A server that is listening. */
export interface RunningHttpServer {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Whether new requests are served: false from the moment it begins to drain or to close. */
  readonly ready: boolean;
  /** Refuses new requests, lets running ones finish within this time, and then closes. */
  drain(deadlineMs: number): Promise<void>;
  /** Ends calls, streams and sessions, then stops listening. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS: Known<ServeHttpOptions> = { port: 1, host: 1, path: 1 };

/** How long last words may take to be read before connections are cut. */
const FLUSH_MS = 1_000;
const SWEEP_MS = 10;

const MENDS: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "give another port, or 0 for a free one"],
  ["EACCES", "give a port above 1023"],
  ["EADDRNOTAVAIL", "the host must be an address of this machine"],
  ["ENOTFOUND", "the host must be an address of this machine"],
]);

/** Serves one request of `node:http`, or of whatever hands out such requests. */
export function serveNodeRequest(
  server: Pick<HttpServerLike, "handle">,
  request: IncomingMessage,
  response: ServerResponse,
  options?: NodeExchangeOptions,
): void {
  server.handle(createNodeExchange(request, response, options));
}

/**
 * The server as a listener for `node:http`, Express and everything that takes one. A body that a parser in front has left
 * in `request.body` is used. What has no `handle`, such as an issuer of `bowline/auth/issuer`, is served by its `fetch`.
 */
export function toNodeListener(server: Pick<HttpServerLike, "handle"> | FetchServerLike): RequestListener {
  if (typeof Object(server).handle !== "function" && typeof Object(server).fetch !== "function")
    throw new TypeError("toNodeListener needs a server, such as an McpServer");
  if (!("handle" in server)) return toFetchListener(server.fetch);
  return (request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) => {
    const { body } = request;
    server.handle(createNodeExchange(request, response, body === undefined ? undefined : { body }));
  };
}

/** Listens, on this machine only unless told otherwise. Until then nobody pays for loading `node:http`. */
export async function serveHttp(server: HttpServerLike, options: ServeHttpOptions = {}): Promise<RunningHttpServer> {
  if (typeof server?.handle !== "function") throw new TypeError("serveHttp needs a server, such as an McpServer");
  assertOptions("serveHttp", options, OPTIONS);
  const { port = 0, host = "127.0.0.1", path = "/mcp" } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new TypeError(`serveHttp: the port ${JSON.stringify(port)} must be a number from 0 to 65535`);
  if (!path.startsWith("/")) throw new TypeError(`serveHttp: the path ${JSON.stringify(path)} must begin with /`);
  const { createServer } = await import("node:http");
  const listener = toNodeListener(server);
  const paths = new Set([path, ...(server.onListening?.(host) ?? [])]);
  const http = createServer((request, response) => {
    const { url = "" } = request;
    if (paths.has(url) || paths.has(url.split("?", 1)[0] as string)) listener(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end("Not found");
  });
  const sockets = trackSockets(http);
  await listen(http, port, host);
  const bound = (http.address() as AddressInfo).port;
  const name = host.includes(":") ? `[${host}]` : host;
  let ready = true;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    ready = false;
    closed ??= server.close().then(() => stop(http, sockets));
    return closed;
  };
  return {
    url: `http://${name}:${bound}${path}`,
    port: bound,
    server: http,
    get ready() {
      return ready;
    },
    async drain(deadlineMs) {
      ready = false;
      await server.drain?.(deadlineMs);
      await close();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(explain(error));
    http.once("error", onError);
    http.listen(port, host, () => {
      http.off("error", onError);
      resolve();
    });
  });
}

/** The platform's own error, with what to do. */
function explain(error: NodeJS.ErrnoException): Error {
  const mend = MENDS.get(error.code ?? "");
  error.message = `serveHttp: ${error.message}${mend === undefined ? "" : `; ${mend}`}`;
  return error;
}

/** The connections that are open. */
function trackSockets(http: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/** Stops listening, lets what was written be read, and cuts what is still open after that. */
function stop(http: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    const closeIdle = () => {
      http.closeIdleConnections();
      // A connection that a client opened in advance counts as idle only after its first request.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    };
    const sweep = setInterval(closeIdle, SWEEP_MS);
    const cut = setTimeout(() => http.closeAllConnections(), FLUSH_MS);
    http.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
  });
}
