import type { HttpHeaders } from "../../../http/exchange.js";
import { isStateAway, McpError } from "../../../protocol/errors.js";
import { INVALID_REQUEST, PROCESS_GONE } from "../../../protocol/jsonrpc/errors.js";
import type { HttpRefusal } from "../../refuse.js";

/** Code of refusals for which JSON-RPC has none. */
const TRANSPORT_ERROR = -32000;
const SESSION_NOT_FOUND = -32001;

export const sessionNotFound: HttpRefusal = {
  status: 404,
  error: { code: SESSION_NOT_FOUND, message: "Session not found" },
};

export const sessionClosed: HttpRefusal = {
  status: 404,
  error: { code: SESSION_NOT_FOUND, message: "The session has ended" },
};

export const shuttingDown: HttpRefusal = {
  status: 503,
  error: { code: PROCESS_GONE, message: "The server is shutting down" },
};

/** Returns the refusal of a request that needs the state of other processes, if that state cannot be reached. */
export function toUnavailable(error: unknown): HttpRefusal | undefined {
  return isStateAway(error) ? sendAgain() : undefined;
}

function sendAgain(): HttpRefusal {
  const message = "The state that the server's processes share cannot be reached; send the request again";
  return refusal(503, message, { "retry-after": "1" });
}

/** Returns the refusal of a call that has not begun, if other processes are the reason. */
export function toUnbegun(error: unknown): HttpRefusal | undefined {
  // Other processes took this one for dead before the call began.
  return error instanceof McpError && error.code === "cluster_fenced" ? sendAgain() : toClusterRefusal(error);
}

/** Returns the refusal of a GET whose stream another process has taken over in the meantime. */
export function toConflict(error: unknown): HttpRefusal | undefined {
  return error instanceof McpError && error.code === "cluster_fenced" ? refusal(409, error.message) : undefined;
}

/** True if another process writes a stream now, or its session has ended. */
export function isTakenAway(error: unknown): boolean {
  return error instanceof McpError && (error.code === "cluster_fenced" || error.code === "cluster_dropped");
}

/** Returns the refusal of a request that failed since its session has ended, or since its state cannot be reached. */
export function toClusterRefusal(error: unknown): HttpRefusal | undefined {
  return error instanceof McpError && error.code === "cluster_dropped" ? sessionClosed : toUnavailable(error);
}

export function invalidRequest(problem: string): HttpRefusal {
  return { status: 400, error: { code: INVALID_REQUEST, message: `Invalid request: ${problem}` } };
}

export function tooManyItems({ length }: readonly unknown[], most: number): string {
  return `a batch has ${length} messages, at most ${most} are allowed (limits.maxBatchItems)`;
}

export function tooManySessions(what: string, limit: string): HttpRefusal {
  return refusal(503, `Too many sessions: ${what} are in use (limits.${limit})`, { "retry-after": "30" });
}

export function refusal(status: number, message: string, headers?: HttpHeaders): HttpRefusal {
  const error = { code: TRANSPORT_ERROR, message };
  return headers === undefined ? { status, error } : { status, error, headers };
}
