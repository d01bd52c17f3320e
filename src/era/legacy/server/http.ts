import { attempt, type MaybePromise } from "../../../call/maybe-promise.js";
import { fromEventIdHeader } from "../../../http/event-id.js";
import type { HttpExchange, HttpHeaders } from "../../../http/exchange.js";
import { accepts, rememberLast } from "../../../http/headers.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import { KeepAlive } from "../../../http/sse/keep-alive.js";
import { DefinitionError } from "../../../protocol/errors.js";
import { Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { answerableId, type Parsed } from "../../../protocol/jsonrpc/parse.js";
import { MemoryEventLog } from "../../../store/event-log.js";
import { type HttpRefusal, refuse, refuseFailed } from "../../refuse.js";
import type { ClientDescription, HttpBinding, HttpBindingOptions, ServerEra, ServerRuntime } from "../../server-era.js";
import { resolveSsePaths } from "../../sse-paths.js";
import { type BindingOptions, toBindingOptions } from "./binding-options.js";
import { toFrame } from "./calls.js";
import type { SharedEndpoint, SharedSessions } from "./cluster/sessions.js";
import { methodsOf } from "./descriptor.js";
import { createCancelQueue } from "./early-cancels.js";
import { HttpSession, type SessionContext } from "./http-session.js";
import { invalidRequest, refusal, sessionClosed, shuttingDown, toClusterRefusal, toUnbegun } from "./refusals.js";
import type { ReplyKind } from "./reply.js";
import { type Sessions, SessionTable } from "./session-table.js";
import { type SseContext, SseEndpoint } from "./sse.js";

const SESSION_ID = "mcp-session-id";
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** Version of a client that sends no version header and has no session. */
const ASSUMED_VERSION = "2025-03-26";

/**
 * Creates the HTTP side of the legacy era: Streamable HTTP of 2025-03-26 to 2025-11-25, with sessions or, if they are
 * disabled, with independent POSTs.
 */
export function createLegacyBinding(
  era: ServerEra,
  runtime: ServerRuntime,
  options: HttpBindingOptions,
): MaybePromise<HttpBinding> {
  const { cluster } = runtime.options;
  const bind = (share?: Share) =>
    new LegacyBinding(era, runtime, toBindingOptions(options), methodsOf(options.sessions), share);
  if (cluster === undefined || options.sessions === false) return bind();
  return import("./cluster/share.js").then(({ shareSessions }) => bind((endpoint) => shareSessions(cluster, endpoint)));
}

/** Connects the sessions of an endpoint with the other processes that serve them. */
type Share = (endpoint: SharedEndpoint) => SharedSessions;

class LegacyBinding implements HttpBinding {
  readonly #methods: readonly string[];
  readonly #runtime: ServerRuntime;
  readonly #options: BindingOptions;
  readonly #versions: readonly string[];
  readonly #table: Sessions;
  readonly #keepAlive: KeepAlive<SseConnection>;
  readonly #context: SessionContext;
  readonly #pickReplyKind: (accept: string | undefined) => ReplyKind | undefined;
  /** Sessions that no client can name: unfinished handshakes and single POSTs. */
  readonly #unnamed = new Set<HttpSession>();
  readonly #sseContext: SseContext | undefined;
  #sse: SseEndpoint | undefined;
  /** Called when a call is over, while `idle` waits for the last one. */
  #onCallOver: () => void = () => {};
  #closed = false;

  constructor(
    era: ServerEra,
    runtime: ServerRuntime,
    options: BindingOptions,
    methods: readonly string[],
    share: Share | undefined,
  ) {
    this.#runtime = runtime;
    this.#options = options;
    this.#methods = methods;
    this.#pickReplyKind = rememberLast((accept) => pickReplyKind(accept, options));
    this.#versions = runtime.versions.filter((version) => era.versions.includes(version));
    const joined = share?.({
      runtime,
      resumable: options.resumable === true,
      create: (id, principal) => new HttpSession(this.#context, id, principal),
      onEnd: (id) => {
        if (joined?.shared.log === undefined) this.#forget(id);
        this.#onEnd(id);
      },
    });
    const hasGate = runtime.options.http?.gate !== undefined;
    const table = new SessionTable(runtime, hasGate, (id) => this.#onEnd(id));
    this.#table = joined?.sessions ?? table;
    this.#keepAlive = new KeepAlive(runtime.clock, options.keepAliveMs);
    const { resumable, sse, accept } = options;
    this.#context = {
      era,
      runtime,
      retryMs: options.retryMs,
      mayListen: methods.includes("GET"),
      log: resumable === true ? (joined?.shared.log ?? new MemoryEventLog(runtime.limits)) : resumable || undefined,
      shared: joined?.shared,
      keepAlive: this.#keepAlive,
      cancels: createCancelQueue(runtime.clock),
      onIdle: (session) => this.#onIdle(session),
      onCallOver: () => this.#onCallOver(),
    };
    if (sse !== undefined && sse !== false && accept !== undefined) {
      const paths = resolveSsePaths(sse);
      this.#sseContext = { era, runtime, options, accept, keepAlive: this.#keepAlive, paths, table };
    }
  }

  serve(exchange: HttpExchange, body: Parsed | undefined): void {
    if (this.#closed) return this.#refuse(exchange, shuttingDown, body);
    const version = exchange.header("mcp-protocol-version");
    if (version !== undefined && !this.#versions.includes(version) && !this.#isOverruled(version, exchange))
      return this.#refuse(exchange, this.#unsupported(version), body);
    if (exchange.method === "POST") return this.#post(exchange, body, version);
    if (!this.#methods.includes(exchange.method)) return this.#refuse(exchange, this.#notAllowed(exchange.method));
    const serve = exchange.method === "GET" ? this.#listen : this.#delete;
    const session = this.#find(exchange, body);
    if (session instanceof Promise)
      this.#serveLater(exchange, body, session, (found) => serve.call(this, exchange, found));
    else if (session !== undefined) serve.call(this, exchange, session);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onCallOver = () => {
        if (this.#unnamed.size === 0 && this.stats().running === 0) resolve();
      };
      this.#onCallOver();
    });
  }

  close(): void | Promise<void> {
    this.#closed = true;
    const closed = this.#table.close(shuttingDown);
    for (const session of [...this.#unnamed]) session.end(shuttingDown);
    this.#unnamed.clear();
    this.#keepAlive.stop();
    return closed;
  }

  /** Serves the two paths of HTTP+SSE. */
  route(exchange: HttpExchange): void {
    if (this.#sseContext === undefined) return;
    this.#sse ??= new SseEndpoint(this.#sseContext);
    this.#sse.serve(exchange);
  }

  stats(): Readonly<Record<string, number>> {
    let streams = 0;
    let running = 0;
    for (const session of [...this.#table.values(), ...this.#unnamed]) {
      streams += session.streams;
      running += session.running;
    }
    return { sessions: this.#table.size + (this.#sse?.size ?? 0), streams, running };
  }

  #post(exchange: HttpExchange, body: Parsed | undefined, version: string | undefined): void {
    if (body === undefined) return this.#refuse(exchange, invalidRequest("the body is missing"));
    const asks = body.kind === "request" || body.kind === "batch";
    const kind = asks ? this.#pickReplyKind(exchange.header("accept")) : "json";
    if (kind === undefined) return this.#refuse(exchange, notAcceptable, body);
    if (!this.#options.sessions.enabled) return this.#postSingle(exchange, body, kind, version);
    const isHandshake = body.kind === "request" && body.message.method === "initialize";
    if (isHandshake && exchange.header(SESSION_ID) === undefined) {
      this.#open(exchange, body.message, kind).catch((error: unknown) => this.#refuseFailed(exchange, error, body));
      return;
    }
    const session = this.#find(exchange, body);
    if (session instanceof Promise)
      this.#serveLater(exchange, body, session, (found) => this.#postTo(found, exchange, body, kind));
    else if (session !== undefined) this.#postTo(session, exchange, body, kind);
  }

  /** Serves an exchange when its session has been read. */
  #serveLater(
    exchange: HttpExchange,
    body: Parsed | undefined,
    session: Promise<HttpSession | undefined>,
    serve: (session: HttpSession) => void,
  ): void {
    session.then((found) => found && serve(found)).catch((error: unknown) => this.#refuseFailed(exchange, error, body));
  }

  #postTo(session: HttpSession, exchange: HttpExchange, body: Parsed, kind: ReplyKind): void {
    session.post(exchange, body, kind);
    // A session with calls does not expire. The end of its last call restarts the idle time.
    if (!session.busy) this.#table.touch(session);
  }

  /** Serves a POST without sessions. Unless it is a handshake, only the version of its client is known. */
  #postSingle(exchange: HttpExchange, body: Parsed, kind: ReplyKind, version = ASSUMED_VERSION): void {
    const isHandshake = body.kind === "request" && body.message.method === "initialize";
    const client: ClientDescription | undefined = isHandshake
      ? undefined
      : { version, capabilities: {}, info: undefined };
    const session = new HttpSession(this.#context, undefined, exchange.principal, client);
    this.#unnamed.add(session);
    session.post(exchange, body, kind);
    if (!session.busy) this.#onIdle(session);
  }

  async #open(exchange: HttpExchange, request: RpcRequest, kind: ReplyKind): Promise<void> {
    const id = this.#createId();
    const session = new HttpSession(this.#context, id, exchange.principal);
    this.#unnamed.add(session);
    const handshake = serveHandshake(session, exchange, request, kind, () => this.#admit(id, session, exchange));
    const opened = await session.hold(exchange, request.id, handshake);
    this.#unnamed.delete(session);
    this.#onCallOver();
    // The client has not received the id, so it cannot use the session.
    if (!opened) await this.#table.end(session, sessionClosed);
  }

  async #admit(id: string, session: HttpSession, exchange: HttpExchange): ReturnType<Admit> {
    const full = await this.#table.reserve(session.principal, session, exchange);
    if (full !== undefined) return { refusal: full };
    try {
      await this.#options.sessions.onOpen?.(id);
    } catch (error) {
      this.#table.free(session.principal, session);
      throw error;
    }
    if (session.ended !== undefined) {
      this.#table.free(session.principal, session);
      return { refusal: session.ended };
    }
    await this.#table.add(id, session);
    return { headers: { [SESSION_ID]: id } };
  }

  #createId(): string {
    const id = this.#options.sessions.createId?.() ?? crypto.randomUUID();
    if (!VISIBLE_ASCII.test(id))
      throw new DefinitionError("http.sessions.createId must return a string of one or more visible ASCII characters");
    if (this.#table.has(id)) throw new DefinitionError("http.sessions.createId returned the id of an open session");
    return id;
  }

  #listen(exchange: HttpExchange, session: HttpSession): void {
    if (!accepts(exchange.header("accept"), "text/event-stream")) return this.#refuse(exchange, notAcceptableStream);
    this.#table.touch(session);
    const lastEventId = exchange.header("last-event-id");
    session.listen(exchange, lastEventId === undefined ? undefined : fromEventIdHeader(lastEventId));
  }

  #delete(exchange: HttpExchange, session: HttpSession): void {
    attempt(
      () => this.#table.end(session, sessionClosed),
      () => exchange.reply(200, {}),
      (error) => this.#refuseFailed(exchange, error, undefined),
    );
  }

  /**
   * Finds the session that the exchange names. If there is none, answers the exchange. The session keeps the version of
   * its handshake, although some clients name another one that the server supports.
   */
  #find(exchange: HttpExchange, body: Parsed | undefined): MaybePromise<HttpSession | undefined> {
    const sessionId = exchange.header(SESSION_ID);
    if (sessionId === undefined)
      return this.#refuse(
        exchange,
        invalidRequest("the Mcp-Session-Id header is missing; send initialize first"),
        body,
      );
    const found = this.#table.find(sessionId, exchange.principal);
    if (!(found instanceof Promise)) return this.#check(found, exchange, body);
    return found.then((found) => this.#check(this.#closed ? shuttingDown : found, exchange, body));
  }

  #check(found: HttpSession | HttpRefusal, exchange: HttpExchange, body: Parsed | undefined): HttpSession | undefined {
    return found instanceof HttpSession ? found : this.#refuse(exchange, found, body);
  }

  #onIdle(session: HttpSession): void {
    if (session.id !== undefined) return this.#table.touch(session);
    this.#unnamed.delete(session);
    session.end(sessionClosed);
    this.#onCallOver();
  }

  /** Removes the events of a session from a log of the author. */
  #forget(id: string): void {
    const { log } = this.#context;
    (async () => log?.drop(id))().catch((error: unknown) => this.#runtime.report(error, { where: "event log" }));
  }

  async #onEnd(id: string): Promise<void> {
    this.#runtime.onSessionEnd?.(id);
    try {
      await this.#options.sessions.onEnd?.(id);
    } catch (error) {
      this.#runtime.report(error, { where: "sessions.onEnd" });
    }
  }

  /** True if the server supports the version in another era, and a session is named, which keeps its own version. */
  #isOverruled(version: string, exchange: HttpExchange): boolean {
    const mayHaveSession = this.#options.sessions.enabled && exchange.header(SESSION_ID) !== undefined;
    return mayHaveSession && this.#runtime.versions.includes(version);
  }

  #unsupported(version: string): HttpRefusal {
    const shown = JSON.stringify(version.slice(0, 40));
    if (this.#runtime.versions.includes(version)) {
      const how = `is served for POST with its _meta only (others: ${this.#versions.join(", ")})`;
      return refusal(400, `Unsupported protocol version: ${shown} ${how}`);
    }
    // Clients of this era are told nothing of later versions, unless they use a later one themselves.
    const isLater = version > (this.#versions[0] as string);
    const supported = (isLater ? this.#runtime.versions : this.#versions).join(", ");
    return refusal(400, `Unsupported protocol version: ${shown} (supported versions: ${supported})`);
  }

  #notAllowed(method: string): HttpRefusal {
    return refusal(405, `Method not allowed: ${method}`, { allow: ["POST", ...this.#methods].join(", ") });
  }

  #refuseFailed(exchange: HttpExchange, error: unknown, body: Parsed | undefined): undefined {
    const refusal = toClusterRefusal(error);
    if (refusal === undefined || exchange.answered)
      return refuseFailed(exchange, this.#runtime, error, body && answerableId(body));
    this.#refuse(exchange, refusal, body);
  }

  #refuse(exchange: HttpExchange, why: HttpRefusal, body?: Parsed): undefined {
    refuse(exchange, this.#runtime, why, body && answerableId(body));
  }
}

const notAcceptable = refusal(
  406,
  "Not acceptable: the Accept header must allow application/json and text/event-stream",
);

const notAcceptableStream = refusal(406, "Not acceptable: the Accept header must allow text/event-stream");

/** Returns the form of the response, or undefined if the client accepts none that this endpoint offers. */
function pickReplyKind(accept: string | undefined, options: BindingOptions): ReplyKind | undefined {
  const { responseMode = "auto" } = options;
  if (responseMode.endsWith("json") && accepts(accept, "application/json")) return "json";
  return responseMode !== "json" && accepts(accept, "text/event-stream") ? "stream" : undefined;
}

/** Adds the session to the table and returns the headers that name it, or a refusal. */
export type Admit = () => Promise<{ readonly headers: HttpHeaders } | { readonly refusal: HttpRefusal }>;

/**
 * Serves the `initialize` request of a new session. The response waits for the outcome, since only a successful
 * handshake opens a session. Resolves with true if the result was written to the client.
 */
export async function serveHandshake(
  session: HttpSession,
  exchange: HttpExchange,
  request: RpcRequest,
  kind: ReplyKind,
  admit: Admit,
): Promise<boolean> {
  const { runtime, era, protocol } = session;
  const refused = (refusal: HttpRefusal): false => {
    if (!exchange.answered) refuse(exchange, runtime, refusal, request.id);
    return false;
  };
  try {
    const call = protocol.decode(request, session.originOf(exchange));
    if (call instanceof Refusal) return refused({ status: 400, error: era.encodeError(call, undefined) });
    const outcome = await runtime.run(call);
    if (session.ended !== undefined) return refused(session.ended);
    if (outcome.kind === "dropped") return refused(shuttingDown);
    if (outcome.kind === "error" && outcome.busy !== undefined) return refused(outcome.busy.refusal);
    const admission = outcome.kind === "result" ? await admit() : { headers: {} };
    if ("refusal" in admission) return refused(admission.refusal);
    const reply = session.createReply(exchange, kind, [request.id], false);
    await reply.open(admission.headers);
    const delivered = reply.answer(toFrame(call, outcome));
    call.afterAnswer?.();
    return delivered && outcome.kind === "result";
  } catch (error) {
    const away = toUnbegun(error);
    if (away !== undefined) return refused(away);
    refuseFailed(exchange, runtime, error, request.id);
    return false;
  }
}
