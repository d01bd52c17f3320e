import { type HttpExchange, type HttpHeaders, JSON_HEADERS } from "../../../http/exchange.js";
import type { Busy } from "../../busy.js";
import type { SessionStream } from "./stream.js";

export type ReplyKind = "stream" | "json";

/** The answer to a POST that holds requests: all that belongs to them goes here. */
export interface PostReply {
  /** The stream it is written on, if it is one. */
  readonly stream: SessionStream | undefined;
  /** Makes the reply ready to take what its requests say. Fails, with nothing written, when that is impossible. */
  open(headers?: HttpHeaders): void | Promise<void>;
  /** An answer takes its time: from here on the client is told that something will come, or is seen to go away. */
  wait(): void;
  /** Answers one request. False when the answer had nowhere to go. `busy` gives its status to an answer that stands alone. */
  answer(frame: string, busy?: Busy): boolean;
  /** One request was cancelled and gets no answer. */
  drop(): void;
  /** One request, which runs, ends with its session. */
  fail(frame: string): void;
}

/** An answer as an event stream, which ends with the last of its requests. */
export class StreamReply implements PostReply {
  readonly stream: SessionStream;
  readonly #exchange: HttpExchange;
  #pending: number;

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
    this.stream.send(frame);
    return reachable;
  }

  /** A stream that was not even begun is no stream: what stands for a cancelled call then is 204, as with JSON. */
  drop(): void {
    if (--this.#pending > 0) return;
    this.stream.end();
    if (!this.#exchange.answered) this.#exchange.reply(204, {});
  }

  fail(): void {
    if (--this.#pending === 0) this.stream.end();
  }
}

/** An answer as one JSON document, written when the last of its requests is over. */
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

  /** Not with 404, nor with `Retry-After`, by which a client takes it that no handler ran and sends the request again. */
  fail(frame: string): void {
    this.#status = 503;
    this.#frames.push(frame);
    this.#settleOne();
  }

  /** Where every request was cancelled there is nothing to say: 204, which stands for that alone. */
  #settleOne(): void {
    if (--this.#pending > 0) return;
    const frames = this.#frames;
    if (frames.length === 0) this.#exchange.reply(204, {});
    else this.#exchange.reply(this.#status, this.#headers, this.#batch ? `[${frames.join(",")}]` : frames[0]);
  }
}
