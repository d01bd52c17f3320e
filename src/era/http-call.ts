import { AbortSwitch } from "../call/abort-switch.js";
import type { CallLifetime } from "../call/lifetime.js";
import { progressTokenOf, withProgressToken } from "../call/progress.js";
import { fetchFailed } from "../http/client/failures.js";
import type { StreamTrace } from "../http/sse/reader.js";
import { ConnectionError } from "../protocol/errors.js";
import { idKey } from "../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcResponse } from "../protocol/jsonrpc/message.js";
import type { TransportRequest } from "./transport.js";

/**
 * Cancels a call. It is fixed when the call is registered, so that later changes of the connection do not affect it.
 */
export type GiveUp = (call: HttpCall, reason: unknown) => void;

/** Request that has its own POST. It settles once. Later events have no effect. */
export class HttpCall {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params | undefined;
  readonly cancellable: boolean;
  readonly lifetime: CallLifetime;
  readonly answered: Promise<RpcResponse>;
  /** Called with the id of each event from which the call's stream can be resumed, until the call is over. */
  readonly onEventId: ((eventId: string) => void) | undefined;
  /** Ends the HTTP requests of the call. */
  readonly abortSwitch = new AbortSwitch();
  readonly #onProgress: ((params: Params) => void) | undefined;
  readonly #token: RequestId | undefined;
  readonly #onOver: (call: HttpCall) => void;
  readonly #onAbort: (reason: unknown) => void;
  #resolve!: (response: RpcResponse) => void;
  #reject!: (reason: unknown) => void;
  /** Delivery state of the call. All errors of the call take `delivery` from it. */
  #reached: "not_sent" | "sent" | "answer_lost" = "not_sent";
  #over = false;

  constructor(
    id: RequestId,
    request: TransportRequest,
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

  /** Marks the call as sent. Returns false if it is already over and must not be sent. */
  begin(): boolean {
    if (this.#over) return false;
    this.#reached = "sent";
    this.lifetime.reached("sent");
    return true;
  }

  /** Records that the server has accepted the call, by the head of its response or on an earlier connection. */
  taken(): void {
    this.#reached = "answer_lost";
    this.lifetime.reached("answer_lost");
  }

  /** True if the server may have received the call. */
  get sent(): boolean {
    return this.#reached !== "not_sent";
  }

  /** Ends the call when its lifetime ends, from now on. */
  follow(): void {
    this.lifetime.onAbort(this.#onAbort);
  }

  get over(): boolean {
    return this.#over;
  }

  /** True if the response answers this request. A response without an id can only be meant for it. */
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

  /** Resolves the call. The response gets the id of the request in its original form. */
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

  /**
   * Creates the error for a response that will not arrive. The delivery state is that of the call's own POST, not of a
   * later request that resumed its stream.
   */
  lost(how: string, details?: { readonly status?: number; readonly cause?: unknown }): ConnectionError {
    return new ConnectionError(`${this.method}: ${how}`, { ...details, delivery: this.#reached });
  }

  /** Creates the error for a failed POST, or for a response that could not be read. */
  broken(cause: unknown): Error {
    return this.#reached === "answer_lost" ? this.lost(describe(cause), { cause }) : fetchFailed(this.method, cause);
  }

  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.lifetime.offAbort(this.#onAbort);
    this.#onOver(this);
    return true;
  }
}

/** Creates the error for a stream that ended before its call. */
export function streamLost(call: HttpCall, trace: StreamTrace): ConnectionError {
  if (trace.error === undefined) return call.lost("the stream ended without a response");
  return call.lost(`the stream was interrupted (${describe(trace.error)})`, { cause: trace.error });
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
