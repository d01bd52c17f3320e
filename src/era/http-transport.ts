import type { AbortSwitch } from "../call/abort-switch.js";
import { cancelledByHand, type ReadResponse } from "../call/channel-request.js";
import type { CallLifetime } from "../call/lifetime.js";
import { Turns } from "../call/turns.js";
import {
  fetchFailed,
  type HttpErrorResponse,
  NOT_MCP,
  readErrorResponse,
  statusError,
} from "../http/client/failures.js";
import { readEvents, readText, type StreamTrace } from "../http/client/read.js";
import {
  type ClientHeaders,
  createClientHeaders,
  discard,
  followSameOrigin,
  type HeaderRecord,
  type Life,
  type Reply,
} from "../http/client/send.js";
import { isEventStream, isJson } from "../http/media-type.js";
import { HTTP_ANSWER } from "../protocol/delivery.js";
import { type ConnectionError, notConnected, ProtocolError, toError } from "../protocol/errors.js";
import { InflightTable } from "../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcResponse } from "../protocol/jsonrpc/message.js";
import { type Parsed, parseFrame } from "../protocol/jsonrpc/parse.js";
import { describe, type GiveUp, HttpCall } from "./http-call.js";
import { type HttpTarget, NO_RECEIVER, type TransportReceiver, type TransportRequest } from "./transport.js";

/** How long a stream may stay open after the answer has come: most end by themselves and free their connection. */
const LINGER_MS = 1000;

/**
 * Every POST awaits this first, so that they keep their order: it starts in the turn in which it was asked for, and yet a
 * call that is given up at once leaves no trace, not even a connection that was opened for it.
 */
export const nextMicrotask: Promise<void> = Promise.resolve();

/** Sends requests over HTTP, reads their replies, and knows which are open: alike in all eras. */
export class HttpWire {
  readonly headers: ClientHeaders;
  receiver: TransportReceiver = NO_RECEIVER;
  /** Never shown in an error, even where the server repeats it. */
  secret: string | undefined;
  readonly #target: HttpTarget;
  readonly #open = new Set<AbortSwitch>();
  readonly #turns: Turns;

  constructor(target: HttpTarget) {
    this.#target = target;
    this.#turns = new Turns(target.limits.maxConnections);
    this.headers = createClientHeaders(target.headers);
  }

  /** How many requests and streams are open. */
  get open(): number {
    return this.#open.size;
  }

  /** Keeps `work` within the reach of `abortAll` until it has ended. */
  async hold(wire: AbortSwitch, work: Promise<void>): Promise<void> {
    this.#open.add(wire);
    try {
      await work;
    } finally {
      this.#open.delete(wire);
    }
  }

  /** The same for work that begins when it is its turn, unless that has been given up by then. */
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

  abortAll(): void {
    for (const wire of this.#open) drop(wire);
  }

  /** Begins in the turn in which it is called. */
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

  /** Posts a message that has no answer; resolves when the server has taken it, else rejects. */
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

  /** The error for a response that refuses; its body is done with. */
  async refusedBy(response: Reply, what: string, life: Life): Promise<ConnectionError> {
    return this.#statusError(what, await readErrorResponse(response, life, this.#target.clock));
  }

  #statusError(what: string, refusal: HttpErrorResponse): ConnectionError {
    if (this.secret === undefined) return statusError(what, refusal);
    return statusError(what, { ...refusal, excerpt: refusal.excerpt.replaceAll(this.secret, "[secret]") });
  }

  /**
   * Reads the reply to a call's POST. Settles the call, unless the reply is an event stream that ended without the
   * answer: what it left behind is returned, and what becomes of the call is up to the caller.
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
      call.fail(call.lost(`the server answered with HTTP status ${status} and no response`, { status }));
    } else if (!response.ok) {
      await this.#readErrorResponse(call, response);
    } else if (isEventStream(type)) {
      return await this.readStream(call, response, onMessage);
    } else if (isJson(type)) {
      await this.#readJson(call, response, onMessage);
    } else {
      discard(response);
      const said = `the server answered with content type ${JSON.stringify(type ?? "")}`;
      call.fail(new ProtocolError(`${call.method}: ${said}${NOT_MCP}`));
    }
    return undefined;
  }

  /** Reads one connection of a call's stream. After the answer the server is given a little time to end it. */
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

  /** What a listener throws is its own trouble: it must not break the stream that it listens to. */
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
      // A listener for problems that fails has nobody left to tell.
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
      call.fail(call.lost(`the response could not be read (${describe(cause)})`, { cause }));
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

/** Ends what a request has on the wire. */
export function drop(wire: AbortSwitch): void {
  wire.abort(new DOMException("The call was cancelled", "AbortError"));
}

/** The base of a transport over HTTP: calls under way, each by a POST of its own, until the transport is closed. */
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

  /** How many calls await their answer. */
  get pending(): number {
    return this.inflight.size;
  }

  /** How many connections are in use. */
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

  /** Files a call. `prepare` may still refuse it; what it returns puts the call on the wire, and never rejects. */
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
    // Streams that stay open, and what a busy client cannot do without, take nobody's turn.
    if (request.waitsTurn === false || !request.cancellable) void this.wire.hold(call.abortSwitch, run());
    else void this.wire.holdInTurn(call.abortSwitch, run);
    return call.answered;
  }

  /** A cancellation by hand that names a call under way exactly gives that call up; tells whether there is one. */
  protected cancel(params: Params | undefined): boolean {
    return this.inflight.findExactly(params?.requestId)?.lifetime.abort(cancelledByHand(params)) === true;
  }

  /** Ends every call and everything on the wire. */
  protected end(): void {
    this.closed = true;
    for (const call of this.inflight.drain()) call.fail(call.lost("the connection was closed before the answer came"));
    this.wire.abortAll();
  }
}
