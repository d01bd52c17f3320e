import { ClusterError, type ClusterFailure } from "../cluster/error.js";

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
  3: "Let the user of this process read and write the file and its folder.",
  [BUSY]: "Another process writes, or was stopped while it wrote. The operation was not carried out.",
  [READ_ONLY]: "Let the user of this process write the file and its folder.",
  11: "The file is damaged. Restore it, or delete it to begin without state.",
  [FULL]: "The disk is full. The operation was not carried out.",
  [CANNOT_OPEN]: "Create the folder of the file, and let the user of this process read and write it.",
  18: "The text is longer than SQLite can store.",
  26: "The file is no database of SQLite. Use another path.",
};

/** True if another connection has the file locked. */
export function isBusy(thrown: unknown): boolean {
  return codeOf(thrown) === BUSY;
}

/** True if the file can be read, and has no room for what an operation stores. */
export function isShort(thrown: unknown): boolean {
  return SHORT.has(codeOf(thrown) ?? 0);
}

function codeOf(thrown: unknown): number | undefined {
  const { errcode } = (thrown ?? {}) as { errcode?: unknown };
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Returns the failure of an operation. `isCommit` tells that the transaction may have been stored. */
export function failureOf(thrown: unknown, operation: string, isCommit = false): ClusterError {
  if (thrown instanceof ClusterError) return thrown;
  const { message } = (thrown ?? {}) as { message?: unknown };
  const code = codeOf(thrown);
  const text = `SQLite, ${operation}: ${typeof message === "string" ? message : String(thrown)}`;
  const remedy = code === undefined ? undefined : REMEDIES[code];
  return new ClusterError(kindOf(code, isCommit), [text, remedy].filter(Boolean).join(". "));
}

function kindOf(code: number | undefined, isCommit: boolean): ClusterFailure {
  if (code === IO && isCommit) return "unknown_outcome";
  return code !== undefined && PASSING.has(code) ? "unavailable" : "refused";
}
