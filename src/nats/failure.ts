import { ClusterError } from "../cluster/error.js";
import { Denied, NotSent } from "./client.js";

/** Error codes of JetStream. */
const WRONG_SEQUENCE = new Set([10071, 10164]);
const NO_MESSAGE = 10037;
const NOT_DELETED = 10057;
const NOT_ENABLED = new Set([10039, 10076]);
/** The server has no resources, no leader, or is starting or stopping. It did not carry out the request. */
const AWAY = new Set([10002, 10008, 10009, 10023, 10047, 10077]);
/** The stream does not exist. It is created at the next connect. */
const NO_STREAM = 10059;
/** A consumer was refused, for the reason in the message. */
const NO_CONSUMER = 10012;

/** Answer of JetStream that tells an error. */
export class JetStreamError extends Error {
  override readonly name = "JetStreamError";

  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }

  /** True if the last message of the subject has another number than expected. Clusters have a code of their own. */
  get isWrongSequence(): boolean {
    return WRONG_SEQUENCE.has(this.code);
  }

  get isNoMessage(): boolean {
    return this.code === NO_MESSAGE;
  }

  /** True if a message could not be deleted by its number, usually since it is not there. */
  get isNotDeleted(): boolean {
    return this.code === NOT_DELETED;
  }

  /** True if a stream is not ready for a consumer, since another process creates the stream at the same moment. */
  get isNotReady(): boolean {
    return this.code === NO_CONSUMER && this.message === "invalid stream";
  }

  /** True if the server cannot carry out the request at this moment. */
  get isAway(): boolean {
    return AWAY.has(this.code) || this.code === NO_STREAM || this.isNotReady;
  }

  get isNoStream(): boolean {
    return this.code === NO_STREAM;
  }
}

/** The server answered that nobody serves the subject of a request. It was not carried out. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** True if JetStream answered with this error, so that the connection can be used further. */
export function isAnswer(error: unknown): boolean {
  if (error instanceof ClusterError || error instanceof Denied) return true;
  return error instanceof JetStreamError && !error.isAway;
}

/** Returns the error of an operation. A read that failed has no outcome that could be unknown. */
export function failureOf(error: unknown, what: string, isRead: boolean): ClusterError {
  if (error instanceof ClusterError) return error;
  if (error instanceof JetStreamError) return refusalOf(error, what);
  if (error instanceof Denied)
    return new ClusterError("refused", `${what}: ${error.message}; grant it in the configuration of NATS`, {
      cause: error,
    });
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof Unanswered) return away(`${what}: JetStream does not answer: ${reason}`, error);
  if (isRead || error instanceof NotSent) return away(`${what}: the connection to NATS failed: ${reason}`, error);
  return new ClusterError(
    "unknown_outcome",
    `${what}: the connection to NATS failed before the reply, so the operation may have been carried out: ${reason}`,
    { cause: error },
  );
}

function refusalOf(error: JetStreamError, what: string): ClusterError {
  const { code, message } = error;
  if (NOT_ENABLED.has(code)) return notEnabled(what, error);
  if (error.isAway) return away(`${what}: JetStream cannot serve it now: ${message} (${code})`, error);
  return new ClusterError("refused", `${what}: JetStream refused it: ${message} (${code})`, { cause: error });
}

/** Error of a server, or an account, that has no JetStream. */
export function notEnabled(what: string, cause?: unknown): ClusterError {
  const remedy = "start nats-server with -js, or enable jetstream for the account of the connection";
  return new ClusterError("refused", `${what}: the NATS server has no JetStream; ${remedy}`, { cause });
}

export function away(message: string, cause?: unknown): ClusterError {
  return new ClusterError("unavailable", message, { cause });
}
