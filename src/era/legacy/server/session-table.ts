// Modern has no twin: nothing is kept between modern requests.

import type { Clock } from "../../../call/clock.js";
import { DeadlineQueue } from "../../../call/deadline-queue.js";
import type { HttpRefusal } from "../../refuse.js";
import type { ServerLimits } from "../../server-limits.js";
import type { HttpSession } from "./http-session.js";
import { sessionClosed } from "./refusals.js";

/** The sessions of an endpoint: how many there may be, whose they are, and how long they live without being used. */
export class SessionTable {
  readonly #sessions = new Map<string, HttpSession>();
  readonly #idle: DeadlineQueue<HttpSession>;
  readonly #max: number;
  readonly #onEnd: (id: string) => void;

  constructor(limits: ServerLimits, clock: Clock, onEnd: (id: string) => void) {
    this.#max = limits.maxSessions;
    this.#onEnd = onEnd;
    this.#idle = new DeadlineQueue(clock, limits.sessionIdleMs, (session) => this.#onIdle(session));
  }

  get size(): number {
    return this.#sessions.size;
  }

  get full(): boolean {
    return this.#sessions.size >= this.#max;
  }

  values(): Iterable<HttpSession> {
    return this.#sessions.values();
  }

  add(id: string, session: HttpSession): void {
    this.#sessions.set(id, session);
    session.idlePlace = this.#idle.add(session);
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
    if (session.idlePlace !== undefined) this.#idle.touch(session.idlePlace);
  }

  end(session: HttpSession, why: HttpRefusal): void {
    const { id } = session;
    if (session.idlePlace !== undefined) this.#idle.remove(session.idlePlace);
    session.end(why);
    if (id !== undefined && this.#sessions.get(id) === session) {
      this.#sessions.delete(id);
      this.#onEnd(id);
    }
  }

  endAll(why: HttpRefusal): void {
    for (const session of [...this.#sessions.values()]) this.end(session, why);
    this.#idle.clear();
  }

  #onIdle(session: HttpSession): void {
    if (session.busy) session.idlePlace = this.#idle.add(session);
    else this.end(session, sessionClosed);
  }
}
