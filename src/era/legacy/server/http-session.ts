import { type Clock, timeLeft } from "../../../call/clock.js";
import type { Deadline } from "../../../call/deadline-queue.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import type { HttpExchange } from "../../../http/exchange.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import { ConnectionError, McpError, ProtocolError } from "../../../protocol/errors.js";
import { formatNotification } from "../../../protocol/jsonrpc/format.js";
import type { Params, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { classify, type Parsed, type ParseFailure } from "../../../protocol/jsonrpc/parse.js";
import { SmallMap } from "../../../protocol/jsonrpc/small-map.js";
import type { EventLog } from "../../../store/event-log.js";
import { type HttpRefusal, refuse, refuseFailed } from "../../refuse.js";
import type { Call, CallOrigin, ClientDescription, ServerEra, ServerRuntime, ServerWire } from "../../server-era.js";
import type { BindingOptions } from "./binding-options.js";
import { type CallOwner, PostCalls } from "./calls.js";
import { PendingClientRequests } from "./client-requests.js";
import { invalidRequest, refusal } from "./refusals.js";
import { JsonReply, type PostReply, type ReplyKind, StreamReply } from "./reply.js";
import { LegacySession } from "./session.js";
import { SessionStream, type StreamOwner, UnknownEvent } from "./stream.js";

/** What all sessions of an endpoint share. */
export interface SessionContext {
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly options: Pick<BindingOptions, "retryMs" | "maxBehind">;
  readonly log: EventLog | undefined;
  readonly keepAlive: KeepAlive<SseConnection>;
  /** Nothing runs in this session and nothing is connected to it, from now on. */
  onIdle(session: HttpSession): void;
  onCallOver(): void;
}

/** The first version whose clients expect an event without a message, and come back when a stream is closed on them. */
const POLLING_VERSION = "2025-11-25";
const STANDALONE = "get";

/**
 * What HTTP adds to a session: calls and the replies they belong to, streams, and requests to the client. Without an id
 * it is the session of a single POST: nobody can name it, so nothing in it can be resumed, cancelled or answered.
 */
export class HttpSession implements ServerWire, StreamOwner, CallOwner {
  readonly shared = false;
  readonly id: string | undefined;
  /** Where the session waits for its time to run out. */
  idlePlace: Deadline<HttpSession> | undefined;
  readonly sessionId: string;
  /** Who opened it, and alone may use it. */
  readonly principal: string | undefined;
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly protocol: LegacySession;
  readonly clock: Clock;
  readonly log: EventLog | undefined;
  readonly retryMs: number | undefined;
  readonly maxBehind: number;
  readonly keepAlive: KeepAlive<SseConnection>;
  readonly #around: SessionContext;
  readonly #calls: PostCalls;
  /** Those of calls that are not over, connected or not. */
  readonly #streams = new SmallMap<string, SessionStream>();
  readonly #standalone: SessionStream;
  readonly #requests = new PendingClientRequests();
  /** Exchanges that wait for somebody who may never answer, each with the id of its request. */
  #held: Map<HttpExchange, RequestId | undefined> | undefined;
  #listening = false;
  #connections = 0;
  #streamCount = 0;
  #ended: HttpRefusal | undefined;

  constructor(around: SessionContext, id: string | undefined, principal?: string, client?: ClientDescription) {
    const { era, runtime, options } = around;
    this.#around = around;
    this.id = id;
    this.sessionId = id ?? "";
    this.principal = principal;
    this.era = era;
    this.runtime = runtime;
    this.clock = runtime.clock;
    this.log = id === undefined ? undefined : around.log;
    this.retryMs = options.retryMs;
    this.maxBehind = options.maxBehind;
    this.keepAlive = around.keepAlive;
    this.protocol = new LegacySession(era, runtime, this, client);
    this.#calls = new PostCalls(this);
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
    return this.#calls.size > 0 || this.#connections > 0;
  }

  get deserted(): boolean {
    return !this.#standalone.connected;
  }

  get running(): number {
    return this.#calls.size;
  }

  /** How many streams can still carry something to somebody. */
  get streams(): number {
    return this.#streams.size + (this.#standalone.connected ? 1 : 0);
  }

  /** Why the session has ended, once it has. */
  get ended(): HttpRefusal | undefined {
    return this.#ended;
  }

  /** Takes a POST to this session. */
  post(exchange: HttpExchange, body: Parsed, kind: ReplyKind): void {
    switch (body.kind) {
      case "request":
        return this.#calls.serve(exchange, body.message, kind);
      case "batch":
        return this.#postBatch(exchange, body.items, kind);
      case "invalid":
        return this.#refuseInvalid(exchange, body.failure);
      default:
        exchange.reply(202, {});
        return this.#take(body);
    }
  }

  /** Opens the standalone stream, or takes up a lost stream after the event that came last. */
  listen(exchange: HttpExchange, lastEventId: string | undefined): void {
    if (this.log !== undefined && lastEventId !== undefined) {
      this.hold(exchange, undefined, this.#resume(exchange, this.log, lastEventId)).catch((error: unknown) =>
        this.#refuseFailed(exchange, error),
      );
    } else if (this.#listening || this.#standalone.connected) {
      refuse(exchange, this.runtime, refusal(409, "The session has an open stream already"));
    } else {
      this.hold(exchange, undefined, this.#listen(exchange)).catch((error: unknown) =>
        this.#refuseFailed(exchange, error),
      );
    }
  }

  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void> {
    const stream = call === undefined ? this.#standalone : this.#calls.replyOf(call)?.stream;
    if (stream?.reachable === true) return stream.send(formatNotification(method, params));
  }

  async request(
    call: Call | undefined,
    method: string,
    params: Params | undefined,
    lifetime: CallLifetime,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse> {
    const stream = this.#streamForRequest(call, method);
    return this.#requests.request(method, params, lifetime, (frame) => stream.send(frame), onProgress);
  }

  detachable(call: Call | undefined): boolean {
    return this.primes && (call === undefined || this.#calls.replyOf(call)?.stream !== undefined);
  }

  detach(call: Call | undefined, retryMs?: number): void {
    if (!this.detachable(call)) return;
    const stream = call === undefined ? this.#standalone : this.#calls.replyOf(call)?.stream;
    stream?.detach(retryMs);
  }

  /** Ends the session with all that runs and listens in it. Idempotent. */
  end(why: HttpRefusal): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    const reason = new ConnectionError(why.error.message, { delivery: "sent" });
    this.#calls.endAll(why, reason);
    this.#standalone.end();
    for (const stream of this.#streams.values()) {
      this.report(new Error("the event log had not taken an answer when its session ended"));
      stream.end();
    }
    for (const [exchange, id] of this.#held ?? []) if (!exchange.answered) refuse(exchange, this.runtime, why, id);
    this.#held = undefined;
    this.#requests.failAll(reason);
    this.protocol.close();
    this.#forget();
  }

  createReply(exchange: HttpExchange, kind: ReplyKind, pending: number, batch: boolean): PostReply {
    if (kind === "json") return new JsonReply(exchange, batch, pending);
    const stream = new SessionStream(`p${++this.#streamCount}`, this);
    this.#streams.set(stream.id, stream);
    return new StreamReply(exchange, stream, pending);
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

  /**
   * The stream that has no end of its own is let go after a while, and with the word of the gate that it was opened by; its
   * client comes back. So is that of a call where the client comes back for the rest.
   */
  lifeOf(stream: SessionStream, { endsAt }: HttpExchange): number | undefined {
    if (stream === this.#standalone) return timeLeft(this.clock, endsAt, this.runtime.options.maxSubscriptionMs);
    return this.primes ? timeLeft(this.clock, endsAt) : undefined;
  }

  report(error: unknown): void {
    this.runtime.report(error, { where: "event log" });
  }

  onConnected(): void {
    this.#connections++;
  }

  onDisconnected(): void {
    this.#connections--;
    this.onCallOver();
  }

  onEnded(stream: SessionStream): void {
    if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id);
  }

  onCallOver(): void {
    if (!this.busy && this.#ended === undefined) this.#around.onIdle(this);
    this.#around.onCallOver();
  }

  #postBatch(exchange: HttpExchange, items: readonly unknown[], kind: ReplyKind): void {
    if (!this.protocol.acceptsBatch(items)) {
      return refuse(exchange, this.runtime, invalidRequest("this array of messages is not allowed here"));
    }
    const requests: RpcRequest[] = [];
    const others: Parsed[] = [];
    for (const item of items) {
      const parsed = classify(item);
      if (parsed.kind === "invalid") return this.#refuseInvalid(exchange, parsed.failure);
      if (parsed.kind === "request") requests.push(parsed.message);
      else others.push(parsed);
    }
    const takeOthers = () => {
      for (const other of others) this.#take(other);
    };
    if (requests.length > 0) return this.#calls.serveBatch(exchange, requests, kind, takeOthers);
    exchange.reply(202, {});
    takeOthers();
  }

  #take(body: Parsed): void {
    if (body.kind === "response") this.#requests.settle(body.message);
    else if (body.kind === "notification") this.#receive(body.message);
  }

  #receive(notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === "notifications/cancelled") this.#calls.cancel(params);
    else if (method === "notifications/progress" && this.#requests.progress(params)) return;
    else this.protocol.receive(notification);
  }

  #streamForRequest(call: Call | undefined, method: string): SessionStream {
    if (this.id === undefined) throw cannotAsk("no_session", method, "there is no session that an answer could name");
    if (call === undefined && method !== "ping") {
      throw cannotAsk("no_call", method, "it belongs to no call that is still running");
    }
    const reply = call === undefined ? undefined : this.#calls.replyOf(call);
    if (call !== undefined && reply === undefined) throw cannotAsk("no_call", method, "its call is over");
    const stream = reply === undefined ? this.#standalone : reply.stream;
    if (stream === undefined) throw cannotAsk("no_stream", method, "its call is answered by one JSON document");
    if (!stream.reachable) throw cannotAsk("no_stream", method, "no stream to the client is open");
    return stream;
  }

  async #listen(exchange: HttpExchange): Promise<void> {
    this.#listening = true;
    try {
      await this.#standalone.catchUp(exchange);
    } finally {
      this.#listening = false;
    }
  }

  async #resume(exchange: HttpExchange, log: EventLog, lastEventId: string): Promise<void> {
    const streamId = await log.find(this.sessionId, lastEventId);
    if (streamId === undefined) throw new UnknownEvent();
    const live = streamId === STANDALONE ? this.#standalone : this.#streams.get(streamId);
    await (live ?? this.#createEnded(streamId)).resume(exchange, lastEventId);
  }

  /** A stream that is over can only be read again; nothing is kept for it. */
  #createEnded(streamId: string): SessionStream {
    const stream = new SessionStream(streamId, this);
    stream.end();
    return stream;
  }

  #refuseInvalid(exchange: HttpExchange, failure: ParseFailure): void {
    const { code, message, answer, id } = failure;
    if (answer) this.#requests.fail(id, new ProtocolError(message));
    refuse(exchange, this.runtime, { status: 400, error: { code, message } }, answer ? undefined : id);
  }

  #refuseFailed(exchange: HttpExchange, error: unknown): void {
    if (!(error instanceof UnknownEvent) || exchange.answered) return refuseFailed(exchange, this.runtime, error);
    const gone = invalidRequest("Last-Event-ID names no event of this session that is still kept");
    refuse(exchange, this.runtime, this.#ended ?? gone);
  }

  #forget(): void {
    const { log, sessionId } = this;
    if (log === undefined) return;
    (async () => log.drop(sessionId))().catch((error: unknown) => this.report(error));
  }
}

/** A request of a session: what the exchange knows, and whose session it is. */
class SessionOrigin implements CallOrigin {
  readonly #exchange: HttpExchange;

  constructor(
    exchange: HttpExchange,
    readonly sessionId: string | undefined,
  ) {
    this.#exchange = exchange;
  }

  get auth(): unknown {
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

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }
}

function cannotAsk(code: string, method: string, why: string): McpError {
  return new McpError(code, `${method} cannot be sent to the client: ${why}`);
}
