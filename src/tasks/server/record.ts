import type { Call, CallOrigin, ServerRuntime } from "../../era/server-era.js";
import { type Journal, NO_JOURNAL } from "../../journal/journal.js";
import { isObject } from "../../protocol/json.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import { inputShapes } from "../../protocol/shapes/input.js";
import type { ClientCapabilities, Implementation, InputRequest, JsonObject } from "../../protocol/types/index.js";
import type { DetailedTask, Task, TaskFailure, TaskStatus } from "../types.js";
import type { TaskMode } from "./options.js";
import { type Counted, countedFor, ownerOf } from "./owner.js";

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

/** Question that waits for an answer. */
export interface OpenQuestion {
  /** Key that the handler knows. The key on the wire is new each time that a question is asked. */
  readonly key: string;
  readonly request: InputRequest;
  /** True if the handler returned the question by `inputRequired`. */
  readonly authored?: boolean | undefined;
  /** Steps of which the question may be a part. */
  readonly within?: readonly string[] | undefined;
}

/** Task as it is stored. */
export interface TaskRecord extends Counted {
  /** Version of this format. */
  readonly format: 1;
  readonly id: string;
  /** Server that created the task. For others that share the cluster it does not exist. */
  readonly server: string;
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

export interface NewTaskOptions {
  /** Time of day. */
  readonly createdAt: number;
  readonly runtime: Pick<ServerRuntime, "audience" | "options">;
  readonly realm?: string | undefined;
}

/** Returns the task of a call, before it runs. */
export async function toRecord(
  call: Call,
  tool: string,
  mode: TaskMode,
  { createdAt, runtime, realm }: NewTaskOptions,
): Promise<TaskRecord> {
  const { audience: server } = runtime;
  return {
    format: 1,
    id: crypto.randomUUID(),
    server,
    ...(await countedFor(call, runtime)),
    listedFor: realm === undefined ? undefined : await ownerOf(call.origin.principal, realm, server),
    tool,
    arguments: call.params.arguments as JsonObject | undefined,
    meta: call.params._meta as JsonObject | undefined,
    caller: { ...toCaller(call), realm },
    idempotencyKey: call.idempotencyKey,
    createdAt,
    updatedAt: createdAt,
    ttlMs: mode.ttlMs,
    stage: "queued",
    round: 1,
    fence: 0,
    losses: 0,
    journal: NO_JOURNAL,
    questions: {},
    mark: crypto.randomUUID(),
  };
}

/** Returns the data of the caller that a task keeps: never the token. */
function toCaller({ client, origin }: Call): TaskCaller {
  const { principal, auth } = origin;
  const { token, ...rest } = isObject(auth) ? auth : { token: undefined };
  return {
    principal,
    auth: isObject(auth) ? rest : undefined,
    hadToken: token === undefined ? undefined : true,
    version: client.version,
    capabilities: client.capabilities,
    info: client.info,
  };
}

/** Returns the task with answers to its open questions, or undefined if none of the answers has a question. */
export function withAnswers(record: TaskRecord, given: { readonly [key: string]: unknown }): TaskRecord | undefined {
  const open = Object.entries(record.questions);
  const answered = record.stage === "waiting" ? open.filter(([wireKey]) => Object.hasOwn(given, wireKey)) : [];
  if (answered.length === 0) return undefined;
  let { journal } = record;
  for (const [wireKey, { key, request, authored }] of answered) {
    const answer = given[wireKey];
    const problem = inputShapes.get(request.method)?.result(answer);
    if (problem !== undefined) throw malformed(`/inputResponses/${wireKey}${problem.path} must be ${problem.expected}`);
    if (authored === true) {
      const { state, answers = {} } = journal.authored ?? {};
      journal = { ...journal, authored: { state, answers: { ...answers, [key]: answer } } };
    } else journal = { ...journal, answers: { ...journal.answers, [key]: answer } };
  }
  const keys = new Set(answered.map(([wireKey]) => wireKey));
  const questions = Object.fromEntries(open.filter(([wireKey]) => !keys.has(wireKey)));
  if (Object.keys(questions).length > 0) return { ...record, journal, questions };
  return { ...record, journal, questions, stage: "queued", round: record.round + 1 };
}

/** Error for answers that cannot be taken. The questions stay open. */
export function malformed(problem: string): Refusal {
  return new Refusal(INVALID_PARAMS, `Invalid params for tasks/update: ${problem}`);
}
