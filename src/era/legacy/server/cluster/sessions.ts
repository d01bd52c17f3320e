import { type Deadline, DeadlineQueue } from "../../../../call/deadline-queue.js";
import type { Cluster, Stored } from "../../../../cluster/cluster.js";
import { type Change, update } from "../../../../cluster/update.js";
import { DefinitionError } from "../../../../protocol/errors.js";
import type { HttpRefusal } from "../../../refuse.js";
import type { ServerLimits } from "../../../server-limits.js";
import { sessionClosed, sessionNotFound, toUnavailable } from "../refusals.js";
import type { SessionChange, SessionPlace, Sessions, SharedSession, StateChange } from "../shared-sessions.js";
import { EarlyReads } from "./early-reads.js";
import { SessionPlaces } from "./places.js";
import { SessionEnds } from "./session-ends.js";
import { type SessionRead, SessionReads } from "./session-reads.js";
import {
  changed,
  createRecord,
  idOf,
  keyOf,
  lifeOf,
  parseRecord,
  type SessionRecord,
  withLife,
} from "./session-record.js";
import { untilReached } from "./until-reached.js";
import { Watches } from "./watches.js";

/** Part of `sessionCacheMs` after which the record of a session in use is read without a request that waits for it. */
const EARLY = 0.8;
/** Longest time between two extensions of the life of a session in use. */
const MAX_TOUCH_MS = 60_000;
/** Maximum length of a session id. A longer one that a client sends is not looked up. */
const MAX_ID_CHARS = 1_024;

/** Local part of a session. */
interface Kept<Session> {
  readonly session: Session;
  /** Record as this process read or wrote it last. */
  stored: Stored;
  /** Time at which the record was read, on the clock of this process. */
  readAt: number;
  /** Time at which the life of the record was extended. Not finite before the first use of the session. */
  touchedAt: number;
  usedAt: number;
  place: Deadline<Kept<Session>> | undefined;
  /** True if what the client watches was read, and no change of it was missed since. */
  knowsWatched: boolean;
}

export interface ClusterSessionsOptions<Session> {
  readonly cluster: Cluster;
  readonly place: SessionPlace<Session>;
  /** Prepares the log of a new session. */
  onOpened(session: Session): Promise<void>;
  /** Removes what is left of a session that has ended for all processes. May be called several times. */
  onEnded(id: string): Promise<void>;
  /** Called when this process begins to serve a session. */
  onKept(session: Session): void;
  /** Called when this process learns of resources that the client of a session watches. */
  onWatched(session: Session, uris: Iterable<string>): void;
  /** Called when this process has changed what the client of a session watches. */
  onWatchChanged(id: string, uri: string, isWatched: boolean): void;
  /** Called when the life of a session is extended. */
  onExtended(session: Session): void;
  /** Called before this process leaves a session that goes on. */
  onUnused(session: Session): void;
  /** Called when this process no longer serves a session, for whatever reason. */
  onLeft(session: Session): void;
  /** Called when this process has changed the state of a session. Resolves when the others were told, or will be later. */
  onChanged(id: string, change: StateChange): Promise<void>;
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
  readonly #reads: SessionReads;
  readonly #watches: Watches;
  /** Sessions that have a record, or whose record is being stored. */
  readonly #stored = new WeakSet<Session>();
  readonly #ends: SessionEnds;
  readonly #places: SessionPlaces;
  readonly #early: EarlyReads;
  readonly #queue: DeadlineQueue<Kept<Session>>;
  /** Time after which an unused session is over. */
  readonly #idleMs: number;
  /** Time after which a session is over whose client has sent nothing since the handshake. */
  readonly #setupMs: number;
  readonly #touchMs: number;
  readonly #closing = new AbortController();

