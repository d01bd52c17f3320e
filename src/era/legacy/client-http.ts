import { pause } from "../../call/clock.js";
import { cancelParams } from "../../call/exchange.js";
import type { CallScope } from "../../call/scope.js";
import type { HeaderRecord } from "../../http/client-headers.js";
import { noResponse } from "../../http/http-failure.js";
import { discard } from "../../http/reply-reader.js";
import { formatFailure, formatNotification, formatRequest, formatResult, type JsonText } from "../../jsonrpc/format.js";
import { InflightTable } from "../../jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcErrorObject, RpcNotification, RpcResponse } from "../../jsonrpc/message.js";
import { classify, type Parsed } from "../../jsonrpc/parse.js";
import { ConnectionError, ProtocolError } from "../../schema/errors.js";
import { HttpCall } from "../http-call.js";
import { closedBeforeAnswer, HttpWire, notConnected, toError } from "../http-wire.js";
import type { HttpTarget, Link, LinkReceiver, LinkRequest } from "../link.js";
import { followReply, listenToServer, type SessionStreams } from "./session-streams.js";
import { RECONNECT_DEFAULTS, type ReconnectOptions } from "./stream-cursor.js";

export interface LegacyHttpOptions {
  readonly reconnect?: Partial<ReconnectOptions> | undefined;
  /** How long a cancellation, or the end of a session, may take to be told. */
  readonly courtesyMs?: number | undefined;
  /** A session to go on with, and the version that was agreed on in it. */
  readonly session?: { readonly id: string; readonly version: string } | undefined;
}

const DEFAULT_COURTESY_MS = 1000;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * Carries calls over HTTP within a session: each message by its own POST, the server's own messages on the streams of
 * those POSTs and on one GET, streams read on after they broke. To give up on a call is to post a cancellation; its
 * stream is dropped only after that.
 */
export class LegacyHttpLink implements Link {
  readonly kind = "http";
  /** Called when the server no longer knows the session that this link is in. */
  onSessionLost: () => void = () => {};
  readonly #target: HttpTarget;
  readonly #wire: HttpWire;
  readonly #courtesyMs: number;
  readonly #inflight = new InflightTable<HttpCall>();
  readonly #streams: SessionStreams;
  #version: string | undefined;
  #session: string | undefined;
  #listening: AbortController | undefined;
  #closing: Promise<void> | undefined;

