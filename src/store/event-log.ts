export interface LoggedEvent {
  readonly id: string;
  /** The frame, or "" for the event that only marks a position. */
  readonly data: string;
}

/** Remembers what was sent on a stream, so that a client that lost it can read on. Each log belongs to one session. */
export interface EventLog {
  /** Appends to a stream and returns the event's id, unique in the session. */
  append(sessionId: string, streamId: string, data: string): string | Promise<string>;
  /** The stream that an event id belongs to and what came after it; undefined when the id is not known any more. */
  readAfter(sessionId: string, eventId: string): ReadAfter | undefined | Promise<ReadAfter | undefined>;
  /** Forgets one stream, or all of a session. */
  drop(sessionId: string, streamId?: string): void | Promise<void>;
}

export interface ReadAfter {
  readonly streamId: string;
  readonly events: readonly LoggedEvent[];
}
