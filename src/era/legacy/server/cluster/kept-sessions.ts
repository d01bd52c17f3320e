import type { Clock } from "../../../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../../../call/deadline-queue.js";
import type { Records } from "../../../../cluster/cluster.js";
import type { HttpRefusal } from "../../../refuse.js";
import type { ServerLimits } from "../../../server-limits.js";
import type { HttpSession } from "../http-session.js";
import { sessionClosed, toUnavailable } from "../refusals.js";
import type { KnownRecord } from "./known-record.js";
import { keyOf, lifeOf, type SessionRecord } from "./session-record.js";

/** Local part of a session. */
export interface Kept {
  readonly session: HttpSession;
  readonly record: KnownRecord;
  /** Time at which the record was read, on the clock of this process. */
  readAt: number;
  /** Time at which the lifetime was extended. Not finite before the first use of the session. */
  touchedAt: number;
  usedAt: number;
  idle: Deadline<Kept> | undefined;
  /** True if what the client watches was read, and no change of it was missed since. */
  knowsWatched: boolean;
}

export interface KeptSessionsOptions {
  readonly records: Records;
  readonly clock: Clock;
  readonly limits: ServerLimits;
  /** Time after which an unused session ends. */
  readonly idleMs: number;
  /** Interval in which the lifetime of a session in use is extended. */
  readonly touchMs: number;
  /** Returns the record of a session that is used now. */
  inUse(record: SessionRecord): SessionRecord;
  /** Called when this process begins to serve a session. */
  onKept(session: HttpSession): void;
  /** Called before this process leaves a session that continues. */
  onUnused(id: string): void;
  /** Called when this process no longer serves a session, for whatever reason. */
  onLeft(id: string): void;
  /** Called if a session turns out to have no record. */
  onGone(id: string): Promise<void>;
  /** Called if it cannot be stored that this process uses a session, since the engine is full. */
  onUnstored(id: string): void;
  report(error: unknown): void;
}

/**
 * Sessions that this process serves. It extends the lifetime of those in use, for all processes, and leaves those that are
 * not used here any more.
 */
export class KeptSessions {
  readonly #options: KeptSessionsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #queue: DeadlineQueue<Kept>;

  constructor(options: KeptSessionsOptions) {
    this.#options = options;
    this.#queue = new DeadlineQueue(options.clock, options.touchMs, (kept) => this.#onDue(kept));
  }

  get size(): number {
    return this.#kept.size;
  }

  has(id: string): boolean {
    return this.#kept.has(id);
  }

  get(id: string): Kept | undefined {
    return this.#kept.get(id);
  }

  entries(): Iterable<[string, Kept]> {
    return this.#kept.entries();
  }

  *values(): Iterable<HttpSession> {
    for (const { session } of this.#kept.values()) yield session;
  }

  /** True if a request or a stream of the session depends on this process. */
  isInUse(id: string): boolean {
    const kept = this.#kept.get(id);
    return kept !== undefined && isInUse(kept.session);
  }

  /** Begins to serve a session. */
  keep(id: string, session: HttpSession, record: KnownRecord): Kept {
    if (this.#kept.size >= this.#options.limits.maxSessions) this.#leaveOne();
    const now = this.#now();
    const kept: Kept = {
      session,
      record,
      readAt: now,
      touchedAt: Number.NEGATIVE_INFINITY,
      usedAt: now,
      idle: undefined,
      knowsWatched: false,
    };
    this.#kept.set(id, kept);
    kept.idle = this.#queue.add(kept);
    this.#options.onKept(session);
    return kept;
  }

  /** Leaves a session that nothing here depends on. */
  #leaveOne(): void {
    const since = this.#now() - this.#options.limits.sessionCacheMs;
    const kept = this.#queue.find(({ session, usedAt }) => usedAt < since && !isInUse(session));
    if (kept !== undefined) this.#leave(kept.session);
  }

  #leave(session: HttpSession): void {
    this.#options.onUnused(session.sessionId);
    this.drop(session.sessionId, sessionClosed);
  }

  /** Extends the lifetime of a session in use. Leaves a session that is unused in this process. */
  #onDue(kept: Kept): void {
    const { session } = kept;
    const unusedMs = this.#now() - kept.usedAt;
    const isAwaited = (session.standalone.held || session.protocol.awaitsPage) && unusedMs < this.#options.idleMs;
    if (!isInUse(session) && !isAwaited && unusedMs >= this.#options.touchMs) return this.#leave(session);
    const isUsed = Number.isFinite(kept.touchedAt) && kept.usedAt > kept.touchedAt;
    if (session.busy || isUsed) this.#extend(kept);
    kept.idle = this.#queue.add(kept);
  }

  /** Notes a use of a session by its client. */
  use(kept: Kept): void {
    const now = this.#now();
    kept.usedAt = now;
    if (now - kept.touchedAt >= this.#options.touchMs) this.#extend(kept);
  }

  /** Extends the lifetime of a session. If it has no record any more, the local part ends. */
  #extend(kept: Kept): void {
    kept.touchedAt = this.#now();
    this.#prolong(kept).catch((error: unknown) => this.#options.report(error));
  }

  /** Stores the record anew, so that its place in the indexes moves. */
  async #prolong({ session, record }: Kept): Promise<void> {
    const { sessionId: id } = session;
    let isOpen: boolean;
    try {
      isOpen = (await record.change((before) => this.#options.inUse(before))) !== undefined;
    } catch (error) {
      // An engine that is full can still extend a lifetime.
      if (toUnavailable(error) === undefined) throw error;
      isOpen = await this.#options.records.touch(keyOf(id), lifeOf(this.#options.idleMs));
      if (isOpen) this.#options.onUnstored(id);
    }
    if (!isOpen) await this.#options.onGone(id);
  }

  /** Notes that a response of a session has ended. The end of the handshake is no use of the session by its client. */
  touch(session: HttpSession): void {
    const kept = this.#kept.get(session.sessionId);
    if (kept?.session === session && Number.isFinite(kept.touchedAt)) this.use(kept);
  }

  /** Ends the local part of a session. */
  drop(id: string, why: HttpRefusal): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    kept.idle?.leave();
    kept.session.end(why);
    this.#options.onLeft(id);
  }

  dropAll(why: HttpRefusal): void {
    for (const id of [...this.#kept.keys()]) this.drop(id, why);
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

/** True if a request or a stream of the session depends on this process. */
function isInUse({ busy, opening }: HttpSession): boolean {
  return busy || opening;
}
