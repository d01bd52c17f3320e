import { type Clock, pause, systemClock } from "../call/clock.js";
import type { ClientResult } from "../era/client-era.js";
import { ConnectionError } from "../protocol/errors.js";
import type { Tool } from "../protocol/types/index.js";
import type { ClientCall, ClientInterceptor } from "./options.js";

export interface RetryOptions {
  /** How often a call is made at most. 3 unless told otherwise. */
  readonly attempts?: number;
  /** The wait before the second attempt; it doubles with each. 200 ms unless told otherwise. */
  readonly delayMs?: number;
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

/**
 * Makes calls again that were lost with their connection, as new requests, where that can do no harm: the server never saw
 * them, they only read, or they call a tool that is known, from a listing that passed through here, to be read-only or
 * idempotent. Anything else fails as it would without.
 */
export function retry(options: RetryOptions = {}): ClientInterceptor {
  const { attempts = 3, delayMs = 200, clock = systemClock } = options;
  const harmless = new Set<string>();
  const mayRepeat = (call: ClientCall, error: unknown) =>
    error instanceof ConnectionError &&
    error.status === undefined &&
    (error.retrySafe || READS.has(call.method) || (call.method === "tools/call" && harmless.has(toolOf(call))));
  return async (call, next) => {
    const began = clock.now();
    const { deadlineMs = Number.POSITIVE_INFINITY } = call.options;
    const leftMs = () => deadlineMs - (clock.now() - began);
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await next(attempt === 1 ? call : asNewRequest(call, leftMs()));
        if (call.method === "tools/list") learn(harmless, result);
        return result;
      } catch (error) {
        const { signal } = call.options;
        const waitMs = delayMs * 2 ** (attempt - 1);
        const isLast = attempt >= attempts || waitMs >= leftMs();
        if (isLast || signal?.aborted === true || !mayRepeat(call, error)) throw error;
        await pause(clock, waitMs, signal);
        signal?.throwIfAborted();
      }
    }
  };
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
