import { isObject } from "../json.js";
import type { RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from "./message.js";

/** Reason why a text is not a JSON-RPC message. `id` is the id of the message, if it could be read. */
export interface ParseFailure {
  readonly code: -32700 | -32600;
  readonly message: string;
  readonly id: string | number | undefined;
  /** Id of a request whose number JavaScript cannot represent. Only an error response can repeat it. */
  readonly largeId?: bigint | undefined;
  /** True if the message is a malformed response. Responses are never answered. */
  readonly answer: boolean;
  /** True if a whole batch is refused. */
  readonly batch?: boolean;
}

/** JSON-RPC message by its kind, a batch, or a failure. */
export type Parsed =
  | { readonly kind: "request"; readonly message: RpcRequest }
  | { readonly kind: "notification"; readonly message: RpcNotification }
  | { readonly kind: "response"; readonly message: RpcResponse }
  | { readonly kind: "batch"; readonly items: readonly unknown[] }
  | { readonly kind: "invalid"; readonly failure: ParseFailure };

export function parseFrame(text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {
      kind: "invalid",
      failure: { code: -32700, message: "Parse error: not JSON", id: undefined, answer: false },
    };
  }
  if (Array.isArray(value)) return { kind: "batch", items: value };
  const parsed = classify(value);
  return parsed.kind === "invalid" && isObject(value) && isLarge(value.id)
    ? withLargeId(parsed, text, value.id)
    : parsed;
}

/** Determines the kind of a JSON value: request, notification, response or invalid. */
export function classify(value: unknown): Parsed {
  return classifyCall(value) ?? classifyResponse(value as Record<string, unknown>);
}

/**
 * Classifies a request or a notification. Returns undefined for a value that may be a response. Unknown members are
 * allowed; known members must have the right type.
 */
export function classifyCall(value: unknown): Parsed | undefined {
  if (!isObject(value)) return invalid("a message must be an object", undefined);
  const { jsonrpc, method, params } = value;
  const id = isRequestId(value.id) ? value.id : undefined;
  if (jsonrpc !== "2.0") return invalid('jsonrpc must be "2.0"', id);
  if (!("method" in value)) return undefined;
  if (typeof method !== "string") return invalid("method must be a string", id);
  if (params === null) return classifyCall(withoutParams(value));
  if (params !== undefined && !isObject(params)) return invalid("params must be an object", id);
  if (id !== undefined) return { kind: "request", message: value as unknown as RpcRequest };
  if ("id" in value) return invalid(`id must be ${REQUEST_ID}`, undefined);
  return { kind: "notification", message: value as unknown as RpcNotification };
}

/** True for a string, and for an integer that JavaScript represents exactly. Others would come back as another number. */
export function isRequestId(value: unknown): value is string | number {
  return typeof value === "string" || Number.isSafeInteger(value);
}

const LARGEST = Number.MAX_SAFE_INTEGER;

/** Describes a valid id, for messages. */
export const REQUEST_ID = `a string or an integer within ±${LARGEST}`;

function isLarge(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) > LARGEST;
}

/** Adds the id as it is written in the text, so that the sender can match the error to its request. */
function withLargeId(parsed: Parsed & { readonly kind: "invalid" }, text: string, rounded: number): Parsed {
  const written = [...text.matchAll(/"id"\s*:\s*(-?\d{16,40})\s*[,}]/g)].map(([, digits]) => digits as string);
  const id = written.find((digits) => Number(digits) === rounded);
  return { kind: "invalid", failure: { ...parsed.failure, largeId: id === undefined ? undefined : BigInt(id) } };
}

/** Leaves out params that are null, which some libraries write for a message without params. */
function withoutParams({ params: _, ...rest }: { readonly [member: string]: unknown }): object {
  return rest;
}

export function isFailure(
  response: RpcMessage,
): response is RpcResponse & { error: { code: number; message: string } } {
  return "error" in response;
}

/** Returns the id for an error response to this message, if one can be read. */
export function answerableId(parsed: Parsed): RequestId | undefined {
  if (parsed.kind === "request") return parsed.message.id;
  return parsed.kind === "invalid" && !parsed.failure.answer ? parsed.failure.id : undefined;
}

function classifyResponse(message: Record<string, unknown>): Parsed {
  const id = isRequestId(message.id) ? message.id : undefined;
  if ("error" in message) {
    if ("result" in message) return invalidAnswer("a response must not have both result and error", id);
    if (!isErrorObject(message.error)) return invalidAnswer("error must have an integer code and a message", id);
    return { kind: "response", message: message as unknown as RpcResponse };
  }
  if (!("result" in message)) return invalidAnswer("a message needs a method, a result or an error", id);
  if (id === undefined) return invalidAnswer("a result needs the id of its request", undefined);
  if (!isObject(message.result)) return invalidAnswer("result must be an object", id);
  return { kind: "response", message: message as unknown as RpcResponse };
}

function isErrorObject(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value.code) && typeof value.message === "string";
}

function invalid(message: string, id: string | number | undefined): Parsed {
  return { kind: "invalid", failure: { code: -32600, message: `Invalid request: ${message}`, id, answer: false } };
}

function invalidAnswer(message: string, id: string | number | undefined): Parsed {
  return { kind: "invalid", failure: { code: -32600, message: `Invalid response: ${message}`, id, answer: true } };
}
