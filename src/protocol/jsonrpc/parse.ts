import { isObject } from "../json.js";
import type { RpcMessage, RpcResponse } from "./message.js";
import { classifyCall, isRequestId, type Parsed, parseText } from "./parse-call.js";

export { answerableId, isRequestId, type Parsed, type ParseFailure } from "./parse-call.js";

export function parseFrame(text: string): Parsed {
  return parseText(text, classify);
}

/** Tells what a parsed JSON value is on the wire. */
export function classify(value: unknown): Parsed {
  return classifyCall(value) ?? classifyResponse(value as Record<string, unknown>);
}

function classifyResponse(message: Record<string, unknown>): Parsed {
  const id = isRequestId(message.id) ? message.id : undefined;
  if ("error" in message) {
    if ("result" in message) return invalidAnswer("result and error exclude each other", id);
    if (!isErrorObject(message.error)) return invalidAnswer("error must have an integer code and a message", id);
    return { kind: "response", message: message as unknown as RpcResponse };
  }
  if (!("result" in message)) return invalidAnswer("a message needs a method, a result or an error", id);
  if (id === undefined) return invalidAnswer("a result needs the id of its request", undefined);
  if (!isObject(message.result)) return invalidAnswer("result must be an object", id);
  return { kind: "response", message: message as unknown as RpcResponse };
}

function isErrorObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const error = value as Record<string, unknown>;
  return Number.isInteger(error.code) && typeof error.message === "string";
}

function invalidAnswer(message: string, id: string | number | undefined): Parsed {
  return { kind: "invalid", failure: { code: -32600, message: `Invalid response: ${message}`, id, answer: true } };
}

export function isFailure(
  response: RpcMessage,
): response is RpcResponse & { error: { code: number; message: string } } {
  return "error" in response;
}
