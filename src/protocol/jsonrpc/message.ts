import type { RequestId } from "../types/index.js";

export type { RequestId };

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
}

export interface RpcResult {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: Params;
}

export interface RpcFailure {
  readonly jsonrpc: "2.0";
  /** Absent or null when the request's own id could not be read. */
  readonly id?: RequestId | null;
  readonly error: RpcErrorObject;
}

export type RpcResponse = RpcResult | RpcFailure;
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

const CANONICAL_INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/;

/**
 * The key under which an id is filed: a canonical decimal string and its number share one, since peers confuse them.
 * Any other string, such as `"07"` or `""`, is only itself.
 */
export function idKey(id: RequestId): RequestId {
  if (typeof id === "number" || !CANONICAL_INTEGER.test(id)) return id;
  const twin = Number(id);
  return Number.isSafeInteger(twin) ? twin : id;
}

/** What is filed under exactly this id, or else under its other spelling. */
export function findByEither<T>(filed: Pick<ReadonlyMap<RequestId, T>, "get">, id: RequestId): T | undefined {
  const exact = filed.get(id);
  if (exact !== undefined) return exact;
  const twin = idTwin(id);
  return twin === undefined ? undefined : filed.get(twin);
}

/** The same id in its other spelling, if it has one. */
function idTwin(id: RequestId): RequestId | undefined {
  if (typeof id === "number") return String(id);
  const key = idKey(id);
  return key === id ? undefined : key;
}
