import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { isLoopback } from "../../auth/addresses.js";
import { pause } from "../../call/abortable.js";
import { type Clock, systemClock } from "../../call/clock.js";
import type { Cluster } from "../../cluster/cluster.js";
import type { HttpExchange } from "../../http/exchange.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertAtCall, assertOptions, type Known } from "../../protocol/known-options.js";
import { greet } from "../greeting.js";
import { SERVE_HTTP_LIMITS } from "../limits.js";
import type { RunningHttpPrimary } from "../workers/primary.js";
import { createNodeExchange, EXCHANGE_OPTIONS, type NodeExchangeOptions } from "./exchange.js";
import { type FetchServerLike, toFetchListener } from "./fetch-listener.js";

/** Server, as far as HTTP needs it. */
export interface HttpServerLike {
  /** Name and version, for the line that a person sees who starts the server on a terminal. */
  readonly info?: { readonly name: string; readonly version: string } | undefined;
  handle(exchange: HttpExchange): void;
  /** Called with the host that is listened on. Returns the paths that are served in addition to `path`. */
  readonly onListening?: ((host: string) => readonly string[]) | undefined;
  readonly drain?: ((graceMs: number) => Promise<void>) | undefined;
  close(): Promise<void>;
  /** State that processes share, if the server uses it. */
  readonly cluster?: { readonly available: boolean } | undefined;
  /** Called before the first request if the server has no cluster and shares its state with other workers. */
  readonly join?:
    | ((cluster: Cluster, stateKeys: readonly { readonly id: string; readonly secret: Uint8Array }[]) => void)
    | undefined;
}

/** Options of {@link serveHttp}. */
export interface ServeHttpOptions {
  /**
   * Port to listen on. 0 selects a free port.
   * @default 0
   */
  readonly port?: number | undefined;
  /**
   * Host to listen on. By default the server is reachable from this machine only.
   * @default "127.0.0.1"
   */
  readonly host?: string | undefined;
  /**
   * Path that is served.
   * @default "/mcp"
   */
  readonly path?: string | undefined;
  /**
   * Paths for probes. `live` responds with 200 while the process serves. `ready` responds with 503 as soon as draining
   * begins. `false` disables both.
   * @default { live: "/livez", ready: "/readyz" }
   */
  readonly health?: false | HealthPaths | undefined;
  /**
   * Time that a draining server continues to serve before it stops listening, so that load balancers can switch to
   * other servers. On a loopback address it is 0 by default if nobody has asked whether the server is ready.
   * @default 5_000
   */
  readonly lameDuckMs?: number | undefined;
  /**
   * Time that a connection is kept open without a request. It is longer than the idle time of load balancers, so that
   * none sends a request on a connection that is being closed.
   * @default 75_000
   */
  readonly connectionIdleMs?: number | undefined;
  /**
   * Number of processes that serve, or `"cores"` for one on each core. The program is started again for each of them, and
   * all share their state. Without it, this process serves.
   */
  readonly workers?: number | "cores" | undefined;
  /** Source of time, for tests: `FakeClock` of `bowline/testing`. */
  readonly clock?: Clock | undefined;
}

/** Paths for probes. */
export interface HealthPaths {
  /**
   * Path that responds with 200 while the process serves.
   * @default "/livez"
   */
  readonly live?: string | undefined;
  /**
   * Path that responds with 503 as soon as draining begins.
   * @default "/readyz"
   */
  readonly ready?: string | undefined;
}

