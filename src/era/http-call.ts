import { AbortSwitch } from "../call/abort-switch.js";
import type { CallLifetime } from "../call/lifetime.js";
import { progressTokenOf, withProgressToken } from "../call/progress.js";
import { fetchFailed } from "../http/client/failures.js";
import type { StreamTrace } from "../http/client/read.js";
import { ConnectionError } from "../protocol/errors.js";
import { idKey } from "../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcResponse } from "../protocol/jsonrpc/message.js";
import type { TransportRequest } from "./transport.js";

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
  /** How far it has got: the only source of what its errors say about that. */
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

  /** Tells whether its POST is to be sent, now that it can be. */
  begin(): boolean {
    if (this.#over) return false;
    this.#reached = "sent";
    return true;
  }

  /** The server has taken the call, by the head of its answer, or in an earlier connection. */
  taken(): void {
    this.#reached = "answer_lost";
  }

  /** Whether the server may have heard of it. */
  get sent(): boolean {
    return this.#reached !== "not_sent";
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

  /** The error for an answer that will not come, whatever request it was last waited for with. */
  lost(how: string, details?: { readonly status?: number; readonly cause?: unknown }): ConnectionError {
    return new ConnectionError(`${this.method}: ${how}`, { ...details, delivery: this.#reached });
  }

  /** The error for what went wrong with its POST, or with the reading of the answer to it. */
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

/** The error for a stream that is over while its call is not. */
export function streamLost(call: HttpCall, trace: StreamTrace): ConnectionError {
  if (trace.error === undefined) return call.lost("the stream ended without a response");
  return call.lost(`the stream broke off (${describe(trace.error)})`, { cause: trace.error });
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
