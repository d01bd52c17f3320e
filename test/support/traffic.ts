import { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import type { Channel, ChannelEvents } from "bowline/client";
import { createStdioClientChannel, createStdioServerChannel } from "bowline/node";
import { createChannelPair } from "bowline/testing";
import { HttpWire } from "#src/era/http-transport.js";
import { isSsePath, resolveSsePaths } from "#src/era/sse-paths.js";
import type { HttpExchange } from "#src/http/exchange.js";
import { createWebExchange } from "#src/http/web-exchange.js";
import { createNodeExchange } from "#src/node/http/exchange.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";

/**
 * Watches every wire of this process, so that a proof is counted for the traffic that its test had. The taps are where
 * messages enter or leave the process or one of its channels: in-memory channels, pipes, the standard input of child
 * processes, requests to `node:http` servers, requests to fetch handlers, and requests of the SDK's own client.
 */

/**
 * `http` is a request of the SDK's client, whatever answers it, or one that a test hands to a server as an object. `sse` is
 * a request to one of the two paths of the transport of 2024-11-05, or a stream that names an endpoint to post to.
 */
export type SeenTransport = "memory" | "stdio" | "node" | "fetch" | "http" | "sse";
type Era = "legacy" | "modern";

/**
 * Which era a message belongs to. `bare` is a request without a version: it belongs to the era of handshakes, where
 * versions are agreed on before, unless the test speaks the modern era and leaves the version out on purpose.
 */
type Sign = Era | "bare";

interface HttpRequest {
  readonly transport: SeenTransport;
  readonly url: string;
  readonly header: (name: string) => string | undefined;
  /** Undefined while it has not been read. */
  readonly body?: string | null;
}

const FIRST_MODERN = "2026-07-28";
/** How much is read of a body that was refused unread. */
const LATE_BYTES = 1 << 20;
const SSE_PATHS = resolveSsePaths(true);
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

/** What passed during the present test: a sign, or `none`, and the transport that it was seen on. */
let signs = new Set<`${Sign | "none"} ${SeenTransport}`>();

/** Begins to watch for one test. The result names what passed since: `modern-node`, or `node` for traffic of no era. */
export function watchTraffic(): () => readonly string[] {
  const own: typeof signs = new Set();
  signs = own;
  return () => [...new Set([...own].map((entry) => wireOf(entry, own)))].sort();
}

function wireOf(entry: string, all: ReadonlySet<string>): string {
  const [sign, transport] = entry.split(" ") as [Sign | "none", SeenTransport];
  if (sign === "none") return transport;
  if (sign !== "bare") return `${sign}-${transport}`;
  return [...all].some((other) => other.startsWith("modern ")) ? transport : `legacy-${transport}`;
}

function saw(transport: SeenTransport, text: string): void {
  signs.add(`${signOf(text) ?? "none"} ${transport}`);
}

function sawRequest(request: HttpRequest): void {
  signs.add(`${signOfHttp(request) ?? "none"} ${request.transport}`);
  if (isSsePath(request.url, SSE_PATHS)) signs.add("legacy sse");
}

/** The message counts, and the headers only where there is none. Authorization metadata belongs to no era. */
function signOfHttp({ url, header, body }: HttpRequest): Sign | undefined {
  if (body === undefined || url.includes("/.well-known/")) return undefined;
  const inBody = body === null ? undefined : signOf(body);
  if (inBody === "modern" || inBody === "legacy") return inBody;
  const version = header("mcp-protocol-version");
  if (version !== undefined && /^\d{4}-\d\d-\d\d$/.test(version)) return eraOf(version);
  return header("mcp-session-id") === undefined ? inBody : "legacy";
}

/** The sign of a JSON-RPC message or of an array of them. */
function signOf(text: string): Sign | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const found = (Array.isArray(parsed) ? parsed : [parsed]).map(signOfMessage);
  return found.find((sign) => sign !== undefined && sign !== "bare") ?? found.find((sign) => sign === "bare");
}

function signOfMessage(message: unknown): Sign | undefined {
  const { id, method, params } = Object(message) as { id?: unknown; method?: unknown; params?: unknown };
  if (typeof method !== "string") return undefined;
  const version = (Object(Object(params)._meta) as { [key: string]: unknown })[VERSION_KEY];
  if (typeof version === "string") return eraOf(version);
  if (method === "initialize" || method === "notifications/initialized") return "legacy";
  return id === undefined || method === "server/discover" ? undefined : "bare";
}

function eraOf(version: string): Era {
  return version < FIRST_MODERN ? "legacy" : "modern";
}

