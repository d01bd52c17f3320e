import { ClusterError, type ClusterFailure } from "../cluster/error.js";

/** A statement failed before it was sent. */
export class NotSent extends Error {
  constructor(override readonly cause: unknown) {
    super("the statement was not sent");
  }
}

/** SQLSTATEs of statements that the server did not carry out, because it starts, stops, has no connection left or is a standby. */
const AWAY = new Set(["57P03", "53300", "25006", "08001", "08004"]);

/** SQLSTATEs of statements that the server did not carry out, because it cannot write: it has no room or memory, its disk fails, or it is read-only. */
const SHORT = new Set(["53000", "53100", "53200", "58000", "58030", "25006"]);

/** SQLSTATEs of statements that the server interrupted and did not carry out. They can be repeated. */
const INTERRUPTED = new Set(["40001", "40P01", "53400", "55P03", "57014"]);

/** SQLSTATEs that end a connection. The statement may have been carried out before. */
const ENDED = new Set(["57P01", "57P02", "57P05", "08000", "08003", "08006", "08P01"]);

const REMEDIES: Readonly<Record<string, string>> = {
  "25006": "connect to the primary, or let the database be written",
  "42501": "grant the right to the role, or let a role that has it run postgresCluster once to create the tables",
  "42P01": "a table is missing: start postgresCluster again to create it",
  "42883": "a function is missing: start postgresCluster again to create it",
  "3F000": "the schema is missing: start postgresCluster again to create it",
  "53100": "the disk of the server is full: nothing was done, and it can be repeated when there is room",
  "54000": "the name is too long for an index of PostgreSQL: use a shorter one",
};

const ADVICE: Partial<Record<ClusterFailure, string>> = {
  unavailable: "nothing was done, and it can be repeated when the server is back",
  unknown_outcome: "it may have been carried out: read the state before repeating it",
};

/** Returns the error of the cluster for an error of the client library. `isRead` tells that the statement changes nothing. */
export function failureOf(error: unknown, what: string, isRead: boolean): ClusterError {
  if (error instanceof ClusterError) return error;
  const cause = error instanceof NotSent ? error.cause : error;
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  const state = stateOf(cause);
  const failure = kindOf(state, error instanceof NotSent || isConnect(cause), isRead);
  const remedy = (state !== undefined && REMEDIES[state]) || ADVICE[failure];
  const told = typeof message === "string" && message !== "" ? message : String(code ?? cause);
  const text = `${what}: PostgreSQL: ${told}${state ? ` (${state})` : ""}${remedy ? `; ${remedy}` : ""}`;
  return new ClusterError(failure, text, { cause });
}

function kindOf(state: string | undefined, isUnsent: boolean, isRead: boolean): ClusterFailure {
  if (state !== undefined && (AWAY.has(state) || SHORT.has(state) || INTERRUPTED.has(state))) return "unavailable";
  if (state !== undefined && !ENDED.has(state)) return "refused";
  return isUnsent || isRead ? "unavailable" : "unknown_outcome";
}

/** True if the error tells that the server cannot be reached, and not only that it did not carry out a statement. */
export function isLoss({ failure, cause }: ClusterError): boolean {
  const state = stateOf(cause);
  const isAnswer = state !== undefined && !AWAY.has(state) && (SHORT.has(state) || INTERRUPTED.has(state));
  return !isAnswer && (failure === "unavailable" || failure === "unknown_outcome");
}

/** True if the server can be reached and cannot store anything now. */
export function isShort({ cause }: ClusterError): boolean {
  return SHORT.has(stateOf(cause) ?? "");
}

/** Returns the SQLSTATE of an error that the server sent. */
function stateOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === "string" && typeof severity === "string" ? code : undefined;
}

/** True for an error of connecting, before anything was sent. */
function isConnect(error: unknown): boolean {
  const { syscall, code } = (error ?? {}) as { syscall?: unknown; code?: unknown };
  return syscall === "connect" || syscall === "getaddrinfo" || code === "CONNECT_TIMEOUT";
}
