import { ClusterError, type ClusterFailure } from "../cluster/error.js";

const BUSY = 5;
const LOCKED = 6;
const IO = 10;

/** Remedies by the primary result code of SQLite. */
const REMEDIES: Readonly<Record<number, string>> = {
  3: "Let the user of this process read and write the file and its folder.",
  [BUSY]: "Another process writes, or was stopped while it wrote. The operation was not carried out.",
  8: "Let the user of this process write the file and its folder.",
  11: "The file is damaged. Restore it, or delete it to begin without state.",
  13: "The disk is full.",
  14: "Create the folder of the file, and let the user of this process read and write it.",
  18: "The text is longer than SQLite can store.",
  26: "The file is no database of SQLite. Use another path.",
};

/** True if another connection has the file locked. */
export function isBusy(thrown: unknown): boolean {
  const { errcode } = (thrown ?? {}) as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === BUSY;
}

/** Returns the failure of an operation. `isCommit` tells that the transaction may have been stored. */
export function failureOf(thrown: unknown, operation: string, isCommit = false): ClusterError {
  if (thrown instanceof ClusterError) return thrown;
  const { errcode, message } = (thrown ?? {}) as { errcode?: unknown; message?: unknown };
  const code = typeof errcode === "number" ? errcode & 0xff : undefined;
  const text = `SQLite, ${operation}: ${typeof message === "string" ? message : String(thrown)}`;
  const remedy = code === undefined ? undefined : REMEDIES[code];
  return new ClusterError(kindOf(code, isCommit), [text, remedy].filter(Boolean).join(". "));
}

function kindOf(code: number | undefined, isCommit: boolean): ClusterFailure {
  if (code === BUSY || code === LOCKED) return "unavailable";
  if (code === IO) return isCommit ? "unknown_outcome" : "unavailable";
  return "refused";
}
