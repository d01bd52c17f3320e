import type { Params, RpcResponse } from "../jsonrpc/message.js";
import type { Inflight, OutgoingRequest, Peer, ResponseSink } from "../jsonrpc/peer.js";
import type { CallScope } from "./scope.js";

export interface ExchangeOptions {
  /** Whether giving up is worth telling the peer. */
  readonly cancellable: boolean;
  readonly onProgress?: ((params: Params) => void) | undefined;
}

/**
 * One request over a channel, from write to answer. Whatever ends the scope settles the promise in the same turn with the
 * scope's reason; the peer is told once, without waiting for the write.
 */
export function exchange(
  peer: Peer,
  out: OutgoingRequest,
  scope: CallScope,
  options: ExchangeOptions,
): Promise<RpcResponse> {
  return new Promise((resolve, reject) => {
    scope.throwIfAborted();
    let inflight: Inflight | undefined;
    const giveUp = (reason: unknown) => {
      reject(reason);
      if (inflight === undefined) return;
      inflight.abandon();
      if (options.cancellable) peer.notify("notifications/cancelled", cancelParams(inflight.id, reason));
    };
    const { onProgress } = options;
    const sink: ResponseSink = {
      onResponse: (response) => {
        scope.offAbort(giveUp);
        resolve(response);
      },
      onFailure: (error) => {
        scope.offAbort(giveUp);
        reject(error);
      },
    };
    if (onProgress !== undefined) {
      sink.onProgress = (params) => {
        scope.touch();
        onProgress(params);
      };
    }
    scope.onAbort(giveUp);
    inflight = peer.request(out, sink);
  });
}

/** What a cancellation says: the exact id, and the reason where it can be put in words. */
export function cancelParams(requestId: string | number, reason: unknown): Params {
  const text = reason instanceof Error ? reason.message : typeof reason === "string" ? reason : undefined;
  return text === undefined || text === "" ? { requestId } : { requestId, reason: text };
}
