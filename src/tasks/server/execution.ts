import { pause } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import { missingCapability, undeclaredFor } from "../../era/capabilities.js";
import type { AskOptions, RequestStrategy } from "../../era/request-strategy.js";
import { DefinitionError, HandlerSuspended, McpError, toError } from "../../protocol/errors.js";
import type { ClientCapabilities, InputRequest } from "../../protocol/types/index.js";
import type { Journal, OpenQuestion } from "./record.js";
import { isWaiting, toFailure, toThrown } from "./step-failure.js";

/** Thrown into a handler at a question without an answer. The handler stops and runs again when it is answered. */
export class TaskSuspended extends HandlerSuspended {
  override readonly name = "TaskSuspended";
}

/** Place in which an execution keeps its journal. */
export interface JournalKeeper {
  readonly journal: Journal;
  /** Changes the journal. Resolves when the change is stored. */
  keep(change: (journal: Journal) => Journal): Promise<void>;
}

export interface ExecutionOptions {
  readonly keeper: JournalKeeper;
  readonly capabilities: ClientCapabilities;
  readonly clock: Clock;
  readonly replayMs: number;
  /** Aborts when the run ends. */
  readonly signal: () => AbortSignal;
}

/**
 * One run of a task's handler. Recorded steps and answers settle at once. New steps are recorded before and after they
 * run. The first questions without an answer end the run.
 */
export class TaskExecution implements RequestStrategy, JournalKeeper {
  readonly #options: ExecutionOptions;
  /** Recorded steps and questions that the handler has not asked for in this run, with the number of times. */
  readonly #expected: Map<string, number>;
  /** Number of failures of each step that the handler has been told in this run. */
  readonly #failures = new Map<string, number>();
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #used = new Set<string>();
  readonly #questions = new Map<string, OpenQuestion>();
  #onReplayed: (() => void)[] = [];
  #count = 0;
  /** State of the handler with questions that it has returned. */
  authored: { readonly state: unknown } | undefined;
  /** Mistake of the handler. It takes precedence over its outcome. */
  broken: Error | undefined;

  constructor(options: ExecutionOptions) {
    this.#options = options;
    const { steps, begun, failed = {}, answers } = options.keeper.journal;
    const recorded = [
      ...Object.entries(failed).flatMap(([name, failures]) => failures.map(() => `step ${name}`)),
      ...[...new Set([...Object.keys(steps), ...begun])].map((name) => `step ${name}`),
      ...Object.keys(answers).map((key) => `question ${key}`),
    ];
    this.#expected = new Map();
    for (const what of recorded) this.#expected.set(what, (this.#expected.get(what) ?? 0) + 1);
  }

  get journal(): Journal {
    return this.#options.keeper.journal;
  }

  keep(change: (journal: Journal) => Journal): Promise<void> {
    return this.#options.keeper.keep(change);
  }

  /** Open questions of this run by their keys on the wire. */
  get questions(): ReadonlyMap<string, OpenQuestion> {
    return this.#questions;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const missing = undeclaredFor(request, this.#options.capabilities);
    if (missing !== undefined) throw missingCapability(missing);
    const key = this.keyOf(options);
    const { asked, answers } = this.journal;
    const text = JSON.stringify(request);
    const before = Object.hasOwn(asked, key) ? asked[key] : undefined;
    this.#found(`question ${key}`);
    if (before?.text === text && Object.hasOwn(answers, key)) {
      const problem = options.check?.(answers[key]);
      if ((problem instanceof Promise ? await problem : problem) === undefined) return answers[key];
    }
    if (before === undefined) await this.#replayed();
    this.open({ key, request });
    throw new TaskSuspended(`the question "${key}" waits for an answer of the client`);
  }

  /** Returns the key of a new question of the handler. */
  protected keyOf({ key = `ask-${++this.#count}` }: AskOptions): string {
    if (this.#used.has(key))
      throw this.#break(new DefinitionError(`two questions have the key "${key}"; give each its own`));
    this.#used.add(key);
    return key;
  }

  /** Adds a question that waits for an answer. Its key on the wire is new each time. */
  open(question: OpenQuestion): void {
    const { key } = question;
    const { asked } = this.journal;
    const times = (Object.hasOwn(asked, key) ? (asked[key]?.times ?? 0) : 0) + 1;
    this.#questions.set(wireKeyOf(key, times), question);
  }

  push(method: string): Promise<never> {
    return Promise.reject(
      new McpError("no_server_requests", `${method} was not sent: a task has no connection to the client`),
    );
  }

  /** Each time that a handler asks for a step it gets the next recorded outcome. Without one, the work runs. */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const underWay = this.#running.get(name);
    if (underWay !== undefined) return underWay as Promise<T>;
    const running = this.#outcome(name, work);
    this.#running.set(name, running);
    try {
      return await running;
    } finally {
      this.#running.delete(name);
    }
  }