/** Server that is listening. */
export interface RunningHttpServer {
  /** URL for clients. */
  readonly url: string;
  /** Port that is listened on. */
  readonly port: number;
  /** Server of `node:http`. */
  readonly server: Server;
  /** True if new clients are accepted. False as soon as draining or closing begins. */
  readonly ready: boolean;
  /**
   * Takes the server out of service. For `lameDuckMs` it continues to serve, and each response closes its connection.
   * Then it stops listening, and waits up to `graceMs` for running calls. Within that, and for `lameDuckMs` at most, it
   * serves a last request on each open connection. Finally it closes everything.
   */
  drain(graceMs: number): Promise<void>;
  /** Ends calls, streams and sessions, then stops listening. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Server of a worker. It is one of several processes that serve at the same address. */
export interface RunningHttpWorker extends RunningHttpServer {
  /** Number of the worker. Each process that is started has its own. */
  readonly worker: number;
}

/** Result of {@link serveHttp} with `workers`: the primary starts the workers and serves nothing itself. */
export type RunningHttpWorkers = RunningHttpPrimary | RunningHttpWorker;

/** Default of the option `path`. */
const PATH = "/mcp";

const OPTIONS: Known<ServeHttpOptions> = {
  port: "any",
  host: "string",
  path: "string",
  health: [{ boolean: [false], object: { live: "string", ready: "string" } }],
  lameDuckMs: "ms",
  connectionIdleMs: "ms",
  workers: "any",
  clock: "object",
};

/**
 * Maximum time to wait for clients: for the first request on an open connection, and before connections are cut for
 * written data to be read.
 */
const FLUSH_MS = 1_000;
const SWEEP_MS = 10;
/** Maximum time to wait for an idle turn of the event loop, and maximum duration of such a turn. */
const QUIET_MS = 1_000;
const IDLE_TURN_MS = 0.05;

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "choose another port, or 0 for a free one"],
  ["EACCES", "choose a port above 1023"],
  ["EADDRNOTAVAIL", "the host must be an address of this machine"],
  ["ENOTFOUND", "the host must be an address of this machine"],
]);

/** Serves a request of `node:http`, or of a framework that passes on such requests. */
export function serveNodeRequest(
  server: Pick<HttpServerLike, "handle">,
  request: IncomingMessage,
  response: ServerResponse,
  options?: NodeExchangeOptions,
): void {
  if (options !== undefined) assertAtCall({ serveNodeRequest }, options, EXCHANGE_OPTIONS);
  server.handle(createNodeExchange(request, response, options));
}

/**
 * Returns the server as a listener for `node:http`, Express and other frameworks. Uses the body that a parser has left
 * in `request.body`. An object without `handle`, such as an issuer of `bowline/auth/issuer`, is served by its `fetch`.
 */
export function toNodeListener(server: Pick<HttpServerLike, "handle"> | FetchServerLike): RequestListener {
  if (typeof Object(server).handle !== "function" && typeof Object(server).fetch !== "function")
    atCaller(toNodeListener, () => {
      throw new DefinitionError("toNodeListener needs a server, such as an McpServer");
    });
  if (!("handle" in server)) return toFetchListener(server.fetch);
  return (request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) => {
    const { body } = request;
    server.handle(createNodeExchange(request, response, body === undefined ? undefined : { body }));
  };
}

/**
 * Listens for HTTP requests, by default on this machine only. Loads `node:http` on the first call.
 *
 * @example
 * ```ts
 * const { url, close } = await serveHttp(server, { port: 3000 });
 * console.log(`Clients connect to ${url}`);
 * ```
 */
export async function serveHttp(
  server: HttpServerLike,
  options?: ServeHttpOptions & { readonly workers?: undefined },
): Promise<RunningHttpServer>;
/**
 * Listens for HTTP requests on several cores: the same program runs in several processes, each of which reaches this
 * function.
 *
 * @example
 * ```ts
 * await serveHttp(server, { port: 3000, workers: "cores" });
 * ```
 */
export async function serveHttp(
  server: HttpServerLike,
  options: ServeHttpOptions & { readonly workers: number | "cores" },
): Promise<RunningHttpWorkers>;
export async function serveHttp(
  server: HttpServerLike,
  options?: ServeHttpOptions,
): Promise<RunningHttpServer | RunningHttpWorkers>;
export async function serveHttp(
  server: HttpServerLike,
  options: ServeHttpOptions = {},
): Promise<RunningHttpServer | RunningHttpWorkers> {
  atCaller(serveHttp, () => assertServable(server, options));
  const running = await atCaller(serveHttp, () => serve(server, options));
  if (process.stderr.isTTY) await greetTerminal(server, running.url);
  return running;
}

/** Says at the terminal where the server listens. A worker of `node:cluster` leaves that to its primary. */
async function greetTerminal({ info }: HttpServerLike, url: string): Promise<void> {
  const { default: cluster } = await import("node:cluster");
  if (cluster.isPrimary) greet(info, `listens on ${url}`, ["npx", "bowline", "list", url]);
}

