import { AbortSwitch } from "../call/abort-switch.js";
import type { CallLifetime } from "../call/lifetime.js";
import { progressTokenOf, withProgressToken } from "../call/progress.js";
import { answerLost } from "../http/client/failures.js";
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
  #sent = false;
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
