import { type Deadline, DeadlineQueue } from "../../../../call/deadline-queue.js";
import type { Cluster, Listed, PutOptions, Stored } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";
import { DefinitionError } from "../../../../protocol/errors.js";
import type { HttpRefusal } from "../../../refuse.js";
import type { ServerLimits } from "../../../server-limits.js";
import { sessionClosed, sessionNotFound, tooManySessions, toUnavailable } from "../refusals.js";
import type { SessionChange, SessionPlace, Sessions, SharedSession } from "../shared-sessions.js";
import {
  ALL_SESSIONS,
  changed,
  createRecord,
  idOf,
  indexOf,
  keyOf,
  parseRecord,
  type SessionRecord,
  sessionsOf,
} from "./session-record.js";

/** Time for which a record stays after its session is over, so that the sweeper can end it. */
const GRACE_MS = 300_000;
/** Longest time between two extensions of the life of a session in use. */
const MAX_TOUCH_MS = 60_000;
const MAX_ID_CHARS = 1_024;
/** Number of sessions that are compared to find the one that is unused longest. */
const CANDIDATES = 200;
const MAX_ATTEMPTS = 16;

/** Local part of a session. */
interface Kept<Session> {
  readonly session: Session;
  /** Time at which the record was read, on the clock of this process. */
  readAt: number;
  /** Time at which the life of the record was extended. */
  touchedAt: number;
  usedAt: number;
  /** Number of changes that this process has stored. A record that was read before a change is outdated. */
  changes: number;
  place: Deadline<Kept<Session>> | undefined;
}

export interface ClusterSessionsOptions<Session> {
  readonly cluster: Cluster;
  readonly place: SessionPlace<Session>;
  /** Prepares the log of a new session. */
  onOpened(session: Session): Promise<void>;
  /** Called when a session has ended for all processes. */
  onEnded(id: string): Promise<void>;
  /** Called when this process begins to serve a session. */
  onKept(session: Session): void;
  /** Called when the state of a session was read. `before` has the resources that it watched before. */
  onRestored(session: Session, before: readonly string[]): void;
  /** Called when this process no longer serves a session, for whatever reason. */
  onLeft(session: Session): void;
  /** Called when this process has changed the state of a session. */
  onChanged(id: string): void;
  /** Called when the local parts of all sessions have ended. */
  onClosed(): Promise<void>;
  report(error: unknown): void;
}

/**
 * Sessions that several processes serve. Each session is a record of the cluster. A process that serves a session keeps
 * its local part: running calls, streams, and the state from the record, which is read again after `sessionCacheMs`. A
 * session is refused only after its record was read. If the engine is away, sessions that are in use go on.
 */
export class ClusterSessions<Session extends SharedSession> implements Sessions<Session> {
  readonly #options: ClusterSessionsOptions<Session>;
  readonly #cluster: Cluster;
  readonly #limits: ServerLimits;
  readonly #kept = new Map<string, Kept<Session>>();
  readonly #reading = new Map<string, Promise<SessionRecord | undefined>>();
  readonly #queue: DeadlineQueue<Kept<Session>>;
  /** Time after which an unused session is over. */
  readonly #idleMs: number;
  readonly #touchMs: number;
  #closed = false;

  constructor(options: ClusterSessionsOptions<Session>) {
    const { clock, limits } = options.place.runtime;
    this.#options = options;
    this.#cluster = options.cluster;
    this.#limits = limits;
    this.#idleMs = limits.sessionIdleMs || Number.POSITIVE_INFINITY;
    this.#touchMs = Math.min(MAX_TOUCH_MS, this.#idleMs / 4);
    this.#queue = new DeadlineQueue(clock, this.#touchMs, (kept) => this.#onDue(kept));
  }

  get size(): number {
    return this.#kept.size;
  }

