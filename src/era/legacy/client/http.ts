import { AbortSwitch } from "../../../call/abort-switch.js";
import { pause } from "../../../call/abortable.js";
import { askedMs, backoffMs } from "../../../call/backoff.js";
import { cancelParams } from "../../../call/channel-request.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import { discard, type HeaderRecord, type Reply } from "../../../http/client/send.js";
import { ConnectionError, ProtocolError, toError } from "../../../protocol/errors.js";
import {
  formatFailure,
  formatNotification,
  formatRequest,
  formatResult,
  type JsonText,
} from "../../../protocol/jsonrpc/format.js";
import type { Params, RequestId, RpcErrorObject, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import type { Parsed } from "../../../protocol/jsonrpc/parse.js";
import { type Optional, withDefaults } from "../../../protocol/known-options.js";
import { CLIENT_TIMES } from "../../client-limits.js";
import type { HttpCall } from "../../http-call.js";
import { drop, HttpTransport, nextMicrotask } from "../../http-transport.js";
import type { ClientTransport, CloseOptions, HttpTarget, ReconnectOptions, TransportRequest } from "../../transport.js";
import { sayFarewell } from "./farewell.js";
import { Incoming } from "./incoming.js";
import { ClientSession, isSessionId, SessionLost } from "./session.js";
import { followReply, listenToServer, resumeReply, type SessionStreams } from "./streams.js";

/** Options of a {@link LegacyHttpTransport}. */
export interface LegacyHttpOptions {
  readonly reconnect?: Optional<ReconnectOptions> | undefined;
  /** Session to continue, with its negotiated version. */
  readonly session?: { readonly id: string; readonly version: string } | undefined;
  /** First request id. Lower ids may have been used by other clients of the session. */
  readonly firstId?: number | undefined;
}

/**
 * Client transport over HTTP with sessions. Each message has its own POST. Messages of the server arrive on the streams
 * of these POSTs and on one GET stream. Lost streams are resumed. A call is cancelled by `notifications/cancelled`, and
 * its stream is closed only after that.
 */
export class LegacyHttpTransport extends HttpTransport implements ClientTransport {
  /** Called when the server no longer knows the session of this transport, or has no route for the GET stream. */
  onSessionLost: (reason: Error) => void = () => {};
  /** Called when the GET stream is open again but messages in between are lost. */
  onGap: () => void = () => {};
  /** Called when the GET stream is abandoned. */
  onStreamAbandoned: (reason: Error) => void = (reason) => this.wire.report(reason);
  /** Called when the server refuses the GET stream. */
  onStreamRefused: () => void = () => {};
  /** HTTP status of the response to the last `initialize`. */
  handshakeStatus: number | undefined;
  readonly #streams: SessionStreams;
  #session: ClientSession;
  readonly #incoming: Incoming;
  #streamRefusal: Error | undefined;
  /** True if a session was lost, or its GET stream was not found. */
  #wasNotFound = false;
  /** Ends the GET stream of the session. */
  #listening: AbortSwitch | undefined;
  #terminated: Promise<void> = Promise.resolve();

  constructor(target: HttpTarget, options: LegacyHttpOptions = {}) {
    super(target, options.firstId);
    const reconnect = withDefaults<Optional<ReconnectOptions>>(options.reconnect, target.reconnect ?? {});
    this.#streams = {
      wire: this.wire,
      clock: target.clock,
      waits: target.waits,
      reconnect: withDefaults<ReconnectOptions>(reconnect, CLIENT_TIMES.reconnect),
      maxOwnFruitless: reconnect.maxFruitless ?? Number.POSITIVE_INFINITY,
      maxMessageBytes: target.limits.maxMessageBytes,
      resuming: new Set(),
    };
    this.#incoming = new Incoming(this.wire, this.inflight);
    this.#session = new ClientSession(options.session?.version, options.session?.id);
    this.wire.secret = options.session?.id;
  }

  /** Version from the handshake. */
  get version(): string | undefined {
    return this.#session.version;
  }

  /** Id of the session, which is a secret. */
  get sessionId(): string | undefined {
    return this.#session.id;
  }

  /** Error of the GET stream if the server refuses it. Messages outside calls then do not arrive. */
  get streamRefusal(): Error | undefined {
    return this.#streamRefusal;
  }

  protected start(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse> {
    const { resume } = request;
    let session = this.#session;
    const giveUp = (over: HttpCall, reason: unknown) => this.#giveUp(over, session, reason);
    return this.place(request, resume?.id ?? request.id, lifetime, giveUp, (call) => {
      if (call.method === "initialize") this.#startOver();
      session = this.#session;
      if (resume !== undefined) return () => this.#resume(call, session, resume.lastEventId);
      const body = formatRequest(call.id, call.method, call.params);
      return () => this.#run(call, session, body);
    });
  }

  notify(method: string, params: Params | undefined, mustArrive?: boolean): void | Promise<void> {
    if (this.closed || (method === "notifications/cancelled" && this.cancel(params))) return;
    return this.#notify(method, formatNotification(method, params), mustArrive);
  }

  async #notify(method: string, body: string, mustArrive?: boolean): Promise<void> {
    const accepted = await this.#post(method, body, mustArrive);
    if (accepted && method === "notifications/initialized") await this.listen();
  }

  respond(id: RequestId, result: JsonText): void | Promise<void> {
    if (!this.closed) return this.#respond(formatResult(id, result));
  }

  respondError(id: RequestId, error: RpcErrorObject): void | Promise<void> {
    if (!this.closed) return this.#respond(formatFailure(id, error));
  }

  /**
   * Ends the session on the server, if there is one. Resolves also if the server does not know the session, does not
   * support DELETE, or does not answer within `limits.courtesyMs`. Rejects on any other refusal.
   */
  async terminate(): Promise<void> {
    if (this.#session.id === undefined) return;
    const headers = { ...this.wire.headers.bare, ...this.#session.headers };
    this.#session = this.#session.ended();
    const wire = new AbortSwitch();
    const { url, clock, limits } = this.target;
    const tell = () => this.wire.hold(wire, this.#delete(headers, wire));
    try {
      await sayFarewell(url.origin, tell, wire, clock, limits.courtesyMs);
    } finally {
      drop(wire);
    }
  }

  /** Opens the GET stream again, after it was abandoned or not found. */
  async listenAgain(): Promise<void> {
    this.#dropStream();
    await this.listen();
  }

  close(options?: CloseOptions): Promise<void> {
    if (!this.closed) this.#close(options?.keepSession === true);
    return this.#terminated;
  }

  #close(keepSession: boolean): void {
    this.end();
    // A server that cannot be reached ends the session by its own timeout.
    if (!keepSession) this.#terminated = this.terminate().catch(() => {});
    this.wire.guard(() => this.receiver.onClose(undefined));
  }

  /** Sends a call and reads its response. Never rejects. */
  async #run(call: HttpCall, session: ClientSession, body: string): Promise<void> {
    await nextMicrotask;
    if (!call.begin()) return;
    try {
      const headers = Object.assign({}, this.wire.headers.post, session.headers);
      const response = await this.wire.send("POST", headers, body, call.abortSwitch, call.lifetime);
      if (!call.over && isSessionLost(response.status, session)) {
        discard(response);
        const lost = new SessionLost(call.method, session);
        this.#loseSession(session, lost);
        call.fail(lost);
        return;
      }
      if (call.method === "initialize") this.handshakeStatus = response.status;
      const take = call.method === "initialize" ? this.#handshake(call, response) : this.#take(call);
      const trace = await this.wire.readReply(call, response, take);
      if (trace !== undefined && !call.over) await followReply(this.#streams, call, session.headers, trace, take);
    } catch (error) {
      call.fail(call.broken(error));
    }
  }

  /** Resumes the response to an earlier call. Never rejects. */
  async #resume(call: HttpCall, session: ClientSession, lastEventId: string): Promise<void> {
    await nextMicrotask;
    if (!call.begin()) return;
    call.taken();
    await resumeReply(this.#streams, call, session.headers, lastEventId, this.#take(call));
  }

  #take(call: HttpCall): (parsed: Parsed) => void {
    return (parsed) => this.#incoming.take(parsed, call);
  }

  /** Returns the listener for the messages in the response to `initialize`. It adopts a successful result. */
  #handshake(call: HttpCall, response: Reply): (parsed: Parsed) => void {
    const id = response.headers.get("mcp-session-id") ?? undefined;
    return (parsed) => {
      if (parsed.kind === "response" && "result" in parsed.message && call.owns(parsed.message)) {
        this.#adopt(parsed.message.result, id);
      }
      this.#incoming.take(parsed, call);
    };
  }

  /** Adopts the version and the session of a successful handshake. */
  #adopt({ protocolVersion }: Params, id: string | undefined): void {
    const version = typeof protocolVersion === "string" ? protocolVersion : undefined;
    const isUsable = id === undefined || isSessionId(id);
    this.#session = new ClientSession(version, isUsable ? id : undefined);
    this.wire.secret = this.#session.id;
    if (isUsable) return;
    const rule = "the Mcp-Session-Id header must contain only visible ASCII characters";
    this.wire.report(new ProtocolError(`The connection has no session: ${rule}`));
  }

  /** Drops the session and its GET stream, since a handshake begins. */
  #startOver(): void {
    this.#session = new ClientSession();
    this.#dropStream();
    this.#streamRefusal = undefined;
  }

  #dropStream(): void {
    if (this.#listening !== undefined) drop(this.#listening);
    this.#listening = undefined;
  }

  /**
   * Posts a message that has no response. Resolves with true if the server accepted it. Rejects only with `mustArrive`.
   */
  async #post(what: string, body: string, mustArrive?: boolean): Promise<boolean> {
    const session = this.#session;
    try {
      await this.#deliver(what, body, session);
      return true;
    } catch (error) {
      if (mustArrive && !this.closed) throw error;
      this.#onUndelivered(error, session);
      return false;
    }
  }

  /**
   * Posts a response to a request of the server, which may wait for it in a call. Repeats it while the server is busy or
   * away; a server drops a second response. Never rejects.
   */
  async #respond(body: string): Promise<void> {
    const { clock, reconnect } = this.#streams;
    const { maxResends } = this.target.limits;
    const backoff = { delayMs: reconnect.firstDelayMs, maxDelayMs: reconnect.maxDelayMs };
    const session = this.#session;
    const wire = new AbortSwitch();
    for (let failures = 0; ; failures++) {
      try {
        return await this.#deliver("POST of a response", body, session);
      } catch (error) {
        if (failures >= maxResends || !mayCome(error)) return this.#onUndelivered(error, session);
        const ms = Math.max(askedMs(error, backoff), backoffMs(failures, backoff));
        await this.wire.hold(wire, pause(clock, ms, wire.signal));
        if (this.closed) return;
      }
    }
  }

  #deliver(what: string, body: string, session: ClientSession): Promise<void> {
    return this.wire.deliver(what, { ...this.wire.headers.post, ...session.headers }, body, new AbortSwitch());
  }

  #onUndelivered(error: unknown, session: ClientSession): void {
    if (this.closed) return;
    if (error instanceof ConnectionError && isSessionLost(error.status, session)) this.#loseSession(session, error);
    this.wire.report(toError(error));
  }

  async #delete(headers: HeaderRecord, wire: AbortSwitch): Promise<void> {
    const response = await this.wire.send("DELETE", headers, null, wire);
    if (!response.ok && response.status !== 404 && response.status !== 405) {
      throw await this.wire.refusedBy(response, "DELETE of the session", wire);
    }
    discard(response);
  }

  /**
   * Opens the GET stream. Waits for a moment until it is open or has failed, so that messages of the server during the
   * first call arrive.
   */
  async listen(): Promise<void> {
    if (this.#listening !== undefined || this.closed) return;
    const wire = new AbortSwitch();
    const tried = new AbortController();
    this.#listening = wire;
    const session = this.#session;
    const listener = {
      onFirstTry: () => tried.abort(),
      take: (parsed: Parsed) => this.#incoming.take(parsed),
      onGap: () => this.wire.guard(() => this.onGap()),
      onRefused: (error: Error, wasOpen: boolean) => this.#onNoStream(error, session, wasOpen),
      onTrouble: (error: Error) => this.wire.report(error),
      onGivenUp: (error: Error) => this.wire.guard(() => this.onStreamAbandoned(error)),
    };
    void this.wire.hold(wire, listenToServer(this.#streams, session.headers, wire, listener));
    const { clock, limits } = this.target;
    if (limits.streamOpenMs > 0) await pause(clock, limits.streamOpenMs, tried.signal);
  }

  /**
   * Handles a refused GET stream. A server may have no such stream (405). With 404 it has lost the session or, if the
   * next attempt ends the same, has no such stream either.
   */
  #onNoStream(error: Error, session: ClientSession, wasOpen: boolean): void {
    const status = error instanceof ConnectionError ? error.status : undefined;
    const notFound = isSessionLost(status, session);
    const hasNone = status === 405 || (notFound && this.#wasNotFound && !wasOpen);
    if (wasOpen && !notFound) return this.wire.guard(() => this.onStreamAbandoned(error));
    if (!hasNone) this.wire.report(error);
    if (notFound && !hasNone) return this.#loseSession(session, error);
    this.#streamRefusal = error;
    this.wire.guard(() => this.onStreamRefused());
  }

  /**
   * Cancels a call. Sends no notification for a call that was not sent, and none for `initialize`, which must not be
   * cancelled. A stream that is being resumed is dropped immediately.
   */
  #giveUp(call: HttpCall, session: ClientSession, reason: unknown): void {
    const cancels = call.sent && call.cancellable && call.method !== "initialize";
    if (!cancels || this.#streams.resuming.has(call)) drop(call.abortSwitch);
    if (cancels) void this.#cancel(call, session, reason);
  }

  /** Sends `notifications/cancelled`, within limits, and then drops the call's stream. Never rejects. */
  async #cancel(call: HttpCall, session: ClientSession, reason: unknown): Promise<void> {
    const wire = new AbortSwitch();
    const method = "notifications/cancelled";
    const body = formatNotification(method, cancelParams(call.id, reason));
    const tell = () => this.wire.deliver(method, { ...this.wire.headers.post, ...session.headers }, body, wire);
    const { url, clock, limits } = this.target;
    await sayFarewell(url.origin, tell, wire, clock, limits.courtesyMs).catch((error: unknown) => {
      const isGone = error instanceof ConnectionError && error.status === 404;
      if (!wire.aborted && !isGone) this.wire.report(toError(error));
    });
    drop(wire);
    drop(call.abortSwitch);
  }

  #loseSession(session: ClientSession, reason: Error): void {
    if (!this.#session.isSameAs(session)) return;
    this.#wasNotFound = true;
    this.wire.guard(() => this.onSessionLost(reason));
  }
}

/** True if a message that was not taken may be taken later: the server said when, or was not reached. */
function mayCome(error: unknown): boolean {
  return error instanceof ConnectionError && (error.retryAfterMs !== undefined || error.delivery === "not_sent");
}

/** True if the session is lost. Outside a session, 404 has another meaning. */
function isSessionLost(status: number | undefined, session: ClientSession): boolean {
  return status === 404 && session.id !== undefined;
}
