import { pause } from "../call/abortable.js";
import { type Clock, systemClock } from "../call/clock.js";
import type { ClientResult } from "../era/client-era.js";
import { afterFirstAnswer, ConnectionError, RpcError, withDeadline } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import { PROCESS_GONE } from "../protocol/jsonrpc/errors.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import type { Tool } from "../protocol/types/index.js";
import type { ClientCall, ClientInterceptor } from "./options.js";

/** Options of {@link retry}. */
export interface RetryOptions {
  /**
   * Maximum number of attempts, including the first.
   * @default 3
   */
  readonly attempts?: number | undefined;
  /**
   * Wait before the second attempt. It doubles with each further attempt.
   * @default 200
   */
  readonly delayMs?: number | undefined;
  /**
   * Maximum wait that a server may request with `Retry-After`. A call that would have to wait longer is not repeated.
   * @default 30_000
   */
  readonly maxRetryAfterMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

const OPTIONS: Known<RetryOptions> = {
  attempts: "positive limit",
  delayMs: "ms",
  maxRetryAfterMs: "ms",
  clock: "object",
};

/** Methods that only read. */
const READS: ReadonlySet<string> = new Set([
  "server/discover",
  "ping",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
]);

/** Statuses of a server or proxy that is temporarily unavailable. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Creates an interceptor that repeats failed calls as new requests if that is safe: no handler ran (`retrySafe`), the
 * method only reads, or a listing that passed through this interceptor marked the tool as read-only or idempotent. It
 * repeats calls that lost their connection or that the server refused temporarily. Other errors are thrown unchanged.
 * The next attempt waits for the delay of the options, or longer if `Retry-After` says so.
 */
export function retry(options: RetryOptions = {}): ClientInterceptor {
  assertOptions({ retry }, options, OPTIONS);
  const { attempts = 3, delayMs = 200, maxRetryAfterMs = 30_000, clock = systemClock } = options;
  const harmless = new Set<string>();
  const mayRepeat = (call: ClientCall, error: unknown): error is Passing =>
    isPassing(error) &&
    (error.retryAfterMs ?? 0) <= maxRetryAfterMs &&
    (error.retrySafe || READS.has(call.method) || (call.method === "tools/call" && harmless.has(toolOf(call))));
  return async (call, next) => {
    const began = clock.now();
    const { deadlineMs = Number.POSITIVE_INFINITY } = call.options;
    const leftMs = () => deadlineMs - (clock.now() - began);
    /** True if a handler may have run for an earlier attempt. */
    let mayHaveRun = false;
    const verdict = (error: unknown) => (mayHaveRun ? afterFirstAnswer(error, "sent") : error);
    let partMs = deadlineMs;
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await next(attempt === 1 ? call : asNewRequest(call, partMs));
        if (call.method === "tools/list") learn(harmless, result);
        return result;
      } catch (error) {
        const { signal } = call.options;
        if (attempt >= attempts || signal?.aborted === true || !mayRepeat(call, error))
          throw verdict(withDeadline(error, partMs, deadlineMs));
        const waitMs = Math.max(delayMs * 2 ** (attempt - 1), error.retryAfterMs ?? 0);
        if (waitMs >= leftMs()) throw verdict(error);
        mayHaveRun ||= !error.retrySafe;
        await pause(clock, waitMs, signal);
        signal?.throwIfAborted();
        partMs = Math.max(0, leftMs());
      }
    }
  };
}

type Passing = ConnectionError | RpcError;

/**
 * True if a server refused a call for now, and the call may be sent again. Without a status of HTTP, `data.refused` of error
 * -32005 says so. The same error without it may be a handler's own.
 */
export function isPostponed(error: unknown): boolean {
  if (isPassing(error)) return error.retrySafe;
  const { status, retryAfterMs, data } = error instanceof RpcError ? error : ({} as Partial<RpcError>);
  return status === undefined && retryAfterMs !== undefined && isObject(data) && data.refused === true;
}

/**
 * True if a repeated call may succeed: the connection or the process that served the call was lost, or the server is
 * temporarily unavailable.
 */
export function isPassing(error: unknown): error is Passing {
  if (error instanceof ConnectionError) return error.status === undefined || PASSING.has(error.status);
  return error instanceof RpcError && (PASSING.has(error.status ?? 0) || isProcessGone(error));
}

/** True if the server told that the process which served a call is gone. */
export function isProcessGone(error: unknown): boolean {
  return error instanceof RpcError && error.rpcCode === PROCESS_GONE && !error.local;
}

/** Returns the call as a new request with the remaining time. */
function asNewRequest(call: ClientCall, deadlineMs: number): ClientCall {
  const limits = call.options.deadlineMs === undefined ? undefined : { deadlineMs };
  return { ...call, options: { ...call.options, ...limits, id: undefined } };
}

function toolOf(call: ClientCall): string {
  return String(call.params?.name);
}

/** Updates the set of repeatable tools from the annotations of listed tools, which replace earlier annotations. */
function learn(harmless: Set<string>, result: ClientResult): void {
  for (const { name, annotations } of (result.tools ?? []) as readonly Tool[]) {
    if (annotations?.readOnlyHint === true || annotations?.idempotentHint === true) harmless.add(name);
    else harmless.delete(name);
  }
}
