import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "bowline/client";
import { type HealthyServer, type Json, LEGACY, MODERN } from "./healthy.js";
import type { ProtectedPart } from "./issuer.js";

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
const BOTH = ["application/json", "text/event-stream"];

/** Response, as a fault may change it. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Text of the whole body; undefined for an event stream. */
  body?: string | undefined;
}

/** What a server does around its messages over HTTP. A fault changes one of its members. */
export class HttpHabits {
  path = "/mcp";
  guardsHost = true;
  guardsOrigin = true;
  allowedHeaders =
    "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";
  exposedHeaders = "mcp-protocol-version, mcp-session-id, www-authenticate";
  unknownSession = 404;
  /** True if the headers of a modern request must be those of its body. */
  comparesHeaders = true;
  keepAliveMs = KEEP_ALIVE_MS;
  protection: ProtectedPart | undefined;
  /** Takes a request before the server does. Returns true if it did. */
  take: (request: IncomingMessage, response: ServerResponse, body: string) => boolean = () => false;
  /** Changes a response before it is sent. */
  change: (reply: Reply, request: IncomingMessage, message: Json | undefined) => void = () => {};
  /** Called at a SIGTERM of a server that is a process. `idle` resolves when no request by POST is running. */
  onTerm: (listener: Server, idle: Promise<void>) => void = (listener, idle) => {
    listener.close();
    void idle.then(() => process.exit(0));
  };
  /** Called with an event stream before its head is sent, and the method of its request. */
  onStream: (response: ServerResponse, method: unknown) => void = () => {};
}

/** A server over HTTP that runs. */
export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
  /** Does what a process does at a SIGTERM. */
  terminate(): void;
}

/** Serves a server at a free port of the loopback interface. */
export async function serveHttp(server: HealthyServer, habits: HttpHabits, clock: Clock): Promise<RunningServer> {
  const endpoint = new Endpoint(server, habits, clock);
  const sockets = new Set<Socket>();
  const listener = createServer((request, response) => void endpoint.serve(request, response));
  listener.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  habits.protection?.settle(origin, `${origin}${habits.path}`);
  return {
    url: `${origin}${habits.path}`,
    terminate: () => habits.onTerm(listener, endpoint.idle()),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

class Endpoint {
  readonly #sessions = new Set<string>();
  readonly #running = new Set<ServerResponse>();
  #whenIdle: () => void = () => {};

  constructor(
    readonly server: HealthyServer,
    readonly habits: HttpHabits,
    readonly clock: Clock,
  ) {}

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
      if (this.#running.size === 0) resolve();
    });
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") this.#running.add(response);
    response.once("close", () => {
      this.#running.delete(response);
      if (this.#running.size === 0) this.#whenIdle();
    });
    const body = await bodyOf(request).catch(() => "");
    if (this.habits.take(request, response, body ?? "")) return;
    const exchange = new Exchange(this, request, response);
    try {
      await this.#route(exchange, body);
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      exchange.reply(error.status, refusalOf(error), error.headers);
    }
  }

  async #route(exchange: Exchange, body: string | undefined): Promise<void> {
    const { habits } = this;
    const { request } = exchange;
    const path = request.url?.replace(/\?.*/, "") ?? "";
    const { headers, method } = request;
    const document = habits.protection?.documentAt(path);
    if (document !== undefined) return exchange.reply(document.status, document.json);
    if (path !== habits.path) throw new HttpRefusal(404, -32600, "Not found");
    if (habits.guardsHost && !isOwnHost(headers.host)) throw new HttpRefusal(403, -32600, "Host is not allowed");
    if (habits.guardsOrigin && headers.origin !== undefined && !isOwnOrigin(headers.origin))
      throw new HttpRefusal(403, -32600, "Origin is not allowed");
    if (method === "OPTIONS") return exchange.preflight();
    const challenge = habits.protection?.challenge(headers.authorization);
    if (challenge !== undefined) throw new HttpRefusal(401, -32600, "A token is required", challenge);
    if (method === "GET") return this.#listen(exchange);
    if (method === "DELETE") {
      this.#session(exchange);
      this.#sessions.delete(String(headers["mcp-session-id"]));
      return exchange.reply(204);
    }
    if (method !== "POST") throw new HttpRefusal(405, -32600, "Method not allowed", { allow: "POST, GET, DELETE" });
    if (!/^application\/json *(;|$)/i.test(headers["content-type"] ?? ""))
      throw new HttpRefusal(415, -32600, "Content-Type must be application/json");
    if (body === undefined) throw new HttpRefusal(413, -32600, "The body is too large");
    await this.#post(exchange, messageOf(body));
  }

  /** Opens the stream of a session. */
  #listen(exchange: Exchange): void {
    if (!accepts(exchange, ["text/event-stream"])) throw new HttpRefusal(406, -32600, "Accept text/event-stream");
    this.#session(exchange);
    exchange.stream();
  }

  async #post(exchange: Exchange, message: Json): Promise<void> {
    const { id, method, params = {} } = message as { id?: string | number; method?: string; params?: Json };
    const { headers } = exchange.request;
    if (!accepts(exchange, BOTH)) throw new HttpRefusal(406, -32600, `Accept ${BOTH.join(" and ")}`, {}, id);
    exchange.message = message;
    const version = (params._meta as Json | undefined)?.["io.modelcontextprotocol/protocolVersion"];
    const isModern = version !== undefined || headers["mcp-protocol-version"] === MODERN;
    if (isModern && id !== undefined) this.#compareHeaders(exchange, id, method, params, version);
    if (!isModern && method !== "initialize") this.#session(exchange);
    if (id === undefined || method === undefined) return exchange.reply(202);
    const wire = { notify: exchange.notify, signal: exchange.signal };
    const answer = await this.server.serve({ id, method, params }, wire);
    if (answer === undefined) return;
    if (exchange.isStreaming) return exchange.finish(answer);
    const error = answer.error as { code: number } | undefined;
    if (isModern && error !== undefined) return exchange.reply(statusOf(error.code), answer);
    exchange.reply(
      200,
      answer,
      method === "initialize" && error === undefined ? { "mcp-session-id": this.#open() } : {},
    );
  }

  #compareHeaders({ request: { headers } }: Exchange, id: unknown, method: unknown, params: Json, version: unknown) {
    if (version === undefined) throw new HttpRefusal(400, -32602, "_meta has no protocol version", {}, id);
    const pairs: [string, unknown][] = [
      ["mcp-protocol-version", version],
      ["mcp-method", method],
      ["mcp-name", method === "resources/read" ? params.uri : params.name],
    ];
    for (const [name, value] of this.habits.comparesHeaders ? pairs : [])
      if (typeof value === "string" && headers[name] !== value)
        throw new HttpRefusal(400, -32020, `Header mismatch: ${name}`, {}, id);
  }

  #open(): string {
    const id = randomUUID();
    this.#sessions.add(id);
    return id;
  }

  /** Throws if the session of a request, or its version, is not known. */
  #session({ request: { headers } }: Exchange): void {
    const id = headers["mcp-session-id"];
    const version = headers["mcp-protocol-version"] as (typeof LEGACY)[number] | undefined;
    if (version !== undefined && !LEGACY.includes(version))
      throw new HttpRefusal(400, -32600, `Unsupported protocol version: ${version} (supported: ${LEGACY.join(", ")})`);
    if (id === undefined) throw new HttpRefusal(400, -32600, "Mcp-Session-Id is missing");
    if (!this.#sessions.has(String(id))) throw new HttpRefusal(this.habits.unknownSession, -32001, "Session not found");
  }
}

