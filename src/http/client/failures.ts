import { type Clock, timeOfDay } from "../../call/clock.js";
import { deliveryByStatus, type HttpAnswer } from "../../protocol/delivery.js";
import { ConnectionError, McpError } from "../../protocol/errors.js";
import type { RpcErrorObject } from "../../protocol/jsonrpc/message.js";
import { isFailure, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { oneLine } from "../../protocol/text.js";
import { readExcerpt } from "./read.js";
import type { Life, Reply } from "./send.js";

/** Limits for reading the body of an error response. Its status matters more than its text. */
const MAX_ERROR_BYTES = 65_536;
const ERROR_BODY_MS = 1000;
const EXCERPT_CHARS = 200;
/** Token or password in a header. Some servers repeat the request in the response. */
const CREDENTIALS = /\b(bearer|dpop|basic)\s+[\w.~+/=-]{8,}/gi;
/** Hint for a response that probably does not come from an MCP server. */
export const NOT_MCP = "; is this the URL of an MCP server?";
const NEEDS_TOKEN = "; it requires a token: see oauth() of bowline/auth/client";
/** Error codes of the operating system and of fetch that occur before any data is written. */
const UNSENT_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Creates the error for a failed fetch. Errors of the SDK, such as a failed authorization, are passed on unchanged. */
export function fetchFailed(what: string, cause: unknown): McpError {
  return cause instanceof McpError ? cause : noResponse(what, cause);
}

/**
 * Creates the error for a fetch without a response. Only a failure to connect proves that the server received nothing.
 */
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

/** Texts of errors that occur when only one side uses TLS. */
const ENDED_AT_ONCE = /other side closed|socket hang up|ECONNRESET|Expected HTTP/;
const NO_TLS = /wrong version number|packet length too long/;

/** Adds a hint to the error of a first request if the server may use the other of http and https. */
export function withSchemeAdvice(error: unknown, { protocol }: URL): unknown {
  const [sign, other] = protocol === "http:" ? [ENDED_AT_ONCE, "https"] : [NO_TLS, "http"];
  if (!(error instanceof ConnectionError) || error.status !== undefined || !sign.test(error.message)) return error;
  const { message, delivery, cause } = error;
  // The reason of a TLS library is long, so the hint comes before it.
  const advised = message.replace(/ \(|$/, (end) => `; does the server use ${other}://?${end}`);
  return new ConnectionError(advised, { delivery, cause });
}

/** Response with an error status, with the JSON-RPC error of its body, if there is one. */
export interface HttpErrorResponse extends HttpAnswer {
  readonly rpcError: RpcErrorObject | undefined;
  /** Beginning of the body, on one line. */
  readonly excerpt: string;
  /** Target of a redirect without its query, which may hold secrets. */
  readonly redirect?: string | undefined;
}

/** Reads the body of an error response within limits and releases it. Never rejects. */
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
    redirect: status >= 300 && status < 400 ? redirectOf(reply) : undefined,
  };
}

function redirectOf({ url, headers }: Reply): string | undefined {
  const location = headers.get("location");
  if (location === null) return undefined;
  const base = url === "" ? undefined : url;
  if (!URL.canParse(location, base)) return oneLine(location.replace(/[?#].*/s, ""), EXCERPT_CHARS);
  const { origin, pathname } = new URL(location, base);
  return oneLine(origin + pathname, EXCERPT_CHARS);
}

/** Parses `Retry-After`, which is a number of seconds or a date. */
function parseRetryAfter(value: string | null, clock: Clock): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = value.endsWith(" GMT") ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - timeOfDay(clock));
}

/** Creates the error for a response with an error status. */
export function statusError(what: string, refusal: Omit<HttpErrorResponse, "rpcError">): ConnectionError {
  const { status, retryAfterMs, delivery, excerpt, redirect } = refusal;
  const doubt = status === 404 || status === 405 ? NOT_MCP : status === 401 ? NEEDS_TOKEN : "";
  const moved = redirect && `; the redirect to ${redirect} is not followed: connect to it if you trust it`;
  const said = (excerpt === "" ? "" : `: ${excerpt}`) + (moved ?? doubt);
  return new ConnectionError(`${what}: the server answered with HTTP status ${status}${said}`, {
    status,
    retryAfterMs,
    delivery,
  });
}
