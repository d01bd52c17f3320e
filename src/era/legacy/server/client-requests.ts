// The modern era has no such file: a modern server sends no requests.

import { cancelParams } from "../../../call/channel-request.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import { withProgressToken } from "../../../call/progress.js";
import { formatNotification, formatRequest } from "../../../protocol/jsonrpc/format.js";
import { InflightTable } from "../../../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { isRequestId } from "../../../protocol/jsonrpc/parse.js";

interface Waiting {
  readonly id: RequestId;
  readonly onProgress: ((params: Params) => void) | undefined;
  resolve(response: RpcResponse): void;
  reject(error: unknown): void;
}

/** Requests of a session to its client. The responses arrive as separate POSTs, in any order. */
export class PendingClientRequests {
  readonly #inflight = new InflightTable<Waiting>();

  /**
   * Sends a request and waits for the response. Progress resets the timeout. If the lifetime ends first, the client
   * receives `notifications/cancelled`. `wanted` is the id of the request, if its caller chooses one.
   */
  async request(
    method: string,
    params: Params | undefined,
    lifetime: CallLifetime,
    send: (frame: string) => void,
    onProgress?: (params: Params) => void,
    wanted?: RequestId,
  ): Promise<RpcResponse> {
    lifetime.throwIfAborted();
    const id = this.#inflight.reserve(wanted);
    let giveUp: (reason: unknown) => void = () => {};
    let waiting: Waiting | undefined;
    try {
      return await new Promise((resolve, reject) => {
        waiting = { id, onProgress: onProgress && withSignOfLife(lifetime, onProgress), resolve, reject };
        this.#inflight.add(waiting);
        giveUp = (reason) => {
          reject(reason);
          send(formatNotification("notifications/cancelled", cancelParams(id, reason)));
        };
        lifetime.onAbort(giveUp);
        send(formatRequest(id, method, onProgress === undefined ? params : withProgressToken(params, id)));
      });
    } finally {
      if (waiting !== undefined) this.#inflight.remove(waiting);
      lifetime.offAbort(giveUp);
    }
  }

  /** Settles the request that the response answers. Returns false if no such request waits. */
  settle(response: RpcResponse): boolean {
    const waiting = this.#find(response.id);
    waiting?.resolve(response);
    return waiting !== undefined;
  }

  /** Processes a progress notification. Returns true if it belongs to one of these requests. */
  progress(params: Params | undefined): boolean {
    const onProgress = this.#find(params?.progressToken)?.onProgress;
    onProgress?.(params as Params);
    return onProgress !== undefined;
  }

  /** Rejects a request for which a malformed response arrived. Returns false if no such request waits. */
  fail(id: RequestId | undefined, error: Error): boolean {
    const waiting = this.#find(id);
    waiting?.reject(error);
    return waiting !== undefined;
  }

  failAll(toError: () => Error): void {
    for (const waiting of this.#inflight.drain()) waiting.reject(toError());
  }

  #find(id: unknown): Waiting | undefined {
    return isRequestId(id) ? this.#inflight.find(id) : undefined;
  }
}

function withSignOfLife(lifetime: CallLifetime, onProgress: (params: Params) => void): (params: Params) => void {
  return (params) => {
    lifetime.heard();
    onProgress(params);
  };
}
