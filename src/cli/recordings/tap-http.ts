import { createServer, type IncomingMessage, request as overHttp, type ServerResponse } from "node:http";
import { request as overHttps } from "node:https";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import type { HttpExchange } from "../../http/exchange.js";
import { createGuard } from "../../http/guard.js";
import type { ConnectionRecorder, ExchangeRecorder } from "../../recording/connection.js";
import type { RecordedHeaders } from "../../recording/events.js";
import { RECORDING_LIMITS } from "../../recording/limits.js";
import type { Recording } from "../../recording/recording.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";

/** Headers of one connection, which are not passed on. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);

/** What a tap listens to. */
interface HttpTap {
  readonly target: URL;
  readonly port: number;
  /** True to record the bodies of exchanges that send a form, as those for tokens do. */
  readonly hasForms: boolean;
}

/**
 * Stands between a host and an HTTP server: listens on this machine alone, sends each request to the server, and records
 * copies. Tells its own URL to `onListening`. Resolves when the signal ends it.
 */
export async function tapHttp(
  { target, port, hasForms }: HttpTap,
  recording: Recording,
  { signal }: Io,
  onListening: (url: string) => void,
): Promise<void> {
  const connection = recording.connection({ wire: "http", role: "tap", server: { url: target.href } });
  const guard = createGuard();
  const server = createServer((request, response) => {
    const header = (name: string) => request.headers[name];
    const refusal = guard({ header } as unknown as HttpExchange);
    if (refusal === undefined) return forward(request, response, target, connection, hasForms);
    response.writeHead(refusal.status, { "content-type": "text/plain" }).end(`${refusal.message}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new UsageError(`cannot listen on port ${port} (${error.code}); choose another port`)),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  onListening(`http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  connection.close();
}

/** Sends a request to the server, and its response to the host. */
function forward(
  request: IncomingMessage,
  response: ServerResponse,
  target: URL,
  connection: ConnectionRecorder,
  hasForms: boolean,
): void {
  const hasBodies = hasForms || !isForm(request);
  const { method = "GET", url = "/" } = request;
  // A query of the server's URL, which may be secret, is not in that of the tap.
  const path = url === target.pathname ? url + target.search : url;
  const exchange = connection.exchange(method, path, toRecord(request));
  const { host: _, ...headers } = ownHeaders(request);
  const send = target.protocol === "https:" ? overHttps : overHttp;
  const upstream = send(target.origin, {
    method,
    path,
    // A compressed response could not be recorded as it passes.
    headers: { ...headers, "accept-encoding": "identity" },
  });
  const lose = (error: Error) => {
    exchange.end("lost", error.message);
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { "content-type": "text/plain" }).end(`${target.origin}: ${error.message}\n`);
  };
  upstream.on("error", lose);
  upstream.on("response", (incoming) => answer(incoming, response, exchange, hasBodies, lose));
  response.on("close", () => {
    if (response.writableFinished) return;
    exchange.end("client");
    upstream.destroy();
  });
  request.pipe(upstream);
  if (hasBodies) collect(request, exchange, (text) => exchange.requestBody(text));
}

function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  exchange: ExchangeRecorder,
  hasBody: boolean,
  lose: (error: Error) => void,
): void {
  const { statusCode = 502 } = incoming;
  response.writeHead(statusCode, ownHeaders(incoming));
  // The head of a stream is passed on before its first event.
  response.flushHeaders();
  exchange.response(statusCode, toRecord(incoming));
  incoming.on("error", lose);
  incoming.pipe(response);
  if (exchange.isStream) incoming.on("data", (chunk: Uint8Array) => exchange.push(chunk));
  else if (hasBody) collect(incoming, exchange, (text) => exchange.body(text));
  incoming.on("end", () => exchange.end("server"));
}

/** Collects the text of a body that others read. */
function collect(body: Readable, exchange: ExchangeRecorder, take: (text: string) => void): void {
  const decoder = new TextDecoder();
  let text = "";
  body.on("data", (chunk: Uint8Array) => {
    if (text.length < RECORDING_LIMITS.maxLineBytes) text += decoder.decode(chunk, { stream: true });
  });
  body.on("end", () => {
    if (text.length < RECORDING_LIMITS.maxLineBytes) take(text + decoder.decode());
    else exchange.skip("a body was too long");
  });
}

function isForm({ headers }: IncomingMessage): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers["content-type"] ?? "");
}

function ownHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !OF_THE_CONNECTION.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}

function toRecord({ headers }: IncomingMessage): RecordedHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]),
  );
}
