import type { Call, Outcome, ServerEra, ServerRuntime } from "../../era/server-era.js";
import { McpError } from "../../protocol/errors.js";
import { type JournalKeeper, TaskExecution } from "./execution.js";
import { handle } from "./handle.js";
import { type HeldTask, TaskLost } from "./held-task.js";
import type { TasksLimits } from "./options.js";
import { conclude, keepSteps } from "./outcome.js";
import type { Journal } from "./record.js";
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
      (run) => handle(this.#execution, this.call, run, runtime),
      (method, params) => {
        const text = statusText(method, params);
        if (text !== undefined) this.#messages.show(text);
      },
    );
    this.call.key = task.record.idempotencyKey;
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

  /** Stores a change of the journal. Ends the run if the task is lost, so that no error reaches the handler's catch. */
  async keep(change: (journal: Journal) => Journal): Promise<void> {
    try {
      await this.#task.keep(change);
    } catch (error) {
      this.#lose(error);
      throw error instanceof TaskLost ? this.call.end.reason : error;
    }
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
