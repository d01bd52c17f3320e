import type { Cluster, Listed } from "../../../../cluster/cluster.js";
import type { HttpRefusal } from "../../../refuse.js";
import type { ServerLimits } from "../../../server-limits.js";
import { tooManySessions } from "../refusals.js";
import { ALL_SESSIONS, idOf, sessionsOf } from "./session-record.js";

/** Number of sessions of which one may end to make room. Several processes may choose at the same time. */
const CANDIDATES = 20;
/** Time for which the client of a new session cannot be expected to have sent a request. */
const NEW_MS = 5_000;

export interface SessionQuotaOptions {
  readonly cluster: Cluster;
  readonly limits: ServerLimits;
  /** Returns the time of day. */
  now(): number;
  /** Lifetime of the record of a session in use. */
  readonly fullLifeMs: number;
  /** Lifetime of the record of a session whose client has sent nothing since the handshake. */
  readonly newLifeMs: number;
  /** Interval in which the lifetime of a session in use is extended. */
  readonly touchMs: number;
  /** True if a request or a stream of the session depends on this process. */
  isInUse(id: string): boolean;
  /** Ends a session. Returns false if it has changed. */
  end(session: Listed): Promise<boolean>;
}

/** Limits the number of sessions of all processes. At a limit, the session that has been unused longest ends. */
export class SessionQuota {
  readonly #options: SessionQuotaOptions;
  /** Numbers of handshakes of this process that were admitted and have no record yet, by index. */
  readonly #reserved = new Map<string, number>();

  constructor(options: SessionQuotaOptions) {
    this.#options = options;
  }

  /** Admits a session of this principal. Returns a refusal at a limit. */
  async reserve(principal: string | undefined): Promise<HttpRefusal | undefined> {
    const indexes = indexesOf(principal);
    const before = indexes.map((index) => this.#reservedIn(index));
    this.#count(indexes, 1);
    let full: HttpRefusal | undefined;
    try {
      for (const [at, index] of indexes.entries()) full ??= await this.#refusalOf(index, before[at] as number);
    } catch (error) {
      this.free(principal);
      throw error;
    }
    if (full !== undefined) this.free(principal);
    return full;
  }

  /** Ends a reservation: the session has a record, or there will be none. */
  free(principal: string | undefined): void {
    this.#count(indexesOf(principal), -1);
  }

  async #refusalOf(index: string, before: number): Promise<HttpRefusal | undefined> {
    const { maxSessions, maxSessionsPerPrincipal: share } = this.#options.limits;
    if (index !== ALL_SESSIONS)
      return (await this.#hasRoom(index, share, before))
        ? undefined
        : tooManySessions(`${share} sessions of this caller`, "maxSessionsPerPrincipal");
    return (await this.#hasRoom(index, maxSessions, before))
      ? undefined
      : tooManySessions(`${maxSessions} sessions`, "maxSessions");
  }

  /**
   * Returns true if an index has fewer sessions than allowed, after another one has made room. `before` is the number of
   * handshakes of this process that were admitted earlier. Those that have no record yet count as sessions.
   */
  async #hasRoom(index: string, most: number, before: number): Promise<boolean> {
    const { cluster, newLifeMs, now } = this.#options;
    if (!Number.isFinite(most)) return true;
    const count = await cluster.records.count(index);
    if (count + Math.min(before, this.#reservedIn(index) - 1) < most) return true;
    const first = await cluster.records.list(index, { limit: CANDIDATES });
    if (await this.#endOne(first)) return true;
    // New sessions, which would end soon, may stand before one that is unused. The clocks of their processes may be ahead.
    const after = { score: now() + newLifeMs + NEW_MS, key: "" };
    return this.#endOne(await cluster.records.list(index, { after, limit: CANDIDATES }));
  }

  /** Ends the first session that is unused. The one that expires first has been unused longest. */
  async #endOne(listed: readonly Listed[]): Promise<boolean> {
    for (const session of listed) if (this.#isUnused(session) && (await this.#options.end(session))) return true;
    return false;
  }

  /** True if no process can have used the session for a while. The lifetime of a session in use is extended more often. */
  #isUnused(session: Listed): boolean {
    const { fullLifeMs, newLifeMs, touchMs, isInUse } = this.#options;
    const left = leftOf(session);
    const isNew = left <= newLifeMs && left > newLifeMs - NEW_MS;
    return !isNew && left < fullLifeMs - 2 * touchMs && !isInUse(idOf(session.key));
  }

  #reservedIn(index: string): number {
    return this.#reserved.get(index) ?? 0;
  }

  #count(indexes: readonly string[], change: 1 | -1): void {
    for (const index of indexes) {
      const count = this.#reservedIn(index) + change;
      if (count > 0) this.#reserved.set(index, count);
      else this.#reserved.delete(index);
    }
  }
}

function indexesOf(principal: string | undefined): readonly string[] {
  return principal === undefined ? [ALL_SESSIONS] : [sessionsOf(principal), ALL_SESSIONS];
}

function leftOf({ leftMs }: Listed): number {
  return leftMs ?? Number.POSITIVE_INFINITY;
}
