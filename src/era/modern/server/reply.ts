import { type HttpExchange, JSON_HEADERS } from "../../../http/exchange.js";
import type { KeepAlive, Quiet } from "../../../http/sse/keep-alive.js";
import { SseStream } from "../../../http/sse/stream.js";
import { formatSseEvent, SSE_HEADERS } from "../../../http/sse/writer.js";
import { ConnectionError } from "../../../protocol/errors.js";
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from "../../../protocol/jsonrpc/errors.js";
import { formatFailure, formatNotification, formatResult } from "../../../protocol/jsonrpc/format.js";
import type { Params, RpcErrorObject, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import type { Call, Outcome, ServerWire } from "../../server-era.js";
import { type Envelope, MISSING_CAPABILITY } from "../envelope.js";
import { type Serving, toCall } from "./decode.js";

/** Forms of response that the client accepts and the endpoint prefers. */
export interface ReplyForm {
  readonly json: boolean;
  readonly stream: boolean;
  /** True if the client accepts a stream, so that it may subscribe. */
  readonly listen: boolean;
  /** True to respond with a stream even if nothing precedes the result. */
  readonly streamAlways: boolean;
  /** True to open a stream when the call is silent for long. */
  readonly streamWhenQuiet: boolean;
}

/** State that all exchanges of one endpoint share. */
export interface Endpoint extends Serving {
  /** Replies whose calls wait for something. */
  readonly open: KeepAlive<ModernReply>;
}

/**
 * Response to one request, and the wire of its call: a JSON document, or a stream whose last event is the JSON-RPC
 * response. It is a stream if the call sends a notification, if the call is silent for long, or if `form` requires a
 * stream. It ends once: answered, closed by the client, or by shutdown.
 */
export class ModernReply implements ServerWire, Quiet {
  readonly shared = false;
  readonly call: Call;
  /** Time of the last output. Set when the call turns out to be asynchronous, since no timer reads it before. */
  spokeAt = 0;
  readonly #endpoint: Endpoint;
  readonly #exchange: HttpExchange;
  readonly #form: ReplyForm;
  #stream: SseStream | undefined;
  /** True if the call is asynchronous. Only then can it be silent, lose its client, or see a shutdown. */
  #waits = false;
  #ended = false;

  constructor(endpoint: Endpoint, exchange: HttpExchange, form: ReplyForm, request: RpcRequest, envelope: Envelope) {
    this.#endpoint = endpoint;
    this.#exchange = exchange;
    this.#form = form;
    this.call = toCall(endpoint, request, envelope, this, exchange);
  }

  /** Serves the call. Never throws. */
  serve(): void {
    const outcome = this.#endpoint.runtime.run(this.call);
    if (!(outcome instanceof Promise)) return this.#settle(outcome);
    if (!this.#ended) this.#wait(outcome);
  }

  #wait(outcome: Promise<Outcome>): void {
    const { runtime, open } = this.#endpoint;
    this.#waits = true;
    this.spokeAt = runtime.clock.now();
    open.add(this);
    this.#exchange.onGone(() => this.#abort("The client closed the connection"));
    outcome.then((outcome) => this.#settle(outcome));
  }

  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void> {
    // Only messages of this request may be sent on its stream.
    if (call !== this.call || !this.#form.stream || this.#ended) return;
    return this.#openStream().write(formatSseEvent({ data: formatNotification(method, params) }));
  }

  request(): Promise<never> {
    return rejectRequest();
  }

  onQuiet(now: number): void {
    this.spokeAt = now;
    if (this.#stream !== undefined || this.#form.streamWhenQuiet) this.#openStream().comment();
  }

  /** Ends the call because the server closes, and completes the response. */
  shutDown(): void {
    if (this.#abort("The server is shutting down")) this.#drop();
  }

  /** Ends the call without a response. Returns false if it has ended. */
  #abort(reason: string): boolean {
    if (this.#ended) return false;
    this.#finish();
    this.call.end.abort(new ConnectionError(reason));
    return true;
  }

  #settle(outcome: Outcome): void {
    if (this.#ended) return;
    this.#finish();
    const { id } = this.call;
    if (outcome.kind === "result") this.#answer(200, formatResult(id, outcome.result));
    else if (outcome.kind === "error")
      this.#answer(
        outcome.busy?.status ?? toStatus(outcome.error, outcome.refused),
        formatFailure(id, outcome.error),
        outcome.busy?.headers,
      );
    else this.#drop();
    this.call.afterAnswer?.();
  }

  #answer(status: number, text: string, headers = JSON_HEADERS): void {
    if (this.#stream !== undefined) this.#stream.finish(formatSseEvent({ data: text }));
    else if (this.#form.streamAlways && status === 200)
      this.#exchange.reply(200, SSE_HEADERS, formatSseEvent({ data: text }));
    else this.#exchange.reply(status, headers, text);
  }

  /**
   * Ends an open stream without a response, or else responds with 503. No `Retry-After` is sent, since the call may
   * have run.
   */
  #drop(): void {
    if (this.#stream !== undefined) return this.#stream.end();
    const error = { code: INTERNAL_ERROR, message: "The server is shutting down" };
    this.#exchange.reply(503, JSON_HEADERS, formatFailure(this.call.id, error));
  }

  #openStream(): SseStream {
    const { runtime } = this.#endpoint;
    const onLost = () => this.#abort("The client does not read its stream");
    this.#stream ??= new SseStream(this.#exchange, undefined, runtime.clock, runtime.limits, onLost);
    this.spokeAt = runtime.clock.now();
    return this.#stream;
  }

  #finish(): void {
    this.#ended = true;
    if (this.#waits) this.#endpoint.open.delete(this);
  }
}

/** Rejects a request to the client. */
export function rejectRequest(): Promise<never> {
  return Promise.reject(new Error("Servers send no requests in this protocol version"));
}

/**
 * Returns the HTTP status of an error. A refusal has a status of its own. A handler's error is sent with 200, except
 * for a missing capability, whose status the protocol fixes.
 */
function toStatus(error: RpcErrorObject, refused: boolean): number {
  if (error.code === MISSING_CAPABILITY) return 400;
  if (!refused) return 200;
  if (error.code === METHOD_NOT_FOUND) return 404;
  return error.code === INTERNAL_ERROR ? 500 : 400;
}