/** One request with its response. */
class Exchange {
  message: Json | undefined;
  readonly #end = new AbortController();
  #keepAlive: unknown;
  isStreaming = false;

  constructor(
    readonly endpoint: Endpoint,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
  ) {
    response.once("close", () => {
      endpoint.clock.cancel(this.#keepAlive);
      if (!response.writableFinished) this.#end.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  reply(status: number, json?: unknown, headers: Readonly<Record<string, string>> = {}): void {
    const body = json === undefined ? "" : JSON.stringify(json);
    this.#head({
      status,
      headers: { ...(json !== undefined && { "content-type": "application/json" }), ...headers },
      body,
    });
  }

  preflight(): void {
    this.reply(204, undefined, {
      "access-control-allow-methods": "POST, GET, DELETE",
      "access-control-allow-headers": this.endpoint.habits.allowedHeaders,
    });
  }

  /** Begins an event stream, which tells its client now and then that it is alive. */
  stream(): void {
    this.isStreaming = true;
    this.endpoint.habits.onStream(this.response, this.message?.method);
    this.#head({ status: 200, headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
    this.response.flushHeaders();
    this.#stayAlive();
  }

  readonly notify = (method: string, params: Json): void => {
    if (!this.isStreaming) this.stream();
    this.#event({ jsonrpc: "2.0", method, params });
  };

  finish(answer: Json): void {
    this.#event(answer);
    this.response.end();
  }

  #event(message: Json): void {
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  #stayAlive(): void {
    const { clock, habits } = this.endpoint;
    this.#keepAlive = clock.schedule(() => {
      this.response.write(": alive\n\n");
      this.#stayAlive();
    }, habits.keepAliveMs);
  }

  #head(reply: Reply): void {
    const { habits } = this.endpoint;
    const { origin } = this.request.headers;
    if (origin !== undefined && isOwnOrigin(origin)) {
      const exposed = { "access-control-expose-headers": habits.exposedHeaders, vary: "Origin" };
      Object.assign(reply.headers, { "access-control-allow-origin": origin, ...exposed });
    }
    habits.change(reply, this.request, this.message);
    if (this.response.headersSent) return;
    this.response.writeHead(reply.status, reply.headers);
    if (reply.body !== undefined) this.response.end(reply.body);
  }
}

/** Refusal of a request, before any handler. */
class HttpRefusal extends Error {
  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly id: unknown = null,
  ) {
    super(message);
  }
}

function refusalOf({ code, message, id }: HttpRefusal): Json {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function statusOf(code: number): number {
  return code === -32601 ? 404 : [-32020, -32021, -32022].includes(code) ? 400 : 200;
}

function messageOf(body: string): Json {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw new HttpRefusal(400, -32700, "Parse error");
  }
  const { jsonrpc } = (json ?? {}) as { jsonrpc?: unknown };
  if (jsonrpc !== "2.0") throw new HttpRefusal(400, -32600, "Invalid request");
  return json as Json;
}

/** Resolves with the body, or with undefined if it is too large. Reads it to its end, so that the client reads the response. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk as Buffer);
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks).toString("utf8");
}

function accepts({ request }: Exchange, types: readonly string[]): boolean {
  const { accept = "*/*" } = request.headers;
  return accept.includes("*/*") || types.every((type) => accept.includes(type));
}

function isOwnHost(host = ""): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host);
}

function isOwnOrigin(origin: string): boolean {
  return URL.canParse(origin) && isOwnHost(new URL(origin).host);
}
