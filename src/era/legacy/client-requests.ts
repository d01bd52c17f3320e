import { cancelParams } from "../../call/exchange.js";
import type { CallScope } from "../../call/scope.js";
import { formatNotification, formatRequest } from "../../jsonrpc/format.js";
import type { Params, RequestId, RpcResponse } from "../../jsonrpc/message.js";
import { isRequestId } from "../../jsonrpc/parse.js";
import { idKey } from "../../jsonrpc/request-id.js";

interface Waiting {
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
      send(formatRequest(id, method, params));
    });
  }

  /** Takes the client's answer; one that nobody waits for any more is of no interest. */
  settle(response: RpcResponse): void {
    if (isRequestId(response.id)) this.#waiting.get(idKey(response.id))?.resolve(response);
  }

  /** Something came that was meant as the answer to this request and is none. */
  fail(id: RequestId | undefined, error: Error): void {
    if (id !== undefined) this.#waiting.get(idKey(id))?.reject(error);
  }

  failAll(error: Error): void {
    for (const waiting of [...this.#waiting.values()]) waiting.reject(error);
  }
}
