import type { Params, RequestId, RpcErrorObject } from "./message.js";

/** JSON that has been written already. */
export type JsonText = string;

export function formatRequest(id: RequestId, method: string, params: Params | undefined): string {
  const head = `{"jsonrpc":"2.0","id":${textOf(id)},"method":${JSON.stringify(method)}`;
  return params === undefined ? `${head}}` : `${head},"params":${JSON.stringify(params)}}`;
}

export function formatNotification(method: string, params: Params | undefined): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/** Wraps a result that is text already, so that no result is written twice. */
export function formatResult(id: RequestId, result: JsonText): string {
  return `{"jsonrpc":"2.0","id":${textOf(id)},"result":${result}}`;
}

export function formatFailure(id: RequestId | undefined, error: RpcErrorObject): string {
  return JSON.stringify(id === undefined ? { jsonrpc: "2.0", error } : { jsonrpc: "2.0", id, error });
}

/** Whether a value of a handler's own making has a JSON text: no cycles, no BigInt, no getter that throws. */
export function isWritable(value: unknown): boolean {
  if (value === undefined) return true;
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function textOf(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}
