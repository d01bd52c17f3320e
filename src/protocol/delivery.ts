/**
 * Delivery state of a failed call, as far as the caller can prove it:
 *
 * - `not_sent`: no part of the request was written.
 * - `refused`: the response to the call's own request proves that no handler ran.
 * - `sent`: the peer may have received the request, and a handler may have run.
 * - `answer_lost`: the peer accepted the request, and its response is lost.
 * - `answered`: the peer responded with an error. Only that error tells how much was done.
 *
 * The value depends on the request of the call itself. Later requests on its behalf, such as resuming its stream or
 * sending input responses, do not change it.
 */
export type Delivery = "not_sent" | "refused" | "sent" | "answer_lost" | "answered";

/** True if sending the same call again cannot run a handler twice. */
export function isRetrySafe(delivery: Delivery): boolean {
  return delivery === "not_sent" || delivery === "refused";
}

/**
 * Statuses by which HTTP states that a request was not processed. Other statuses prove nothing: 400 may be a handler's
 * own error, 408 and 409 may occur while the request is processed, and a proxy may respond with 502, 503 or 504 after
 * it forwarded the request.
 */
const REFUSING: ReadonlySet<number> = new Set([401, 403, 404, 405, 411, 413, 414, 415, 421, 425, 426, 429, 431]);

/**
 * Derives the delivery from the status of the response to a call's own request. A 503 proves a refusal only if
 * `asksAgain` is true: the body is a JSON-RPC error and `Retry-After` is present. A server at its limit of calls
 * responds this way.
 */
export function deliveryByStatus(status: number, asksAgain: boolean): "refused" | "sent" {
  return REFUSING.has(status) || (status === 503 && asksAgain) ? "refused" : "sent";
}

/** HTTP properties of a response, in addition to the JSON-RPC error in its body. */
export interface HttpAnswer {
  readonly status: number;
  /** Time to wait before the next request, from `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  readonly delivery: "refused" | "sent";
}

/**
 * Member of an error object that holds the HTTP properties of its response. A peer cannot set it, since JSON has no
 * symbols.
 */
export const HTTP_ANSWER: unique symbol = Symbol("http answer");
