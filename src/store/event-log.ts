/** Event of a stream, as the log stores it. */
export interface LoggedEvent {
  readonly id: string;
  /** Message as JSON, or "" for an event that only gives the client an id to resume from. */
  readonly data: string;
}

/**
 * Stores the events of a session's streams, so that a client can resume a stream that it lost. Events are found only
 * within the session that they were appended to. Each method may return a promise and may reject. The caller awaits
 * each `append` to a stream before the next one.
 */
export interface EventLog {
  /**
   * Appends an event to a stream. Returns the event's id, which is unique in the session and contains no line break or
   * NUL.
   */
  append(sessionId: string, streamId: string, data: string): string | Promise<string>;
  /** Returns the id of the stream that an event belongs to; undefined if the event is unknown or evicted. */
  find(sessionId: string, eventId: string): string | undefined | Promise<string | undefined>;
  /**
   * Returns the events of a stream after `eventId`, oldest first, or all events if `eventId` is undefined. Returns
   * undefined if the event is unknown, evicted, or of another stream.
   */
  readAfter(
    sessionId: string,
    streamId: string,
    eventId: string | undefined,
  ): readonly LoggedEvent[] | undefined | Promise<readonly LoggedEvent[] | undefined>;
  /** Deletes all events of a session. */
  drop(sessionId: string): void | Promise<void>;
}

/** Limits of a log in memory. The oldest events are evicted first. Without a value there is no limit. */
export interface EventLogLimits {
  readonly maxLoggedEventsPerSession?: number;
  readonly maxLoggedCharsPerSession?: number;
  readonly maxLoggedChars?: number;
}

interface Row extends LoggedEvent {
  readonly streamId: string;
}

interface SessionRows {
  /** Events by id, oldest first. */
  readonly rows: Map<string, Row>;
  chars: number;
}

/** Number of base-36 digits of the counter in an event id. It is fixed, so that no id is a prefix of another id. */
const COUNTER_LENGTH = 10;

/** Event log in memory, limited per session and in total. */
export class MemoryEventLog implements EventLog {
  /** Sessions by id. The first has received no event for the longest time. */
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

  /** Returns the number of events kept, of one session or of all. */
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

  /**
   * Evicts the oldest events of a session until the rest fits, but keeps at least `least` events. By default the newest
   * event stays, whatever its length, because it is the most useful one to resume from.
   */
  #trim(session: SessionRows, fits: (session: SessionRows) => boolean, least = 1): void {
    for (const [id, row] of session.rows) {
      if (session.rows.size === least || fits(session)) return;
      session.rows.delete(id);
      this.#count(session, -row.data.length);
    }
  }
}
