import { BUILT_IN_EXTENSIONS } from "../protocol/meta.js";
import type { InputRequests } from "../protocol/types/index.js";

/** Identifier of the extension. Client and server both announce it. */
export const TASKS_EXTENSION = BUILT_IN_EXTENSIONS.tasks;

export const GET_TASK = "tasks/get";
export const UPDATE_TASK = "tasks/update";
export const CANCEL_TASK = "tasks/cancel";
/** Methods of 2025-11-25 only. */
export const LIST_TASKS = "tasks/list";
export const TASK_RESULT = "tasks/result";
/** Notification with a task. */
export const TASK_CHANGED = "notifications/tasks";
/** The same in 2025-11-25. */
export const TASK_STATUS = "notifications/tasks/status";

/** Key of `_meta` with the id of the task that a message belongs to (2025-11-25 only). */
export const RELATED_TASK_KEY = "io.modelcontextprotocol/related-task";

/** Status of a task. The last three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** True if a task with this status never changes again. */
export function isTerminal(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

/** State of a task. */
export interface Task {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** Description of the status for people. */
  readonly statusMessage?: string;
  /** ISO 8601 timestamps. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Lifetime from creation in milliseconds. Null if it is not limited. The server may change it. */
  readonly ttlMs: number | null;
  /** Time in milliseconds that a client should wait between polls. The server may change it. */
  readonly pollIntervalMs?: number;
}

/** Error of a failed task: the JSON-RPC error that the call would have had. */
export interface TaskFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** State of a task with the member that belongs to its status. */
export type DetailedTask =
  | (Task & { readonly status: "working" | "cancelled" })
  | (Task & { readonly status: "input_required"; readonly inputRequests: InputRequests })
  | (Task & { readonly status: "completed"; readonly result: { readonly [key: string]: unknown } })
  | (Task & { readonly status: "failed"; readonly error: TaskFailure });
