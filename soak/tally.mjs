import { ConnectionError, InputRequiredError, McpError, RpcError, TimeoutError } from "bowline/client";

/** Maximum number of different unexpected messages that are kept. */
const MAX_MESSAGES = 40;
/** Matches refusals. A refusal names its limit, or has an HTTP status for it. */
export const REFUSED = /\bToo many\b|\bat most\b|\bmore than\b|\bexceeds the limit\b|\b(?:limits\.)?max[A-Z]\w+/;
const REFUSING_STATUS = new Set([400, 413, 429, 503]);

/** True if an error says that a limit is reached. */
export function isRefusal(error) {
  if (error instanceof ConnectionError) return REFUSING_STATUS.has(error.status);
  if (error instanceof InputRequiredError) return error.code === "too_many_rounds";
  return (error instanceof RpcError || error instanceof McpError) && REFUSED.test(error.message);
}

/** True if a reported error comes from a peer, the wire, a limit or a handler of the soak. */
export function isOrdinaryReport(error) {
  if (error instanceof McpError || error?.name === "AbortError") return true;
  return REFUSED.test(error?.message) || /^enough\b/.test(error?.message);
}

/**
 * Outcomes of the calls of a wire. A call may succeed, or end as its own fault allows: the `reason` of its signal, a
 * `timeout`, a `lost` connection, or `refused` by a limit. All other outcomes are unexpected.
 */
export class Tally {
  calls = 0;
  ok = 0;
  aborted = 0;
  timedOut = 0;
  lost = 0;
  refused = 0;
  unexpected = 0;
  outages = 0;
  rounds = 0;
  /** Different unexpected messages, each with its count. */
  messages = new Map();

  /** Records how a call failed. Returns the kind. */
  fail(name, error, allowed) {
    const kind = kindOf(error, allowed);
    if (kind === undefined) this.surprise(name, error);
    else this[kind]++;
    return kind;
  }

  surprise(name, error) {
    this.unexpected++;
    const message = `${name}: ${describe(error)}`;
    const key = this.messages.has(message) || this.messages.size < MAX_MESSAGES ? message : "others";
    this.messages.set(key, (this.messages.get(key) ?? 0) + 1);
  }
}

function kindOf(error, { reason, timeout, lost, refused }) {
  if (reason !== undefined && error === reason) return "aborted";
  if (timeout && error instanceof TimeoutError) return "timedOut";
  if (refused && isRefusal(error)) return "refused";
  if (lost && isOutage(error)) return "lost";
  return undefined;
}

/** True if an error says that the peer is gone. A server that is being closed says so to calls in the meantime. */
export function isOutage(error) {
  if (error instanceof ConnectionError) return true;
  return error instanceof RpcError && error.message === "The server is shutting down";
}

function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const { name, message, delivery, status, cause, stack } = error;
  const details = [delivery, status, cause === undefined ? undefined : `cause: ${cause?.message ?? cause}`];
  const place = error instanceof McpError ? [] : (stack ?? "").split("\n").slice(1, 3);
  return [`${name}: ${message}`, ...details, ...place.map((line) => line.trim())].filter(Boolean).join(" | ");
}
