import {
  ConnectionError,
  type ConnectionErrorDetails,
  endOf,
  McpError,
  notConnected,
  ProtocolError,
  toError,
} from "../errors.js";
import { oneLine } from "../text.js";
import type { Channel } from "./channel.js";
import { INVALID_REQUEST, NO_BATCHES } from "./errors.js";
import { formatFailure, formatNotification, formatRequest, formatResult, type JsonText } from "./format.js";
import { InflightTable, idKey } from "./inflight-table.js";
import type { Params, RequestId, RpcErrorObject, RpcNotification, RpcRequest, RpcResponse } from "./message.js";
import { classify, isRequestId, type Parsed, type ParseFailure, parseFrame } from "./parse.js";

/** Request of this side that awaits its response. At most one of `onResponse` and `onFailure` is called, once. */
export interface PendingRequest {
  /** Set when the request is added to the table. */
  id: RequestId;
  onResponse(response: RpcResponse): void;
  onFailure(error: Error): void;
  /** Receives progress notifications of this request, if it asked for them. */
  onProgress?(params: Params): void;
  /** Cancels the request. Returns true if it was still pending. */
  cancel?(reason: unknown): boolean;
}

/** Events of a {@link Peer}. */
export interface PeerEvents {
  onRequest(request: RpcRequest): void;
  onNotification(notification: RpcNotification): void;
  /**
   * Reports a received text that is not a message. The owner decides whether to respond. The text is undefined for a
   * refused batch and for an item of a batch.
   */
  onInvalid(failure: ParseFailure, text?: string): void;
  /**
   * Returns the reason why a batch is refused, or undefined if it is accepted. Without this callback, every batch is
   * refused.
   */
  batchProblem?(items: readonly unknown[]): string | undefined;
  /** Reports a problem that concerns no particular request. */
  onProblem(problem: Error): void;
  onClose(reason: Error | undefined): void;
}

/** Request to send. Without an id, the next free number is used. */
export interface OutgoingRequest {
  readonly id?: RequestId | undefined;
  readonly method: string;
  /** Params, or a function that creates them from the id. */
  readonly params: Params | undefined | ((id: RequestId) => Params);
  /** Serialized params, used instead of `params`. */
  readonly written?: JsonText | undefined;
}

/**
 * Number of ids chosen by callers to remember after their requests were abandoned, so that late responses are not
 * reported as unknown.
 */
const REMEMBERED_ABANDONED = 64;

/** Matches responses to requests on a channel. */
export class Peer {
  readonly #channel: Channel;
  readonly #events: PeerEvents;
  readonly #inflight: InflightTable<PendingRequest>;
  readonly #abandoned: RequestId[] = [];
  #closed: { readonly reason: Error | undefined } | undefined;

  constructor(channel: Channel, events: PeerEvents, firstId = 0) {
    this.#channel = channel;
    this.#events = events;
    this.#inflight = new InflightTable(firstId);
  }

