import type { Failure } from "./failure.js";
import type { OperationName } from "./operations.js";

/** Options of a thread. */
export interface FileOptions {
  readonly path: string;
  readonly prefix: string;
  readonly synchronous: "normal" | "full";
  /** Maximum time for which the thread waits for the writer of another process. */
  readonly timeoutMs: number;
  /** Interval in which the thread looks for texts of other processes. */
  readonly pollMs: number;
  /** Interval in which the thread finds out that the file was moved or deleted, or that its journal is too long. */
  readonly heartbeatMs: number;
}

/** Operation with its arguments. */
export type Call = readonly [name: OperationName, args: readonly unknown[]];

/** Operations that change nothing, so that a lost reply leaves no doubt. */
const READS: ReadonlySet<OperationName> = new Set<OperationName>(["get", "list", "count", "find", "read", "open"]);

export const isRead = (name: OperationName): boolean => READS.has(name);

/** Result of an operation. */
export type Outcome = { readonly value: unknown } | Failure;

/** Texts that were sent since the last news. */
export interface News {
  readonly texts: readonly string[];
  /** True if texts before these were deleted unread. */
  readonly isMissed: boolean;
}

/** Message to the thread. */
export type Request = { readonly kind: "run"; readonly calls: readonly Call[] } | { readonly kind: "close" };

/** Message of the thread. The outcomes of `run` are in the order of its calls. Its news come before the outcomes. */
export type Reply =
  | { readonly kind: "open" }
  | ({ readonly kind: "failed" } & Failure)
  | { readonly kind: "ran"; readonly outcomes: readonly Outcome[]; readonly news?: News | undefined }
  | { readonly kind: "news"; readonly news: News };

/** Thread that works on the file. */
export interface Thread {
  post(request: Request): void;
  /** Ends the thread. Its transaction, if it has one, is rolled back. Resolves when the thread has ended. */
  end(): Promise<void>;
}

/** Starts a thread. `lost` is called once, when the thread has ended. */
export type StartThread = (
  options: FileOptions,
  heard: (reply: Reply) => void,
  lost: (reason: Error) => void,
) => Thread;
