import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpExchange } from "../http/exchange.js";
import { createNodeExchange } from "./node-exchange.js";

/** A server, as far as serving it over HTTP needs to know. */
export interface HttpServerLike {
  handle(exchange: HttpExchange): void;
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
  /** Ends streams and sessions, then stops listening. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The server as a listener for `node:http`, Express and everything that takes one. */
export function toNodeListener(server: HttpServerLike): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => server.handle(createNodeExchange(request, response));
}

/** Listens, on this machine only unless told otherwise. */
export async function serveHttp(server: HttpServerLike, options: ServeHttpOptions = {}): Promise<RunningHttpServer> {
  const { port = 0, host = "127.0.0.1", path = "/mcp" } = options;
  const listener = toNodeListener(server);
  const http = createServer((request, response) => {
    if (request.url?.split("?", 1)[0] === path) listener(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end("Not found");
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, () => {
      http.off("error", reject);
      resolve();
    });
  });
  const bound = (http.address() as AddressInfo).port;
  const name = host.includes(":") ? `[${host}]` : host;
  const close = async () => {
    await server.close();
    await new Promise<void>((resolve) => {
      http.close(() => resolve());
      http.closeAllConnections();
    });
  };
  return { url: `http://${name}:${bound}${path}`, port: bound, server: http, close, [Symbol.asyncDispose]: close };
}
