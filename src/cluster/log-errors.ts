import { ClusterError } from "./error.js";

/** Default of `maxStreams` of a log. */
export const MAX_STREAMS = 10_000;

/** Returns the name of a log, or of a stream of it, as errors have it. */
export function named(log: string, stream?: string): string {
  const text = `log ${JSON.stringify(log)}`;
  return stream === undefined ? text : `stream ${JSON.stringify(stream)} of ${text}`;
}

/** Error of an operation on a log that does not exist. */
export function droppedError(log: string): ClusterError {
  return new ClusterError("dropped", `${named(log)} does not exist; it was dropped or never created`);
}

/** Error of a create within the `keepMs` of a dropped log. */
export function buriedError(log: string): ClusterError {
  return new ClusterError("dropped", `${named(log)} was dropped; its name can be used again after its keepMs`);
}

export function missedError(log: string, stream: string): ClusterError {
  const text = `entries of ${named(log, stream)} are not kept any more`;
  return new ClusterError("missed", `${text}; raise keepMs, maxEntries or maxBytes of the log, or read from the start`);
}

export function fencedError(log: string, stream: string): ClusterError {
  return new ClusterError("fenced", `${named(log, stream)} has a newer writer; stop writing to it`);
}

export function endedError(log: string, stream: string): ClusterError {
  return new ClusterError("refused", `${named(log, stream)} has ended; append nothing after its last entry`);
}

/** Error of a `seq` that is not `next`. */
export function skippedError(log: string, stream: string, seq: number, next: number | string): ClusterError {
  return new ClusterError("refused", `${named(log, stream)} expects seq ${next}, not ${seq}; append in order`);
}

/** Error of a `seq` that is repeated with other data or another end mark. */
export function differentError(log: string, stream: string, seq: number, next: number | string): ClusterError {
  const text = `${named(log, stream)} has other data for seq ${seq}`;
  return new ClusterError("refused", `${text}; append the new data with seq ${next}`);
}

/** Error of a claim of a further stream. */
export function fullError(log: string, stream: string, maxStreams: number | string): ClusterError {
  const text = `${named(log, stream)} is refused: the log has its maximum of ${maxStreams} streams`;
  return new ClusterError("refused", `${text}; raise maxStreams of the log, or end streams`);
}
