import type { HTTP_ANSWER, HttpAnswer } from "../delivery.js";
import type { RequestId } from "../types/index.js";

export type { RequestId };

/** Params of a request or notification, or members of a result. */
export type Params = { readonly [key: string]: unknown };

export interface RpcRequest {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params?: Params;
}

export interface RpcNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Params;
}

export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
  readonly [HTTP_ANSWER]?: HttpAnswer;
}

export interface RpcResult {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: Params;
}

export interface RpcFailure {
  readonly jsonrpc: "2.0";
  /** Absent or null if the id of the request could not be read. */
  readonly id?: RequestId | null;
  readonly error: RpcErrorObject;
}

export type RpcResponse = RpcResult | RpcFailure;
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;
