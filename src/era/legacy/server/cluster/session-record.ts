import type { IndexEntry, Listed, PutOptions } from "../../../../cluster/cluster.js";
import type { SessionState, StateChange } from "../shared-sessions.js";

/** Format of stored records. A process ignores records of a format that it does not know. */
const FORMAT = 2;

/** Time for which a record stays after its session has ended or expired, so that the sweeper can complete the end. */
export const GRACE_MS = 300_000;
/** Lifetime of the record of a session without an idle limit: a year. It is extended while the session is in use. */
const LONGEST_LIFE_MS = 31_536_000_000;

/** Session as it is stored for all processes. */
export interface SessionRecord {
  readonly format: typeof FORMAT;
  /** Server that opened the session. Others that share the cluster do not serve it. */
  readonly server: string;
  readonly principal?: string | undefined;
  /** Time of day at which the record expires, by the clock of the process that used the session last. */
  readonly endsAt: number;
  readonly state: SessionState;
  /** True if the client watches, or has watched, a resource. */
  readonly watches?: boolean;
  /** Process that writes the standalone stream. */
  readonly holder?: Holder | undefined;
  /** Random text of the process that ended the session. What is left of the session is removed soon. */
  readonly ended?: string | undefined;
}

/** Process that writes the standalone stream of a session. The newest GET has the highest turn. */
export interface Holder {
  /** Empty if no process writes the stream, so that messages may have been missed. */
  readonly node: string;
  readonly turn: number;
  /** True if a GET has made a process the holder, so that it may have sent messages. */
  readonly listens: boolean;
  /** Last message to all clients of each sender that the last holder had received when it left the stream, if it said so. */
  readonly received?: readonly (readonly [string, number])[];
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

export function createRecord(given: Omit<SessionRecord, "format">): SessionRecord {
  return { format: FORMAT, ...given };
}

/** Returns how a record is stored at a time of day: for its lifetime, in the indexes of sessions. */
export function storedAs(record: SessionRecord, now: number): { readonly value: string } & PutOptions {
  const value = JSON.stringify(record);
  if (record.ended !== undefined) return { value, ttlMs: GRACE_MS, index: [{ index: ENDED_SESSIONS, score: 0 }] };
  const { principal, endsAt } = record;
  const index: IndexEntry[] = [{ index: ALL_SESSIONS, score: endsAt }];
  if (principal !== undefined) index.push({ index: sessionsOf(principal), score: endsAt });
  return { value, ttlMs: Math.max(endsAt - now, GRACE_MS), index };
}

/** Returns the lifetime of the record of a session that expires after `ms` without use. */
export function lifeOf(ms: number): number {
  return Math.min(ms, LONGEST_LIFE_MS) + GRACE_MS;
}

/** True if a listed session is unused for longer than it may be. */
export function hasExpired({ leftMs }: Listed): boolean {
  return leftMs !== undefined && leftMs <= GRACE_MS;
}

/** Returns undefined for a session that has ended, and for a record that a newer version of the library has written. */
export function parseRecord(value: string): SessionRecord | undefined {
  const record = JSON.parse(value) as SessionRecord;
  return record.format === FORMAT && record.ended === undefined ? record : undefined;
}

/** Returns a record that marks the end of its session by a random text. */
export function ended(value: string, by: string): SessionRecord {
  return { ...(JSON.parse(value) as SessionRecord), ended: by };
}

/** Returns the state with a change. Applying a change twice has the effect of applying it once. */
export function changed(state: SessionState, change: StateChange): SessionState {
  return "ready" in change ? { ...state, ready: true } : { ...state, level: change.level };
}
