import type { IndexEntry, Listed } from "../../../../cluster/cluster.js";
import type { Change } from "../../../../cluster/update.js";
import type { SessionState, StateChange } from "../shared-sessions.js";

/** Format of stored records. A process ignores records of a format that it does not know. */
const FORMAT = 1;

/** Time for which a record stays after its session is over, so that the sweeper can end it. */
export const GRACE_MS = 300_000;
/** Life of the record of a session without an idle limit: a year. It is extended while the session is in use. */
const LONGEST_LIFE_MS = 31_536_000_000;

/** Session as it is stored for all processes. */
export interface SessionRecord {
  readonly format: typeof FORMAT;
  /** Server that opened the session. Others that share the cluster do not serve it. */
  readonly server: string;
  readonly principal?: string | undefined;
  /** Time of day at which the session was opened. */
  readonly openedAt: number;
  readonly state: SessionState;
  /** True if the client watches, or has watched, a resource. */
  readonly watches?: boolean;
  /** Random text of the process that ended the session. What is left of the session is removed soon. */
  readonly ended?: string | undefined;
}

/** Index of all sessions, by the time at which they would end. */
export const ALL_SESSIONS = "sessions";

/** Index of the sessions that have ended, until nothing is left of them. */
export const ENDED_SESSIONS = "ended sessions";

/** Returns the index of the sessions of a principal, by the time at which they would end. */
export function sessionsOf(principal: string): string {
  return `sessions of ${principal}`;
}

export function keyOf(sessionId: string): string {
  return `session:${sessionId}`;
}

/** Returns the id of the session with this key. */
export function idOf(key: string): string {
  return key.slice("session:".length);
}

export function createRecord(given: Pick<SessionRecord, "server" | "principal" | "openedAt" | "state">): SessionRecord {
  return { format: FORMAT, ...given };
}

/** Returns a record that lives for `ttlMs` from the time of day `now`, with its entries in the indexes of sessions. */
export function withLife(
  { principal }: SessionRecord,
  value: string,
  { ttlMs, now }: { readonly ttlMs: number; readonly now: number },
): Change {
  const score = now + ttlMs;
  const index: IndexEntry[] = [{ index: ALL_SESSIONS, score }];
  if (principal !== undefined) index.push({ index: sessionsOf(principal), score });
  return { value, ttlMs, index };
}

/** Returns the life of the record of a session that is over after `ms` without use. */
export function lifeOf(ms: number): number {
  return Math.min(ms, LONGEST_LIFE_MS) + GRACE_MS;
}

/** True if a listed session is unused for longer than it may be. */
export function isOver({ leftMs }: Listed): boolean {
  return leftMs !== undefined && leftMs <= GRACE_MS;
}

/** Returns undefined for a session that has ended, and for a record that a newer version of the library has written. */
export function parseRecord(value: string): SessionRecord | undefined {
  const record = JSON.parse(value) as SessionRecord;
  return record.format === FORMAT && record.ended === undefined ? record : undefined;
}

/** Returns the state with a change. Applying a change twice has the effect of applying it once. */
export function changed(state: SessionState, change: StateChange): SessionState {
  return "ready" in change ? { ...state, ready: true } : { ...state, level: change.level };
}