  open(): void | Promise<void> {
    return this.#channel.open({
      onFrame: (text) => this.#receive(text),
      onProblem: (problem) => this.#events.onProblem(problem),
      onClose: (reason) => this.#onClose(reason),
    });
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw notConnected(this.#closed.reason);
  }

  /** Id at which a successor of this peer continues. */
  get nextId(): number {
    return this.#inflight.nextId;
  }

  /** Number of requests that await a response. */
  get pending(): number {
    return this.#inflight.size;
  }

  /** Adds a request to the table and writes it. Throws if the request cannot be started. */
  request(out: OutgoingRequest, pending: PendingRequest): void {
    this.assertOpen();
    const id = this.#inflight.reserve(out.id);
    const params = typeof out.params === "function" ? out.params(id) : out.params;
    const frame = formatRequest(id, out.method, params, out.written);
    pending.id = id;
    this.#inflight.add(pending);
    this.#write(frame, pending);
  }

  /** Stops waiting for a response. The request is removed at once, and a late response is ignored. */
  abandon(pending: PendingRequest): void {
    if (!this.#inflight.remove(pending) || this.#inflight.hasMinted(pending.id)) return;
    if (this.#abandoned.push(idKey(pending.id)) > REMEMBERED_ABANDONED) this.#abandoned.shift();
  }

  /** Cancels the request that has exactly this id, as its sender would. Returns true if it was pending. */
  cancel(id: unknown, reason: unknown): boolean {
    return this.#inflight.findExactly(id)?.cancel?.(reason) === true;
  }

  /**
   * Writes a notification. A failure to write is reported as a problem, and a closed channel is ignored. With
   * `mustArrive`, the promise rejects in both cases.
   */
  notify(method: string, params: Params | undefined, mustArrive?: boolean): void | Promise<void> {
    if (mustArrive) return this.#deliver(formatNotification(method, params));
    if (this.#closed === undefined) return this.#write(formatNotification(method, params));
  }

  respond(id: RequestId, result: JsonText): void | Promise<void> {
    if (this.#closed === undefined) return this.#write(formatResult(id, result));
  }

  respondError(id: RequestId | bigint | undefined, error: RpcErrorObject): void | Promise<void> {
    if (this.#closed === undefined) return this.#write(formatFailure(id, error));
  }

  /** Fails pending requests at once, then closes the channel. */
  async close(reason?: Error): Promise<void> {
    this.#failAll(reason);
    await this.#channel.close();
  }

  async #deliver(frame: string): Promise<void> {
    this.assertOpen();
    await this.#channel.send(frame);
  }

  /** Writes a frame. If it is a request, a failure to write fails that request. */
  #write(frame: string, pending?: PendingRequest): void | Promise<void> {
    try {
      const written: unknown = this.#channel.send(frame);
      if (isPromise(written)) return Promise.resolve(written).catch((error) => this.#onUnwritten(error, pending));
    } catch (error) {
      this.#onUnwritten(error, pending);
    }
  }

  #onUnwritten(error: unknown, pending: PendingRequest | undefined): void {
    const reason = toError(error);
    if (pending === undefined) {
      if (this.#closed === undefined) this.#events.onProblem(reason);
    } else if (this.#inflight.remove(pending)) pending.onFailure(notWritten(reason));
  }

  #receive(text: string): void {
    const parsed = parseFrame(text);
    if (parsed.kind !== "batch") return this.#take(parsed, text);
    const { items } = parsed;
    const problem = this.#events.batchProblem === undefined ? NO_BATCHES : this.#events.batchProblem(items);
    if (problem !== undefined) return this.#refuseBatch(items, `Invalid request: ${problem}`);
    for (const item of items) this.#take(classify(item));
  }

  /** Refuses a batch. Pending requests whose responses are in the batch fail, since no other response will come. */
  #refuseBatch(items: readonly unknown[], message: string): void {
    const answers = items.map(answerTo).filter((answer) => answer !== undefined);
    const answer = items.length > 0 && answers.length === items.length;
    this.#events.onInvalid({ code: INVALID_REQUEST, message, id: undefined, answer, batch: true });
    for (const { id } of answers) {
      const pending = id == null ? undefined : this.#inflight.take(id);
      pending?.onFailure(new ProtocolError(message));
    }
  }

  #take(parsed: Parsed, text?: string): void {
    switch (parsed.kind) {
      case "request":
        return this.#events.onRequest(parsed.message);
      case "notification":
        return this.#takeNotification(parsed.message);
      case "response":
        return this.#settle(parsed.message);
      case "invalid":
        return this.#takeInvalid(parsed.failure, text);
      case "batch":
        return this.#events.onProblem(new ProtocolError("A batch inside a batch was dropped"));
    }
  }

  /** Passes progress to the request whose id is its token, and every other notification to the owner. */
  #takeNotification(notification: RpcNotification): void {
    const { method, params } = notification;
    const token = method === "notifications/progress" ? params?.progressToken : undefined;
    const pending = isRequestId(token) ? this.#inflight.find(token) : undefined;
    if (pending?.onProgress !== undefined) pending.onProgress(params as Params);
    else this.#events.onNotification(notification);
  }

  #settle(response: RpcResponse): void {
    if (response.id === undefined || response.id === null) {
      const said = "error" in response ? `: ${oneLine(response.error.message, 1_000)} (${response.error.code})` : "";
      return this.#events.onProblem(new ProtocolError(`The peer sent an error response without a request id${said}`));
    }
    const pending = this.#inflight.take(response.id);
    if (pending === undefined) return this.#unmatched(response.id);
    pending.onResponse(response);
  }

  #takeInvalid(failure: ParseFailure, text: string | undefined): void {
    const pending = failure.answer && failure.id !== undefined ? this.#inflight.find(failure.id) : undefined;
    if (pending === undefined) return this.#events.onInvalid(failure, text);
    this.#inflight.remove(pending);
    pending.onFailure(new ProtocolError(failure.message));
  }

  #unmatched(id: RequestId): void {
    const late = this.#inflight.hasMinted(id) || this.#abandoned.includes(idKey(id));
    if (!late)
      this.#events.onProblem(
        new ProtocolError(`The peer sent a response with an unknown request id: ${oneLine(String(id))}`),
      );
  }

  #onClose(reason: Error | undefined): void {
    this.#failAll(reason);
    this.#events.onClose(reason);
  }

  #failAll(reason: Error | undefined): void {
    if (this.#closed !== undefined) return;
    this.#closed = { reason };
    for (const pending of this.#inflight.drain()) pending.onFailure(connectionLost(reason));
  }
}

/**
 * Returns the id of the request that a message responds to, validly or not. Returns undefined if the message is not a
 * response.
 */
function answerTo(value: unknown): { readonly id?: RequestId | null | undefined } | undefined {
  const parsed = classify(value);
  if (parsed.kind === "response") return parsed.message;
  return parsed.kind === "invalid" && parsed.failure.answer ? parsed.failure : undefined;
}

/** A channel without types may return any value from `send`, such as the boolean of a stream's `write`. */
function isPromise(value: unknown): value is PromiseLike<void> {
  return typeof (value as PromiseLike<void> | undefined)?.then === "function";
}

/**
 * Creates the error of a request that could not be written. `delivery` comes from the error of the channel, and is
 * "sent" if that error has none. An authorization error is passed on unchanged.
 */
function notWritten(cause: Error): McpError {
  if (cause instanceof McpError && cause.code === "auth_error") return cause;
  const { delivery, status, retryAfterMs }: ConnectionErrorDetails = cause instanceof ConnectionError ? cause : {};
  const message = `The request could not be written: ${cause.message}`;
  return new ConnectionError(message, { ...endOf(cause), delivery, status, retryAfterMs, cause });
}

function connectionLost(reason: Error | undefined): ConnectionError {
  if (!(reason instanceof ConnectionError)) {
    return new ConnectionError("The connection was closed before the response arrived", {
      delivery: "sent",
      cause: reason,
    });
  }
  return new ConnectionError(reason.message, { ...endOf(reason), delivery: "sent", cause: reason });
}
