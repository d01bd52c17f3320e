// The modern era has no such file: nothing is kept between modern requests.

import type { Clock } from "../../../call/clock.js";
import { DeadlineQueue } from "../../../call/deadline-queue.js";
import type { MaybePromise } from "../../../call/maybe-promise.js";
import { type Addressed, anonymousPart } from "../../caller.js";
import { CROWD, Crowd } from "../../crowd.js";
import type { HttpRefusal } from "../../refuse.js";
import type { ServerRuntime } from "../../server-era.js";
import type { ServerLimits } from "../../server-limits.js";
import type { HttpSession } from "./http-session.js";
import { sessionClosed, sessionNotFound, tooManySessions } from "./refusals.js";

/** Time for which a client is expected to complete its handshake. */
const HANDSHAKE_MS = 5_000;
/** Share of the places that handshakes in progress may keep from sessions in use, so that a flood of them gives way. */
const HANDSHAKE_SHARE = 0.1;

/** Sessions that an endpoint can serve. */
export interface Sessions {
  /** Number of sessions in this process. */
  readonly size: number;
  values(): Iterable<HttpSession>;
  /** Counts a session of this principal that is being opened, by a request of `origin`. Returns a refusal at a limit. */
  reserve(
    principal: string | undefined,
    session: HttpSession,
    origin: Addressed,
  ): MaybePromise<HttpRefusal | undefined>;
  /** Ends a reservation for which no session was added. */
  free(principal: string | undefined, session: HttpSession): void;
  /** Adds a session for which there is a reservation. */
  add(id: string, session: HttpSession): MaybePromise<void>;
  /** Returns the session with this id if it belongs to the principal, otherwise a refusal. */
  find(id: string, principal: string | undefined): MaybePromise<HttpSession | HttpRefusal>;
  has(id: string): boolean;
  /** Restarts the idle time of a session. */
  touch(session: HttpSession): void;
  /** Ends a session. */
  end(session: HttpSession, why: HttpRefusal): MaybePromise<void>;
  /** Ends all sessions of this process, since it shuts down. */
  close(why: HttpRefusal): void | Promise<void>;
}

/**
 * Sessions of an endpoint, with their number, owners and idle times. If there is no place for a new session, an idle
 * one ends, of callers without a principal first: one whose client has sent nothing since its handshake, then the one
 * unused longest. A handshake in progress goes last, unless there are many. A session with a running call or an open
 * stream is never ended for this. So callers without a principal leave a part of the places to those with one, if there
 * are any. An address of such callers may have as many as a principal beyond half of what all of them may have.
 */
export class SessionTable implements Sessions {
  readonly #sessions = new Map<string, HttpSession>();
  /** Sessions whose clients have sent nothing since the handshake. */
  readonly #new: DeadlineQueue<HttpSession>;
  readonly #used: DeadlineQueue<HttpSession>;
  /** Number of sessions in `#new`. */
  #silent = 0;
  readonly #limits: ServerLimits;
  readonly #clock: Clock;
  readonly #setupMs: number;
  readonly #onEnd: (id: string) => void;
  #places = 0;
  #anonymous = 0;
  readonly #placesOf = new Map<string, number>();
  /** Sessions of callers without a principal, and the exchanges of those that other endpoints keep. */
  readonly #crowd: Crowd<object>;
  /** True if callers may have a principal. */
  #hasNames: boolean;

  /** `hasNames` is true if the server has a gate, which may name callers. */
  constructor(
    runtime: Pick<ServerRuntime, "limits" | "clock" | "options" | "report">,
    hasNames: boolean,
    onEnd: (id: string) => void,
  ) {
    const { limits, clock } = runtime;
    this.#limits = limits;
    this.#hasNames = hasNames;
    this.#clock = clock;
    this.#crowd = new Crowd(runtime);
    this.#onEnd = onEnd;
    this.#setupMs = Math.min(limits.sessionSetupMs, limits.sessionIdleMs);
    const onDue = (session: HttpSession) => this.#onDue(session);
    this.#new = new DeadlineQueue(clock, this.#setupMs, onDue);
    this.#used = new DeadlineQueue(clock, limits.sessionIdleMs, onDue);
  }

  get size(): number {
    return this.#sessions.size;
  }

  values(): Iterable<HttpSession> {
    return this.#sessions.values();
  }