  /** Resolves when no step is running. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  /** Throws if the handler has ended without asking for all that is recorded. */
  assertComplete(): void {
    if (this.#expected.size > 0) throw this.#break(this.#changed());
  }

  async #outcome<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const isRecorded = this.#found(`step ${name}`);
    const { steps } = this.journal;
    const failure = failuresOf(this.journal, name)[this.#failures.get(name) ?? 0];
    if (failure !== undefined) {
      this.#countFailure(name);
      throw toThrown(failure);
    }
    if (Object.hasOwn(steps, name)) return steps[name] as T;
    // A step that had begun is not new.
    if (!isRecorded) await this.#replayed();
    return this.#run(name, work);
  }

  async #run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.#questions.size > 0) throw new TaskSuspended(`the step "${name}" waits for an answer of the client`);
    await this.#record((journal) => ({ ...journal, begun: [...others(journal, name), name] }));
    // Another run may have done the step since.
    const signal = this.#options.signal();
    if (signal.aborted) throw signal.reason;
    let value: T;
    try {
      value = await work();
    } catch (error) {
      // The end of the run says nothing about the step, which runs again.
      if (!signal.aborted && !isWaiting(error)) await this.#recordFailure(name, error);
      throw error;
    }
    await this.#record((journal) => ({
      ...journal,
      begun: others(journal, name),
      steps: { ...journal.steps, [name]: value === undefined ? null : value },
    }));
    return value;
  }

  async #recordFailure(name: string, error: unknown): Promise<void> {
    this.#countFailure(name);
    await this.#record((journal) => ({
      ...journal,
      begun: others(journal, name),
      failed: { ...journal.failed, [name]: [...failuresOf(journal, name), toFailure(error)] },
    }));
  }

  #countFailure(name: string): void {
    this.#failures.set(name, (this.#failures.get(name) ?? 0) + 1);
  }

  /** Changes the journal. A journal that cannot be kept ends the task, so that no handler continues without it. */
  async #record(change: (journal: Journal) => Journal): Promise<void> {
    try {
      await this.keep(change);
    } catch (error) {
      throw this.#break(toError(error));
    }
  }

  /** Notes that the handler has asked for something. Returns false if nothing more of it is recorded. */
  #found(what: string): boolean {
    const times = this.#expected.get(what);
    if (times === undefined) return false;
    if (times > 1) this.#expected.set(what, times - 1);
    else this.#expected.delete(what);
    if (this.#expected.size === 0) for (const replayed of this.#onReplayed.splice(0)) replayed();
    return true;
  }

  /**
   * Waits until the handler has asked for all that is recorded. Handlers ask for it first, unless their code was changed
   * or several of their parts run side by side.
   */
  async #replayed(): Promise<void> {
    if (this.#expected.size === 0) return;
    const { clock, replayMs, signal } = this.#options;
    const replayed = new AbortController();
    this.#onReplayed.push(() => replayed.abort());
    await pause(clock, replayMs, AbortSignal.any([replayed.signal, signal()]));
    if (signal().aborted) throw signal().reason;
    if (this.#expected.size > 0) throw this.#break(this.#changed());
  }

  #changed(): McpError {
    const [first] = this.#expected.keys();
    return new McpError(
      "definition_changed",
      `The task cannot continue: its tool did not ask again for the ${first}, which is recorded. ` +
        "The tool was changed while the task was under way; keep the order and names of steps and questions",
    );
  }

  #break(error: Error): Error {
    this.broken ??= error;
    return error;
  }
}

const others = ({ begun }: Journal, name: string) => begun.filter((other) => other !== name);

const failuresOf = ({ failed = {} }: Journal, name: string) =>
  (Object.hasOwn(failed, name) ? failed[name] : undefined) ?? [];

/** Returns the key on the wire, which is new each time that a question is asked and differs from all other keys. */
function wireKeyOf(key: string, times: number): string {
  return times === 1 && !/\.\d+$/.test(key) ? key : `${key}.${times}`;
}
