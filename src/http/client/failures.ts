import type { Clock } from "../../call/clock.js";
import { deliveryByStatus, type HttpAnswer } from "../../protocol/delivery.js";
import { ConnectionError, McpError } from "../../protocol/errors.js";
import type { RpcErrorObject } from "../../protocol/jsonrpc/message.js";
import { isFailure, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { oneLine } from "../../protocol/text.js";
import { readExcerpt } from "./read.js";
import type { Life, Reply } from "./send.js";

/** No more of a refusing response is read, and for no longer after its head: its status counts, not its words. */
const MAX_ERROR_BYTES = 65_536;
const ERROR_BODY_MS = 1000;
const EXCERPT_CHARS = 200;
/** A token or a password in a header, for servers that repeat the request. */
const CREDENTIALS = /\b(bearer|dpop|basic)\s+[\w.~+/=-]{8,}/gi;
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

/** A status that is no success: with the JSON-RPC error in its body, if there is one. */
export interface HttpErrorResponse extends HttpAnswer {
  readonly rpcError: RpcErrorObject | undefined;
  /** A short piece of the body, on one line. */
  readonly excerpt: string;
}

/** Reads what a refusing response has to say, within bounds, and is done with its body. Never rejects. */
export async function readErrorResponse(reply: Reply, life: Life, clock: Clock): Promise<HttpErrorResponse> {
  const text = await readExcerpt(reply, MAX_ERROR_BYTES, ERROR_BODY_MS, life, clock);
  const parsed = text.trimStart().startsWith("{") ? parseFrame(text) : undefined;
  const rpcError = parsed?.kind === "response" && isFailure(parsed.message) ? parsed.message.error : undefined;
  const { status } = reply;
  const retryAfterMs = parseRetryAfter(reply.headers.get("retry-after"), clock);
  return {
    status,
    retryAfterMs,
    delivery: deliveryByStatus(status, rpcError !== undefined && retryAfterMs !== undefined),
    rpcError,
    excerpt: oneLine(text.replace(CREDENTIALS, "$1 ..."), EXCERPT_CHARS),
  };
}

/** `Retry-After` in either form: seconds, or the date of the next attempt. */
function parseRetryAfter(value: string | null, clock: Clock): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = value.endsWith(" GMT") ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - (clock.timeOfDay?.() ?? Date.now()));
}

export function statusError(what: string, refusal: Omit<HttpErrorResponse, "rpcError">): ConnectionError {
  const { status, retryAfterMs, delivery, excerpt } = refusal;
  const doubt = status === 404 || status === 405 ? NOT_MCP : status === 401 ? NEEDS_TOKEN : "";
  const said = (excerpt === "" ? "" : `: ${excerpt}`) + doubt;
  return new ConnectionError(`${what}: the server answered with HTTP status ${status}${said}`, {
    status,
    retryAfterMs,
    delivery,
  });
}
