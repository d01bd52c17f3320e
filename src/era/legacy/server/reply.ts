import { type HttpExchange, type HttpHeaders, JSON_HEADERS } from "../../../http/exchange.js";
import type { Busy } from "../../busy.js";
import type { SessionStream } from "./stream.js";

export type ReplyKind = "stream" | "json";

/** HTTP response to a POST with requests. It carries all messages of these requests. */
export interface PostReply {
  /** Stream of the response, if it is a stream. */
  readonly stream: SessionStream | undefined;
  /** Prepares the response for messages. If that fails, nothing has been written. */
  open(headers?: HttpHeaders): void | Promise<void>;
  /** Called when a request turns out to be asynchronous. A stream begins, or the end of the connection is observed. */
  wait(): void;
  /**
   * Writes the response to one request. Returns false if the client is gone. `busy` sets the status if it is the only
   * response.
   */
  answer(frame: string, busy?: Busy): boolean;
  /** Records that one request was cancelled and gets no response. */
  drop(): void;
  /** Ends one running request, since its session ends. A stream contains `frame` only if it can be resumed elsewhere. */
  fail(frame: string): void;
}

const NONE: readonly string[] = [];

/** Response as an event stream, which ends with the last of its requests. */
export class StreamReply implements PostReply {
  readonly stream: SessionStream;
  readonly #exchange: HttpExchange;
  #pending: number;
  #answered = false;
  #failed: readonly string[] = NONE;

  constructor(exchange: HttpExchange, stream: SessionStream, pending: number) {
    this.#exchange = exchange;
    this.stream = stream;
    this.#pending = pending;
  }

  open(headers?: HttpHeaders): void | Promise<void> {
    return this.stream.offer(this.#exchange, headers);
  }

  wait(): void {
    this.stream.begin();
  }

  answer(frame: string, busy?: Busy): boolean {
    if (--this.#pending === 0) return this.stream.finish(frame, busy);
    const { reachable } = this.stream;
    this.#answered = true;
    this.stream.send(frame);
    return reachable;
  }

  /**
   * Records a cancelled request. The stream ends at once, unless responses to other requests wait for the log. If it has
   * not begun, the response is 204, as with JSON.
   */
  drop(): void {
    if (--this.#pending > 0) return;
    if (this.#answered) this.stream.close();
    else this.stream.end();
    if (!this.#exchange.answered) this.#exchange.reply(204, {});
  }

  fail(frame: string): void {
    this.#failed = [...this.#failed, frame];
    if (--this.#pending === 0) this.stream.abandon(this.#failed);
  }
}

/** Response as one JSON document, written when the last of its requests is over. */
export class JsonReply implements PostReply {
  readonly stream = undefined;
  readonly #exchange: HttpExchange;
  readonly #batch: boolean;
  readonly #frames: string[] = [];
  #headers: HttpHeaders = JSON_HEADERS;
  #pending: number;
  #status = 200;
  #waits = false;
  #gone = false;

  constructor(exchange: HttpExchange, batch: boolean, pending: number) {
    this.#exchange = exchange;
    this.#batch = batch;
    this.#pending = pending;
  }

  open(headers?: HttpHeaders): void {
    if (headers !== undefined) this.#headers = { ...JSON_HEADERS, ...headers };
  }

  wait(): void {
    if (this.#waits) return;
    this.#waits = true;
    this.#exchange.onGone(() => {
      this.#gone = true;
    });
  }

  answer(frame: string, busy?: Busy): boolean {
    const lost = this.#gone || this.#exchange.answered;
    if (busy !== undefined && !this.#batch) {
      this.#status = busy.status;
      this.#headers = busy.headers;
    }
    this.#frames.push(frame);
    this.#settleOne();
    return !lost;
  }

  drop(): void {
    this.#settleOne();
  }

  /**
   * Responds with 503 but neither 404 nor `Retry-After`, from which a client would conclude that no handler ran and
   * send the request again.
   */
  fail(frame: string): void {
    this.#status = 503;
    this.#frames.push(frame);
    this.#settleOne();
  }

  /**
   * Records that a request is over, and responds after the last one. The response is 204 if all requests were
   * cancelled.
   */
  #settleOne(): void {
    if (--this.#pending > 0) return;
    const frames = this.#frames;
    if (frames.length === 0) this.#exchange.reply(204, {});
    else this.#exchange.reply(this.#status, this.#headers, this.#batch ? `[${frames.join(",")}]` : frames[0]);
  }
}