async function serve(
  server: HttpServerLike,
  options: ServeHttpOptions,
): Promise<RunningHttpServer | RunningHttpWorkers> {
  const { port = 0, workers } = options;
  if (workers === undefined) return serveHere(server, options);
  const { serveByWorkers } = await import("../workers/serve.js");
  const { lameDuckMs = SERVE_HTTP_LIMITS.lameDuckMs } = options;
  const serveAt = (port: number) => serveHere(server, { ...options, port });
  return serveByWorkers(server, { workers, port, lameDuckMs, serve: serveAt });
}

function assertServable(server: HttpServerLike, options: ServeHttpOptions): void {
  if (typeof server?.handle !== "function") throw new DefinitionError("serveHttp needs a server, such as an McpServer");
  assertOptions("serveHttp", options, OPTIONS);
  const { port = 0, path = PATH } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new DefinitionError(`serveHttp: port must be an integer from 0 to 65535, got ${JSON.stringify(port)}`);
  if (!path.startsWith("/"))
    throw new DefinitionError(`serveHttp: path must begin with /, got ${JSON.stringify(path)}`);
}

/** Listens in this process. */
async function serveHere(server: HttpServerLike, options: ServeHttpOptions): Promise<RunningHttpServer> {
  const { port = 0, host = "127.0.0.1", path = PATH, clock = systemClock } = options;
  const { connectionIdleMs = SERVE_HTTP_LIMITS.connectionIdleMs } = options;
  const { createServer } = await import("node:http");
  const listener = toNodeListener(server);
  const alike = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
  const paths = new Set([path, alike, ...(server.onListening?.(host) ?? [])]);
  const readiness = createReadiness(server, () => ready);
  const probe = toProbe(options.health, readiness, path);
  const http = createServer({ keepAliveTimeout: connectionIdleMs }, (request, response) => {
    const { url = "" } = request;
    begin(request, response);
    if (!ready || isStream(request)) response.setHeader("connection", "close");
    if (paths.has(url) || paths.has(url.split("?", 1)[0] as string)) listener(request, response);
    else probe(url, response);
  });
  let ready = true;
  const sockets = trackSockets(http);
  await listen(http, port, host);
  const bound = (http.address() as AddressInfo).port;
  const name = host.includes(":") ? `[${host}]` : host;
  const closing = new AbortController();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    ready = false;
    closing.abort();
    closed ??= server.close().then(() => stop(http, sockets));
    return closed;
  };
  const drain = async (graceMs: number): Promise<void> => {
    ready = false;
    closeAfterResponses(sockets);
    const isSeen = readiness.isProbed || !isLoopback(host);
    const { lameDuckMs = isSeen ? SERVE_HTTP_LIMITS.lameDuckMs : 0 } = options;
    if (lameDuckMs > 0) await pause(clock, lameDuckMs, closing.signal);
    await stopListening(http);
    const stoppedAt = clock.now();
    const isOver = () => closing.signal.aborted || clock.now() - stoppedAt >= Math.min(lameDuckMs, graceMs);
    if (!isOver()) await lastRequests(sockets, isOver);
    await closeIdle(http, sockets);
    await server.drain?.(Math.max(0, graceMs - (clock.now() - stoppedAt)));
    await close();
  };
  return {
    url: `http://${name}:${bound}${path}`,
    port: bound,
    server: http,
    get ready() {
      return ready;
    },
    drain,
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

/**
 * True for a stream of messages outside calls. It ends when the server drains. Its connection is then closed and not used
 * again, since the next request on it would be refused.
 */
function isStream({ method, headers }: IncomingMessage): boolean {
  return method === "GET" || headers["mcp-method"] === "subscriptions/listen";
}

/** Lets the responses that have not begun close their connections, as those to later requests do. */
function closeAfterResponses(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets)
    for (const response of responsesOf(socket)) if (!response.headersSent) response.setHeader("connection", "close");
}

/** Running responses, by their connection, that are not in Node's private member. */
const tracked = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Called for each request. Node keeps the running response of a connection in a private member. A response that is not
 * there is tracked until it ends: it waits for an earlier one, or this Node has no such member.
 */
function begin({ socket }: IncomingMessage, response: ServerResponse): void {
  if (runningOn(socket) === response) return;
  const responses = tracked.get(socket) ?? new Set();
  tracked.set(socket, responses.add(response));
  response.once("close", () => responses.delete(response));
}

