import type { ClusterFailure } from "../cluster/error.js";
import type { OperationName } from "./operations.js";

/** Options of a thread. */
export interface FileOptions {
  readonly path: string;
  readonly prefix: string;
  readonly synchronous: "normal" | "full";
  /** Maximum time for which the thread waits for the writer of another process. */
  readonly timeoutMs: number;
  /** Interval in which the thread looks for changes of other processes while this one waits for some. */
  readonly pollMs: number;
}

/** Operation with its arguments. */
export type Call = readonly [name: OperationName, args: readonly unknown[]];

/** Result of an operation, or its failure. */
export type Outcome =
  | { readonly value: unknown }
  /** `isShort` is true if the file can be read, and has no room. */
  | { readonly failure: ClusterFailure; readonly message: string; readonly isShort: boolean };

/** Changes for which this process waits. */
export interface Watched {
  /** Topics of messages. */
  readonly topics: readonly string[];
  readonly logs: boolean;
  readonly jobs: boolean;
}

/** Message of the bus. */
export interface Message {
  readonly id: number;
  readonly sender: string;
  readonly topic: string;
  readonly text: string;
}

/** Changes since the last news. */
export interface News {
  readonly messages: readonly Message[];
  /** True if messages before these were deleted unread. */
  readonly isGap: boolean;
  /** Numbers of the logs that have changed. */
  readonly logs: readonly number[];
  /** True if a job may be ready. */
  readonly jobs: boolean;
}

/** Message to the thread. */
export type Request =
  | { readonly kind: "run"; readonly calls: readonly Call[] }
  | { readonly kind: "watch"; readonly watched: Watched }
  /** Lets the thread find out if the file was moved or deleted, and if its journal is too long. */
  | { readonly kind: "check" }
  | { readonly kind: "close" };

/** Message of the thread. The outcomes of `run` are in the order of its calls. */
export type Reply =
  | { readonly kind: "open" }
  | { readonly kind: "failed"; readonly failure: ClusterFailure; readonly message: string }
  | { readonly kind: "ran"; readonly outcomes: readonly Outcome[] }
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
