import { type Clock, pause, systemClock } from "../call/clock.js";
import type { ClientResult } from "../era/client-era.js";
import { afterFirstAnswer, ConnectionError, RpcError } from "../protocol/errors.js";
import type { Tool } from "../protocol/types/index.js";
import type { ClientCall, ClientInterceptor } from "./options.js";

export interface RetryOptions {
  /**
   * How often a call is made at most.
   * @default 3
   */
  readonly attempts?: number;
  /**
   * The wait before the second attempt; it doubles with each.
   * @default 200
   */
  readonly delayMs?: number;
  /**
   * The longest wait that a server may ask for by `Retry-After`. A call that would have to wait longer is not made again.
   * @default 30_000
   */
  readonly maxRetryAfterMs?: number;
  readonly clock?: Clock;
}

/** Requests that only read, whatever they are about. */
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

/** The statuses of a server, or of a proxy in front of it, that is busy or away for now. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Makes calls again that were lost with their connection, or refused for now, as new requests, where that can do no harm: no
 * handler ran (`retrySafe`), they only read, or they call a tool that is known, from a listing that passed through here, to be
 * read-only or idempotent. Anything else fails as it would without. Where the server says when to come back, by
 * `Retry-After`, the next attempt waits until then.
 */
export function retry(options: RetryOptions = {}): ClientInterceptor {
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
    /** Whether a handler may have run for an attempt that was lost. */
    let mayHaveRun = false;
    const verdict = (error: unknown) => (mayHaveRun ? afterFirstAnswer(error, "sent") : error);
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await next(attempt === 1 ? call : asNewRequest(call, leftMs()));
        if (call.method === "tools/list") learn(harmless, result);
        return result;
      } catch (error) {
        const { signal } = call.options;
        if (attempt >= attempts || signal?.aborted === true || !mayRepeat(call, error)) throw verdict(error);
        const waitMs = Math.max(delayMs * 2 ** (attempt - 1), error.retryAfterMs ?? 0);
        if (waitMs >= leftMs()) throw verdict(error);
        mayHaveRun ||= !error.retrySafe;
        await pause(clock, waitMs, signal);
        signal?.throwIfAborted();
      }
    }
  };
}

type Passing = ConnectionError | RpcError;

/** Whether the same call may well succeed a little later: its connection was lost, or the server is not there for now. */
function isPassing(error: unknown): error is Passing {
  if (error instanceof ConnectionError) return error.status === undefined || PASSING.has(error.status);
  return error instanceof RpcError && PASSING.has(error.status ?? 0);
}

/** The call as a new request, which has what is left of its time. */
function asNewRequest(call: ClientCall, leftMs: number): ClientCall {
  const { deadlineMs } = call.options;
  const limits = deadlineMs === undefined ? undefined : { deadlineMs: Math.max(0, leftMs) };
  return { ...call, options: { ...call.options, ...limits, id: undefined } };
}

function toolOf(call: ClientCall): string {
  return String(call.params?.name);
}

/** A tool's own word is all there is to go by; it is taken anew from each listing. */
function learn(harmless: Set<string>, result: ClientResult): void {
  for (const { name, annotations } of (result.tools ?? []) as readonly Tool[]) {
    if (annotations?.readOnlyHint === true || annotations?.idempotentHint === true) harmless.add(name);
    else harmless.delete(name);
  }
}
