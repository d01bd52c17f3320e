import { timeOfDay } from "../../../../call/clock.js";
import type { Cluster, Stored } from "../../../../cluster/cluster.js";
import { DefinitionError } from "../../../../protocol/errors.js";
import type { HttpRefusal } from "../../../refuse.js";
import type { ServerRuntime } from "../../../server-era.js";
import type { ServerLimits } from "../../../server-limits.js";
import type { HttpSession } from "../http-session.js";
import { sessionClosed, sessionNotFound, toUnavailable } from "../refusals.js";
import type { Sessions } from "../session-table.js";
import type { SessionChange, SessionSharing, StateChange } from "../shared-sessions.js";
import type { ControlMessage } from "./control.js";
import { type Kept, KeptSessions } from "./kept-sessions.js";
import { KnownRecord } from "./known-record.js";
import { SessionQuota } from "./quota.js";
import type { Retries } from "./retries.js";
import { SessionEnds } from "./session-ends.js";
import { EarlyReads, type SessionRead, SessionReads } from "./session-reads.js";
import {
  changed,
  createRecord,
  type Holder,
  idOf,
  keyOf,
  lifeOf,
  type SessionRecord,
  storedAs,
} from "./session-record.js";
import { Watches } from "./watches.js";

/** Part of `sessionCacheMs` after which the record of a session in use is read without a request that waits for it. */
const EARLY = 0.8;
/** Longest time between two extensions of the lifetime of a session in use. */
const MAX_TOUCH_MS = 60_000;
/** Maximum length of a session id. A longer one that a client sends is not looked up. */
const MAX_ID_CHARS = 1_024;

/** Maximum length of a URI in a message. Other processes read a longer one from the engine. */
const MAX_URI_CHARS = 1_024;

/** Endpoint whose sessions are shared. */
export interface SharedEndpoint {
  readonly runtime: ServerRuntime;
  /** True if streams can be resumed. */
  readonly resumable: boolean;
  /** Creates the local part of a session that another process opened. */
  create(id: string, principal: string | undefined): HttpSession;
  /** Calls `sessions.onEnd`. */
  onEnd(id: string): void;
}

/** Sessions of an endpoint, and their connection with the other processes that serve them. */
export interface SharedSessions {
  readonly sessions: Sessions;
  readonly shared: SessionSharing;
}

export interface ClusterSessionsOptions {
  /** Closed with the sessions. */
  readonly retries: Retries;
  readonly cluster: Cluster;
  readonly endpoint: SharedEndpoint;
  /** First holder of the standalone stream of a session that this process opens. */
  readonly firstHolder: Holder | undefined;
  /** Prepares the log of a new session. */
  onOpened(id: string): Promise<void>;
  /** Removes the log of a session that has ended for all processes. May be called several times. */
  clear(id: string): Promise<void>;
  /** Called when this process begins to serve a session. */
  onKept(session: HttpSession): void;
  /** Called with the record of a session when another process may have changed it. */
  onRead(session: HttpSession, record: SessionRecord): void;
  /** Called when this process learns of resources that the client of a session watches. */
  onWatched(session: HttpSession, uris: Iterable<string>): void;
  /** Called before this process leaves a session that continues. */
  onUnused(id: string): void;
  /** Called when this process no longer serves a session, for whatever reason. */
  onLeft(id: string): void;
  /** Called when the local parts of all sessions have ended. */
  onClosed(): Promise<void>;
  /** Sends a message to the other processes. Resolves when it was sent, or will be sent later. */
  announce(message: ControlMessage): Promise<void>;
  report(error: unknown): void;
}

/**
 * Sessions that several processes serve. Each session is a record of the cluster. A process that serves a session keeps
 * its local part: running calls, streams, and the state from the record, which is read again after `sessionCacheMs`. A
 * session is refused only after its record was read. While the engine cannot be reached, sessions in use are served.
 */
export class ClusterSessions implements Sessions {
  readonly #options: ClusterSessionsOptions;
  readonly #cluster: Cluster;
  readonly #limits: ServerLimits;
  readonly #kept: KeptSessions;
  readonly #reads: SessionReads;
  readonly #watches: Watches;
  readonly #ends: SessionEnds;
  /** Sessions that have a record, or whose record is being stored. */
  readonly #stored = new WeakSet<HttpSession>();
  readonly #quota: SessionQuota;
  readonly #early: EarlyReads;
  /** Time after which an unused session ends. */
  readonly #idleMs: number;
  /** Time after which a session ends whose client has sent nothing since the handshake. */
  readonly #setupMs: number;

