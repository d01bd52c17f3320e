import { ClusterError, unavailable } from "../cluster/error.js";

/**
 * Replies by which the engine says that it cannot serve now: it starts, is full, is a replica, or has too many clients. It
 * did not carry out the command.
 */
const AWAY =
  /\b(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|MISCONF|NOREPLICAS|UNKILLABLE|OOM)\b|max number of clients/;
/** Replies of a server that is not the primary any more, or not yet. Another connection may reach the primary. */
const MOVED = /\b(READONLY|MASTERDOWN|LOADING)\b/;
const FORBIDDEN = /\b(NOPERM|NOAUTH|WRONGPASS)\b|can't (run|access)|ACL failure|no permissions/;
const FULL = /\bOOM\b/;
/** Error replies begin with a code in capitals. Errors of a client library do not. */
const REPLY = /^-?[A-Z][A-Z_]+ /;

/** True if the engine replied with an error, so that the connection works. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && REPLY.test(error.message);
}

/** True if the engine replied with an error, and the connection leads to a server that can carry out commands. */
export function isAnswer(error: unknown): boolean {
  return isReply(error) && !MOVED.test(error.message);
}

/** True if the engine can be reached and cannot store anything now. */
export function isShort({ failure, cause }: ClusterError): boolean {
  return failure === "unavailable" && isAnswer(cause);
}

/** Returns the error of an operation. A read that failed has no outcome that could be unknown. */
export function failureOf(error: unknown, what: string, isRead: boolean): ClusterError {
  if (error instanceof ClusterError) return error;
  if (isReply(error)) return refusalOf(error.message, what, error);
  const reason = error instanceof Error ? error.message : String(error);
  if (isRead) return unavailable(`${what}: the connection to Redis failed: ${reason}`, error);
  return new ClusterError(
    "unknown_outcome",
    `${what}: the connection to Redis failed before the reply, so the operation may have been carried out: ${reason}`,
    { cause: error },
  );
}

/** Returns the error for the text of an error reply. */
export function refusalOf(message: string, what: string, cause?: unknown): ClusterError {
  const room = FULL.test(message) ? "; raise maxmemory of the Redis server" : "";
  if (AWAY.test(message)) return unavailable(`${what}: Redis cannot serve it now: ${message}${room}`, cause);
  const remedy = FORBIDDEN.test(message)
    ? "; give the user of the connection the commands, keys and channels that docs/cluster.md lists"
    : "";
  return new ClusterError("refused", `${what}: Redis refused it: ${message}${remedy}`, { cause });
}