  constructor(options: ClusterSessionsOptions<Session>) {
    const { audience, clock, limits } = options.place.runtime;
    this.#options = options;
    this.#cluster = options.cluster;
    this.#watches = new Watches(options.cluster.records);
    this.#ends = new SessionEnds({
      clock,
      records: options.cluster.records,
      clear: async (id) => {
        await options.onEnded(id);
        await this.#watches.clear(id);
      },
      onEnd: (id) => options.place.onEnd(id),
      closing: this.#closing.signal,
      report: options.report,
    });
    this.#limits = limits;
    this.#idleMs = limits.sessionIdleMs || Number.POSITIVE_INFINITY;
    this.#setupMs = Math.min(limits.sessionSetupMs || this.#idleMs, this.#idleMs);
    this.#touchMs = Math.min(MAX_TOUCH_MS, this.#idleMs / 4);
    this.#places = new SessionPlaces({
      cluster: options.cluster,
      limits,
      now: () => this.#timeOfDay(),
      fullLifeMs: lifeOf(this.#idleMs),
      newLifeMs: lifeOf(this.#setupMs),
      touchMs: this.#touchMs,
      isAtWork: (id) => this.#isAtWork(id),
      end: (session) => this.endListed(session),
    });
    this.#reads = new SessionReads({
      server: audience,
      clock,
      records: options.cluster.records,
      isKept: (id) => this.#kept.has(id),
      needsWatched: (id) => this.#kept.get(id)?.knowsWatched !== true,
      readWatched: (id) => this.#watches.read(id),
      onRead: (...read) => this.#onRead(...read),
      report: options.report,
    });
    this.#early = new EarlyReads(clock, limits.sessionCacheMs, (id) => this.#reads.refresh(id));
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

  reserve(principal: string | undefined): Promise<HttpRefusal | undefined> {
    return this.#places.reserve(principal);
  }

  free(principal: string | undefined): void {
    this.#places.free(principal);
  }

  async add(id: string, session: Session): Promise<void> {
    if (id.length > MAX_ID_CHARS)
      throw new DefinitionError(`http.sessions.createId must return at most ${MAX_ID_CHARS} characters with a cluster`);
    this.#stored.add(session);
    session.protocol.subscriptions.listener = { principal: session.principal, sessionId: id };
    let stored: Stored;
    try {
      stored = await this.#store(id, session).finally(() => this.free(session.principal));
      await this.#options.onOpened(session);
    } catch (error) {
      if (this.#stored.delete(session)) this.#ends.endUnstored(id, this.#closing.signal).catch(this.#options.report);
      throw error;
    }
    if (this.#closing.signal.aborted) this.#options.onLeft(session);
    // Nobody else knows the session yet.
    else this.#keep(id, session, stored).knowsWatched = true;
  }

  async #store(id: string, session: Session): Promise<Stored> {
    const { audience: server } = this.#options.place.runtime;
    const { principal, protocol } = session;
    const now = this.#timeOfDay();
    const record = createRecord({ server, principal, openedAt: now, state: protocol.state });
    const { value, ...options } = withLife(record, JSON.stringify(record), { ttlMs: lifeOf(this.#setupMs), now });
    const key = keyOf(id);
    const version = await this.#cluster.records.put(key, value, { ...options, ifVersion: null });
    if (version !== undefined) return { key, value, version };
    this.#stored.delete(session);
    throw new DefinitionError("http.sessions.createId returned the id of an open session");
  }

  find(id: string, principal: string | undefined): Session | Promise<Session | HttpRefusal> {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.session.principal !== principal) return this.#load(id, principal);
    const age = this.#now() - kept.readAt;
    const { sessionCacheMs } = this.#limits;
    if (age > sessionCacheMs) return this.#load(id, principal);
    if (age > sessionCacheMs * EARLY) this.#early.add(id);
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
    const wasOpen = this.#stored.has(session) && (await this.#ends.begin(id));
    if (this.#kept.get(id)?.session === session) this.drop(id, why);
    session.end(why);
    if (wasOpen) await this.#ends.finish(keyOf(id)).catch(this.#options.report);
  }

  /** Ends a session that was listed. Returns false if it has changed since then. */
  async endListed(listed: Stored): Promise<boolean> {
    if (!(await this.#ends.mark(listed))) return false;
    this.drop(idOf(listed.key), sessionClosed);
    await this.#ends.finish(listed.key);
    return true;
  }

  /** Completes the end of a session that another process has begun. */
  finish(key: string): Promise<void> {
    return this.#ends.finish(key);
  }

  /** Ends the local part of a session that has ended in another process. */
  onEnded(id: string): void {
    this.#reads.outdate(id);
    this.drop(id, sessionClosed);
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
    this.#closing.abort();
    this.#early.close();
    for (const id of [...this.#kept.keys()]) this.drop(id, why);
    return this.#options.onClosed();
  }

  /** Stores a change of a session, and announces it. */
  async save(id: string, change: SessionChange): Promise<void> {
    if ("watch" in change) return this.#watch(id, change.watch, true);
    if ("unwatch" in change) return this.#watch(id, change.unwatch, false);
    let isOpen = false;
    await update(this.#cluster.records, keyOf(id), (stored) => {
      const record = stored && parseRecord(stored.value);
      isOpen = record !== undefined;
      if (record === undefined) return undefined;
      const next: SessionRecord = { ...record, state: changed(record.state, change) };
      return this.#inUse(next, JSON.stringify(next));
    });
    if (!isOpen) return;
    this.#reread(id);
    const told = this.#options.onChanged(id, change);
    // The next call may come to another process at once.
    if ("level" in change) await told;
  }

  /** Stores that the client of a session watches a resource, or does not, and announces it. */
  async #watch(id: string, uri: string, isWatched: boolean): Promise<void> {
    if (!isWatched) await this.#watches.remove(id, uri);
    else if (!(await this.#addWatch(id, uri))) return;
    this.#reads.outdate(id);
    this.#options.onWatchChanged(id, uri, isWatched);
  }

  /** Notes in the record that the client watches something, so that others read what. Returns false if the session has ended. */
  async #noteWatched(id: string): Promise<boolean> {
    let isOpen = false;
    await update(this.#cluster.records, keyOf(id), (stored) => {
      const record = stored && parseRecord(stored.value);
      isOpen = record !== undefined;
      if (record === undefined || record.watches === true) return undefined;
      const next: SessionRecord = { ...record, watches: true };
      return this.#inUse(next, JSON.stringify(next));
    });
    return isOpen;
  }

  /** Returns false if the session has ended. */
  async #addWatch(id: string, uri: string): Promise<boolean> {
    // The end of a session removes what is there, so that nothing may come later.
    const keep = async () => {
      const isOpen = await this.#noteWatched(id);
      if (!isOpen) await this.#watches.remove(id, uri);
      return isOpen;
    };
    try {
      await this.#watches.add(id, uri);
      return await keep();
    } catch (error) {
      const { place, report } = this.#options;
      untilReached(place.runtime.clock, this.#closing.signal, keep).catch(report);
      throw error;
    }
  }

  /** Takes a change of what the client of a session watches that another process has stored. */
  onWatchChanged(id: string, uri: string, isWatched: boolean): void {
    // A read that has begun may be older.
    this.#reads.outdate(id);
    const session = this.local(id);
    if (session === undefined) return;
    session.protocol.subscriptions.change(uri, isWatched);
    if (isWatched) this.#options.onWatched(session, [uri]);
  }

  /** True if a session has not ended. */
  async isOpen(id: string): Promise<boolean> {
    const stored = await this.#cluster.records.get(keyOf(id));
    return stored !== undefined && parseRecord(stored.value) !== undefined;
  }

  /** Takes a change of a session that another process has stored. Of two such changes, the record tells the last one. */
  onChanged(id: string, change: StateChange): void {
    const protocol = this.local(id)?.protocol;
    protocol?.restore(changed(protocol.state, change));
    this.#reread(id);
  }

  /** Reads the record of a session that has changed, if this process serves it. A read that has begun is repeated. */
  #reread(id: string): void {
    this.#reads.outdate(id);
    this.#reads.refresh(id);
  }

  /** Reads the record of a session again. A read that has begun is repeated. */
  async reread(id: string): Promise<void> {
    this.#reads.outdate(id);
    await this.#reads.read(id);
  }

  /** Reads the record again before the next use of each session, since announcements may have been missed. */
  onGap(): void {
    for (const [id, kept] of this.#kept) {
      kept.readAt = Number.NEGATIVE_INFINITY;
      kept.knowsWatched = false;
      if (kept.session.busy || kept.session.standalone.held) this.#reread(id);
    }
  }

  async #load(id: string, principal: string | undefined): Promise<Session | HttpRefusal> {
    if (id.length > MAX_ID_CHARS) return sessionNotFound;
    let record: SessionRecord | undefined;
    try {
      record = await this.#reads.read(id);
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

  /** Updates the local part of a session by its record, or ends it if there is none. */
  #onRead(id: string, read: SessionRead | undefined): void {
    if (read === undefined) this.drop(id, sessionClosed);
    else if (!this.#closing.signal.aborted) this.#restore(id, read);
  }

  #restore(id: string, { record, stored, watched, startedAt }: SessionRead): void {
    const kept = this.#kept.get(id) ?? this.#keep(id, this.#create(id, record), stored);
    kept.stored = stored;
    kept.readAt = startedAt;
    kept.session.protocol.restore(record.state);
    if (watched !== undefined) this.#restoreWatched(kept, watched);
  }

  #restoreWatched(kept: Kept<Session>, watched: ReadonlySet<string>): void {
    kept.knowsWatched = true;
    const { session } = kept;
    if (watched.size === 0 && !session.protocol.hasSubscriptions) return;
    const { subscriptions } = session.protocol;
    const before = new Set(subscriptions.uris);
    subscriptions.restore(watched);
    this.#options.onWatched(
      session,
      [...watched].filter((uri) => !before.has(uri)),
    );
  }

  #create(id: string, { principal }: SessionRecord): Session {
    const session = this.#options.place.create(id, principal);
    this.#stored.add(session);
    session.standalone.held = false;
    session.protocol.subscriptions.listener = { principal, sessionId: id };
    return session;
  }

  #keep(id: string, session: Session, stored: Stored): Kept<Session> {
    if (this.#kept.size >= this.#limits.maxSessions) this.#leaveOne();
    const now = this.#now();
    const kept: Kept<Session> = {
      session,
      stored,
      readAt: now,
      touchedAt: Number.NEGATIVE_INFINITY,
      usedAt: now,
      place: undefined,
      knowsWatched: false,
    };
    this.#kept.set(id, kept);
    kept.place = this.#queue.add(kept);
    this.#options.onKept(session);
    return kept;
  }

  /** Leaves a session that nothing here depends on. */
  #leaveOne(): void {
    const since = this.#now() - this.#limits.sessionCacheMs;
    const kept = this.#queue.find(({ session, usedAt }) => usedAt < since && !isAtWork(session));
    if (kept !== undefined) this.#leave(kept.session);
  }

  #leave(session: Session): void {
    this.#options.onUnused(session);
    this.drop(session.sessionId, sessionClosed);
  }

  /** Extends the life of a session at work. Leaves a session that is unused in this process. */
  #onDue(kept: Kept<Session>): void {
    const { session } = kept;
    const unusedMs = this.#now() - kept.usedAt;
    const isAwaited = (session.standalone.held || session.protocol.awaitsPage) && unusedMs < this.#idleMs;
    if (!isAtWork(session) && !isAwaited && unusedMs >= this.#touchMs) return this.#leave(session);
    const isUsed = Number.isFinite(kept.touchedAt) && kept.usedAt > kept.touchedAt;
    if (session.busy || isUsed) this.#extend(kept);
    kept.place = this.#queue.add(kept);
  }

  #use(kept: Kept<Session>): void {
    const now = this.#now();
    kept.usedAt = now;
    if (now - kept.touchedAt >= this.#touchMs) this.#extend(kept);
  }

  /** Extends the life of a session. If its record is gone, the local part ends. */
  #extend(kept: Kept<Session>): void {
    kept.touchedAt = this.#now();
    this.#prolong(kept).catch((error: unknown) => this.#options.report(error));
    this.#options.onExtended(kept.session);
  }

  /** Puts the record again, so that its place in the indexes moves. If another process has changed it, it is read. */
  async #prolong(kept: Kept<Session>): Promise<void> {
    const { sessionId: id } = kept.session;
    const { records } = this.#cluster;
    let isOpen = false;
    const prolonged = (stored: Stored | undefined) => {
      const record = stored && parseRecord(stored.value);
      isOpen = record !== undefined;
      return stored && record && this.#inUse(record, stored.value);
    };
    try {
      kept.stored = (await update(records, keyOf(id), prolonged, { known: kept.stored })) ?? kept.stored;
    } catch (error) {
      // An engine that is full can still extend a life.
      if (toUnavailable(error) === undefined) throw error;
      isOpen = await records.touch(keyOf(id), lifeOf(this.#idleMs));
    }
    // The announcement of the end may have been missed.
    if (!isOpen) await this.#reads.read(id);
  }

  /** Returns the record of a session that is used now. */
  #inUse(record: SessionRecord, value: string): Change {
    return withLife(record, value, { ttlMs: lifeOf(this.#idleMs), now: this.#timeOfDay() });
  }

  #isAtWork(id: string): boolean {
    const session = this.local(id);
    return session !== undefined && isAtWork(session);
  }

  #timeOfDay(): number {
    return this.#options.place.runtime.clock.timeOfDay?.() ?? Date.now();
  }

  #now(): number {
    return this.#options.place.runtime.clock.now();
  }
}

/** True if a request or a stream of the session depends on this process. */
function isAtWork({ busy, opening }: SharedSession): boolean {
  return busy || opening;
}
