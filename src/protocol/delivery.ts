/**
 * How far a call got that failed, as the side that made it can prove:
 *
 * - `not_sent`: nothing of it was written;
 * - `refused`: the answer to the call's own request proves that no handler ran;
 * - `sent`: the other side may have it, and a handler may have run;
 * - `answer_lost`: the other side took it, and its answer is gone;
 * - `answered`: the other side answered with an error, which alone tells how much was done.
 *
 * It follows from what was sent for the call itself, never from a later request on its behalf, such as one that reads its
 * stream on or brings answers to the server's questions.
 */
export type Delivery = "not_sent" | "refused" | "sent" | "answer_lost" | "answered";

/** Whether sending the same call again cannot make a handler run twice. */
export function isRetrySafe(delivery: Delivery): boolean {
  return delivery === "not_sent" || delivery === "refused";
}

/**
 * The statuses with which HTTP says that a request was not acted on. Others prove nothing: 400 may be a handler's own
 * error, 408 and 409 may come in the middle of the work, and a proxy answers with 502, 503 or 504 for a request that it
 * has passed on.
 */
const REFUSING: ReadonlySet<number> = new Set([401, 403, 404, 405, 411, 413, 414, 415, 421, 425, 426, 429, 431]);

/**
 * What the status of the answer to a call's own request proves. 503 is a proof only of a server that speaks JSON-RPC and
 * asks for the request again, by an error in the body and `Retry-After`: so does a server that lets no more calls in.
 */
export function deliveryByStatus(status: number, asksAgain: boolean): "refused" | "sent" {
  return REFUSING.has(status) || (status === 503 && asksAgain) ? "refused" : "sent";
}

/** What HTTP tells of the answer to a call, beside the JSON-RPC error in its body. */
export interface HttpAnswer {
  readonly status: number;
  /** How long to wait before the next request, where the server says so. */
  readonly retryAfterMs: number | undefined;
  readonly delivery: "refused" | "sent";
}

/** The member of an error object that tells how HTTP carried it. No peer can write it, since JSON has no symbols. */
export const HTTP_ANSWER: unique symbol = Symbol("http answer");
