import { type HttpExchange, type HttpStream, JSON_HEADERS } from "../../http/exchange.js";
import type { KeepAlive, Quiet } from "../../http/keep-alive.js";
import { formatSseEvent, SSE_HEADERS, sseComment } from "../../http/sse-writer.js";
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from "../../jsonrpc/error-codes.js";
import { formatFailure, formatNotification, formatResult } from "../../jsonrpc/format.js";
import type { Params, RpcErrorObject } from "../../jsonrpc/message.js";
import { ConnectionError } from "../../schema/errors.js";
import type { Call, Outcome, ServerHost, ServerWire } from "../era.js";
import { MISSING_CAPABILITY } from "./envelope.js";

const SHUTTING_DOWN: RpcErrorObject = { code: INTERNAL_ERROR, message: "The server is shutting down" };

/** What the client takes, and what the endpoint prefers. */
export interface ReplyForm {
  readonly json: boolean;
  readonly stream: boolean;
  /** The client takes a stream, so that it may subscribe. */
  readonly listen: boolean;
  /** Answer with a stream even if there is nothing to say before the answer. */
  readonly streamAlways: boolean;
  /** Begin a stream when the call stays silent for long. */
  readonly streamWhenQuiet: boolean;
}

/** What all exchanges of one endpoint share. */
export interface Endpoint {
  readonly host: ServerHost;
  readonly open: KeepAlive<ModernExchange>;
  readonly maxBehind: number;
}

/**
 * One request and its answer. The answer is one JSON document, unless the call says something before it is done: then it
 * becomes a stream whose last event is the answer. It ends once: answered, abandoned by the client, or by shutdown.
 */
export class ModernExchange implements ServerWire, Quiet {
  readonly shared = false;
  spokeAt: number;
  call!: Call;
  readonly #endpoint: Endpoint;
  readonly #exchange: HttpExchange;
  readonly #form: ReplyForm;
  #stream: HttpStream | undefined;
  #ended = false;
  /** How many characters were written since the reader fell behind. */
  #behind = 0;
  #drained: Promise<void> | undefined;

  constructor(endpoint: Endpoint, exchange: HttpExchange, form: ReplyForm) {
    this.#endpoint = endpoint;
    this.#exchange = exchange;
    this.#form = form;
    this.spokeAt = endpoint.host.clock.now();
  }

  /** Serves the call. Nothing is thrown: every way it can go ends in an answer or in silence. */
  serve(call: Call): void {
    this.call = call;
    this.#endpoint.open.add(this);
    const outcome = this.#endpoint.host.run(call);
    if (!(outcome instanceof Promise)) return this.#settle(outcome);
    this.#exchange.onGone(() => this.#onGone());
    outcome.then((outcome) => this.#settle(outcome));
  }

  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void> {
    // Only what belongs to this request may travel on its stream.
    if (this.#ended || call !== this.call || !this.#form.stream) return;
    return this.#write(formatSseEvent({ data: formatNotification(method, params) }));
  }

  request(): Promise<never> {
    return Promise.reject(new Error("a server sends no requests in this protocol version"));
  }

  onQuiet(now: number): void {
    this.spokeAt = now;
    // A reader that is behind has enough to read.
    if (this.#behind > 0) return;
    if (this.#stream !== undefined || this.#form.streamWhenQuiet) this.#write(sseComment());
  }

  /** The server closes: the call is told, and the client is not left waiting for it. */
  shutDown(): void {
    if (this.#ended) return;
    this.#finish();
    this.call.end.abort(new ConnectionError("the server is shutting down"));
    this.#drop();
  }

  #onGone(): void {
    if (this.#ended) return;
    this.#finish();
    this.call.end.abort(new ConnectionError("the client closed the connection"));
  }

  #settle(outcome: Outcome): void {
    if (this.#ended) return;
    this.#finish();
    const { id } = this.call;
    if (outcome.kind === "result") this.#answer(200, formatResult(id, outcome.result));
    else if (outcome.kind === "error")
      this.#answer(toStatus(outcome.error, outcome.refused), formatFailure(id, outcome.error));
    else this.#drop();
    this.call.afterAnswer?.();
  }

  #answer(status: number, text: string): void {
    if (this.#stream !== undefined) {
      this.#stream.write(formatSseEvent({ data: text }));
      this.#stream.end();
    } else if (this.#form.streamAlways && status === 200) {
      this.#exchange.reply(status, SSE_HEADERS, formatSseEvent({ data: text }));
    } else this.#exchange.reply(status, JSON_HEADERS, text);
  }

  /** A stream ends without an answer; without one yet, the client learns why. */
  #drop(): void {
    if (this.#stream === undefined) this.#exchange.reply(503, JSON_HEADERS, formatFailure(this.call.id, SHUTTING_DOWN));
    else this.#stream.end();
  }

  #begin(): HttpStream {
    this.#stream ??= this.#exchange.stream(200, SSE_HEADERS);
    return this.#stream;
  }

  #write(text: string): void | Promise<void> {
    const stream = this.#begin();
    this.spokeAt = this.#endpoint.host.clock.now();
    if (stream.write(text)) {
      this.#behind = 0;
      return;
    }
    this.#behind += text.length;
    if (this.#behind > this.#endpoint.maxBehind) return this.#giveUp();
    this.#drained ??= this.#untilDrained(stream);
    return this.#drained;
  }

  #untilDrained(stream: HttpStream): Promise<void> {
    return new Promise((resolve) => {
      stream.onDrain(() => {
        this.#behind = 0;
        this.#drained = undefined;
        resolve();
      });
    });
  }

  /** The reader is too far behind to be waited for. */
  #giveUp(): void {
    this.#finish();
    this.call.end.abort(new ConnectionError("the client does not read its stream"));
    this.#stream?.destroy();
  }

  #finish(): void {
    this.#ended = true;
    this.#endpoint.open.delete(this);
  }
}

/** A refusal has a status of its own; a handler's error travels in band, but for the condition whose status is fixed. */
function toStatus(error: RpcErrorObject, refused: boolean): number {
  if (error.code === MISSING_CAPABILITY) return 400;
  if (!refused) return 200;
  if (error.code === METHOD_NOT_FOUND) return 404;
  return error.code === INTERNAL_ERROR ? 500 : 400;
}
