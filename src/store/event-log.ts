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

export interface MemoryEventLogOptions {
  /** How many events are kept per session; the oldest go first. 1000 unless given. */
  readonly maxEvents?: number;
  /** How many characters are kept per session; the oldest events go first. 4 Mi unless given. */
  readonly maxChars?: number;
}

interface Row extends LoggedEvent {
  readonly streamId: string;
}

interface SessionRows {
  /** By event id, oldest first. */
  readonly rows: Map<string, Row>;
  chars: number;
  appended: number;
}

const DEFAULT_MAX_EVENTS = 1000;
const DEFAULT_MAX_CHARS = 4 * 1024 * 1024;
/** Ids have one length, so that no id is the beginning of another. */
const COUNTER_LENGTH = 10;

/** A log within this process, bounded per session. */
export class MemoryEventLog implements EventLog {
  readonly #sessions = new Map<string, SessionRows>();
  readonly #maxEvents: number;
  readonly #maxChars: number;

  constructor(options: MemoryEventLogOptions = {}) {
    this.#maxEvents = options.maxEvents ?? DEFAULT_MAX_EVENTS;
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  /** How many events are kept, of one session or of all. */
  size(sessionId?: string): number {
    if (sessionId !== undefined) return this.#sessions.get(sessionId)?.rows.size ?? 0;
    let size = 0;
    for (const session of this.#sessions.values()) size += session.rows.size;
    return size;
  }

  append(sessionId: string, streamId: string, data: string): string {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = { rows: new Map(), chars: 0, appended: 0 };
      this.#sessions.set(sessionId, session);
    }
    const id = `${streamId}-${(session.appended++).toString(36).padStart(COUNTER_LENGTH, "0")}`;
    session.rows.set(id, { id, streamId, data });
    session.chars += data.length;
    this.#trim(session);
    return id;
  }

  find(sessionId: string, eventId: string): string | undefined {
    return this.#sessions.get(sessionId)?.rows.get(eventId)?.streamId;
  }

  readAfter(sessionId: string, streamId: string, eventId: string | undefined): LoggedEvent[] | undefined {
    const rows = this.#sessions.get(sessionId)?.rows;
    if (eventId !== undefined && rows?.get(eventId)?.streamId !== streamId) return undefined;
    const events: LoggedEvent[] = [];
    let reached = eventId === undefined;
    for (const row of rows?.values() ?? []) {
      if (reached && row.streamId === streamId) events.push(row);
      else if (row.id === eventId) reached = true;
    }
    return events;
  }

  drop(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** The newest event stays, however long it is: it was the one worth remembering. */
  #trim(session: SessionRows): void {
    for (const [id, row] of session.rows) {
      const fits = session.rows.size <= this.#maxEvents && session.chars <= this.#maxChars;
      if (fits || session.rows.size === 1) return;
      session.rows.delete(id);
      session.chars -= row.data.length;
    }
  }
}
