// Modern has no twin: nothing is kept between modern requests.

import type { Clock } from "../../../call/clock.js";
import { DeadlineQueue } from "../../../call/deadline-queue.js";
import type { HttpRefusal } from "../../refuse.js";
import type { ServerLimits } from "../../server-limits.js";
import type { HttpSession } from "./http-session.js";
import { refusal, sessionClosed } from "./refusals.js";

/**
 * The sessions of an endpoint: how many there may be, whose they are, and how long they live without being used. Where
 * there is no place for a new one, an idle one goes: one whose client has sent nothing since its handshake before others,
 * and among those the one that is unused longest. A session with a running call or an open stream never does.
 */
export class SessionTable {
  readonly #sessions = new Map<string, HttpSession>();
  /** Those whose clients have sent nothing since the handshake. */
  readonly #new: DeadlineQueue<HttpSession>;
  readonly #used: DeadlineQueue<HttpSession>;
  readonly #limits: ServerLimits;
  readonly #onEnd: (id: string) => void;
  #places = 0;
  readonly #placesOf = new Map<string, number>();

  constructor(limits: ServerLimits, clock: Clock, onEnd: (id: string) => void) {
    this.#limits = limits;
    this.#onEnd = onEnd;
    const onDue = (session: HttpSession) => this.#onDue(session);
    this.#new = new DeadlineQueue(clock, Math.min(limits.sessionSetupMs, limits.sessionIdleMs), onDue);
    this.#used = new DeadlineQueue(clock, limits.sessionIdleMs, onDue);
  }

  get size(): number {
    return this.#sessions.size;
  }

  values(): Iterable<HttpSession> {
    return this.#sessions.values();
  }

  /** Takes a place for a session of this principal, or tells why there is none. */
  reserve(principal: string | undefined): HttpRefusal | undefined {
    const { maxSessions, maxSessionsPerPrincipal } = this.#limits;
    const own = principal === undefined ? 0 : (this.#placesOf.get(principal) ?? 0);
    if (own >= maxSessionsPerPrincipal && !this.#endIdle((session) => session.principal === principal))
      return tooMany(`${maxSessionsPerPrincipal} sessions of this caller`, "maxSessionsPerPrincipal");
    if (this.#places >= maxSessions && !this.#endIdle(() => true))
      return tooMany(`${maxSessions} sessions`, "maxSessions");
    this.#count(principal, 1);
    return undefined;
  }

  /** Gives back a place that was reserved and holds no session of the table. */
  free(principal: string | undefined): void {
    this.#count(principal, -1);
  }

  /** Files a session for which a place was reserved. */
  add(id: string, session: HttpSession): void {
    this.#sessions.set(id, session);
    session.idlePlace = this.#new.add(session);
  }

  /** The session of this id, for its owner alone: to anyone else it does not exist. */
  find(id: string, principal: string | undefined): HttpSession | undefined {
    const session = this.#sessions.get(id);
    return session !== undefined && session.principal === principal ? session : undefined;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** The session is used: its time starts anew. */
  touch(session: HttpSession): void {
    const place = session.idlePlace;
    if (place?.queue === this.#used) this.#used.touch(place);
    else if (place !== undefined) {
      place.leave();
      session.idlePlace = this.#used.add(session);
    }
  }

  end(session: HttpSession, why: HttpRefusal): void {
    const { id } = session;
    session.idlePlace?.leave();
    session.end(why);
    if (id === undefined || this.#sessions.get(id) !== session) return;
    this.#sessions.delete(id);
    this.free(session.principal);
    this.#onEnd(id);
  }

  endAll(why: HttpRefusal): void {
    for (const session of [...this.#sessions.values()]) this.end(session, why);
    this.#new.clear();
    this.#used.clear();
  }

  #onDue(session: HttpSession): void {
    if (session.busy) session.idlePlace = this.#used.add(session);
    else this.end(session, sessionClosed);
  }

  /** Ends the first of the idle sessions that fit; false where there is none. */
  #endIdle(fits: (session: HttpSession) => boolean): boolean {
    const isIdle = (session: HttpSession) => !session.busy && !session.opening && fits(session);
    const session = this.#new.find(isIdle) ?? this.#used.find(isIdle);
    if (session !== undefined) this.end(session, sessionClosed);
    return session !== undefined;
  }

  #count(principal: string | undefined, change: 1 | -1): void {
    this.#places += change;
    if (principal === undefined) return;
    const own = (this.#placesOf.get(principal) ?? 0) + change;
    if (own > 0) this.#placesOf.set(principal, own);
    else this.#placesOf.delete(principal);
  }
}

function tooMany(what: string, limit: string): HttpRefusal {
  return refusal(503, `Too many sessions: ${what} are open and at work (limits.${limit})`, { "retry-after": "30" });
}
