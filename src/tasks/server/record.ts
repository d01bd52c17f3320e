import type { CallOrigin } from "../../era/server-era.js";
import type { ClientCapabilities, Implementation, InputRequest, JsonObject } from "../../protocol/types/index.js";
import type { DetailedTask, Task, TaskFailure, TaskStatus } from "../types.js";
import type { StepFailure } from "./step-failure.js";

/** Stage of a task. A task that is queued or running is `working` for clients; one that waits is `input_required`. */
export type TaskStage = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";

/** Caller of the tool, as far as it is kept. The credentials of the request are not. */
export interface TaskCaller {
  readonly principal?: string | undefined;
  /** Callers of the principal for which the task exists. Undefined for all that declare the extension. */
  readonly realm?: string | undefined;
  /** Data of the authorization gate without the token. */
  readonly auth?: CallOrigin["auth"];
  /** True if the data of the authorization gate had a token. */
  readonly hadToken?: true | undefined;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
}

/** Steps, questions and answers of a task, so that its handler can run again. */
export interface Journal {
  /** Results of completed steps by name. */
  readonly steps: { readonly [name: string]: unknown };
  /** Names of steps that have begun and not ended. */
  readonly begun: readonly string[];
  /** Failures of steps by name, in their order. A step may be tried again, and complete later. */
  readonly failed?: { readonly [name: string]: readonly StepFailure[] } | undefined;
  /** Questions by the key of the handler: the text of one that `ctx` asked, and the number of times. */
  readonly asked: { readonly [key: string]: { readonly text?: string | undefined; readonly times: number } };
  readonly answers: { readonly [key: string]: unknown };
  /** State of a handler that returned `inputRequired`, and the answers to its questions. */
  readonly authored?: { readonly state?: unknown; readonly answers: { readonly [key: string]: unknown } } | undefined;
}

/** Question that waits for an answer. */
export interface OpenQuestion {
  /** Key that the handler knows. The key on the wire is new each time that a question is asked. */
  readonly key: string;
  readonly request: InputRequest;
  /** True if the handler returned the question by `inputRequired`. */
  readonly authored?: boolean | undefined;
}

/** Task as it is stored. */
export interface TaskRecord {
  /** Version of this format. */
  readonly format: 1;
  readonly id: string;
  /** Server that created the task. For others that share the cluster it does not exist. */
  readonly server: string;
  /** Digest of the caller, whose tasks are limited together. */
  readonly owner: string;
  /** True if the caller has no principal. The tasks of all such callers are limited together as well. */
  readonly anonymous?: true | undefined;
  /** Digest of the principal, realm and server, for `tasks/list`. Undefined without a realm. */
  readonly listedFor?: string | undefined;
  readonly tool: string;
  readonly arguments?: JsonObject | undefined;
  /** `_meta` of the request. */
  readonly meta?: JsonObject | undefined;
  readonly caller: TaskCaller;
  readonly idempotencyKey: string;
  /** Times of day. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttlMs: number | null;
  readonly stage: TaskStage;
  readonly message?: string | undefined;
  /** Counts the runs that were ordered. The id of a job names it. */
  readonly round: number;
  /** Counts the runs that were started. Only the latest one may write. */
  readonly fence: number;
  /** True while it runs in the process that took the call. Its lease, not a job, shows that this process is alive. */
  readonly promoted?: true | undefined;
  /** Time of day at which a process without its tool took the job. */
  readonly missingSince?: number | undefined;
  /** Number of runs whose process was lost. */
  readonly losses: number;
  readonly journal: Journal;
  readonly questions: { readonly [wireKey: string]: OpenQuestion };
  readonly result?: JsonObject | undefined;
  readonly error?: TaskFailure | undefined;
  /** Random text of the last write, by which a writer recognizes a write with an unknown outcome. */
  readonly mark: string;
}

export const NO_JOURNAL: Journal = { steps: {}, begun: [], asked: {}, answers: {} };

const STATUS: { readonly [stage in TaskStage]: TaskStatus } = {
  queued: "working",
  running: "working",
  waiting: "input_required",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

/** True if the task never changes again. */
export function hasEnded({ stage }: Pick<TaskRecord, "stage">): boolean {
  return stage === "completed" || stage === "failed" || stage === "cancelled";
}

/** True if a task stays as it is until its job is taken. */
export function needsJob({ stage, promoted }: TaskRecord): boolean {
  return stage === "queued" || promoted === true;
}

/** Returns the task as the result that creates it shows it. */
export function toCreated(record: TaskRecord, pollIntervalMs: number): Task {
  const { message } = record;
  return {
    taskId: record.id,
    status: STATUS[record.stage],
    ...(message !== undefined && { statusMessage: message }),
    createdAt: new Date(record.createdAt).toISOString(),
    lastUpdatedAt: new Date(record.updatedAt).toISOString(),
    ttlMs: record.ttlMs,
    pollIntervalMs,
  };
}

/** Returns the task as clients see it later. */
export function toTask(record: TaskRecord, pollIntervalMs: number): DetailedTask {
  const { result, error, questions } = record;
  const asked = Object.entries(questions).map(([wireKey, { request }]) => [wireKey, request] as const);
  return {
    ...toCreated(record, pollIntervalMs),
    ...(record.stage === "waiting" && { inputRequests: Object.fromEntries(asked) }),
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
  } as DetailedTask;
}

/** Returns the task without the parts that only its handler needs, such as data of its caller, since it has ended. */
export function ended(
  record: TaskRecord,
  stage: "completed" | "failed" | "cancelled",
  outcome: Pick<TaskRecord, "result" | "error" | "message">,
): TaskRecord {
  const { arguments: _arguments, meta: _meta, message: _message, promoted: _promoted, ...rest } = record;
  const caller = { ...rest.caller, auth: undefined, hadToken: undefined, info: undefined };
  return { ...rest, caller, stage, journal: NO_JOURNAL, questions: {}, ...outcome };
}
