import { ConnectionError, McpError } from "../../protocol/errors.js";
import type { RpcErrorObject } from "../../protocol/jsonrpc/message.js";
import { isFailure, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { readExcerpt } from "./read.js";
import type { Life, Reply } from "./send.js";

const MAX_ERROR_BYTES = 65_536;
const EXCERPT_CHARS = 200;
/** Said where an answer looks as if somebody else gave it. */
export const NOT_MCP = "; is this the address of an MCP server?";
const NEEDS_TOKEN = "; it wants a token: see createOAuth of bowline/auth/client";
/** Failures of the operating system and of fetch that come before anything has been written. */
const UNSENT_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The error for a fetch that failed. One of the SDK's own, such as a failed authorization, stands for itself. */
export function fetchFailed(what: string, cause: unknown): McpError {
  return cause instanceof McpError ? cause : noResponse(what, cause);
}

/** The error for a fetch that brought no response. Only a failure to connect proves that the server saw nothing. */
export function noResponse(what: string, cause: unknown): ConnectionError {
  const root = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const { code, syscall, message } = (root ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown };
  const unsent = UNSENT_CODES.has(String(code)) || syscall === "connect" || syscall === "getaddrinfo";
  const why = typeof message === "string" && message !== "" ? message : String(code ?? cause);
  return new ConnectionError(`${what}: no response from the server (${why})`, {
    delivery: unsent ? "not_sent" : "sent",
    cause,
  });
}

/** The error for a call that the server took and whose answer will not come. */
export function answerLost(
  what: string,
  how: string,
  details: { status?: number; cause?: unknown } = {},
): ConnectionError {
  return new ConnectionError(`${what}: ${how}`, { delivery: "answer_lost", ...details });
}

/** A status that is no success: with the JSON-RPC error in its body, if there is one. */
export interface HttpErrorResponse {
  readonly status: number;
  readonly rpcError: RpcErrorObject | undefined;
  /** A short piece of the body, on one line. */
  readonly excerpt: string;
}

/** Reads what a refusing response has to say, and is done with its body. Never rejects. */
export async function readErrorResponse(reply: Reply, life: Life): Promise<HttpErrorResponse> {
  const text = await readExcerpt(reply, MAX_ERROR_BYTES, life);
  const parsed = text.trimStart().startsWith("{") ? parseFrame(text) : undefined;
  const rpcError = parsed?.kind === "response" && isFailure(parsed.message) ? parsed.message.error : undefined;
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return {
    status: reply.status,
    rpcError,
    excerpt: line.length > EXCERPT_CHARS ? `${line.slice(0, EXCERPT_CHARS)}...` : line,
  };
}

/** A client error means that the server refused the call before it did anything. */
export function statusError(what: string, { status, excerpt }: HttpErrorResponse): ConnectionError {
  const doubt = status === 404 || status === 405 ? NOT_MCP : status === 401 ? NEEDS_TOKEN : "";
  const said = (excerpt === "" ? "" : `: ${excerpt}`) + doubt;
  return new ConnectionError(`${what}: the server answered with HTTP status ${status}${said}`, {
    status,
    delivery: "sent",
    retrySafe: status >= 400 && status < 500,
  });
}