tapChannels("memory", createChannelPair()[0]);
tapChannels("stdio", createStdioServerChannel({ input: new PassThrough(), output: new PassThrough() }));
tapChannels("stdio", createStdioClientChannel({ command: "node" }));
tapChildren();
tapNodeServers();
tapExchanges("node", createNodeExchange({ headers: {} } as IncomingMessage, {} as ServerResponse), false);
tapExchanges("fetch", createWebExchange(new Request("http://localhost/")).exchange, true);
tapExchanges("http", createArrayExchange(), true);
tapClient();

/** All channels of the class of this one. */
function tapChannels(transport: SeenTransport, one: Channel): void {
  const proto = Object.getPrototypeOf(one) as Channel;
  const { open, send } = proto;
  proto.open = function (this: Channel, events: ChannelEvents) {
    const onFrame = (text: string) => {
      saw(transport, text);
      events.onFrame(text);
    };
    return open.call(this, {
      onFrame,
      onProblem: (problem) => events.onProblem(problem),
      onClose: (reason) => events.onClose(reason),
    });
  };
  proto.send = function (this: Channel, text: string) {
    saw(transport, text);
    return send.call(this, text);
  };
}

/** A process with pipes is stdio in use, whether or not a message passes. */
function tapChildren(): void {
  const proto = ChildProcess.prototype as unknown as { spawn(this: ChildProcess, options: object): number };
  const { spawn } = proto;
  proto.spawn = function (options) {
    const result = spawn.call(this, options);
    const { stdin, stdout } = this;
    if (stdin || stdout) signs.add("none stdio");
    let rest = "";
    const look = (text: unknown) => {
      const lines = (rest + String(text)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) saw("stdio", line);
    };
    for (const name of stdin ? (["write", "end"] as const) : []) {
      const original = stdin?.[name] as (...args: unknown[]) => never;
      Object.assign(stdin as object, {
        [name]: (...args: unknown[]) => {
          look(args[0] ?? "");
          return original.apply(stdin, args);
        },
      });
    }
    return result;
  };
}

function tapNodeServers(): void {
  subscribe("http.server.request.start", (event) => {
    const { request, response } = event as { request: IncomingMessage; response: ServerResponse };
    const chunks: Uint8Array[] = [];
    const header = (name: string) => request.headers[name] as string | undefined;
    const noted = { transport: "node", url: request.url ?? "", header } as const;
    sawRequest(noted);
    const { push } = request;
    request.push = (chunk: Uint8Array | null, ...rest) => {
      if (chunk === null) sawRequest({ ...noted, body: Buffer.concat(chunks).toString() });
      else chunks.push(chunk);
      return push.call(request, chunk, ...rest);
    };
    const write = response.write as (...args: unknown[]) => boolean;
    response.write = (...args: unknown[]) => {
      sawEvents(String(args[0]));
      return write.apply(response, args);
    };
  });
}

/** The first event of a stream of the older HTTP transport names the endpoint. */
function sawEvents(text: string): void {
  if (text.includes("event: endpoint")) signs.add("legacy sse");
}

/**
 * All exchanges of the class of this one. A request is noted when its body has been read, or when it is answered without
 * that; `readsLate` reads the body then, so that its message is known.
 */
function tapExchanges(transport: SeenTransport, one: HttpExchange, readsLate: boolean): void {
  const proto = Object.getPrototypeOf(one) as HttpExchange;
  const { text, read, reply, stream } = proto;
  const noted = new WeakSet<HttpExchange>();
  const note = (exchange: HttpExchange, body: string | null) => {
    noted.add(exchange);
    sawRequest({ transport, url: exchange.url, header: (name) => exchange.header(name), body });
  };
  proto.text = async function (this: HttpExchange, ...args) {
    const body = await text.apply(this, args);
    note(this, body);
    return body;
  };
  if (read !== undefined) {
    proto.read = function (this: HttpExchange, limit, onText, ...rest) {
      const onBody = (body: string) => {
        note(this, body);
        onText(body);
      };
      return read.call(this, limit, onBody, ...rest);
    };
  }
  proto.reply = function (this: HttpExchange, ...args) {
    const result = reply.apply(this, args);
    if (noted.has(this)) return result;
    if (readsLate)
      text.call(this, LATE_BYTES).then(
        (body) => note(this, body),
        () => note(this, null),
      );
    else note(this, null);
    return result;
  };
  proto.stream = function (this: HttpExchange, ...args) {
    if (!noted.has(this)) note(this, null);
    const inner = stream.apply(this, args);
    const write = inner.write.bind(inner);
    inner.write = (piece) => {
      sawEvents(piece);
      return write(piece);
    };
    return inner;
  };
}

function tapClient(): void {
  const proto = HttpWire.prototype;
  const { send } = proto;
  proto.send = function (this: HttpWire, method, headers, body, ...rest) {
    sawRequest({ transport: "http", url: "", header: (name) => headers[name], body });
    return send.call(this, method, headers, body, ...rest);
  };
}
