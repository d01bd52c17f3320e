// The modern era has no such file: nothing is kept between modern requests.

import type { Deadline, DeadlineQueue } from "../../../call/deadline-queue.js";
import { CallLifetime } from "../../../call/lifetime.js";
import type { AuthInfo } from "../../../http/auth-info.js";
import type { HttpExchange } from "../../../http/exchange.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import { ConnectionError, McpError, ProtocolError } from "../../../protocol/errors.js";
import { formatNotification } from "../../../protocol/jsonrpc/format.js";
import type { Params, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { classify, type Parsed, type ParseFailure } from "../../../protocol/jsonrpc/parse.js";
import type { EventLog } from "../../../store/event-log.js";
import { type HttpRefusal, refuse, refuseFailed } from "../../refuse.js";
import type { Call, CallOrigin, ClientDescription, ServerEra, ServerRuntime } from "../../server-era.js";
import { type CallOwner, PostCalls } from "./calls.js";
import { PendingClientRequests } from "./client-requests.js";
import type { EarlyCancel } from "./early-cancels.js";
import { keepOrigin } from "./kept-client.js";
import { invalidRequest, refusal, toClusterRefusal, toConflict } from "./refusals.js";
import { JsonReply, type PostReply, type ReplyKind, StreamReply } from "./reply.js";
import { LegacySession, type SessionWire } from "./session.js";
import type { BroadcastId, SessionSharing } from "./shared-sessions.js";
import type { SessionStream } from "./stream.js";
import { type ReaderState, SessionStreams, type StreamingSession } from "./streams.js";

/** Notifications that every process of a cluster sends by itself. Others come from one process. */
const TOLD_BY_ALL = /^notifications\/(message|.*(changed|updated))$/;

/** State that all sessions of an endpoint share. */
export interface SessionContext {
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly retryMs: number | undefined;
  /** True if clients may open a GET stream. */
  readonly mayListen: boolean;
  readonly log: EventLog | undefined;
  /** Connection to other processes that serve the same sessions, if there are any. */
  readonly shared: SessionSharing | undefined;
  readonly keepAlive: KeepAlive<SseConnection>;
  readonly cancels: DeadlineQueue<EarlyCancel>;
  /** Called when the session has neither running calls nor connections. */
  onIdle(session: HttpSession): void;
  onCallOver(): void;
}

/**
 * HTTP side of a session: calls with their replies, streams, and requests to the client. Without an id it is the
 * session of a single POST, in which nothing can be resumed, cancelled or answered, since no client can name it.
 */
export class HttpSession implements SessionWire, StreamingSession, CallOwner {
  readonly shared = false;
  readonly id: string | undefined;
  /** Entry of the session in the queue of idle sessions. */
  idlePlace: Deadline<HttpSession> | undefined;
  readonly sessionId: string;
  /** Principal that opened the session. Only it may use the session. */
  readonly principal: string | undefined;
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly protocol: LegacySession;
  readonly #context: SessionContext;
  readonly #calls: PostCalls;
  readonly #streams: SessionStreams;
  readonly #requests = new PendingClientRequests();
  readonly sharing: SessionSharing | undefined;
  /** Exchanges that wait for code of the author or for the event log, with the ids of their requests. */
  #held: Map<HttpExchange, RequestId | undefined> | undefined;
  #ended: HttpRefusal | undefined;

  constructor(context: SessionContext, id: string | undefined, principal?: string, client?: ClientDescription) {
    const { era, runtime, retryMs } = context;
    this.#context = context;
    this.id = id;
    this.sessionId = id ?? "";
    this.principal = principal;
    this.era = era;
    this.runtime = runtime;
    this.protocol = new LegacySession(era, runtime, this, client);
    this.#calls = new PostCalls(this, context.cancels);
    this.sharing = id === undefined ? undefined : context.shared;
    const log = id === undefined ? undefined : context.log;
    this.#streams = new SessionStreams(this, log, retryMs, context.keepAlive, this.sharing);
  }

  get version(): string {
    return this.protocol.client.version;
  }

  /** True if a request runs or a stream is connected. Such a session does not expire. */
  get busy(): boolean {
    return this.#calls.size > 0 || this.#streams.connections > 0;
  }

  /** True if a response is about to begin: of the handshake, or of a stream that opens. */
  get opening(): boolean {
    return this.#held !== undefined && this.#held.size > 0;
  }

  get mute(): boolean {
    return this.id === undefined || !this.#context.mayListen;
  }

  get deserted(): boolean {
    return !this.#streams.standalone.connected;
  }

  get running(): number {
    return this.#calls.size;
  }

  /** Number of streams that can still carry messages to the client. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Reason of the end, after the session has ended. */
  get ended(): HttpRefusal | undefined {
    return this.#ended;
  }

  /** Serves a POST to this session. */
  post(exchange: HttpExchange, body: Parsed, kind: ReplyKind): void {
    switch (body.kind) {
      case "request":
        return this.#calls.serve(exchange, body.message, kind);
      case "batch":
        return this.#postBatch(exchange, body.items, kind);
      case "invalid":
        return this.#refuseInvalid(exchange, body.failure);
      default:
        if (this.sharing === undefined) exchange.reply(202, {});
        return this.#acknowledge(exchange, this.#take(body));
    }
  }

  /** Opens the standalone stream, or resumes a lost stream after `lastEventId` if there is an event log. */
  listen(exchange: HttpExchange, lastEventId = ""): void {
    const { log } = this.#streams;
    const opened =
      log === undefined || lastEventId === ""
        ? this.#listenAnew(exchange)
        : this.#streams.resume(exchange, log, lastEventId);
    this.hold(exchange, undefined, opened).catch((error: unknown) => this.#refuseFailed(exchange, error));
  }

  async #listenAnew(exchange: HttpExchange): Promise<void> {
    if (!(await this.#streams.listen(exchange)) && !exchange.answered)
      refuse(exchange, this.runtime, refusal(409, "The session already has an open GET stream"));
  }

  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void> {
    const stream = call === undefined ? this.#streams.standalone : this.#calls.replyOf(call)?.stream;
    if (stream?.reachable !== true) {
      if (call === undefined && this.sharing !== undefined && !TOLD_BY_ALL.test(method))
        this.sharing.handOver(this.sessionId, formatNotification(method, params), undefined);
      return;
    }
    return stream.send(formatNotification(method, params), call?.end);
  }

  broadcast(id: BroadcastId, params: Params): void {
    const { standalone } = this.#streams;
    if (!standalone.reachable) return;
    void standalone.send(formatNotification("notifications/message", params), undefined, id);
  }

  async request(
    call: Call | undefined,
    method: string,
    params: Params | undefined,
    lifetime: CallLifetime,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse> {
    const stream = this.#streamForRequest(call, method);
    return this.#ask(method, params, lifetime, (frame) => stream.send(frame, call?.end), onProgress);
  }

  async askReader(): Promise<ReaderState> {
    const { standalone } = this.#streams;
    const { clock, limits } = this.runtime;
    const lifetime = new CallLifetime("ping", { timeoutMs: limits.streamPingMs }, clock);
    let isGone = false;
    const onGone = () => {
      isGone = true;
      lifetime.abort(new ConnectionError("The GET stream was closed", { delivery: "sent" }));
    };
    standalone.onGone(onGone);
    try {
      await this.#ask("ping", undefined, lifetime, (frame) => standalone.probe(frame));
      return "reading";
    } catch (error) {
      if (lifetime.aborted) return isGone ? "gone" : "silent";
      // A malformed response is a sign of life as well.
      if (error instanceof ProtocolError) return "reading";
      throw error;
    } finally {
      standalone.offGone(onGone);
      lifetime.close();
    }
  }

  async #ask(
    method: string,
    params: Params | undefined,
    lifetime: CallLifetime,
    send: (frame: string) => void | Promise<void>,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse> {
    const questions = this.sharing?.questions;
    if (questions === undefined) return this.#requests.request(method, params, lifetime, send, onProgress);
    const id = await questions.open(this.sessionId);
    try {
      return await this.#requests.request(method, params, lifetime, send, onProgress, id);
    } finally {
      questions.close(id);
    }
  }

  onListener(exchange: HttpExchange): void {
    this.protocol.subscriptions.listener = keepOrigin(this.originOf(exchange));
  }

  resync(): void {
    this.protocol.resync();
  }

  abandon(stream: SessionStream, reason: unknown): void {
    this.#calls.abandon(stream, reason);
  }

  /** Stream for messages outside calls. */
  get standalone(): SessionStream {
    return this.#streams.standalone;
  }

  /** Processes a message of the client that arrived in another process. Returns false if it concerns nothing here. */
  receiveFromPeer({ method, params }: RpcNotification): boolean {
    return method === "notifications/cancelled" ? this.#calls.cancel(params) : this.#requests.progress(params);
  }

  /** Settles a question whose response arrived in another process. */
  settle(response: RpcResponse): boolean {
    return this.#requests.settle(response);
  }

  failQuestion(id: RequestId, message: string): void {
    this.#requests.fail(id, new ProtocolError(message));
  }

  detachable(call: Call | undefined): boolean {
    return this.#streams.primes && (call === undefined || this.#calls.replyOf(call)?.stream !== undefined);
  }

  detach(call: Call | undefined, retryMs?: number): void {
    if (!this.detachable(call)) return;
    const stream = call === undefined ? this.#streams.standalone : this.#calls.replyOf(call)?.stream;
    stream?.detach(retryMs);
  }

  /** Ends the session with its calls and streams. Idempotent. */
  end(why: HttpRefusal): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    const toReason = () => new ConnectionError(why.error.message, { delivery: "sent" });
    this.#calls.endAll(why, toReason);
    this.#streams.endAll();
    for (const [exchange, id] of this.#held ?? []) if (!exchange.answered) refuse(exchange, this.runtime, why, id);
    this.#held = undefined;
    this.#requests.failAll(toReason);
    this.protocol.close();
  }

  /** Removes the events of the session from its log. */
  forget(): void {
    this.#streams.forget();
  }

  createReply(exchange: HttpExchange, kind: ReplyKind, ids: readonly RequestId[], batch: boolean): PostReply {
    if (kind === "json") return new JsonReply(exchange, batch, ids.length);
    return new StreamReply(exchange, this.#streams.createForCall(ids), ids.length);
  }

  async hold<T>(exchange: HttpExchange, id: RequestId | undefined, work: Promise<T>): Promise<T> {
    this.#held ??= new Map();
    this.#held.set(exchange, id);
    try {
      return await work;
    } finally {
      this.#held?.delete(exchange);
    }
  }

  originOf(exchange: HttpExchange): CallOrigin {
    return new SessionOrigin(exchange, this.id);
  }

  onCallOver(): void {
    if (!this.busy && this.#ended === undefined) this.#context.onIdle(this);
    this.#context.onCallOver();
  }

  #postBatch(exchange: HttpExchange, items: readonly unknown[], kind: ReplyKind): void {
    const problem = this.protocol.batchProblem(items);
    if (problem !== undefined) return refuse(exchange, this.runtime, invalidRequest(problem));
    const requests: RpcRequest[] = [];
    const others: Parsed[] = [];
    for (const item of items) {
      const parsed = classify(item);
      if (parsed.kind === "invalid") return this.#refuseInvalid(exchange, parsed.failure);
      if (parsed.kind === "request") requests.push(parsed.message);
      else others.push(parsed);
    }
    const takeOthers = () => {
      for (const other of others)
        this.#take(other)?.catch((error: unknown) => this.runtime.report(error, { where: "cluster" }));
    };
    if (requests.length > 0) return this.#calls.serveBatch(exchange, requests, kind, takeOthers);
    if (this.sharing === undefined) exchange.reply(202, {});
    const taken = others.map((other) => this.#take(other)).filter((each) => each !== undefined);
    this.#acknowledge(exchange, taken.length === 0 ? undefined : Promise.all(taken).then(() => {}));
  }

  /** Answers an exchange when its message was taken. */
  #acknowledge(exchange: HttpExchange, taken: void | Promise<void>): void {
    const reply = () => void (exchange.answered || exchange.reply(202, {}));
    if (!(taken instanceof Promise)) return reply();
    this.hold(exchange, undefined, taken)
      .then(reply)
      .catch((error: unknown) => this.#refuseFailed(exchange, error));
  }

  /** Takes a message without a response. The promise settles when the process that waits for it can have it. */
  #take(body: Parsed): void | Promise<void> {
    if (body.kind === "notification") return this.#receive(body.message);
    if (body.kind === "response" && !this.#requests.settle(body.message))
      return this.sharing?.questions.answer(this.sessionId, body.message);
  }

  #receive(notification: RpcNotification): void | Promise<void> {
    const { method, params } = notification;
    if (method === "notifications/cancelled") {
      if (!this.#calls.cancel(params)) this.sharing?.forward(this.sessionId, notification);
      return;
    }
    if (method === "notifications/progress") {
      if (this.#requests.progress(params)) return;
      this.sharing?.forward(this.sessionId, notification);
    }
    return this.protocol.receive(notification);
  }

  #streamForRequest(call: Call | undefined, method: string): SessionStream {
    if (this.id === undefined) throw cannotAsk("no_session", method, "sessions are off (http.sessions)");
    if (call === undefined && method !== "ping") {
      throw cannotAsk("no_call", method, "it belongs to no running call");
    }
    const reply = call === undefined ? undefined : this.#calls.replyOf(call);
    if (call !== undefined && reply === undefined) throw cannotAsk("no_call", method, "its call is over");
    const stream = reply === undefined ? this.#streams.standalone : reply.stream;
    if (stream === undefined)
      throw cannotAsk("no_stream", method, "the response to its call is JSON (http.responseMode)");
    if (!stream.reachable) throw cannotAsk("no_stream", method, "the client has no open stream");
    return stream;
  }

  #refuseInvalid(exchange: HttpExchange, failure: ParseFailure): void {
    const { code, message, answer, id } = failure;
    if (answer && !this.#requests.fail(id, new ProtocolError(message)))
      this.sharing?.questions.fail(this.sessionId, id, message);
    refuse(exchange, this.runtime, { status: 400, error: { code, message } }, answer ? undefined : id);
  }

  #refuseFailed(exchange: HttpExchange, error: unknown): void {
    const why = toClusterRefusal(error) ?? toConflict(error);
    if (why === undefined || exchange.answered) refuseFailed(exchange, this.runtime, error);
    else refuse(exchange, this.runtime, why);
  }
}

/** Origin of a request in a session: data of the exchange, and the session id. */
class SessionOrigin implements CallOrigin {
  readonly #exchange: HttpExchange;

  constructor(
    exchange: HttpExchange,
    readonly sessionId: string | undefined,
  ) {
    this.#exchange = exchange;
  }

  get auth(): AuthInfo | undefined {
    return this.#exchange.auth;
  }

  get principal(): string | undefined {
    return this.#exchange.principal;
  }

  get endsAt(): number | undefined {
    return this.#exchange.endsAt;
  }

  get judge(): CallOrigin["judge"] {
    return this.#exchange.judge;
  }

  get url(): string {
    return this.#exchange.url;
  }

  get remote(): string | undefined {
    return this.#exchange.remote;
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }
}

function cannotAsk(code: string, method: string, why: string): McpError {
  return new McpError(code, `${method} cannot be sent to the client: ${why}`);
}
