import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request as send } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { TestContext } from "node:test";
import { toNodeListener } from "bowline/node";
import type { AnyServer } from "./modern-hosts.js";

export interface PlainRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Text or bytes as they are; any other value as JSON. */
  readonly body?: unknown;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** Sends one request with exactly these headers, and reads the whole answer. */
export type Ask = (request?: PlainRequest) => Promise<PlainAnswer>;

/** Reaches a server through `node:http` and through its web-standard handler: the body runs once per host. */
export async function onEachHost(
  t: TestContext,
  make: () => AnyServer,
  body: (ask: Ask, server: AnyServer, host: "node" | "fetch") => Promise<void>,
): Promise<void> {
  const served = make();
  const port = await listenOn(t, toNodeListener(served));
  t.after(() => served.close());
  await body((request) => askPort(port, request), served, "node");
  const fetched = make();
  t.after(() => fetched.close());
  await body((request) => askFetch(fetched, request), fetched, "fetch");
}

/** Listens with any listener; returns the port. */
export async function listenOn(t: TestContext, listener: ReturnType<typeof toNodeListener>): Promise<number> {
  const http = createServer(listener);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

export function askPort(port: number, request: PlainRequest = {}): Promise<PlainAnswer> {
  const { method = "POST", path = "/mcp" } = request;
  const bytes = toBytes(request.body);
  const headers = { host: `localhost:${port}`, ...present(request.headers) };
  return new Promise((resolve, reject) => {
    const out = send({ port, host: "127.0.0.1", method, path, headers, agent: false }, async (response) => {
      let text = "";
      response.setEncoding("utf8");
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode ?? 0, headers: flat(response.headers), text });
    });
    out.on("error", reject);
    out.end(bytes);
  });
}

async function askFetch(server: AnyServer, request: PlainRequest = {}): Promise<PlainAnswer> {
  const { method = "POST", path = "/mcp" } = request;
  const bytes = toBytes(request.body);
  const headers = { host: "localhost", ...present(request.headers) };
  const init = { method, headers, ...(bytes === undefined ? undefined : { body: bytes }) };
  const response = await server.fetch(new Request(`http://localhost${path}`, init));
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
}

function toBytes(body: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined || body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer> | undefined;
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
}

function present(headers: PlainRequest["headers"] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function flat(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

const BOTH = "application/json, text/event-stream";

/** A handshake, as a client of the older era opens it. */
export function initialize(more: PlainRequest = {}): PlainRequest {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  return legacy({ jsonrpc: "2.0", id: "init", method: "initialize", params }, more);
}

/** A message of the older era. */
export function legacy(body: unknown, more: PlainRequest = {}): PlainRequest {
  return { body, ...more, headers: { "content-type": "application/json", accept: BOTH, ...more.headers } };
}

/** The last message of an answer, whichever form it has. */
export function lastMessage({ text }: PlainAnswer): {
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
} {
  if (text.startsWith("{")) return JSON.parse(text);
  const data = text.split("\n").filter((line) => line.startsWith("data: {"));
  return JSON.parse((data.at(-1) ?? "data: {}").slice("data: ".length));
}

/** Opens a session and returns the headers that name it. */
export async function openSession(ask: Ask, more: PlainRequest = {}): Promise<Record<string, string>> {
  const opened = await ask(initialize(more));
  const id = opened.headers["mcp-session-id"];
  if (opened.status !== 200 || id === undefined) throw new Error(`no session: ${opened.status} ${opened.text}`);
  const headers = { ...present(more.headers), "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
  await ask(legacy({ jsonrpc: "2.0", method: "notifications/initialized" }, { headers }));
  return headers;
}

interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** Posts over a bare socket, so that header lines go out exactly as given, byte for byte in Latin-1. */
export async function rawPost(
  port: number,
  lines: readonly string[],
  body: unknown,
  method = "POST",
): Promise<RawAnswer> {
  const text = Buffer.from(JSON.stringify(body) ?? "");
  const head = [
    `${method} /mcp HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    `Content-Length: ${text.byteLength}`,
    ...lines,
  ];
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), text]));
  await once(socket, "close");
  return { status: Number(answer.slice(9, 12)), body: answer.slice(answer.indexOf("\r\n\r\n") + 4) };
}
