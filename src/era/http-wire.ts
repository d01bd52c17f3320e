import { AbortSwitch } from "../call/abort-switch.js";
import type { CallLifetime } from "../call/lifetime.js";
import { progressTokenOf, withProgressToken } from "../call/progress.js";
import {
  answerLost,
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
import { ConnectionError, ProtocolError, toError } from "../protocol/errors.js";
import { idKey, type Params, type RequestId, type RpcResponse } from "../protocol/jsonrpc/message.js";
import { type Parsed, parseFrame } from "../protocol/jsonrpc/parse.js";
import { type HttpTarget, type LinkReceiver, type LinkRequest, NOBODY } from "./link.js";

/** How long a stream may stay open after the answer has come: most end by themselves and free their connection. */
const LINGER_MS = 1000;

/**
 * Every POST awaits this first, so that they keep their order: it starts in the turn in which it was asked for, and yet a
 * call that is given up at once leaves no trace, not even a connection that was opened for it.
 */
export const nextMicrotask: Promise<void> = Promise.resolve();

/** What the HTTP links of all eras do alike: send, read replies, and know what is open. */
export class HttpWire {
  readonly headers: ClientHeaders;
  receiver: LinkReceiver = NOBODY;
  /** Never shown in an error, even where the server repeats it. */
  secret: string | undefined;
  readonly #target: HttpTarget;
  readonly #open = new Set<AbortSwitch>();

  constructor(target: HttpTarget) {
    this.#target = target;
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
    const { send, url, server = url } = this.#target;
    const sending = { method, headers, body, end, patience, server };
    return followSameOrigin(url, method === "GET", (at) => send(at, sending));
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
    return this.#statusError(what, await readErrorResponse(response, life));
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
    if (call.over) discard(response);
    else if (status === 202 || status === 204) {
      discard(response);
      call.fail(answerLost(call.method, `the server answered with HTTP status ${status} and no response`, { status }));
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
    const { clock, maxMessageBytes } = this.#target;
    let linger: unknown;
    const take = (parsed: Parsed) => {
      if (call.over) return;
      call.lifetime.heard();
      onMessage(parsed);
      if (call.over) linger = clock.schedule(() => drop(call.abortSwitch), LINGER_MS);
    };
    const onEventId = call.onEventId && ((id: string) => this.guard(() => call.onEventId?.(id)));
    const trace = await readEvents(response, maxMessageBytes, call.abortSwitch, take, clock, onEventId);
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
    const refusal = await readErrorResponse(response, call.abortSwitch);
    if (refusal.rpcError === undefined) call.fail(this.#statusError(call.method, refusal));
    else call.answer({ jsonrpc: "2.0", id: call.id, error: refusal.rpcError });
  }

  async #readJson(call: HttpCall, response: Reply, onMessage: (parsed: Parsed) => void): Promise<void> {
    let text: string;
    try {
      text = await readText(response, this.#target.maxMessageBytes, call.abortSwitch);
    } catch (cause) {
      call.fail(answerLost(call.method, `the response could not be read (${describe(cause)})`, { cause }));
      return;
    }
    const parsed = parseFrame(text);
    if (parsed.kind === "invalid") {
      call.fail(new ProtocolError(`${call.method}: the server's response is malformed: ${parsed.failure.message}`));
      return;
    }
    onMessage(parsed);
    if (!call.over) call.fail(answerLost(call.method, "the server's response does not answer this request"));
  }
}

/** Ends what a request has on the wire. */
export function drop(wire: AbortSwitch): void {
  wire.abort(new DOMException("The call was cancelled", "AbortError"));
}

/** The error for a stream that is over while its call is not. */
export function streamLost(call: HttpCall, trace: StreamTrace): ConnectionError {
  if (trace.error === undefined) return answerLost(call.method, "the stream ended without a response");
  return answerLost(call.method, `the stream broke off (${describe(trace.error)})`, { cause: trace.error });
}

export function closedBeforeAnswer(call: HttpCall): ConnectionError {
  const delivery = call.sent ? "sent" : "not_sent";
  return new ConnectionError(`${call.method}: the connection was closed before the answer came`, { delivery });
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** How to give up on a call: fixed with the call when it is registered, whatever the connection becomes later. */
export type GiveUp = (call: HttpCall, reason: unknown) => void;

/** One request that travels by its own POST. It settles once; whatever comes later finds it over. */
export class HttpCall {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params | undefined;
  readonly cancellable: boolean;
  readonly lifetime: CallLifetime;
  readonly answered: Promise<RpcResponse>;
  /** Told where the call's stream can be read on from, as long as it is not over. */
  readonly onEventId: ((eventId: string) => void) | undefined;
  /** Ends what the call has on the wire. */
  readonly abortSwitch = new AbortSwitch();
  readonly #onProgress: ((params: Params) => void) | undefined;
  readonly #token: RequestId | undefined;
  readonly #onOver: (call: HttpCall) => void;
  readonly #onAbort: (reason: unknown) => void;
  #resolve!: (response: RpcResponse) => void;
  #reject!: (reason: unknown) => void;
  #sent = false;
  #over = false;

  constructor(
    id: RequestId,
    request: LinkRequest,
    lifetime: CallLifetime,
    onOver: (call: HttpCall) => void,
    giveUp: GiveUp,
  ) {
    this.id = id;
    this.method = request.method;
    this.params = request.onProgress === undefined ? request.params : withProgressToken(request.params, id);
    this.cancellable = request.cancellable;
    this.lifetime = lifetime;
    this.#onProgress = request.onProgress;
    this.#token = request.onProgress === undefined ? undefined : progressTokenOf(this.params);
    this.#onOver = onOver;
    const { onEventId } = request;
    this.onEventId = onEventId && ((eventId) => void (this.#over || onEventId(id, eventId)));
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#onAbort = (reason) => {
      if (this.fail(reason)) giveUp(this, reason);
    };
  }

  /** Tells whether its POST is to be sent, now that it can be. */
  begin(): boolean {
    this.#sent = !this.#over;
    return this.#sent;
  }

  /** Whether the server may have heard of it. */
  get sent(): boolean {
    return this.#sent;
  }

  /** From here on the end of the scope ends the call. */
  follow(): void {
    this.lifetime.onAbort(this.#onAbort);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Whether a response is the one to this request; one that names no request can only be meant for it. */
  owns(response: RpcResponse): boolean {
    if (response.id === undefined || response.id === null) return true;
    return idKey(response.id) === idKey(this.id);
  }

  wants(token: unknown): boolean {
    if (this.#token === undefined || (typeof token !== "string" && typeof token !== "number")) return false;
    return idKey(token) === idKey(this.#token);
  }

  progress(params: Params): void {
    this.lifetime.heard();
    this.#onProgress?.(params);
  }

  /** The response carries the id that the request went out under, in its own spelling. */
  answer(response: RpcResponse): boolean {
    if (!this.#end()) return false;
    this.#resolve(response.id === this.id ? response : { ...response, id: this.id });
    return true;
  }

  fail(reason: unknown): boolean {
    if (!this.#end()) return false;
    this.#reject(reason);
    return true;
  }

  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.lifetime.offAbort(this.#onAbort);
    this.#onOver(this);
    return true;
  }
}