  constructor(target: HttpTarget, options: LegacyHttpOptions = {}) {
    this.#target = target;
    this.#wire = new HttpWire(target);
    this.#courtesyMs = options.courtesyMs ?? DEFAULT_COURTESY_MS;
    this.#streams = {
      wire: this.#wire,
      clock: target.clock,
      reconnect: { ...RECONNECT_DEFAULTS, ...options.reconnect },
      maxMessageBytes: target.maxMessageBytes,
      resuming: new Set(),
    };
    this.#version = options.session?.version;
    this.#enterSession(options.session?.id);
  }

  get receiver(): LinkReceiver {
    return this.#wire.receiver;
  }

  set receiver(receiver: LinkReceiver) {
    this.#wire.receiver = receiver;
  }

  /** The version that the handshake agreed on. */
  get version(): string | undefined {
    return this.#version;
  }

  /** The session that this link is in; a secret. */
  get sessionId(): string | undefined {
    return this.#session;
  }

  /** How many calls await their answer. */
  get pending(): number {
    return this.#inflight.size;
  }

  /** How many connections are in use. */
  get open(): number {
    return this.#wire.open;
  }

  request(request: LinkRequest, scope: CallScope): Promise<RpcResponse> {
    try {
      return this.#request(request, scope);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #request(request: LinkRequest, scope: CallScope): Promise<RpcResponse> {
    scope.throwIfAborted();
    if (this.#closing !== undefined) throw notConnected();
    const id = this.#inflight.reserve(request.id);
    if (request.method === "initialize") this.#forgetSession();
    const facts = this.#facts();
    const giveUp = (over: HttpCall, reason: unknown) => this.#giveUp(over, facts, reason);
    const call = new HttpCall(id, request, scope, (over) => this.#inflight.remove(over), giveUp);
    request.onId?.(id);
    const body = formatRequest(id, call.method, call.params);
    this.#inflight.add(call);
    call.follow();
    if (!call.over) void this.#wire.hold(call.wire, this.#run(call, facts, body));
    return call.answered;
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    if (this.#closing !== undefined) return;
    const sent = this.#post(method, formatNotification(method, params));
    if (method !== "notifications/initialized") return sent.then(() => {});
    return sent.then((accepted) => {
      if (accepted) this.#listen();
    });
  }

  respond(id: RequestId, result: JsonText): void {
    if (this.#closing === undefined) void this.#post("answer", formatResult(id, result));
  }

  respondError(id: RequestId, error: RpcErrorObject): void {
    if (this.#closing === undefined) void this.#post("answer", formatFailure(id, error));
  }

  /** Ends the session on the server, if there is one. Rejects when the server refuses, save that it has none such. */
  async terminate(): Promise<void> {
    if (this.#session === undefined) return;
    const headers = { ...this.#wire.headers.bare, ...this.#facts() };
    this.#session = undefined;
    const wire = new AbortController();
    const ended = this.#wire.hold(wire, this.#delete(headers, wire.signal));
    ended.catch(() => {});
    await Promise.race([ended, pause(this.#target.clock, this.#courtesyMs, wire.signal)]);
    wire.abort();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const call of this.#inflight.drain()) call.fail(closedBeforeAnswer(call));
    this.#wire.abortAll();
    this.#wire.guard(() => this.receiver.onClose(undefined));
    // A server that cannot be told will find out by itself.
    await this.terminate().catch(() => {});
  }

  /** The headers of the session as it is now; what is sent later on behalf of a call uses those of its own time. */
  #facts(): HeaderRecord {
    const facts: HeaderRecord = {};
    if (this.#version !== undefined) facts["mcp-protocol-version"] = this.#version;
    if (this.#session !== undefined) facts["mcp-session-id"] = this.#session;
    return facts;
  }

  #enterSession(id: string | undefined): void {
    this.#session = id;
    if (id !== undefined) this.#wire.secret = id;
  }

  /** A handshake starts from nothing. */
  #forgetSession(): void {
    this.#version = undefined;
    this.#session = undefined;
    this.#listening?.abort();
    this.#listening = undefined;
  }

  /** Never rejects. */
  async #run(call: HttpCall, facts: HeaderRecord, body: string): Promise<void> {
    if (!(await call.begin())) return;
    try {
      const response = await this.#wire.post({ ...this.#wire.headers.post, ...facts }, body, call.wire.signal);
      if (!call.over && isSessionLost(response.status, facts)) {
        discard(response);
        this.#loseSession(facts);
        call.fail(sessionLost(call.method));
        return;
      }
      const session = response.headers.get("mcp-session-id");
      const take = (parsed: Parsed) => this.#take(parsed, call, session);
      const trace = await this.#wire.readReply(call, response, take);
      if (trace !== undefined) await followReply(this.#streams, call, facts, trace, take);
    } catch (error) {
      call.fail(noResponse(call.method, error));
    }
  }

  /** Posts a message that has no answer; tells whether the server took it. Never rejects. */
  async #post(what: string, body: string): Promise<boolean> {
    const facts = this.#facts();
    try {
      await this.#wire.deliver(what, { ...this.#wire.headers.post, ...facts }, body, new AbortController());
      return true;
    } catch (error) {
      if (this.#closing !== undefined) return false;
      if (error instanceof ConnectionError && isSessionLost(error.status, facts)) this.#loseSession(facts);
      this.#wire.report(toError(error));
      return false;
    }
  }

  async #delete(headers: HeaderRecord, signal: AbortSignal): Promise<void> {
    const response = await this.#wire.send("DELETE", headers, null, signal);
    if (!response.ok && response.status !== 404 && response.status !== 405) {
      throw await this.#wire.refusedBy(response, "The end of the session", signal);
    }
    discard(response);
  }

  #listen(): void {
    if (this.#listening !== undefined || this.#closing !== undefined) return;
    const wire = new AbortController();
    this.#listening = wire;
    void this.#wire.hold(
      wire,
      listenToServer(this.#streams, this.#facts(), wire, (parsed) => this.#take(parsed)),
    );
  }

  /**
   * What was not sent needs no cancelling. The handshake is never cancelled, and a stream that is about to be read on is
   * not worth waiting for.
   */
  #giveUp(call: HttpCall, facts: HeaderRecord, reason: unknown): void {
    const cancels = call.sent && call.cancellable && call.method !== "initialize";
    if (!cancels || this.#streams.resuming.has(call)) call.wire.abort();
    if (cancels) void this.#cancel(call, facts, reason);
  }

  /** Tells the server, within bounds, and then drops the call's stream. Never rejects. */
  async #cancel(call: HttpCall, facts: HeaderRecord, reason: unknown): Promise<void> {
    const wire = new AbortController();
    const method = "notifications/cancelled";
    const body = formatNotification(method, cancelParams(call.id, reason));
    const told = this.#wire.deliver(method, { ...this.#wire.headers.post, ...facts }, body, wire);
    const tried = told.catch((error: unknown) => {
      const isGone = error instanceof ConnectionError && error.status === 404;
      if (!wire.signal.aborted && !isGone) this.#wire.report(toError(error));
    });
    await Promise.race([tried, pause(this.#target.clock, this.#courtesyMs, wire.signal)]);
    wire.abort();
    call.wire.abort();
  }

  #loseSession(facts: HeaderRecord): void {
    if (this.#session !== undefined && facts["mcp-session-id"] === this.#session) {
      this.#wire.guard(() => this.onSessionLost());
    }
  }

  #take(parsed: Parsed, call?: HttpCall, session?: string | null): void {
    switch (parsed.kind) {
      case "request":
        this.#wire.guard(() => this.receiver.onRequest(parsed.message));
        break;
      case "notification":
        this.#takeNotification(parsed.message, call);
        break;
      case "response":
        this.#takeResponse(parsed.message, call, session);
        break;
      case "batch":
        for (const item of parsed.items) this.#take(classify(item), call, session);
        break;
      case "invalid": {
        const { message, answer, id } = parsed.failure;
        const problem = new ProtocolError(`The server sent a malformed message: ${message}`);
        if (call !== undefined && answer && id === call.id) call.fail(problem);
        else this.#wire.report(problem);
      }
    }
  }

  #takeNotification(notification: RpcNotification, call: HttpCall | undefined): void {
    const { method, params } = notification;
    const token = method === "notifications/progress" ? params?.progressToken : undefined;
    const wanting = token === undefined ? undefined : this.#findByToken(token, call);
    if (wanting === undefined) this.#wire.guard(() => this.receiver.onNotification(notification, call?.id));
    else this.#wire.guard(() => wanting.progress(params as Params));
  }

  #findByToken(token: unknown, first: HttpCall | undefined): HttpCall | undefined {
    if (first?.wants(token) === true) return first;
    for (const call of this.#inflight.values()) if (call.wants(token)) return call;
    return undefined;
  }

  #takeResponse(response: RpcResponse, call: HttpCall | undefined, session: string | null | undefined): void {
    if (call?.owns(response) === true) {
      if (call.method === "initialize" && "result" in response) this.#adopt(response.result, session ?? undefined);
      call.answer(response);
      return;
    }
    const isLate = response.id != null && this.#inflight.hasMinted(response.id) && !this.#inflight.find(response.id);
    if (!isLate) this.#wire.report(new ProtocolError(`A response came on the wrong stream: id ${response.id}`));
  }

  #adopt(result: Params, session: string | undefined): void {
    if (typeof result.protocolVersion === "string") this.#version = result.protocolVersion;
    if (session !== undefined && !VISIBLE_ASCII.test(session)) {
      this.#wire.report(new ProtocolError("The server's session id holds characters other than visible ASCII"));
    } else {
      this.#enterSession(session);
    }
  }
}

/** Only within a session does 404 speak of the session. */
function isSessionLost(status: number | undefined, facts: HeaderRecord): boolean {
  return status === 404 && facts["mcp-session-id"] !== undefined;
}

/** The server refused the call before it looked at it. */
function sessionLost(method: string): ConnectionError {
  const message = `${method}: the session has expired (HTTP status 404)`;
  return new ConnectionError(message, { status: 404, delivery: "not_sent", retrySafe: true });
}
