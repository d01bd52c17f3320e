import { cancelParams } from "../../call/exchange.js";
import { withProgressToken } from "../../call/progress-token.js";
import type { CallScope } from "../../call/scope.js";
import { formatNotification, formatRequest } from "../../jsonrpc/format.js";
import type { Params, RequestId, RpcResponse } from "../../jsonrpc/message.js";
import { isRequestId } from "../../jsonrpc/parse.js";
import { idKey } from "../../jsonrpc/request-id.js";

interface Waiting {
  readonly onProgress: ((params: Params) => void) | undefined;
  resolve(response: RpcResponse): void;
  reject(error: unknown): void;
}

/** The requests that a session has sent to its client. The answers come as POSTs of their own, in any order. */
export class ClientRequests {
  readonly #waiting = new Map<RequestId, Waiting>();
  #nextId = 0;

  /** Sends a request and waits. If the scope ends first the client is told through the same `send`. */
  request(
    method: string,
    params: Params | undefined,
    scope: CallScope,
    send: (frame: string) => void,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      scope.throwIfAborted();
      const id = this.#nextId++;
      const giveUp = (reason: unknown) => {
        this.#waiting.delete(id);
        reject(reason);
        send(formatNotification("notifications/cancelled", cancelParams(id, reason)));
      };
      const over = () => {
        this.#waiting.delete(id);
        scope.offAbort(giveUp);
      };
      this.#waiting.set(id, {
        onProgress,
        resolve: (response) => {
          over();
          resolve(response);
        },
        reject: (error) => {
          over();
          reject(error);
        },
      });
      scope.onAbort(giveUp);
      send(formatRequest(id, method, onProgress === undefined ? params : withProgressToken(params, id)));
    });
  }

  /** Takes the client's answer; one that nobody waits for any more is of no interest. */
  settle(response: RpcResponse): void {
    if (isRequestId(response.id)) this.#waiting.get(idKey(response.id))?.resolve(response);
  }

  /** Takes a report of progress; tells whether it belongs to one of these requests. */
  progress(params: Params | undefined): boolean {
    const token = params?.progressToken;
    const onProgress = isRequestId(token) ? this.#waiting.get(idKey(token))?.onProgress : undefined;
    onProgress?.(params as Params);
    return onProgress !== undefined;
  }

  /** Something came that was meant as the answer to this request and is none. */
  fail(id: RequestId | undefined, error: Error): void {
    if (id !== undefined) this.#waiting.get(idKey(id))?.reject(error);
  }

  failAll(error: Error): void {
    for (const waiting of [...this.#waiting.values()]) waiting.reject(error);
  }
}
