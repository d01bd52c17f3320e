import { McpError } from "../protocol/errors.js";

/** Reason of a {@link ClusterError}. */
export type ClusterFailure =
  /** The engine cannot be reached, or cannot serve now, as when it is full. It did not carry out the operation. */
  | "unavailable"
  /** The connection failed during the operation. The engine may have carried it out. */
  | "unknown_outcome"
  /** Another process has claimed the stream. */
  | "fenced"
  /** The log does not exist any more. */
  | "dropped"
  /** Entries of a stream are not kept any more. */
  | "missed"
  /** The engine refused the operation for good: it would refuse it again. */
  | "refused";

/** True if an operation failed and the engine may have carried it out. */
export function isUnknown(error: unknown): boolean {
  return error instanceof ClusterError && error.failure === "unknown_outcome";
}

/** Failure of the state that processes share. */
export class ClusterError extends McpError {
  protected static override readonly bowline: string = "ClusterError";
  override readonly name = "ClusterError";

  constructor(
    readonly failure: ClusterFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(`cluster_${failure}`, message, options);
  }
}

/**
 * Error of an operation that was not carried out, and that may succeed later.
 * @internal
 */
export function unavailable(message: string, cause?: unknown): ClusterError {
  return new ClusterError("unavailable", message, { cause });
}

export function closedError(what: string): ClusterError {
  const error = unavailable(`${what}: the cluster is closed`);
  ofClosed.add(error);
  return error;
}

const ofClosed = new WeakSet<object>();

/** True for the error of a cluster that this process has closed: no repetition helps. */
export function isClosed(error: unknown): boolean {
  return typeof error === "object" && error !== null && ofClosed.has(error);
}
