import type { LogEntry } from "../cluster.js";

/** Place of an entry: number of its log and its number in the log. */
export interface Place {
  readonly log: string;
  readonly n: string;
}

/** Returns the id of an entry. Numbers of logs are not used again, so that an id never means another entry. */
export const idOf = (log: string, n: string) => `${log}-${n}`;

export function numberOf(id: string): Place | undefined {
  const [, log, n] = /^(\d{1,18})-(\d{1,18})$/.exec(id) ?? [];
  return log === undefined || n === undefined ? undefined : { log, n };
}

export interface ReadEntry {
  readonly entry: LogEntry;
  readonly n: string;
  /** True if the time to keep the entry has passed. */
  readonly isOld: boolean;
}

/** Entries of a stream after a place, with the state of the stream at the same moment. */
export interface StreamPage {
  readonly log: string;
  readonly entries: readonly ReadEntry[];
  /** True if the entry at the place is kept, or if there was no place. */
  readonly isKept: boolean;
  /** Number of the newest entry of the stream that is not kept any more. */
  readonly trimmed: bigint;
  /** True if the stream was claimed and is not forgotten. */
  readonly isKnown: boolean;
  readonly isEnded: boolean;
  /** Number of the newest entry of the stream. */
  readonly top: bigint;
}

/** Reads entries after a place, or from the oldest. Resolves with undefined if the log does not exist. */
export type ReadStream = (
  log: string,
  stream: string,
  after: Place | undefined,
  limit?: number,
) => Promise<StreamPage | undefined>;
