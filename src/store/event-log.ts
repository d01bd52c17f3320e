export interface LoggedEvent {
  readonly id: string;
  /** The frame, or "" for the event that only marks a position. */
  readonly data: string;
}

/**
 * Remembers what was sent on the streams of sessions, so that a client that lost one can read on. An event is only known
 * under the session that it was appended for. Everything may be refused or take time: whoever appends to a stream waits
 * for one event before it appends the next.
 */
export interface EventLog {
  /** Appends to a stream and returns the event's id: unique in the session, without line breaks or NUL. */
  append(sessionId: string, streamId: string, data: string): string | Promise<string>;
  /** The stream that an event belongs to; undefined when the id is not known, or not any more. */
  find(sessionId: string, eventId: string): string | undefined | Promise<string | undefined>;
  /**
   * What a stream holds after an event, oldest first, or all that it holds when no event is named; undefined when the
   * event is not known any more.
   */
  readAfter(
    sessionId: string,
    streamId: string,
    eventId: string | undefined,
  ): readonly LoggedEvent[] | undefined | Promise<readonly LoggedEvent[] | undefined>;
  /** Forgets all of a session. */
  drop(sessionId: string): void | Promise<void>;
}
