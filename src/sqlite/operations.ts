import type { Session } from "./database.js";
import { logOperations } from "./log-operations.js";
import { messageOperations } from "./message-operations.js";
import { recordOperations } from "./record-operations.js";
import { rightOperations } from "./right-operations.js";
import { sweepOperations } from "./sweep.js";

/** Returns the operations of a thread. Each runs in a transaction. */
export function operationsOf(session: Session) {
  return {
    ...recordOperations(session),
    ...logOperations(session),
    ...messageOperations(session),
    ...rightOperations(session),
    ...sweepOperations(session),
    /** Does nothing. It succeeds if the file can be written. */
    probe: (): boolean => true,
  };
}

export type Operations = ReturnType<typeof operationsOf>;
export type OperationName = keyof Operations;

/** Operations that change nothing, so that a lost reply leaves no doubt. */
const READS: ReadonlySet<OperationName> = new Set<OperationName>([
  "get",
  "list",
  "count",
  "find",
  "read",
  "open",
  "lastMessage",
]);

export const isRead = (name: OperationName): boolean => READS.has(name);