/** Returns the responses of a connection that have not ended. */
function responsesOf(socket: Socket): readonly ServerResponse[] {
  return [runningOn(socket) ?? [], ...(tracked.get(socket) ?? [])].flat();
}

function runningOn(socket: Socket): ServerResponse | null | undefined {
  return (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage;
}

/** Adds the remedy to an error of the platform. */
function explain(error: NodeJS.ErrnoException): Error {
  const remedy = REMEDIES.get(error.code ?? "");
  error.message = `serveHttp: ${error.message}${remedy === undefined ? "" : `; ${remedy}`}`;
  return error;
}

/** Returns the set of open connections. */
function trackSockets(http: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Returns the function that tells if requests can be served. A server that loses the state of its cluster is degraded
 * but ready: it serves the sessions that it knows. A server that has not had the state since its start is not ready.
 */
function createReadiness(server: HttpServerLike, isOpen: () => boolean): Readiness {
  let hasStarted = false;
  const readiness = {
    isProbed: false,
    probe: () => {
      readiness.isProbed = true;
      const isAvailable = server.cluster?.available !== false;
      hasStarted ||= isAvailable;
      if (!isOpen()) return "draining";
      if (!hasStarted) return "starting";
      return isAvailable ? "ok" : "degraded";
    },
  };
  return readiness;
}

interface Readiness {
  /** True if somebody has asked. */
  readonly isProbed: boolean;
  probe(): string;
}

/** Responds to probes, and with 404 to unknown paths. */
function toProbe(health: ServeHttpOptions["health"] = {}, readiness: Readiness, path: string) {
  const { live = "/livez", ready = "/readyz" } = health === false ? { live: "", ready: "" } : health;
  const text = { "content-type": "text/plain" };
  // A path of the author's choice may be meant for those who know it.
  const place = path === PATH ? `the MCP endpoint is at ${PATH}` : "this is not the path of the MCP endpoint";
  return (url: string, response: ServerResponse): void => {
    const state = url === ready ? readiness.probe() : "ok";
    if (url === live) response.writeHead(200, text).end("ok");
    else if (url === ready && (state === "ok" || state === "degraded")) response.writeHead(200, text).end(state);
    else if (url === ready) response.writeHead(503, { ...text, "retry-after": "1" }).end(state);
    else response.writeHead(404, text).end(`Not found: ${place}`);
  };
}

/**
 * Stops listening. The system resets connections in its queue when the listener is closed. So it is closed in an idle turn
 * of the event loop, whose poll has just found nothing.
 */
async function stopListening(http: Server): Promise<void> {
  const { Server: Listener } = await import("node:net");
  await quietTurn();
  if (http.listening) Listener.prototype.close.call(http);
}

/**
 * Waits until each connection carries a request whose response closes it, or is closed by its client. A client that keeps a
 * connection may send a request at the moment at which the server closes it, and then loses it. No new connections come,
 * so that a busy client uses up those that it keeps.
 */
async function lastRequests(sockets: ReadonlySet<Socket>, isOver: () => boolean): Promise<void> {
  while (!isOver() && [...sockets].some((socket) => responsesOf(socket).length === 0))
    await pause(systemClock, SWEEP_MS);
  await quietTurn();
}

/**
 * Closes idle connections. It is called in an idle turn, since the system resets a connection with an unread request when it
 * is closed. Then each connection without a request has a moment to send its first one.
 */
async function closeIdle(http: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  // From now on requests are refused. No client has sent one on these connections.
  http.closeIdleConnections();
  const until = performance.now() + FLUSH_MS;
  while (performance.now() < until && [...sockets].some(({ bytesRead }) => bytesRead === 0))
    await pause(systemClock, SWEEP_MS);
}

/** Resolves in an idle turn of the event loop, or after `QUIET_MS`. */
function quietTurn(): Promise<void> {
  return new Promise((resolve) => {
    const until = performance.now() + QUIET_MS;
    const turn = (begun: number) => {
      const now = performance.now();
      if (now - begun < IDLE_TURN_MS || now > until) resolve();
      else setImmediate(turn, performance.now());
    };
    setImmediate(turn, Number.NEGATIVE_INFINITY);
  });
}

/** Stops listening, waits until written data has been read, and cuts connections that are still open. */
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
