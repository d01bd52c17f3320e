import type { IdleQueue } from "../../call/idle-queue.js";
import type { CallScope } from "../../call/scope.js";
import type { HttpExchange, HttpHeaders } from "../../http/exchange.js";
import type { SseConnection } from "../../http/sse-connection.js";
import { INTERNAL_ERROR } from "../../jsonrpc/error-codes.js";
import { formatFailure, formatNotification, formatResult } from "../../jsonrpc/format.js";
import type { Params, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../jsonrpc/message.js";
import { classify, isRequestId, type Parsed, type ParseFailure } from "../../jsonrpc/parse.js";
import { ConnectionError, McpError, ProtocolError, RpcError } from "../../schema/errors.js";
import type { EventLog } from "../../store/event-log.js";
import type { Call, CallOrigin, ClientFacts, ServerWire } from "../call.js";
import type { HttpBindingOptions, Outcome, ServerEra, ServerHost } from "../era.js";
import { ClientRequests } from "./client-requests.js";
import { JsonReply, type PostReply, StreamReply } from "./post-reply.js";
import { type HttpRefusal, invalidRequest, refusal, refuse, shuttingDown } from "./refuse.js";
import { LegacySession } from "./session.js";
import { SessionStream, type StreamOwner, UnknownEvent } from "./session-stream.js";

/** What all sessions of an endpoint share. */
export interface SessionSurroundings {
  readonly era: ServerEra;
  readonly host: ServerHost;
  readonly options: HttpBindingOptions;
  readonly quiet: IdleQueue<SseConnection>;
  /** Nothing runs and nothing is connected from now on. */
  onIdle(session: HttpSession): void;
}

export type ReplyKind = "stream" | "json";

interface Running {
  readonly call: Call;
  readonly reply: PostReply;
}

/** The first version whose clients expect an event without a message, and come back after a stream was closed on them. */
const POLLING_VERSION = "2025-11-25";
const STANDALONE = "get";
const DEFAULT_MAX_QUEUED = 8 * 1024 * 1024;

/**
 * What HTTP adds to a session: calls and the replies they belong to, streams, and requests to the client. Without an id
 * it is a session of a single POST: nobody can name it, so nothing can be resumed, cancelled or answered.
 */
export class HttpSession implements ServerWire, StreamOwner {
  readonly shared = false;
  readonly id: string | undefined;
  readonly sessionId: string;
  readonly principal: string | undefined;
  readonly protocol: LegacySession;
  readonly log: EventLog | undefined;
  readonly retryMs: number | undefined;
  readonly maxQueued: number;
  readonly quiet: IdleQueue<SseConnection>;
  readonly #around: SessionSurroundings;
  readonly #running = new Map<RequestId, Running>();
  /** Those of calls that are not over, connected or not. */
  readonly #streams = new Map<string, SessionStream>();
  readonly #standalone: SessionStream;
  readonly #requests = new ClientRequests();
  #connections = 0;
  #streamCount = 0;
  #ended: HttpRefusal | undefined;

  constructor(
    around: SessionSurroundings,
    id: string | undefined,
    principal: string | undefined,
    client?: ClientFacts,
  ) {
    const { options } = around;
    this.#around = around;
    this.id = id;
    this.sessionId = id ?? "";
    this.principal = principal;
    this.protocol = new LegacySession(around.era, around.host, this, client);
    this.log = id === undefined ? undefined : options.eventLog;
    this.retryMs = options.retryMs;
    this.maxQueued = options.maxQueued ?? DEFAULT_MAX_QUEUED;
    this.quiet = around.quiet;
    this.#standalone = new SessionStream(STANDALONE, this);
  }

  get version(): string {
    return this.protocol.client.version;
  }

  get primes(): boolean {
    return this.log !== undefined && this.version >= POLLING_VERSION;
  }

  /** Whether a request runs or somebody listens: such a session does not expire. */
  get busy(): boolean {
    return this.#running.size > 0 || this.#connections > 0;
  }

  get running(): number {
    return this.#running.size;
  }

  get streams(): number {
    return this.#streams.size + (this.#standalone.connected ? 1 : 0);
  }

  /** Takes a POST to this session. */
  post(exchange: HttpExchange, body: Parsed, kind: ReplyKind): void {
    switch (body.kind) {
      case "request":
        return this.#serve(exchange, [body.message], [], kind, false);
      case "batch":
        return this.#serveBatch(exchange, body.items, kind);
      case "invalid":
        return this.#refuseInvalid(exchange, body.failure);
      default:
        this.#take(body);
        return exchange.reply(202, {});
    }
  }

  /** Opens the standalone stream, or takes up a lost stream after the event that came last. */
  listen(exchange: HttpExchange, lastEventId: string | undefined): void {
    if (this.log !== undefined && lastEventId !== undefined) {
      this.#resume(exchange, this.log, lastEventId).catch((error: unknown) => this.#refuseFailed(exchange, error));
      return;
    }
    if (this.#standalone.connected)
      return this.#refuse(exchange, refusal(409, "The session has an open stream already"));
    attempt(
      () => this.#standalone.catchUp(exchange),
      (error) => this.#refuseFailed(exchange, error),
    );
  }

  /**
   * Serves the handshake. Its answer waits for the outcome, because only a handshake that succeeds makes a session;
   * `admit` takes the session in and names it in headers, or says why not.
   */
  async handshake(
    exchange: HttpExchange,
    call: Call,
    kind: ReplyKind,
    admit: () => HttpHeaders | HttpRefusal,
  ): Promise<boolean> {
    const outcome = await this.#around.host.run(call);
    if (this.#ended !== undefined) return this.#refuseHandshake(exchange, call, this.#ended);
    if (outcome.kind === "dropped") return this.#refuseHandshake(exchange, call, shuttingDown);
    const admitted = outcome.kind === "result" ? admit() : {};
    if (isRefusal(admitted)) return this.#refuseHandshake(exchange, call, admitted);
    const reply = this.#createReply(exchange, kind, 1, false);
    try {
      await reply.open(admitted);
    } catch (error) {
      this.#refuseFailed(exchange, error, call.id);
      return false;
    }
    const delivered = reply.answer(toFrame(call, outcome));
    call.afterAnswer?.();
    return delivered && outcome.kind === "result";
  }

  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void> {
    const stream = call === undefined ? this.#standalone : this.#replyOf(call)?.stream;
    if (stream?.reachable === true) return stream.send(formatNotification(method, params));
  }

  async request(
    call: Call | undefined,
    method: string,
    params: Params | undefined,
    scope: CallScope,
  ): Promise<RpcResponse> {
    const stream = this.#streamForRequest(call, method);
    return this.#requests.request(method, params, scope, (frame) => stream.send(frame));
  }

  detachable(call: Call | undefined): boolean {
    return this.primes && (call === undefined || this.#replyOf(call)?.stream !== undefined);
  }

  detach(call: Call | undefined, retryMs?: number): void {
    if (!this.detachable(call)) return;
    const stream = call === undefined ? this.#standalone : this.#replyOf(call)?.stream;
    stream?.detach(retryMs);
  }

  /** Ends the session with all that runs and listens in it. Idempotent. */
  end(why: HttpRefusal): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    const reason = new ConnectionError(why.error.message, { delivery: "sent" });
    const running = [...this.#running.values()];
    this.#running.clear();
    for (const { call, reply } of running) reply.fail(why.status, formatFailure(call.id, why.error));
    this.#standalone.end();
    for (const { call } of running) call.end.abort(reason);
    this.#requests.failAll(reason);
    this.protocol.close();
    this.#forget();
  }

  report(error: unknown): void {
    this.#around.host.report(error, { where: "event log" });
  }

  onConnected(): void {
    this.#connections++;
  }

  onDisconnected(): void {
    this.#connections--;
    this.#rest();
  }

  onEnded(stream: SessionStream): void {
    this.#streams.delete(stream.id);
  }

  #serveBatch(exchange: HttpExchange, items: readonly unknown[], kind: ReplyKind): void {
    if (!this.protocol.acceptsBatch(items)) {
      return this.#refuse(exchange, invalidRequest("this array of messages is not allowed here"));
    }
    const requests: RpcRequest[] = [];
    const others: Parsed[] = [];
    for (const item of items) {
      const parsed = classify(item);
      if (parsed.kind === "invalid") return this.#refuseInvalid(exchange, parsed.failure);
      if (parsed.kind === "request") requests.push(parsed.message);
      else others.push(parsed);
    }
    if (requests.length > 0) return this.#serve(exchange, requests, others, kind, true);
    for (const other of others) this.#take(other);
    exchange.reply(202, {});
  }

  #serve(
    exchange: HttpExchange,
    requests: readonly RpcRequest[],
    others: readonly Parsed[],
    kind: ReplyKind,
    batch: boolean,
  ): void {
    const entries = this.#register(exchange, requests, kind, batch);
    if (entries === undefined) return;
    const start = () => {
      for (const entry of entries) this.#run(entry);
      for (const other of others) this.#take(other);
    };
    const fail = (error: unknown) => {
      for (const entry of entries) this.#release(entry);
      entries[0]?.reply.stream?.end();
      this.#refuseFailed(exchange, error, batch ? undefined : entries[0]?.call.id);
      this.#rest();
    };
    const { reply } = entries[0] as Running;
    attempt(() => reply.open(), fail, start);
  }

  /** Turns requests into calls that are known by their id from here on; answers the exchange if that is impossible. */
  #register(
    exchange: HttpExchange,
    requests: readonly RpcRequest[],
    kind: ReplyKind,
    batch: boolean,
  ): Running[] | undefined {
    const origin = this.originOf(exchange);
    const calls: Call[] = [];
    for (const request of requests) {
      const isTaken = this.#running.has(request.id) || calls.some((call) => call.id === request.id);
      if (isTaken) {
        this.#refuse(exchange, invalidRequest("a request with this id is still running"), request.id);
        return undefined;
      }
      try {
        calls.push(this.protocol.decode(request, origin));
      } catch (error) {
        this.#refuseUndecoded(exchange, error, request);
        return undefined;
      }
    }
    const reply = this.#createReply(exchange, kind, calls.length, batch);
    return calls.map((call) => {
      const entry = { call, reply };
      this.#running.set(call.id, entry);
      return entry;
    });
  }

  originOf(exchange: HttpExchange): CallOrigin {
    return {
      auth: exchange.auth,
      principal: exchange.principal,
      header: (name) => exchange.header(name),
      sessionId: this.id,
    };
  }

  #createReply(exchange: HttpExchange, kind: ReplyKind, pending: number, batch: boolean): PostReply {
    if (kind === "json") return new JsonReply(exchange, batch, pending);
    const stream = new SessionStream(`p${++this.#streamCount}`, this);
    this.#streams.set(stream.id, stream);
    return new StreamReply(exchange, stream, pending);
  }

  #run(entry: Running): void {
    if (!this.#isCurrent(entry)) return;
    this.#around.host.run(entry.call).then((outcome) => this.#settle(entry, outcome));
  }

  /** A call that was cancelled, or whose session ended, is not here any more: whatever came of it is dropped. */
  #settle(entry: Running, outcome: Outcome): void {
    if (!this.#release(entry)) return;
    const { call, reply } = entry;
    const { host } = this.#around;
    if (outcome.kind === "dropped") reply.fail(shuttingDown.status, formatFailure(call.id, shuttingDown.error));
    else if (!reply.answer(toFrame(call, outcome))) {
      const lost = new ConnectionError("The client dropped its connection before the answer", {
        delivery: "answer_lost",
      });
      host.report(lost, { where: "http", method: call.method, id: call.id });
    }
    call.afterAnswer?.();
    this.#rest();
  }

  #isCurrent(entry: Running): boolean {
    return this.#running.get(entry.call.id) === entry;
  }

  #release(entry: Running): boolean {
    return this.#isCurrent(entry) && this.#running.delete(entry.call.id);
  }

  #replyOf(call: Call): PostReply | undefined {
    const entry = this.#running.get(call.id);
    return entry?.call === call ? entry.reply : undefined;
  }

  #take(body: Parsed): void {
    if (body.kind === "response") this.#requests.settle(body.message);
    else if (body.kind === "notification") this.#receive(body.message);
  }

  #receive(notification: RpcNotification): void {
    if (notification.method === "notifications/cancelled") this.#cancel(notification.params);
    else this.protocol.receive(notification);
  }

  /** The reply ends first, so that nothing a handler still says when its signal fires is written. */
  #cancel(params: Params | undefined): void {
    const id = params?.requestId;
    const entry = isRequestId(id) ? this.#running.get(id) : undefined;
    if (entry === undefined || !this.protocol.cancellable(entry.call)) return;
    this.#release(entry);
    entry.reply.drop();
    const reason = typeof params?.reason === "string" ? params.reason : "cancelled by the client";
    entry.call.end.abort(new McpError("cancelled", reason));
    this.#around.host.debug("call cancelled", { id, reason });
    this.#rest();
  }

  #streamForRequest(call: Call | undefined, method: string): SessionStream {
    if (this.id === undefined)
      throw new McpError("no_session", `${method} cannot be asked: there is no session to answer in`);
    if (call === undefined && method !== "ping") {
      throw new McpError("no_call", `${method} cannot be asked outside of the call that it belongs to`);
    }
    const reply = call === undefined ? undefined : this.#replyOf(call);
    const stream = call === undefined ? this.#standalone : reply?.stream;
    if (stream?.reachable === true) return stream;
    const why =
      reply !== undefined && stream === undefined ? "its call is answered by one JSON document" : "no stream is open";
    throw new McpError("no_stream", `${method} cannot be asked: ${why}`);
  }

  async #resume(exchange: HttpExchange, log: EventLog, lastEventId: string): Promise<void> {
    const streamId = await log.find(this.sessionId, lastEventId);
    if (streamId === undefined) throw new UnknownEvent();
    if (this.#ended !== undefined) return this.#refuse(exchange, this.#ended);
    const live = streamId === STANDALONE ? this.#standalone : this.#streams.get(streamId);
    await (live ?? this.#replayOnly(streamId)).resume(exchange, lastEventId);
  }

  /** A stream that is over is read from the log and ends again; nothing is kept of it. */
  #replayOnly(streamId: string): SessionStream {
    const over = new SessionStream(streamId, this);
    over.end();
    return over;
  }

  #refuse(exchange: HttpExchange, why: HttpRefusal, id?: RequestId): void {
    refuse(exchange, this.#around.host, why, id);
  }

  #refuseHandshake(exchange: HttpExchange, call: Call, why: HttpRefusal): false {
    this.#refuse(exchange, why, call.id);
    return false;
  }

  #refuseUndecoded(exchange: HttpExchange, error: unknown, request: RpcRequest): void {
    if (!(error instanceof RpcError)) return this.#refuseFailed(exchange, error, request.id);
    this.#refuse(exchange, { status: 400, error: this.#around.era.encodeError(error, undefined) }, request.id);
  }

  #refuseInvalid(exchange: HttpExchange, failure: ParseFailure): void {
    if (failure.answer) this.#requests.fail(failure.id, new ProtocolError(failure.message));
    const { code, message } = failure;
    this.#refuse(exchange, { status: 400, error: { code, message } }, failure.answer ? undefined : failure.id);
  }

  #refuseFailed(exchange: HttpExchange, error: unknown, id?: RequestId): void {
    if (error instanceof UnknownEvent) {
      return this.#refuse(exchange, invalidRequest("Last-Event-ID names no event of this session"));
    }
    exchange.reply(500, { "content-type": "application/json" }, formatFailure(id, INTERNAL));
    this.report(error);
  }

  #rest(): void {
    if (!this.busy && this.#ended === undefined) this.#around.onIdle(this);
  }

  #forget(): void {
    if (this.log === undefined) return;
    attempt(
      () => this.log?.drop(this.sessionId),
      (error) => this.report(error),
    );
  }
}

const INTERNAL = { code: INTERNAL_ERROR, message: "Internal error" };

function toFrame(call: Call, outcome: Exclude<Outcome, { kind: "dropped" }>): string {
  return outcome.kind === "result" ? formatResult(call.id, outcome.result) : formatFailure(call.id, outcome.error);
}

function isRefusal(value: HttpHeaders | HttpRefusal): value is HttpRefusal {
  return typeof value.status === "number";
}

/** Does work that may fail at once or later, and goes on in the same turn if it is done at once. */
function attempt(work: () => void | Promise<void>, onFailure: (error: unknown) => void, next?: () => void): void {
  try {
    const pending = work();
    if (pending instanceof Promise) {
      pending.then(next, onFailure);
      return;
    }
  } catch (error) {
    return onFailure(error);
  }
  next?.();
}
