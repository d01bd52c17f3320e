import type { AbortSwitch } from "../call/abort-switch.js";
import { cancelledByHand, type ReadResponse } from "../call/channel-request.js";
import type { CallLifetime } from "../call/lifetime.js";
import { Turns } from "../call/turns.js";
import { BodyTooLarge } from "../http/body-failure.js";
import {
  fetchFailed,
  type HttpErrorResponse,
  NOT_MCP,
  readErrorResponse,
  statusError,
} from "../http/client/failures.js";
import { readText } from "../http/client/read.js";
import {
  type ClientHeaders,
  createClientHeaders,
  discard,
  followSameOrigin,
  type HeaderRecord,
  type Life,
  type Reply,
} from "../http/client/send.js";
import { isEventStream, isJson } from "../http/headers.js";
import { readEvents, type StreamTrace } from "../http/sse/reader.js";
import { HTTP_ANSWER } from "../protocol/delivery.js";
import { type ConnectionError, notConnected, ProtocolError, toError } from "../protocol/errors.js";
import { InflightTable } from "../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcResponse } from "../protocol/jsonrpc/message.js";
import { type Parsed, parseFrame } from "../protocol/jsonrpc/parse.js";
import { quoted } from "../protocol/text.js";
import { describe, type GiveUp, HttpCall } from "./http-call.js";
import { type HttpTarget, NO_RECEIVER, type TransportReceiver, type TransportRequest } from "./transport.js";

/**
 * Milliseconds that a stream may stay open after the response. Most streams end by themselves, which frees their
 * connection for reuse.
 */
const LINGER_MS = 1000;

/**
 * Awaited before each POST. The POSTs keep their order and start in the turn in which they were requested, but a call
 * that is cancelled at once opens no connection.
 */
export const nextMicrotask: Promise<void> = Promise.resolve();

/**
 * HTTP requests of a client, the same in all eras. Sends them, reads their responses and keeps track of those that are
 * open.
 */
export class HttpWire {
  readonly headers: ClientHeaders;
  receiver: TransportReceiver = NO_RECEIVER;
  /** Id of the session. It is redacted in errors that quote a response. */
  secret: string | undefined;
  readonly #target: HttpTarget;
  readonly #open = new Set<AbortSwitch>();
  readonly #turns: Turns;

  constructor(target: HttpTarget) {
    this.#target = target;
    this.#turns = new Turns(target.limits.maxConnections);
    this.headers = createClientHeaders(target.headers);
    target.send.keepIdle?.(true);
  }

  /** Number of open requests and streams. */
  get open(): number {
    return this.#open.size;
  }

  /** Registers `work`, so that `end` ends it. */
  async hold(wire: AbortSwitch, work: Promise<void>): Promise<void> {
    this.#open.add(wire);
    try {
      await work;
    } finally {
      this.#open.delete(wire);
    }
  }

  /** Like `hold`, but starts the work when a connection is free, unless it is aborted before. */
  async holdInTurn(wire: AbortSwitch, begin: () => Promise<void>): Promise<void> {
    this.#open.add(wire);
    const hasTurn = this.#turns.take() || (await this.#turns.wait(wire));
    try {
      if (hasTurn) await begin();
    } finally {
      this.#open.delete(wire);
      if (hasTurn) this.#turns.give();
    }
  }

