import type { Params, RequestId, RpcErrorObject } from "./message.js";

/** JSON that has been written already. */
export type JsonText = string;

/** `written` is the params as text, where they are at hand as such. */
export function formatRequest(id: RequestId, method: string, params: Params | undefined, written?: JsonText): string {
  const head = `{"jsonrpc":"2.0","id":${textOf(id)},"method":${quoted(method)}`;
  const text = written ?? (params === undefined ? undefined : JSON.stringify(params));
  return text === undefined ? `${head}}` : `${head},"params":${text}}`;
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

let lastMethod = "";
let lastQuoted = '""';

/** One request's method is mostly the next one's too. */
function quoted(method: string): string {
  if (method !== lastMethod) {
    lastQuoted = JSON.stringify(method);
    lastMethod = method;
  }
  return lastQuoted;
}

function textOf(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}