  *values(): Iterable<Session> {
    for (const { session } of this.#kept.values()) yield session;
  }

  has(id: string): boolean {
    return this.#kept.has(id);
  }

  /** Returns the local part of a session, if this process has one. */
  local(id: string): Session | undefined {
    return this.#kept.get(id)?.session;
  }

  async reserve(principal: string | undefined): Promise<HttpRefusal | undefined> {
    const { maxSessions, maxSessionsPerPrincipal } = this.#limits;
    if (principal !== undefined && !(await this.#hasRoom(sessionsOf(principal), maxSessionsPerPrincipal)))
      return tooManySessions(`${maxSessionsPerPrincipal} sessions of this caller`, "maxSessionsPerPrincipal");
    if (!(await this.#hasRoom(ALL_SESSIONS, maxSessions)))
      return tooManySessions(`${maxSessions} sessions`, "maxSessions");
    return undefined;
  }

  /** A place is taken by the record of a session alone, so there is nothing to release. */
  free(): void {}

  async add(id: string, session: Session): Promise<void> {
    const { clock } = this.#options.place.runtime;
    const record = createRecord(session.principal, clock.timeOfDay?.() ?? Date.now(), session.protocol.state);
    const value = JSON.stringify(record);
    const options = {
      ...this.#lifeOf(Math.min(this.#limits.sessionSetupMs || this.#idleMs, this.#idleMs)),
      ifVersion: null,
      index: indexOf(record),
    };
    if ((await this.#put(keyOf(id), value, options)) === undefined)
      throw new DefinitionError("http.sessions.createId returned the id of an open session");
    await this.#options.onOpened(session);
    this.#keep(id, session);
  }

  find(id: string, principal: string | undefined): Session | Promise<Session | HttpRefusal> {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.session.principal !== principal) return this.#load(id, principal);
    const age = this.#now() - kept.readAt;
    const { sessionCacheMs } = this.#limits;
    if (age > sessionCacheMs) return this.#load(id, principal);
    if (age > sessionCacheMs / 2) this.refresh(id);
    this.#use(kept);
    return kept.session;
  }

  touch(session: Session): void {
    const kept = this.#kept.get(session.sessionId);
    if (kept?.session === session) this.#use(kept);
  }

  /** Ends a session for all processes. */
  async end(session: Session, why: HttpRefusal): Promise<void> {
    const { sessionId: id } = session;
    const wasOpen = await this.#cluster.records.delete(keyOf(id));
    this.drop(id, why);
    session.end(why);
    if (wasOpen) await this.#options.onEnded(id);
  }

  /** Ends a session that was listed, unless it has changed since then. */
  async endListed({ key, version }: Stored): Promise<void> {
    const id = idOf(key);
    if (!(await this.#cluster.records.delete(key, version))) return;
    this.drop(id, sessionClosed);
    await this.#options.onEnded(id);
  }

  /** Ends the local part of a session. */
  drop(id: string, why: HttpRefusal): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    kept.place?.leave();
    kept.session.end(why);
    this.#options.onLeft(kept.session);
  }

  /** Ends the local parts of all sessions. Other processes go on to serve them. */
  close(why: HttpRefusal): Promise<void> {
    this.#closed = true;
    for (const id of [...this.#kept.keys()]) this.drop(id, why);
    return this.#options.onClosed();
  }

  /** Stores a change of a session, and announces it. */
  async save(id: string, change: SessionChange): Promise<void> {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const stored = await this.#cluster.records.get(keyOf(id));
      const record = stored && parseRecord(stored.value);
      if (stored === undefined || record === undefined) return;
      const next = changed(record, change);
      const options = {
        ...this.#lifeOf(this.#idleMs),
        ifVersion: stored.version,
        index: indexOf(record),
      };
      if ((await this.#put(keyOf(id), JSON.stringify(next), options)) === undefined) continue;
      const kept = this.#kept.get(id);
      if (kept !== undefined) kept.changes++;
      return this.#options.onChanged(id);
    }
    throw new ClusterError("unavailable", "A change of a session was not stored: other requests changed it as well");
  }

  /** Reads the record of a session again, without waiting. */
  refresh(id: string): void {
    this.#read(id).catch((error: unknown) => this.#options.report(error));
  }

  /** Reads the record again before the next use of each session, since announcements may have been missed. */
  onGap(): void {
    for (const [id, kept] of this.#kept) {
      kept.readAt = Number.NEGATIVE_INFINITY;
      if (kept.session.busy || kept.session.standalone.held) this.refresh(id);
    }
  }

  /** True if a listed session is unused for longer than it may be. */
  isDue({ leftMs }: Listed): boolean {
    return leftMs !== undefined && leftMs <= GRACE_MS;
  }

  async #load(id: string, principal: string | undefined): Promise<Session | HttpRefusal> {
    if (id.length > MAX_ID_CHARS) return sessionNotFound;
    let record: SessionRecord | undefined;
    try {
      record = await this.#read(id);
    } catch (error) {
      const kept = this.#kept.get(id)?.session;
      if (kept?.principal === principal && kept !== undefined) return kept;
      const away = toUnavailable(error);
      if (away === undefined) throw error;
      return away;
    }
    if (record === undefined || record.principal !== principal) return sessionNotFound;
    const kept = this.#kept.get(id);
    if (kept === undefined) return sessionNotFound;
    this.#use(kept);
    return kept.session;
  }

  /** Reads the record of a session and updates the local part. Requests that come at the same time share the read. */
  #read(id: string): Promise<SessionRecord | undefined> {
    const known = this.#reading.get(id);
    if (known !== undefined) return known;
    const reading = this.#readOnce(id).finally(() => this.#reading.delete(id));
    this.#reading.set(id, reading);
    return reading;
  }

  async #readOnce(id: string): Promise<SessionRecord | undefined> {
    for (;;) {
      const startedAt = this.#now();
      const changes = this.#kept.get(id)?.changes;
      const stored = await this.#cluster.records.get(keyOf(id));
      if (this.#kept.get(id)?.changes !== changes) continue;
      const record = stored && parseRecord(stored.value);
      if (record === undefined) this.drop(id, sessionClosed);
      else if (!this.#closed) this.#restore(id, record, startedAt);
      return record;
    }
  }

  #restore(id: string, record: SessionRecord, readAt: number): void {
    const kept = this.#kept.get(id) ?? this.#keep(id, this.#create(id, record));
    const { session } = kept;
    const before = session.protocol.state.watched;
    kept.readAt = readAt;
    session.protocol.restore(record.state);
    this.#options.onRestored(session, before);
  }

  #create(id: string, { principal }: SessionRecord): Session {
    const session = this.#options.place.create(id, principal);
    session.standalone.held = false;
    session.protocol.subscriptions.listener = { principal, sessionId: id };
    return session;
  }

  #keep(id: string, session: Session): Kept<Session> {
    if (this.#kept.size >= this.#limits.maxSessions) this.#leaveOne();
    const now = this.#now();
    const kept: Kept<Session> = {
      session,
      readAt: now,
      touchedAt: Number.NEGATIVE_INFINITY,
      usedAt: now,
      changes: 0,
      place: undefined,
    };
    this.#kept.set(id, kept);
    kept.place = this.#queue.add(kept);
    this.#options.onKept(session);
    return kept;
  }

  /** Leaves a session that nothing here depends on. */
  #leaveOne(): void {
    const kept = this.#queue.find(({ session }) => !session.busy);
    if (kept !== undefined) this.drop(kept.session.sessionId, sessionClosed);
  }

  /** Extends the life of a session at work. Leaves a session that is unused in this process. */
  #onDue(kept: Kept<Session>): void {
    const { session } = kept;
    const unusedMs = this.#now() - kept.usedAt;
    const waitsForListener = session.standalone.held && unusedMs < this.#idleMs;
    if (!session.busy && !waitsForListener && unusedMs >= this.#touchMs)
      return this.drop(session.sessionId, sessionClosed);
    if (session.busy) this.#extend(kept);
    kept.place = this.#queue.add(kept);
  }

  #use(kept: Kept<Session>): void {
    const now = this.#now();
    kept.usedAt = now;
    if (now - kept.touchedAt >= this.#touchMs) this.#extend(kept);
  }

  #extend(kept: Kept<Session>): void {
    const { ttlMs } = this.#lifeOf(this.#idleMs);
    if (ttlMs === undefined) return;
    kept.touchedAt = this.#now();
    const key = keyOf(kept.session.sessionId);
    (async () => this.#cluster.records.touch(key, ttlMs))().catch((error: unknown) => this.#options.report(error));
  }

  /** Returns true if an index has fewer sessions than allowed, after the one unused longest has made room. */
  async #hasRoom(index: string, most: number): Promise<boolean> {
    const { records } = this.#cluster;
    if (!Number.isFinite(most) || (await records.count(index)) < most) return true;
    const listed = await records.list(index, { limit: CANDIDATES });
    const [unused] = listed.filter((session) => this.#isUnused(session)).sort((a, b) => leftOf(a) - leftOf(b));
    if (unused === undefined) return false;
    await this.endListed(unused);
    return true;
  }

  /** True if no process can have used the session for a while. A session at work is extended more often than that. */
  #isUnused(session: Listed): boolean {
    const { ttlMs } = this.#lifeOf(this.#idleMs);
    const local = this.#kept.get(idOf(session.key))?.session;
    if (local !== undefined && (local.busy || local.opening)) return false;
    return ttlMs !== undefined && leftOf(session) < ttlMs - 2 * this.#touchMs;
  }

  /** Stores a record. If the outcome is unknown, the record is read and compared. */
  async #put(key: string, value: string, options: PutOptions): Promise<string | undefined> {
    const { records } = this.#cluster;
    try {
      return await records.put(key, value, options);
    } catch (error) {
      if (!(error instanceof ClusterError) || error.failure !== "unknown_outcome") throw error;
      const stored = await records.get(key);
      return stored?.value === value ? stored.version : await records.put(key, value, options);
    }
  }

  #lifeOf(ms: number): { readonly ttlMs?: number } {
    return Number.isFinite(ms) ? { ttlMs: ms + GRACE_MS } : {};
  }

  #now(): number {
    return this.#options.place.runtime.clock.now();
  }
}

function leftOf({ leftMs }: Listed): number {
  return leftMs ?? Number.POSITIVE_INFINITY;
}
