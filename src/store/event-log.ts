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

/** How much a log in memory keeps; the oldest events go first. No bound where nothing is given. */
export interface EventLogLimits {
  readonly maxLoggedEventsPerSession?: number;
  readonly maxLoggedCharsPerSession?: number;
  readonly maxLoggedChars?: number;
}

interface Row extends LoggedEvent {
  readonly streamId: string;
}

interface SessionRows {
  /** By event id, oldest first. */
  readonly rows: Map<string, Row>;
  chars: number;
}

/** Ids have one length, so that no id is the beginning of another. */
const COUNTER_LENGTH = 10;

/** A log within this process, bounded per session and in all. */
export class MemoryEventLog implements EventLog {
  /** The one that was not appended to for longest comes first. */
  readonly #sessions = new Map<string, SessionRows>();
  readonly #maxEvents: number;
  readonly #maxSessionChars: number;
  readonly #maxChars: number;
  #chars = 0;
  #appended = 0;

  constructor(limits: EventLogLimits = {}) {
    const { maxLoggedEventsPerSession, maxLoggedCharsPerSession, maxLoggedChars } = limits;
    this.#maxEvents = maxLoggedEventsPerSession ?? Number.POSITIVE_INFINITY;
    this.#maxSessionChars = maxLoggedCharsPerSession ?? Number.POSITIVE_INFINITY;
    this.#maxChars = maxLoggedChars ?? Number.POSITIVE_INFINITY;
  }

  /** How many events are kept, of one session or of all. */
  size(sessionId?: string): number {
    if (sessionId !== undefined) return this.#sessions.get(sessionId)?.rows.size ?? 0;
    let size = 0;
    for (const session of this.#sessions.values()) size += session.rows.size;
    return size;
  }

  append(sessionId: string, streamId: string, data: string): string {
    const session = this.#sessions.get(sessionId) ?? { rows: new Map<string, Row>(), chars: 0 };
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    const id = `${streamId}-${(this.#appended++).toString(36).padStart(COUNTER_LENGTH, "0")}`;
    session.rows.set(id, { id, streamId, data });
    this.#count(session, data.length);
    this.#trim(session, ({ rows, chars }) => rows.size <= this.#maxEvents && chars <= this.#maxSessionChars);
    if (this.#chars > this.#maxChars) this.#trimAll(session);
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
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) this.#count(session, -session.chars);
    this.#sessions.delete(sessionId);
  }

  #count(session: SessionRows, chars: number): void {
    session.chars += chars;
    this.#chars += chars;
  }

  #trimAll(newest: SessionRows): void {
    const fits = () => this.#chars <= this.#maxChars;
    for (const [id, session] of this.#sessions) {
      if (fits()) return;
      this.#trim(session, fits, session === newest ? 1 : 0);
      if (session.rows.size === 0) this.#sessions.delete(id);
    }
  }

  /** Drops the oldest events until the rest fits. The newest stays, however long it is: it was the one worth remembering. */
  #trim(session: SessionRows, fits: (session: SessionRows) => boolean, least = 1): void {
    for (const [id, row] of session.rows) {
      if (session.rows.size === least || fits(session)) return;
      session.rows.delete(id);
      this.#count(session, -row.data.length);
    }
  }
}