  constructor(options: ClusterSessionsOptions) {
    const { audience, clock, limits } = options.endpoint.runtime;
    this.#options = options;
    this.#cluster = options.cluster;
    const { records } = options.cluster;
    const { report, retries } = options;
    const now = () => this.#timeOfDay();
    this.#watches = new Watches({ records, retries, report });
    this.#ends = new SessionEnds({
      records,
      retries,
      now,
      clear: (id, watches) => this.#clear(id, watches),
      onEnd: (id) => options.endpoint.onEnd(id),
      report,
    });
    this.#limits = limits;
    this.#idleMs = limits.sessionIdleMs || Number.POSITIVE_INFINITY;
    this.#setupMs = Math.min(limits.sessionSetupMs || this.#idleMs, this.#idleMs);
    const touchMs = Math.min(MAX_TOUCH_MS, this.#idleMs / 4);
    this.#quota = new SessionQuota({
      cluster: options.cluster,
      limits,
      now,
      fullLifeMs: lifeOf(this.#idleMs),
      newLifeMs: lifeOf(this.#setupMs),
      touchMs,
      isInUse: (id) => this.#kept.isInUse(id),
      end: (session) => this.endListed(session),
    });
    this.#reads = new SessionReads({
      server: audience,
      clock,
      records,
      isKept: (id) => this.#kept.has(id),
      changesOf: (id) => this.#kept.get(id)?.record.changes ?? 0,
      needsWatched: (id) => this.#kept.get(id)?.knowsWatched !== true,
      readWatched: (id) => this.#watches.read(id),
      onRead: (...read) => this.#onRead(...read),
      report,
    });
    this.#early = new EarlyReads(clock, limits.sessionCacheMs, (id) => this.#reads.refresh(id));
    this.#kept = new KeptSessions({
      records,
      clock,
      limits,
      idleMs: this.#idleMs,
      touchMs,
      inUse: (record) => this.inUse(record),
      onKept: options.onKept,
      onUnused: options.onUnused,
      onLeft: options.onLeft,
      onGone: (id) => this.#onGone(id),
      onUnstored: (id) => void options.announce({ kind: "used", session: id }),
      report,
    });
  }

  get size(): number {
    return this.#kept.size;
  }

  values(): Iterable<HttpSession> {
    return this.#kept.values();
  }

  has(id: string): boolean {
    return this.#kept.has(id);
  }

  /** Returns the local part of a session, if this process has one. */
  local(id: string): HttpSession | undefined {
    return this.#kept.get(id)?.session;
  }

  reserve(principal: string | undefined): Promise<HttpRefusal | undefined> {
    return this.#quota.reserve(principal);
  }

  free(principal: string | undefined): void {
    this.#quota.free(principal);
  }

  async add(id: string, session: HttpSession): Promise<void> {
    if (id.length > MAX_ID_CHARS) {
      this.free(session.principal);
      throw new DefinitionError(`http.sessions.createId must return at most ${MAX_ID_CHARS} characters with a cluster`);
    }
    this.#stored.add(session);
    session.protocol.subscriptions.listener = { principal: session.principal, sessionId: id };
    let stored: Stored;
    try {
      stored = await this.#store(id, session).finally(() => this.free(session.principal));
      await this.#options.onOpened(id);
    } catch (error) {
      if (this.#stored.delete(session))
        this.#ends.endUnstored(id, this.#recordOf(id, undefined)).catch(this.#options.report);
      throw error;
    }
    if (this.#options.retries.isClosed) this.#options.onLeft(id);
    // Nobody else knows the session yet.
    else this.#kept.keep(id, session, this.#recordOf(id, stored, true)).knowsWatched = true;
  }

  async #store(id: string, session: HttpSession): Promise<Stored> {
    const { firstHolder: holder, endpoint } = this.#options;
    const { principal, protocol } = session;
    const endsAt = this.#timeOfDay() + lifeOf(this.#setupMs);
    const { audience: server } = endpoint.runtime;
    const record = createRecord({ server, principal, endsAt, state: protocol.state, holder });
    const { value, ...options } = storedAs(record, this.#timeOfDay());
    const key = keyOf(id);
    const version = await this.#cluster.records.put(key, value, { ...options, ifVersion: null });
    if (version !== undefined) return { key, value, version };
    this.#stored.delete(session);
    throw new DefinitionError("http.sessions.createId returned the id of an open session");
  }

  find(id: string, principal: string | undefined): HttpSession | Promise<HttpSession | HttpRefusal> {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.session.principal !== principal) return this.#load(id, principal);
    const age = this.#now() - kept.readAt;
    const { sessionCacheMs } = this.#limits;
    if (age > sessionCacheMs) return this.#load(id, principal);
    if (age > sessionCacheMs * EARLY) this.#early.add(id);
    this.#kept.use(kept);
    return kept.session;
  }

  touch(session: HttpSession): void {
    this.#kept.touch(session);
  }

  /** Ends a session for all processes. */
  async end(session: HttpSession, why: HttpRefusal): Promise<void> {
    const { sessionId: id } = session;
    const record = this.record(id);
    const marked = this.#stored.has(session) ? await this.#ends.begin(record) : undefined;
    if (this.#kept.get(id)?.session === session) this.drop(id, why);
    session.end(why);
    if (marked === undefined) return;
    const { isAlone } = record;
    if (!isAlone) this.#announceEnd(id);
    // Another process may have stored something to watch that the record does not mention, and have died.
    await this.#ends.finish(id, marked.watches === true || !isAlone).catch(this.#options.report);
  }

  /** Ends a session that was listed. Returns false if it has changed since then. */
  async endListed(listed: Stored): Promise<boolean> {
    const id = idOf(listed.key);
    if (!(await this.#ends.beginListed(listed))) return false;
    this.drop(id, sessionClosed);
    this.#announceEnd(id);
    await this.#ends.finish(id);
    return true;
  }

  /** Completes the end of a session that another process has begun. */
  finish({ key }: Stored): Promise<void> {
    this.#announceEnd(idOf(key));
    return this.#ends.finish(idOf(key));
  }

  #announceEnd(id: string): void {
    void this.#options.announce({ kind: "ended", session: id });
  }

  /** Ends the local part of a session that has ended in another process. */
  onEnded(id: string): void {
    this.#reads.outdate(id);
    this.drop(id, sessionClosed);
  }

  /** Notes that another process serves a session, too, although its record does not tell. */
  onUsed(id: string): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined) kept.record.isAlone = false;
  }

  /** Ends the local part of a session. */
  drop(id: string, why: HttpRefusal): void {
    this.#kept.drop(id, why);
  }

  /** Ends the local parts of all sessions. Other processes continue to serve them. */
  close(why: HttpRefusal): Promise<void> {
    this.#options.retries.close();
    this.#early.close();
    this.#kept.dropAll(why);
    return this.#options.onClosed();
  }

  /** Stores a change of a session, and announces it. */
  async save(id: string, change: SessionChange): Promise<void> {
    if ("watch" in change) return this.#watch(id, change.watch, true);
    if ("unwatch" in change) return this.#watch(id, change.unwatch, false);
    const record = this.record(id);
    const stored = await record.change((before) => this.inUse({ ...before, state: changed(before.state, change) }));
    // A read that has begun may be older.
    this.#reads.outdate(id);
    if (stored === undefined) return this.#onGone(id);
    if (record.isAlone) return;
    const announced = this.#options.announce({ kind: "changed", session: id, change });
    // The next call may come to another process at once.
    if ("level" in change) await announced;
  }

  /** Stores that the client of a session watches a resource, or does not, and announces it. */
  async #watch(id: string, uri: string, isWatched: boolean): Promise<void> {
    if (!isWatched) await this.#watches.remove(id, uri);
    else if (!(await this.#watches.add(id, uri, this.record(id)))) return;
    this.#reads.outdate(id);
    const known = uri.length > MAX_URI_CHARS ? undefined : { uri };
    void this.#options.announce({ kind: "watched", session: id, isWatched, ...known });
  }

  /** Takes a change of what the client of a session watches that another process has stored. */
  onWatchChanged(id: string, uri: string | undefined, isWatched: boolean): void {
    // A read that has begun may be older.
    this.#reads.outdate(id);
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    const { session } = kept;
    if (uri === undefined) {
      kept.knowsWatched = false;
      return this.#reads.refresh(id);
    }
    session.protocol.subscriptions.change(uri, isWatched);
    if (isWatched) this.#options.onWatched(session, [uri]);
  }

  /** Takes a change of a session that another process has stored. Of two such changes, the record tells the last one. */
  onChanged(id: string, change: StateChange): void {
    const protocol = this.local(id)?.protocol;
    protocol?.restore(changed(protocol.state, change));
    this.#reread(id);
  }

  /** Returns the record of a session, which may be served by other processes only. */
  record(id: string): KnownRecord {
    return this.#kept.get(id)?.record ?? this.#recordOf(id, undefined);
  }

  /** Returns the record of a session that is used now. */
  inUse(record: SessionRecord): SessionRecord {
    return { ...record, endsAt: this.#timeOfDay() + lifeOf(this.#idleMs) };
  }

  /** Reads what the client of a session watches, unless it is known. */
  async readWatched(id: string): Promise<void> {
    if (this.#kept.get(id)?.knowsWatched === false) await this.#reads.read(id);
  }

  /** Reads the record of a session again. A read that has begun is repeated. */
  read(id: string): Promise<SessionRecord | undefined> {
    this.#reads.outdate(id);
    return this.#reads.read(id);
  }

  /** Reads the record again before the next use of each session, since announcements may have been missed. */
  onGap(): void {
    for (const [id, kept] of this.#kept.entries()) {
      kept.readAt = Number.NEGATIVE_INFINITY;
      kept.knowsWatched = false;
      if (kept.session.busy || kept.session.standalone.held) this.#reread(id);
    }
  }

  async #clear(id: string, watches: boolean): Promise<void> {
    await this.#options.clear(id);
    if (watches) await this.#watches.clear(id);
  }

  #recordOf(id: string, stored: Stored | undefined, isNew = false): KnownRecord {
    const options = {
      records: this.#cluster.records,
      now: () => this.#timeOfDay(),
      onForeign: (record: SessionRecord) => this.#onForeign(id, record),
    };
    return new KnownRecord(id, options, stored, isNew);
  }

  /** Reads the record of a session that has changed, if this process serves it. A read that has begun is repeated. */
  #reread(id: string): void {
    this.#reads.outdate(id);
    this.#reads.refresh(id);
  }

  async #load(id: string, principal: string | undefined): Promise<HttpSession | HttpRefusal> {
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
    this.#kept.use(kept);
    return kept.session;
  }

  /** Updates the local part of a session by its record, or ends it if there is none. */
  #onRead(id: string, read: SessionRead | undefined): void {
    if (read === undefined) this.drop(id, sessionClosed);
    else if (!this.#options.retries.isClosed) this.#restore(id, read);
  }

  #restore(id: string, { record, stored, watched, startedAt, changes }: SessionRead): void {
    const kept = this.#kept.get(id) ?? this.#kept.keep(id, this.#create(id, record), this.#recordOf(id, stored));
    kept.record.onRead(stored, changes);
    kept.readAt = startedAt;
    kept.session.protocol.restore(record.state);
    this.#options.onRead(kept.session, record);
    if (watched !== undefined) this.#restoreWatched(kept, watched);
  }

  /** Takes a record that another process has changed, and that this one has changed since. */
  #onForeign(id: string, record: SessionRecord): void {
    const session = this.local(id);
    if (session === undefined) return;
    session.protocol.restore(record.state);
    this.#options.onRead(session, record);
  }

  #restoreWatched(kept: Kept, watched: ReadonlySet<string>): void {
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

  #create(id: string, { principal }: SessionRecord): HttpSession {
    const session = this.#options.endpoint.create(id, principal);
    this.#stored.add(session);
    session.standalone.held = false;
    session.protocol.subscriptions.listener = { principal, sessionId: id };
    return session;
  }

  /** Reads the record of a session that has ended. The announcement of the end may have been missed. */
  async #onGone(id: string): Promise<void> {
    if (this.#kept.has(id)) await this.#reads.read(id);
  }

  #timeOfDay(): number {
    return timeOfDay(this.#options.endpoint.runtime.clock);
  }

  #now(): number {
    return this.#options.endpoint.runtime.clock.now();
  }
}
