import { isUrlElicitationRequired } from "../../era/request-strategy.js";
import {
  type Call,
  type HandlerResult,
  type Outcome,
  PreparedResult,
  type RunHandler,
  type ServerEra,
  type ServerRuntime,
} from "../../era/server-era.js";
import { McpError, RpcError, type UrlElicitationRequiredError } from "../../protocol/errors.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { InputRequests, JsonObject } from "../../protocol/types/index.js";
import { assertQuestions } from "../../schema/input-rules.js";
import { askingThrough } from "../../server/detach-call.js";
import { type JournalKeeper, TaskExecution } from "./execution.js";
import { type HeldTask, TaskLost } from "./held-task.js";
import type { TasksLimits } from "./options.js";
import { ended, type Journal, type OpenQuestion, type TaskRecord } from "./record.js";
import { StatusMessages } from "./status-messages.js";
import { createTaskCall, statusText } from "./task-call.js";

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

const NOTHING: HandlerResult = { content: [] };

/** Run of a task: calls the tool once, with the steps and answers that are recorded. */
export class TaskRun implements JournalKeeper {
  readonly call: Call;
  readonly #task: HeldTask;
  readonly #options: RunOptions;
  readonly #execution: TaskExecution;
  readonly #messages: StatusMessages;

  constructor(task: HeldTask, options: RunOptions) {
    const { runtime, limits, era } = options;
    this.#task = task;
    this.#options = options;
    this.#messages = new StatusMessages(task, runtime.clock, limits.statusIntervalMs, (error) => this.#lose(error));
    this.call = createTaskCall(
      task.record,
      era,
      (run) => this.#handle(run),
      (method, params) => {
        const text = statusText(method, params);
        if (text !== undefined) this.#messages.show(text);
      },
    );
    this.call.idempotencyKey = task.record.idempotencyKey;
    this.#execution = new TaskExecution({
      keeper: this,
      capabilities: task.record.caller.capabilities,
      clock: runtime.clock,
      replayMs: limits.replayMs,
      signal: () => this.call.end.signal,
    });
  }

  get journal(): Journal {
    return this.#task.journal;
  }

  /** Runs the tool, and stores its outcome or its questions. */
  async run(): Promise<RunEnd> {
    const outcome = await this.#options.runtime.run(this.call);
    this.#messages.stop();
    await this.#execution.settled();
    try {
      return await this.#store(outcome);
    } catch (error) {
      if (error instanceof TaskLost) return "lost";
      throw error;
    }
  }

  /** Stores a change of the journal. Ends the run if the task is lost, so that no error reaches the handler's catch. */
  async keep(change: (journal: Journal) => Journal): Promise<void> {
    const { maxTaskChars } = this.#options.limits;
    try {
      await this.#task.keep((journal) => {
        const changed = change(journal);
        const length = JSON.stringify(changed).length;
        if (length > maxTaskChars)
          throw new McpError(
            "task_too_large",
            `The steps and answers of the task have ${length} characters, more than ${maxTaskChars} (limits.maxTaskChars)`,
          );
        return changed;
      });
    } catch (error) {
      this.#lose(error);
      throw error;
    }
  }

  #lose(error: unknown): void {
    if (error instanceof TaskLost) this.call.end.abort(error);
    else if (!(error instanceof McpError))
      this.#options.runtime.report(error, { where: "task", id: this.#task.record.id });
  }

  async #store(outcome: Outcome): Promise<RunEnd> {
    if (outcome.kind === "dropped") return "lost";
    if (outcome.kind === "error" && outcome.busy !== undefined) return "busy";
    const { questions } = this.#execution;
    const { maxResultChars } = this.#options.limits;
    const isParked = outcome.kind === "result" && questions.size > 0;
    await this.#task.change((record) =>
      isParked ? parked(record, questions) : settled(record, outcome, maxResultChars),
    );
    return isParked ? "parked" : "ended";
  }

  /** Runs the handler of the tool in place of the era. */
  async #handle(run: RunHandler): Promise<HandlerResult> {
    const { authored } = this.journal;
    const { call } = this;
    call.authoredState = authored?.state;
    call.inputResponses = authored?.answers as typeof call.inputResponses;
    const execution = this.#execution;
    let result: HandlerResult | undefined;
    let failure: unknown;
    try {
      result = await run(askingThrough(execution, this.#options.runtime));
    } catch (error) {
      failure = error;
    }
    if (execution.broken !== undefined) throw toRpcError(execution.broken);
    if (execution.questions.size > 0) return NOTHING;
    if (isUrlElicitationRequired(failure)) result = toUrlRequests(failure);
    else if (failure !== undefined) throw failure;
    if (result === undefined || result instanceof PreparedResult || result.resultType !== "input_required") {
      if (!call.end.aborted) execution.assertComplete();
      return result as HandlerResult;
    }
    return this.#askAuthored(result);
  }

  /** Asks the questions of a handler that has returned them. */
  async #askAuthored(result: { readonly [key: string]: unknown }): Promise<HandlerResult> {
    const requests = (result.inputRequests ?? {}) as InputRequests;
    assertQuestions(requests);
    await this.keep((journal) => ({ ...journal, authored: { state: result.requestState, answers: {} } }));
    for (const [key, request] of Object.entries(requests)) this.#execution.open({ key, request, authored: true });
    if (this.#execution.questions.size === 0)
      throw new Error("inputRequired of a task needs inputRequests: a client does not repeat the call of a task");
    return NOTHING;
  }
}

function toRpcError(error: Error): RpcError {
  return new RpcError(INTERNAL_ERROR, error.message, error instanceof McpError ? { code: error.code } : undefined);
}

/** Converts the error of a handler whose user must visit URLs first to questions. */
function toUrlRequests({ elicitations }: UrlElicitationRequiredError) {
  const requests = elicitations.map(
    ({ elicitationId, message, url }) =>
      [elicitationId, { method: "elicitation/create", params: { mode: "url", message, url } }] as const,
  );
  return { resultType: "input_required", inputRequests: Object.fromEntries(requests) };
}

/** Returns the task with questions that wait for answers. */
function parked(record: TaskRecord, questions: ReadonlyMap<string, OpenQuestion>): TaskRecord {
  const { asked, answers, ...journal } = record.journal;
  const keys = new Set([...questions.values()].map(({ key }) => key));
  const again = [...questions.values()].map(({ key, request }) => {
    const times = (Object.hasOwn(asked, key) ? (asked[key]?.times ?? 0) : 0) + 1;
    return [key, { text: JSON.stringify(request), times }] as const;
  });
  return {
    ...record,
    stage: "waiting",
    questions: Object.fromEntries(questions),
    journal: {
      ...journal,
      asked: { ...asked, ...Object.fromEntries(again) },
      answers: Object.fromEntries(Object.entries(answers).filter(([key]) => !keys.has(key))),
    },
  };
}

/** Returns the task with the outcome of its call. */
function settled(record: TaskRecord, outcome: Outcome & { kind: "result" | "error" }, maxChars: number): TaskRecord {
  if (outcome.kind === "error") {
    const { code, message, data } = outcome.error;
    return ended(record, "failed", { error: { code, message, ...(data !== undefined && { data }) }, message });
  }
  if (outcome.result.length <= maxChars)
    return ended(record, "completed", { result: JSON.parse(outcome.result) as JsonObject });
  const message = `The result has ${outcome.result.length} characters, more than ${maxChars} (limits.maxResultChars)`;
  return ended(record, "failed", { error: { code: INTERNAL_ERROR, message }, message });
}
