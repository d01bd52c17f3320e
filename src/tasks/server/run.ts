import type { AbortSwitch } from "../../call/abort-switch.js";
import type { Clock } from "../../call/clock.js";
import { ClusterError } from "../../cluster/error.js";
import { authoredQuestions, toUrlRequests } from "../../era/client-requests.js";
import { isUrlElicitationRequired } from "../../era/request-strategy.js";
import { ServedCall } from "../../era/served-call.js";
import {
  type Call,
  type HandlerResult,
  type HandlerRunner,
  type Outcome,
  PreparedResult,
  type Result,
  type RunHandler,
  type ServerEra,
  type ServerRuntime,
} from "../../era/server-era.js";
import { memberOf, withQuestion } from "../../journal/journal.js";
import { toKeptAuth } from "../../protocol/brand.js";
import { McpError, RpcError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { Params, RpcErrorObject } from "../../protocol/jsonrpc/message.js";
import { oneLine } from "../../protocol/text.js";
import type { JsonObject } from "../../protocol/types/index.js";
import { askingThrough } from "../../server/asking-through.js";
import { TaskExecution } from "./execution.js";
import type { TasksLimits } from "./options.js";
import { ended, type TaskRecord } from "./record.js";
import { type HeldTask, TaskHandedOver, TaskLost } from "./store.js";

/** Way in which a run has ended. */
export type RunEnd =
  /** The outcome is stored. */
  | "ended"
  /** The task waits for answers. */
  | "parked"
  /** The server is busy. The task is to be run later. */
  | "busy"
  /** The run was aborted, or another run has the task. */
  | "lost";

export interface RunOptions {
  readonly runtime: ServerRuntime;
  readonly era: ServerEra;
  readonly limits: TasksLimits;
}

/** Run of a task: calls the tool once, with the steps and answers that are recorded. */
export class TaskRun {
  readonly call: Call;
  readonly #task: HeldTask;
  readonly #options: RunOptions;
  readonly #execution: TaskExecution;
  readonly #messages: StatusMessages;

  constructor(task: HeldTask, options: RunOptions) {
    const { runtime, limits, era } = options;
    const { record } = task;
    this.#task = task;
    this.#options = options;
    this.#messages = new StatusMessages(task, runtime.clock, limits.statusIntervalMs, (error) => this.#lose(error));
    this.call = createTaskCall(
      record,
      era,
      { runHandler: (call, runtime, run) => handle(this.#execution, call, run, runtime) },
      (method, params) => {
        const text = statusText(method, params);
        if (text !== undefined) this.#messages.show(text);
      },
    );
    this.call.key = record.idempotencyKey;
    this.#execution = new TaskExecution({
      keeper: task,
      onUnkept: (error) => this.#onUnkept(error),
      capabilities: record.caller.capabilities,
      clock: runtime.clock,
      replayMs: limits.replayMs,
      end: this.call.end,
    });
  }

  /** Runs the tool, and stores its outcome or its questions. */
  async run(): Promise<RunEnd> {
    // The rate limit was checked when the task was created.
    const outcome = await this.#options.runtime.run(this.call, true);
    this.#messages.stop();
    if (!(await keepSteps(outcome, this.#execution, this.call.end))) return "lost";
    try {
      return await this.#store(outcome);
    } catch (error) {
      if (error instanceof TaskLost) return "lost";
      throw error;
    }
  }

  /** Ends the run if the task is lost, so that no error reaches the handler's catch. */
  #onUnkept(error: unknown): unknown {
    this.#lose(error);
    return error instanceof TaskLost ? this.call.end.reason : error;
  }

  #lose(error: unknown): void {
    if (error instanceof TaskLost) this.call.end.abort(error);
    else if (!(error instanceof McpError)) this.#report(error);
  }

  #report(error: unknown): void {
    this.#options.runtime.report(error, { where: "task", id: this.#task.record.id });
  }

  async #store(outcome: Outcome): Promise<RunEnd> {
    if (outcome.kind === "dropped") return "lost";
    if (outcome.kind === "error" && outcome.busy !== undefined) return "busy";
    const { limits } = this.#options;
    return conclude(this.#task, outcome, this.#execution, { limits, report: (error) => this.#report(error) });
  }
}

/** Result of a run that waits for answers. It is not sent. */
const WAITING: HandlerResult = { content: [] };

/** Runs the handler of a tool with the recorded steps and answers. Its open questions are those of the execution. */
export async function handle(
  execution: TaskExecution,
  call: Call,
  run: RunHandler,
  runtime: ServerRuntime,
): Promise<HandlerResult> {
  const { authored } = execution.journal;
  call.authoredState = authored?.state;
  call.inputResponses = authored?.answers as typeof call.inputResponses;
  try {
    return settle(execution, call, await run(askingThrough(execution, runtime)));
  } catch (failure) {
    return settleFailure(execution, call, failure);
  }
}

/** Returns the result of a handler that has failed, if it only waits for answers. Throws its error otherwise. */
export function settleFailure(execution: TaskExecution, call: Call, failure: unknown): HandlerResult {
  if (execution.broken !== undefined) throw toVisible(execution.broken);
  if (execution.questions.size > 0) return WAITING;
  if (isUrlElicitationRequired(failure)) return askAuthored(execution, call, toUrlRequests(failure));
  throw failure;
}

/** Returns the result of a handler that has returned, or asks the questions in it. */
export function settle(execution: TaskExecution, call: Call, result: HandlerResult): HandlerResult {
  if (execution.broken !== undefined) throw execution.broken;
  if (execution.questions.size > 0) return WAITING;
  if (!(result instanceof PreparedResult) && result.resultType === "input_required")
    return askAuthored(execution, call, result);
  if (!call.end.aborted) execution.assertComplete();
  return result;
}

/** Asks the questions that a handler has returned. */
function askAuthored(execution: TaskExecution, call: Call, result: Result): HandlerResult {
  const requests = authoredQuestions(call, result);
  if (Object.keys(requests).length === 0)
    throw new Error("inputRequired of a task needs inputRequests: a client does not repeat the call of a task");
  execution.authored = { state: result.requestState };
  for (const [key, request] of Object.entries(requests)) execution.open({ key, request, authored: true });
  return WAITING;
}

/** Codes of errors that the client of a failed task is told. */
const VISIBLE: ReadonlySet<string> = new Set(["definition_changed", "definition_error", "task_too_large"]);

function toVisible(error: Error): Error {
  if (!(error instanceof McpError) || !VISIBLE.has(error.code)) return error;
  return new RpcError(INTERNAL_ERROR, error.message, { code: error.code });
}

type Ended = Outcome & { readonly kind: "result" | "error" };

/** True if a run has ended with questions that wait for answers. */
export function isParked(outcome: Outcome, { questions }: Pick<TaskExecution, "questions">): boolean {
  return outcome.kind === "result" && questions.size > 0;
}

/**
 * Waits for the steps of a run that another run follows, so that their values are recorded before it begins. Resolves
 * with false if the run has lost its task meanwhile.
 */
export async function keepSteps(outcome: Outcome, execution: TaskExecution, end: AbortSwitch): Promise<boolean> {
  const isHandedOver = () => end.reason instanceof TaskHandedOver;
  if (!isParked(outcome, execution) && !(outcome.kind === "dropped" && isHandedOver())) return true;
  const lost = new Promise<void>((resolve) => {
    end.onAbort(() => {
      if (!isHandedOver()) resolve();
    });
  });
  await Promise.race([execution.run.settled(), lost]);
  return !end.aborted || isHandedOver();
}

/**
 * Stores the outcome of a run. If the engine refuses it, such as one that is too long for it, the task fails: another run
 * would have the same outcome.
 */
export async function conclude(
  task: Pick<HeldTask, "change" | "record">,
  outcome: Ended,
  execution: Pick<TaskExecution, "questions" | "authored">,
  { limits, report }: { readonly limits: TasksLimits; readonly report: (error: unknown) => void },
): Promise<"parked" | "ended"> {
  const conclusion = (record: TaskRecord) => concluded(record, outcome, execution, limits);
  try {
    await task.change(conclusion);
    return isParked(outcome, execution) ? "parked" : "ended";
  } catch (error) {
    if (!(error instanceof ClusterError) || error.failure !== "refused") throw error;
    report(error);
    const { length } = JSON.stringify(conclusion(task.record));
    const message = `The task has ${length} characters with its outcome, and the engine of the server refused to store it`;
    await task.change((record) => failedBy(record, "outcome_refused", message));
    return "ended";
  }
}

/** Returns the task after a run: with its outcome, or with the questions that wait for answers. */
function concluded(
  record: TaskRecord,
  outcome: Ended,
  execution: Pick<TaskExecution, "questions" | "authored">,
  limits: TasksLimits,
): TaskRecord {
  const { maxTaskChars, maxResultChars } = limits;
  if (isParked(outcome, execution)) {
    const waiting = parked(record, execution);
    const { length } = JSON.stringify(waiting);
    return length <= maxTaskChars ? waiting : tooLarge(record, "The task", length, "maxTaskChars", maxTaskChars);
  }
  if (outcome.kind === "error") return failed(record, outcome.error, maxResultChars);
  const { length } = outcome.result;
  if (length > maxResultChars) return tooLarge(record, "The result", length, "maxResultChars", maxResultChars);
  return ended(record, "completed", { result: JSON.parse(outcome.result) as JsonObject });
}

function parked(
  record: TaskRecord,
  { questions, authored }: Pick<TaskExecution, "questions" | "authored">,
): TaskRecord {
  let { journal } = record;
  const open = new Set<string>();
  for (const { key, request, within, authored: isAuthored } of questions.values()) {
    const text = isAuthored === true ? memberOf(journal.asked, key)?.text : JSON.stringify(request);
    journal = withQuestion(journal, { key, text, within });
    if (isAuthored !== true) open.add(key);
  }
  return {
    ...record,
    stage: "waiting",
    promoted: undefined,
    questions: Object.fromEntries(questions),
    journal: {
      ...journal,
      ...(authored !== undefined && { authored: { state: authored.state, answers: {} } }),
      answers: Object.fromEntries(Object.entries(journal.answers).filter(([key]) => !open.has(key))),
    },
  };
}

function failed(record: TaskRecord, { code, message, data }: RpcErrorObject, maxChars: number): TaskRecord {
  const error = { code, message, ...(data !== undefined && { data }) };
  const { length } = JSON.stringify(error);
  if (length > maxChars) return tooLarge(record, "The error", length, "maxResultChars", maxChars);
  return ended(record, "failed", { error, message: oneLine(message, MAX_MESSAGE_CHARS) });
}

function tooLarge(
  record: TaskRecord,
  noun: string,
  length: number,
  limit: keyof TasksLimits,
  most: number,
): TaskRecord {
  return failedBy(record, "task_too_large", `${noun} has ${length} characters, more than ${most} (limits.${limit})`);
}

function failedBy(record: TaskRecord, code: string, message: string): TaskRecord {
  return ended(record, "failed", { error: { code: INTERNAL_ERROR, message, data: { code } }, message });
}

/** Creates a tool call without a request: it has the data of its task, and its notifications go to `notify`. */
export function createTaskCall(
  record: TaskRecord,
  era: ServerEra,
  runner: HandlerRunner,
  notify: (method: string, params: Params | undefined) => void,
): Call {
  const { id, tool, caller } = record;
  const { principal, version, capabilities, info } = caller;
  const auth = caller.hadToken === true && isObject(caller.auth) ? toKeptAuth(caller.auth) : caller.auth;
  return new ServedCall({
    era,
    runner,
    session: undefined,
    id,
    method: "tools/call",
    params: {
      name: tool,
      ...(record.arguments !== undefined && { arguments: record.arguments }),
      ...(record.meta !== undefined && { _meta: record.meta }),
    },
    client: { version, capabilities, info },
    origin: { principal, auth },
    wire: {
      shared: false,
      notify: (_call, method, params) => notify(method, params),
      request: () => new Promise(() => {}),
    },
    progressToken: id,
    logLevel: () => "info",
  });
}

/** Text of the status for a notification of a handler, if it has any. */
export function statusText(method: string, params: Params | undefined): string | undefined {
  if (method === "notifications/message") return typeof params?.data === "string" ? params.data : undefined;
  if (method !== "notifications/progress") return undefined;
  const { progress, total, message } = params ?? {};
  if (typeof message === "string") return message;
  return total === undefined ? String(progress) : `${progress} of ${total}`;
}

/** Maximum number of characters of a status message. */
export const MAX_MESSAGE_CHARS = 1_000;

/** Stores the status messages of a running task, at most one per interval. Of the others, the latest is stored. */
export class StatusMessages {
  readonly #task: Pick<HeldTask, "change">;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onError: (error: unknown) => void;
  #timer: unknown;
  #next: string | undefined;
  #isStopped = false;

  constructor(task: Pick<HeldTask, "change">, clock: Clock, intervalMs: number, onError: (error: unknown) => void) {
    this.#task = task;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onError = onError;
  }

  show(text: string): void {
    if (this.#isStopped) return;
    this.#next = oneLine(text, MAX_MESSAGE_CHARS);
    if (this.#timer === undefined) this.#store();
  }

  /** Stores no more messages. */
  stop(): void {
    this.#isStopped = true;
    this.#clock.cancel(this.#timer);
  }

  #store(): void {
    const message = this.#next;
    this.#next = undefined;
    this.#timer = undefined;
    if (message === undefined) return;
    this.#timer = this.#clock.schedule(() => this.#store(), this.#intervalMs);
    this.#task.change((record) => ({ ...record, message })).catch(this.#onError);
  }
}