  /** Ends all requests. Their connections close, and those of later requests when these are over. */
  end(): void {
    for (const wire of this.#open) drop(wire);
    this.#target.send.keepIdle?.(false);
  }

  /** Sends an HTTP request, in the turn in which it is called. Follows redirects to the same origin. */
  send(
    method: "POST" | "GET" | "DELETE",
    headers: HeaderRecord,
    body: string | null,
    end: AbortSwitch,
    patience?: CallLifetime,
  ): Promise<Reply> {
    const { send, url, server = url, limits } = this.#target;
    const sending = { method, headers, body, end, patience, server };
    return followSameOrigin(url, method === "GET", (at) => send(at, sending), limits.maxRedirects);
  }

  /** Posts a message that has no response. Resolves when the server has accepted it, otherwise rejects. */
  async deliver(what: string, headers: HeaderRecord, body: string, wire: AbortSwitch): Promise<void> {
    await this.hold(wire, this.#deliver(what, headers, body, wire));
  }

  async #deliver(what: string, headers: HeaderRecord, body: string, wire: AbortSwitch): Promise<void> {
    await nextMicrotask;
    let response: Reply;
    try {
      response = await this.send("POST", headers, body, wire);
    } catch (error) {
      throw fetchFailed(what, error);
    }
    if (!response.ok) throw await this.refusedBy(response, what, wire);
    discard(response);
  }

  /** Reads the body of an HTTP error response and creates the error for it. */
  async refusedBy(response: Reply, what: string, life: Life): Promise<ConnectionError> {
    return this.#statusError(what, await readErrorResponse(response, life, this.#target.clock));
  }

  #statusError(what: string, refusal: HttpErrorResponse): ConnectionError {
    if (this.secret === undefined) return statusError(what, refusal);
    return statusError(what, { ...refusal, excerpt: refusal.excerpt.replaceAll(this.secret, "[secret]") });
  }

  /**
   * Reads the HTTP response to a call's POST and settles the call. If the response is an event stream that ended
   * without the call's response, the call stays open: the trace of the stream is returned, and the caller decides.
   */
  async readReply(
    call: HttpCall,
    response: Reply,
    onMessage: (parsed: Parsed) => void,
  ): Promise<StreamTrace | undefined> {
    const { status } = response;
    const type = response.headers.get("content-type");
    if (response.ok) call.taken();
    if (call.over) discard(response);
    else if (status === 202 || status === 204) {
      discard(response);
      call.fail(call.lost(`the server answered with HTTP status ${status} and no JSON-RPC response`, { status }));
    } else if (!response.ok) {
      await this.#readErrorResponse(call, response);
    } else if (isEventStream(type)) {
      return await this.readStream(call, response, onMessage);
    } else if (isJson(type)) {
      await this.#readJson(call, response, onMessage);
    } else {
      discard(response);
      call.fail(wrongContentType(call.method, type, "application/json or text/event-stream"));
    }
    return undefined;
  }

  /** Reads one connection of a call's stream. After the response, the server has a moment to end the stream. */
  async readStream(call: HttpCall, response: Reply, onMessage: (parsed: Parsed) => void): Promise<StreamTrace> {
    const { clock, limits } = this.#target;
    let linger: unknown;
    const take = (parsed: Parsed) => {
      if (call.over) return;
      call.lifetime.heard();
      onMessage(parsed);
      if (call.over) linger = clock.schedule(() => drop(call.abortSwitch), LINGER_MS);
    };
    const onEventId = call.onEventId && ((id: string) => this.guard(() => call.onEventId?.(id)));
    const trace = await readEvents(response, limits.maxMessageBytes, call.abortSwitch, take, clock, onEventId);
    if (linger !== undefined) clock.cancel(linger);
    return trace;
  }

  /** Runs a listener and reports the error that it throws, so that it cannot break the stream. */
  guard(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.report(toError(error));
    }
  }

  report(problem: Error): void {
    try {
      this.receiver.onProblem(problem);
    } catch {
      // A failing problem listener has no other place to report to.
    }
  }

  async #readErrorResponse(call: HttpCall, response: Reply): Promise<void> {
    const refusal = await readErrorResponse(response, call.abortSwitch, this.#target.clock);
    const { rpcError } = refusal;
    if (rpcError === undefined) call.fail(this.#statusError(call.method, refusal));
    else call.answer({ jsonrpc: "2.0", id: call.id, error: { ...rpcError, [HTTP_ANSWER]: refusal } });
  }

  async #readJson(call: HttpCall, response: Reply, onMessage: (parsed: Parsed) => void): Promise<void> {
    let text: string;
    try {
      text = await readText(response, this.#target.limits.maxMessageBytes, call.abortSwitch);
    } catch (cause) {
      const limit = cause instanceof BodyTooLarge ? " (limits.maxMessageBytes)" : "";
      call.fail(call.lost(`the response could not be read: ${describe(cause)}${limit}`, { cause }));
      return;
    }
    const parsed = parseFrame(text);
    if (parsed.kind === "invalid") {
      call.fail(new ProtocolError(`${call.method}: the server's response is malformed: ${parsed.failure.message}`));
      return;
    }
    onMessage(parsed);
    if (!call.over) call.fail(call.lost("the server's response does not answer this request"));
  }
}

