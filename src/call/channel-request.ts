import type { Params, RequestId, RpcResponse } from "../protocol/jsonrpc/message.js";
import type { OutgoingRequest, Peer, PendingRequest } from "../protocol/jsonrpc/peer.js";
import type { CallLifetime } from "./lifetime.js";
import type { MaybePromise } from "./maybe-promise.js";

/** Converts a response to the outcome of a call. If it throws, the call rejects with that error. */
export type ReadResponse<T> = (response: RpcResponse) => MaybePromise<T>;

/** Returns the response unchanged. */
export const unchangedResponse: ReadResponse<RpcResponse> = (response) => response;

/** Options of {@link sendChannelRequest}. */
export interface ChannelRequestOptions {
  /** True if the peer is notified when the call is cancelled. */
  readonly cancellable: boolean;
  readonly onProgress?: ((params: Params) => void) | undefined;
}

/**
 * Sends a request over a channel and returns its outcome. The response is read in the turn of the event loop in which
 * it arrives. When the lifetime ends, the promise rejects in the same turn with its reason. If the call is cancellable,
 * the peer then receives one `notifications/cancelled`, whose write is not awaited.
 * Measured: bench "in-process legacy" x1, 0.51 to 0.58 of bare, for one change that also serialized envelopes once.
 */
export function sendChannelRequest<T>(
  peer: Peer,
  out: OutgoingRequest,
  lifetime: CallLifetime,
  options: ChannelRequestOptions,
  read: ReadResponse<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    lifetime.throwIfAborted();
    new ChannelRequest(peer, lifetime, options, read, resolve, reject).begin(out);
  });
}

class ChannelRequest<T> implements PendingRequest {
  id: RequestId = "";
  readonly onProgress?: (params: Params) => void;
  readonly #peer: Peer;
  readonly #lifetime: CallLifetime;
  readonly #cancellable: boolean;
  readonly #read: ReadResponse<T>;
  readonly #resolve: (value: MaybePromise<T>) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #giveUp = (reason: unknown) => this.#abandon(reason);
  #isSent = false;

  constructor(
    peer: Peer,
    lifetime: CallLifetime,
    { cancellable, onProgress }: ChannelRequestOptions,
    read: ReadResponse<T>,
    resolve: (value: MaybePromise<T>) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#peer = peer;
    this.#lifetime = lifetime;
    this.#cancellable = cancellable;
    this.#read = read;
    this.#resolve = resolve;
    this.#reject = reject;
    if (onProgress === undefined) return;
    this.onProgress = (params) => {
      lifetime.heard();
      onProgress(params);
    };
  }

  begin(out: OutgoingRequest): void {
    this.#lifetime.onAbort(this.#giveUp);
    this.#peer.request(out, this);
    this.#isSent = true;
    this.#lifetime.reached("sent");
  }

  onResponse(response: RpcResponse): void {
    this.#lifetime.offAbort(this.#giveUp);
    try {
      this.#resolve(this.#read(response));
    } catch (error) {
      this.#reject(error);
    }
  }

  cancel(reason: unknown): boolean {
    return this.#lifetime.abort(reason);
  }

  onFailure(error: Error): void {
    this.#lifetime.offAbort(this.#giveUp);
    this.#reject(error);
  }

  #abandon(reason: unknown): void {
    this.#reject(reason);
    if (!this.#isSent) return;
    this.#peer.abandon(this);
    if (this.#cancellable) this.#peer.notify("notifications/cancelled", cancelParams(this.id, reason));
  }
}

/** Creates the reason of a call that its own caller cancels by sending `notifications/cancelled`. */
export function cancelledByHand(params: Params | undefined): DOMException {
  const reason = typeof params?.reason === "string" ? params.reason : "The call was cancelled";
  return new DOMException(reason, "AbortError");
}

/** Creates the params of `notifications/cancelled`: the exact id, and the reason if it has a text. */
export function cancelParams(requestId: string | number, reason: unknown): Params {
  const text = reason instanceof Error ? reason.message : typeof reason === "string" ? reason : undefined;
  return text === undefined || text === "" ? { requestId } : { requestId, reason: text };
}
