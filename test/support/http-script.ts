import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";

/** Request that a scripted server received. The test responds at any time. */
export class Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, parsed; undefined when there was none. */
  // biome-ignore lint/suspicious/noExplicitAny: what a script expects to find is checked by its assertions
  readonly message: any;
  readonly response: ServerResponse;
  /** Resolves when the connection of the response has been given up before its end. */
  readonly gone: Promise<void>;
  /** Resolves when the response is over, either way. */
  readonly closed: Promise<void>;

  constructor(request: IncomingMessage, body: string, response: ServerResponse) {
    this.method = request.method ?? "";
    this.path = request.url ?? "";
    this.headers = request.headers;
    this.message = body === "" ? undefined : JSON.parse(body);
    this.response = response;
    this.closed = new Promise((resolve) => response.once("close", () => resolve()));
    this.gone = new Promise((resolve) => response.once("close", () => !response.writableFinished && resolve()));
  }

  get rpcMethod(): string | undefined {
    return this.message?.method;
  }

  json(value: unknown, status = 200, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, { "content-type": "application/json", ...headers });
    this.response.end(typeof value === "string" ? value : JSON.stringify(value));
  }

  result(result: object, headers: Record<string, string> = {}): void {
    this.json({ jsonrpc: "2.0", id: this.message.id, result }, 200, headers);
  }

  status(status: number, text = "", type = "text/plain"): void {
    const length = status === 204 ? {} : { "content-length": Buffer.byteLength(text) };
    this.response.writeHead(status, text === "" ? length : { "content-type": type, ...length });
    this.response.end(text);
  }

  /** Begins an event stream. */
  stream(headers: Record<string, string> = {}): this {
    this.response.writeHead(200, { "content-type": "text/event-stream", ...headers });
    this.response.flushHeaders();
    return this;
  }

  raw(text: string | Uint8Array): this {
    this.response.write(text);
    return this;
  }

  event(message: unknown, id?: string): this {
    return this.raw(`${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`);
  }

  notify(method: string, params: object, id?: string): this {
    return this.event({ jsonrpc: "2.0", method, params }, id);
  }

  resultEvent(result: object, id?: string): this {
    return this.event({ jsonrpc: "2.0", id: this.message.id, result }, id);
  }

  end(): void {
    this.response.end();
  }

  /** Cuts the connection. */
  cut(): void {
    this.response.socket?.destroy();
  }
}

/** HTTP server whose responses are written by the test. */
export class HttpScript {
  readonly received: Received[] = [];
  /** How many connections were opened so far. */
  connections = 0;
  /** Answers what it wants; what it leaves alone waits for `next`. */
  onRequest: (received: Received) => void = () => {};
  readonly #server = createServer((request, response) => void this.#take(request, response));
  readonly #sockets = new Set<Socket>();
  readonly #waiting: { wanted: (received: Received) => boolean; found: (received: Received) => void }[] = [];
  #unseen: Received[] = [];

  async start(): Promise<this> {
    this.#server.on("connection", (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp?key=1`);
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** The next request that fits, from those not yet seen by `next`; by RPC method, HTTP method or a test. */
  next(wanted: string | ((received: Received) => boolean)): Promise<Received> {
    const fits = typeof wanted === "function" ? wanted : (r: Received) => r.rpcMethod === wanted || r.method === wanted;
    const at = this.#unseen.findIndex(fits);
    if (at >= 0) return Promise.resolve(this.#unseen.splice(at, 1)[0] as Received);
    return new Promise((found) => this.#waiting.push({ wanted: fits, found }));
  }

  /** Those of one RPC or HTTP method. */
  all(method: string): Received[] {
    return this.received.filter((r) => r.rpcMethod === method || r.method === method);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const received = new Received(request, Buffer.concat(chunks).toString("utf8"), response);
    this.received.push(received);
    this.onRequest(received);
    const at = this.#waiting.findIndex(({ wanted }) => wanted(received));
    if (at < 0) this.#unseen.push(received);
    else this.#waiting.splice(at, 1)[0]?.found(received);
  }
}

export const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "private",
};
export const INITIALIZED = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "scripted", version: "1" },
};

/** Responds to the opening of both eras, refuses the GET, and passes other requests to `serve`. */
export function answerAll(serve: (received: Received) => void, discover?: (received: Received) => void) {
  return (received: Received): void => {
    if (received.method === "GET") received.status(405);
    else if (received.method === "DELETE") received.status(204);
    else if (received.rpcMethod === "server/discover") (discover ?? ((r) => r.result(DISCOVERED)))(received);
    else if (received.rpcMethod === "initialize") received.result(INITIALIZED, { "mcp-session-id": "s" });
    else if (received.rpcMethod?.startsWith("notifications/")) received.status(202);
    else serve(received);
  };
}

/** Starts a scripted server. `connectTo` connects a real client to it. Both are closed after the test. */
export async function scripted(t: TestContext, serve: (received: Received) => void) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = serve;
  const connectTo = async (options: ClientOptions = {}): Promise<Client> => {
    const client = await connect(script.url, options);
    t.after(() => client.close());
    return client;
  };
  return { script, connectTo };
}
