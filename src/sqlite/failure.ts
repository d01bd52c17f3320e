import { ClusterError, type ClusterFailure } from "../cluster/error.js";

/** Failure of an operation. */
export interface Failure {
  readonly failure: ClusterFailure;
  readonly problem: string;
  /** True if the file can be read, and has no room. */
  readonly isShort: boolean;
}

const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const READ_ONLY = 8;
const IO = 10;
const FULL = 13;
const CANNOT_OPEN = 14;
const PROTOCOL = 15;

/** Primary result codes of operations that were not carried out, and that may succeed later. */
const PASSING: ReadonlySet<number> = new Set([BUSY, LOCKED, NO_MEMORY, READ_ONLY, IO, FULL, CANNOT_OPEN, PROTOCOL]);
/** Primary result codes of a file that can be read, but has no room. */
const SHORT: ReadonlySet<number> = new Set([NO_MEMORY, FULL]);

/** Remedies by the primary result code of SQLite. */
const REMEDIES: Readonly<Record<number, string>> = {
  3: "let the user of this process read and write the file and its folder",
  [BUSY]: "another process writes, or was stopped while it wrote; nothing was done",
  [READ_ONLY]: "let the user of this process write the file and its folder",
  11: "the file is damaged; restore it, or delete it to begin without state",
  [FULL]: "the disk is full; free some of it; nothing was done",
  [CANNOT_OPEN]: "create the folder of the file, and let the user of this process read and write it",
  18: "the text is longer than SQLite can store; shorten it",
  26: "use another path",
};

/** True if another connection has the file locked. */
export function isBusy(thrown: unknown): boolean {
  return codeOf(thrown) === BUSY;
}

/** Returns the failure of an operation. `isCommit` tells that the transaction may have been stored. */
export function failureOf(thrown: unknown, isCommit = false): Failure {
  const { message = String(thrown) } = (thrown ?? {}) as { message?: string };
  if (thrown instanceof ClusterError) return { failure: thrown.failure, problem: message, isShort: false };
  const code = codeOf(thrown) ?? 0;
  const problem = [`SQLite: ${message}`, REMEDIES[code]].filter(Boolean).join("; ");
  return { failure: kindOf(code, isCommit), problem, isShort: SHORT.has(code) };
}

function kindOf(code: number, isCommit: boolean): ClusterFailure {
  if (code === IO && isCommit) return "unknown_outcome";
  return PASSING.has(code) ? "unavailable" : "refused";
}

function codeOf(thrown: unknown): number | undefined {
  const { errcode } = (thrown ?? {}) as { errcode?: unknown };
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}