/** Creates the error for a response of another content type. */
export function wrongContentType(what: string, type: string | null, expected = "text/event-stream"): ProtocolError {
  const received = type === null ? "no content type" : `content type ${quoted(type)}`;
  return new ProtocolError(`${what}: the server answered with ${received}, expected ${expected}${NOT_MCP}`);
}

/** Aborts the HTTP requests of a call. */
export function drop(wire: AbortSwitch): void {
  wire.abort(new DOMException("The call was cancelled", "AbortError"));
}

/** Base of the HTTP transports. Each call has its own POST, until the transport is closed. */
export abstract class HttpTransport {
  readonly kind = "http";
  protected readonly target: HttpTarget;
  protected readonly wire: HttpWire;
  protected readonly inflight: InflightTable<HttpCall>;
  protected closed = false;

  protected constructor(target: HttpTarget, firstId?: number) {
    this.target = target;
    this.wire = new HttpWire(target);
    this.inflight = new InflightTable(firstId);
  }

  get receiver(): TransportReceiver {
    return this.wire.receiver;
  }

  set receiver(receiver: TransportReceiver) {
    this.wire.receiver = receiver;
  }

  /** Number of calls that wait for their response. */
  get pending(): number {
    return this.inflight.size;
  }

  /** Number of open requests and streams. */
  get open(): number {
    return this.wire.open;
  }

  async request(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse> {
    lifetime.throwIfAborted();
    if (this.closed) throw notConnected();
    return this.start(request, lifetime);
  }

  exchange<T>(request: TransportRequest, lifetime: CallLifetime, read: ReadResponse<T>): Promise<T> {
    return this.request(request, lifetime).then(read);
  }

  protected abstract start(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse>;

  /** Registers a call. `prepare` may still throw. It returns a function that sends the call and never rejects. */
  protected place(
    request: TransportRequest,
    wanted: RequestId | undefined,
    lifetime: CallLifetime,
    giveUp: GiveUp,
    prepare: (call: HttpCall) => () => Promise<void>,
  ): Promise<RpcResponse> {
    const id = this.inflight.reserve(wanted);
    const call = new HttpCall(id, request, lifetime, (over) => this.inflight.remove(over), giveUp);
    request.onId?.(id);
    lifetime.throwIfAborted();
    const run = prepare(call);
    this.inflight.add(call);
    call.follow();
    // Long-lived streams, and requests that a busy client depends on, do not count toward `maxConnections`.
    if (request.waitsTurn === false || !request.cancellable) void this.wire.hold(call.abortSwitch, run());
    else void this.wire.holdInTurn(call.abortSwitch, run);
    return call.answered;
  }

  /**
   * Cancels the call that a `notifications/cancelled` of the author names by its exact id. Returns true if there is
   * one.
   */
  protected cancel(params: Params | undefined): boolean {
    return this.inflight.findExactly(params?.requestId)?.lifetime.abort(cancelledByHand(params)) === true;
  }

  /** Ends all calls and all HTTP requests. */
  protected end(): void {
    this.closed = true;
    for (const call of this.inflight.drain())
      call.fail(call.lost("the connection was closed before the response arrived"));
    this.wire.end();
  }
}