  reserve(principal: string | undefined, holder: object, origin: Addressed): HttpRefusal | undefined {
    const { maxSessions, maxSessionsPerPrincipal } = this.#limits;
    this.#hasNames ||= principal !== undefined;
    const ofAnonymous = this.#hasNames ? anonymousPart(this.#limits, maxSessions) : maxSessions;
    const own = principal === undefined ? 0 : (this.#placesOf.get(principal) ?? 0);
    const isCrowd = principal === undefined && this.#anonymous >= ofAnonymous * CROWD;
    const address = isCrowd ? this.#crowd.addressFor(origin) : undefined;
    if (address !== undefined && !this.#hasRoomAt(address))
      return tooManySessions(`${maxSessionsPerPrincipal} sessions of this address`, "maxSessionsPerPrincipal");
    if (own >= maxSessionsPerPrincipal && !this.#endIdle((session) => session.principal === principal))
      return tooManySessions(`${maxSessionsPerPrincipal} sessions of this caller`, "maxSessionsPerPrincipal");
    if (this.#places >= maxSessions && !this.#makeRoom(principal))
      return tooManySessions(`${maxSessions} sessions`, "maxSessions");
    if (principal === undefined && this.#anonymous >= ofAnonymous && !this.#makeRoom(undefined))
      return tooManySessions(`${ofAnonymous} sessions of callers without a name`, "anonymousShare");
    this.#count(principal, 1);
    if (address !== undefined) this.#crowd.add(holder, address);
    return undefined;
  }

  free(principal: string | undefined, holder: object): void {
    this.#count(principal, -1);
    this.#crowd.remove(holder);
  }

  add(id: string, session: HttpSession): void {
    this.#sessions.set(id, session);
    session.idlePlace = this.#new.add(session);
    this.#silent++;
  }

  find(id: string, principal: string | undefined): HttpSession | HttpRefusal {
    const session = this.#sessions.get(id);
    return session !== undefined && session.principal === principal ? session : sessionNotFound;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  touch(session: HttpSession): void {
    const place = session.idlePlace;
    if (place?.queue === this.#used) this.#used.touch(place);
    else if (place !== undefined) {
      this.#leave(session);
      session.idlePlace = this.#used.add(session);
    }
  }

  end(session: HttpSession, why: HttpRefusal): void {
    const { id } = session;
    this.#leave(session);
    session.end(why);
    session.forget();
    if (id === undefined || this.#sessions.get(id) !== session) return;
    this.#sessions.delete(id);
    this.free(session.principal, session);
    this.#onEnd(id);
  }

  close(why: HttpRefusal): void {
    for (const session of [...this.#sessions.values()]) this.end(session, why);
  }

  #onDue(session: HttpSession): void {
    if (!session.busy) return this.end(session, sessionClosed);
    this.#leave(session);
    session.idlePlace = this.#used.add(session);
  }

  /** Removes a session from the queue in which it waits. */
  #leave(session: HttpSession): void {
    if (session.idlePlace?.queue === this.#new) this.#silent--;
    session.idlePlace?.leave();
    session.idlePlace = undefined;
  }

  /**
   * Ends an idle session for a new one: first one of a caller without a principal. Such a caller ends no session of one
   * with a principal.
   */
  #makeRoom(principal: string | undefined): boolean {
    if (this.#endIdle((session) => session.principal === undefined)) return true;
    return principal !== undefined && this.#endIdle(() => true);
  }

  /** True if an address may have a further session, for which an idle one of it may end. */
  #hasRoomAt(address: string): boolean {
    if (this.#crowd.countOf(address) < this.#limits.maxSessionsPerPrincipal) return true;
    return this.#endIdle((session) => this.#crowd.has(session, address));
  }

  /** Ends the first idle session that fits. Returns false if there is none. */
  #endIdle(fits: (session: HttpSession) => boolean): boolean {
    const isIdle = (session: HttpSession) => !session.busy && !session.opening && fits(session);
    const silent = this.#new.find(isIdle);
    const isFirst = silent !== undefined && !this.#isInHandshake(silent);
    const session = isFirst ? silent : (this.#used.find(isIdle) ?? silent);
    if (session !== undefined) this.end(session, sessionClosed);
    return session !== undefined;
  }

  /** True if the client of a new session is likely to complete its handshake now. */
  #isInHandshake({ idlePlace }: HttpSession): boolean {
    if (idlePlace === undefined || this.#silent > this.#limits.maxSessions * HANDSHAKE_SHARE) return false;
    return this.#clock.now() - (idlePlace.dueAt - this.#setupMs) < HANDSHAKE_MS;
  }

  #count(principal: string | undefined, change: 1 | -1): void {
    this.#places += change;
    if (principal === undefined) {
      this.#anonymous += change;
      return;
    }
    const own = (this.#placesOf.get(principal) ?? 0) + change;
    if (own > 0) this.#placesOf.set(principal, own);
    else this.#placesOf.delete(principal);
  }
}
