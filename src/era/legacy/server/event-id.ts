// The modern era has no such file: a modern stream cannot be resumed.

import { STANDALONE } from "./shared-sessions.js";

const OF_CALL = "c";
const OF_STANDALONE = "g";

/** Position that a client names in `Last-Event-ID`. */
export interface Position {
  /** Id of the event in the log. Undefined if no log gave it. */
  readonly id: string | undefined;
  /** True if the event is one of a call's stream, even if the log no longer contains it. */
  readonly isOfCall: boolean;
}

/**
 * Returns the id of an event for the client: the id in the log, after a letter for the kind of its stream. So a client
 * that resumes after an event that is not kept gets an answer for the right kind of stream.
 */
export function toEventId(streamId: string, id: string): string {
  return (streamId === STANDALONE ? OF_STANDALONE : OF_CALL) + id;
}

export function readEventId(text: string): Position {
  const kind = text[0];
  const isOfCall = kind === OF_CALL;
  return { id: isOfCall || kind === OF_STANDALONE ? text.slice(1) : undefined, isOfCall };
}
