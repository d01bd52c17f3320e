import type { Clock } from "../call/clock.js";
import type { CallScope } from "../call/scope.js";
import type { ParamHeader } from "../http/param-headers.js";
import type { JsonText } from "../jsonrpc/format.js";
import type {
  Params,
  RequestId,
  RpcErrorObject,
  RpcNotification,
  RpcRequest,
  RpcResponse,
} from "../jsonrpc/message.js";

export interface LinkRequest {
  readonly id?: RequestId | undefined;
  readonly method: string;
  readonly params: Params | undefined;
  /** Whether giving up is told to the server; the handshake and the probe are not. */
  readonly cancellable: boolean;
  readonly onProgress?: ((params: Params) => void) | undefined;
  /** Called with the id that the request goes out under, before it is written. */
  readonly onId?: ((id: RequestId) => void) | undefined;
}

/** What comes from the server without having been called for. */
export interface LinkReceiver {
  onRequest(request: RpcRequest): void;
  /** `call` is the id of the request on whose stream it came, where the wire can tell. */
  onNotification(notification: RpcNotification, call?: RequestId): void;
  onProblem(problem: Error): void;
  onClose(reason: Error | undefined): void;
}

/**
 * Carries a client's calls. A call settles once: with the server's response, with the scope's reason in the turn in which
 * the scope ends, or with an error that says how far the request had got.
 */
export interface Link {
  readonly kind: "channel" | "http";
  receiver: LinkReceiver;
  request(request: LinkRequest, scope: CallScope): Promise<RpcResponse>;
  notify(method: string, params: Params | undefined): void | Promise<void>;
  /** Answers a request that came through `receiver`. */
  respond(id: RequestId, result: JsonText): void;
  respondError(id: RequestId, error: RpcErrorObject): void;
  /** Ends every call at once and lets go of everything. Idempotent. */
  close(): Promise<void>;
}

/** Where a client reaches a server over HTTP, and with what. */
export interface HttpTarget {
  readonly url: URL;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** Headers of the caller's own; the protocol's win. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Which arguments of a tool go into headers, as its listing said. */
  paramHeaders(tool: string): readonly ParamHeader[] | undefined;
  readonly maxMessageBytes: number;
}

/** What a client has to talk through. */
export type ClientWire =
  | { readonly kind: "channel"; readonly link: Link & { readonly closed: boolean } }
  | { readonly kind: "http"; readonly target: HttpTarget };
