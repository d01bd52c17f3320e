import type { AbortSwitch } from "../../call/abort-switch.js";
import { pause } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import { missingCapability, undeclaredFor } from "../../era/capabilities.js";
import type { AskOptions, RequestStrategy } from "../../era/request-strategy.js";
import { type Journal, type JournalChange, memberOf } from "../../journal/journal.js";
import { type JournalHost, type JournalKeeper, JournalRun } from "../../journal/run.js";
import { HandlerSuspended, McpError } from "../../protocol/errors.js";
import type { ClientCapabilities, InputRequest } from "../../protocol/types/index.js";
import type { OpenQuestion } from "./record.js";

/** Thrown into a handler at a question without an answer. The handler stops and runs again when it is answered. */
export class TaskSuspended extends HandlerSuspended {
  override readonly name = "TaskSuspended";
}

export interface ExecutionOptions {
  readonly keeper: JournalKeeper;
  /** Returns what the handler gets for a change that was not stored. */
  readonly onUnkept?: ((error: unknown) => unknown) | undefined;
  readonly capabilities: ClientCapabilities;
  readonly clock: Clock;
  readonly replayMs: number;
  /** End of the run. */
  readonly end: AbortSwitch;
  /** Run of the handler that began in a request. Without it the execution begins one. */
  readonly run?: JournalRun | undefined;
}

/**
 * Execution of a task's handler. New steps are recorded before and after they run, and wait until the handler has asked for
 * all that is recorded. The first questions without an answer end the run.
 */
export class TaskExecution implements RequestStrategy, JournalHost {
  readonly run: JournalRun;
  readonly end: AbortSwitch;
  readonly #options: ExecutionOptions;
  readonly #questions = new Map<string, OpenQuestion>();
  /** State of the handler with questions that it has returned. */
  authored: { readonly state: unknown } | undefined;
  /** Mistake of the handler. It takes precedence over its outcome. */
  broken: Error | undefined;

  constructor(options: ExecutionOptions) {
    this.#options = options;
    this.end = options.end;
    this.run = options.run ?? new JournalRun(this);
  }

  get journal(): Journal {
    return this.#options.keeper.journal;
  }

  async keep(change: JournalChange): Promise<void> {
    const { keeper, onUnkept } = this.#options;
    try {
      await keeper.keep(change);
    } catch (error) {
      throw onUnkept === undefined ? error : onUnkept(error);
    }
  }

  /** Open questions of this run by their keys on the wire. */
  get questions(): ReadonlyMap<string, OpenQuestion> {
    return this.#questions;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const missing = undeclaredFor(request, this.#options.capabilities);
    if (missing !== undefined) throw missingCapability(missing);
    const { key, isNew, answer, within } = this.run.question(JSON.stringify(request), options.key);
    if (answer !== undefined) {
      const problem = options.check?.(answer);
      if ((problem instanceof Promise ? await problem : problem) === undefined) return answer;
    }
    if (isNew) await this.#replayed();
    this.open({ key, request, within });
    throw new TaskSuspended(`the question "${key}" waits for an answer of the client`);
  }

  /** Adds a question that waits for an answer. Its key on the wire is new each time. */
  open(question: OpenQuestion): void {
    const { key } = question;
    this.#questions.set(wireKeyOf(key, (memberOf(this.journal.asked, key)?.times ?? 0) + 1), question);
  }

  push(method: string): Promise<never> {
    return Promise.reject(
      new McpError("no_server_requests", `${method} was not sent: a task has no connection to the client`),
    );
  }

  /** A step that an earlier run began is not new. */
  async allow(step: string, isRecorded: boolean): Promise<void> {
    if (!isRecorded) await this.#replayed();
    if (this.#questions.size > 0) throw new TaskSuspended(`the step "${step}" waits for an answer of the client`);
  }

  onBroken(error: Error): void {
    this.broken ??= error;
  }

  /** Throws if the handler has ended without asking for all that is recorded. */
  assertComplete(): void {
    const { missing } = this.run;
    if (missing === undefined) return;
    const changed = new McpError(
      "definition_changed",
      `The task cannot continue: its tool did not ask again for the ${missing}, which is recorded. ` +
        "The tool was changed while the task was under way; keep the order and names of steps and questions",
    );
    this.onBroken(changed);
    throw changed;
  }

  /**
   * Waits until the handler has asked for all that is recorded. Handlers ask for it first, unless their code was changed
   * or several of their parts run side by side.
   */
  async #replayed(): Promise<void> {
    if (this.run.missing === undefined) return;
    const { clock, replayMs } = this.#options;
    const replayed = new AbortController();
    this.run.onReplayed(() => replayed.abort());
    await pause(clock, replayMs, AbortSignal.any([replayed.signal, this.end.signal]));
    this.end.throwIfAborted();
    this.assertComplete();
  }
}

/** Returns the key on the wire, which is new each time that a question is asked and differs from all other keys. */
function wireKeyOf(key: string, times: number): string {
  return times === 1 && !/\.\d+$/.test(key) ? key : `${key}.${times}`;
}
