import type { Lease } from "../../cluster/cluster.js";
import type {
  AskOptions,
  ClientRequests,
  ClientRequestsOpener,
  RecordedProgress,
  RequestStrategy,
} from "../../era/request-strategy.js";
import { ServedCall } from "../../era/served-call.js";
import type { Call, HandlerResult, Outcome, Result, RunHandler } from "../../era/server-era.js";
import { HandlerSuspended } from "../../protocol/errors.js";
import type { InputRequest } from "../../protocol/types/index.js";
import { askingThrough } from "../../server/asking-through.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { toOutcome } from "../../server/serve-call.js";
import { type ExecutionOptions, type JournalKeeper, TaskExecution } from "./execution.js";
import { settle, settleFailure } from "./handle.js";
import { type HeldTask, TaskLost } from "./held-task.js";
import type { TasksLimits } from "./options.js";
import { conclude, keepSteps } from "./outcome.js";
import { type Journal, NO_JOURNAL, type TaskRecord } from "./record.js";
import { TaskHandedOver } from "./running-tasks.js";
import { StatusMessages } from "./status-messages.js";
import { statusText } from "./task-call.js";

/** Task that was created for a call in progress. */
export interface PromotedTask {
  readonly held: HeldTask;
  /** Lease that shows other processes that this one is alive. */
  readonly lease: Lease;
  /** Called when its run has ended. */
  readonly leave: () => void;
}

export interface PromotionOptions {
  readonly host: ExtensionHost;
  readonly limits: TasksLimits;
  readonly afterMs: number;
  /** Creates the task. Returns undefined if there are too many; the call then continues in its request. */
  readonly create: (journal: Journal, idempotencyKey: string) => Promise<PromotedTask | undefined>;
  /** Returns the result that tells the client of the task. */
  readonly show: (record: TaskRecord) => Result;
  /** Called when the task exists. Returns a function that is called when its run has ended. */
  readonly onRun: (record: TaskRecord, call: Call) => () => void;
  /** Cancels a task whose client has gone before it was told of it. */
  readonly cancel: (record: TaskRecord) => Promise<unknown>;
  /** Leaves a task to other processes. */
  readonly handOver: (held: HeldTask) => Promise<void>;
}

/**
 * Execution that begins in a request: until it is promoted, the era asks its questions. The era keeps its steps to the
 * end, since it knows those of earlier rounds, and those that an earlier attempt at this round has begun.
 */
class PromotableExecution extends TaskExecution {
  /** Strategy of the era, from the first question or step. */
  era: RequestStrategy | undefined;
  /** Questions that the era is asking. */
  readonly asking = new Set<Promise<unknown>>();
  /** Resolves when it is decided whether the call is promoted. */
  promoting: Promise<unknown> | undefined;
  isPromoted = false;
  /** True if the call waits for answers in a later request, so that it is not promoted. */
  isSuspended = false;

  override async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    if (this.promoting !== undefined) await this.promoting;
    if (this.era === undefined || this.isPromoted) return super.ask(request, options);
    const key = this.keyOf(options);
    const asking = this.era.ask(request, { ...options, key });
    this.asking.add(asking);
    let answer: unknown;
    try {
      answer = await asking;
    } catch (error) {
      this.isSuspended ||= error instanceof HandlerSuspended;
      throw error;
    } finally {
      this.asking.delete(asking);
    }
    const asked = { text: JSON.stringify(request), times: 1 };
    await this.keep((journal) => ({
      ...journal,
      asked: { ...journal.asked, [key]: asked },
      answers: { ...journal.answers, [key]: answer },
    }));
    return answer;
  }

  override async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.promoting !== undefined) await this.promoting;
    if (this.era === undefined) return super.step(name, work);
    const value = await this.era.step(name, () => super.step(name, work));
    // A step of an earlier round or attempt is known to the era alone.
    if (!Object.hasOwn(this.journal.steps, name))
      await this.keep((journal) => ({ ...journal, steps: { ...journal.steps, [name]: value ?? null } }));
    return value;
  }
}

/** Sign that the time of a call in its request is over. */
const DUE = Symbol("due");

/** Call that becomes a task if it does not end in time. */
export class Promotion implements JournalKeeper {
  readonly #call: Call;
  readonly #options: PromotionOptions;
  readonly #own: Call;
  readonly #execution: PromotableExecution;
  /** Resolves with the requests of the era when the handler begins. Another call may run the round in its place. */
  readonly #begun: Promise<ClientRequestsOpener>;
  #begin: (asking: ClientRequestsOpener) => void = () => {};
  #onPromoted: () => void = () => {};
  #journal: Journal = NO_JOURNAL;
  #handled: Promise<HandlerResult> | undefined;
  #task: Promise<PromotedTask | undefined> | undefined;
  #promoted: PromotedTask | undefined;
  #messages: StatusMessages | undefined;

  constructor(call: Call, options: PromotionOptions) {
    this.#call = call;
    this.#options = options;
    this.#own = this.#createCall(call);
    const execution: ExecutionOptions = {
      keeper: this,
      capabilities: call.client.capabilities,
      clock: options.host.clock,
      replayMs: options.limits.replayMs,
      signal: () => this.#own.end.signal,
    };
    this.#execution = new PromotableExecution(execution);
    this.#begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
  }

  get journal(): Journal {
    return this.#promoted?.held.journal ?? this.#journal;
  }

  async keep(change: (journal: Journal) => Journal): Promise<void> {
    const task = this.#task === undefined ? undefined : await this.#task;
    if (task === undefined) this.#journal = change(this.#journal);
    else await task.held.keep(change).catch((error) => this.#lose(error));
  }

  /** Runs the call. Resolves with its result, or with the result that tells of the task that it has become. */
  async run(next: (call: Call) => Promise<Result>): Promise<Result> {
    const { host, afterMs, show } = this.#options;
    const abort = (reason: unknown) => {
      if (this.#task === undefined) this.#own.end.abort(reason);
    };
    this.#call.end.onAbort(abort);
    const running = next(this.#own);
    let timer: unknown;
    const due = new Promise((resolve) => {
      timer = host.clock.schedule(() => resolve(undefined), afterMs);
    });
    try {
      const result = await this.#resultBefore(due, running);
      if (result !== DUE) return result;
      const task = this.#execution.isSuspended ? undefined : await this.#promote();
      if (task === undefined) return await running;
      void this.#finish(task, running);
      await this.#assertWanted(task.held.record);
      return show(task.held.record);
    } finally {
      host.clock.cancel(timer);
      this.#call.end.offAbort(abort);
      if (this.#promoted === undefined) this.#own.close();
    }
  }

  /** Returns the result of a call, or `DUE` if its handler still runs. */
  async #resultBefore(due: Promise<unknown>, running: Promise<Result>): Promise<Result | typeof DUE> {
    const { asking } = this.#execution;
    let waiting: Promise<unknown> = Promise.all([due, this.#begun]);
    for (;;) {
      const result = await Promise.race([running, waiting.then(() => DUE)]);
      // A question that is open suspends the call, so it is decided first.
      if (result !== DUE || asking.size === 0) return result as Result | typeof DUE;
      waiting = Promise.allSettled(asking);
    }
  }

  /** Cancels the task if the request was cancelled while it was created. */
  async #assertWanted(record: TaskRecord): Promise<void> {
    const { end } = this.#call;
    if (!end.aborted) return;
    await this.#options.cancel(record);
    throw end.reason;
  }

  async #promote(): Promise<PromotedTask | undefined> {
    const { limits, host } = this.#options;
    this.#task = this.#create();
    this.#execution.promoting = this.#task;
    try {
      const task = await this.#task;
      // The round of a call that was cancelled may be run again.
      if (this.#call.end.aborted) this.#own.end.abort(this.#call.end.reason);
      if (task === undefined) {
        this.#task = undefined;
        this.#execution.promoting = undefined;
        return undefined;
      }
      const onError = (error: unknown) => void this.#lose(error).catch(() => {});
      this.#messages = new StatusMessages(task.held, host.clock, limits.statusIntervalMs, onError);
      this.#promoted = task;
      this.#execution.isPromoted = true;
      this.#onPromoted();
      return task;
    } catch (error) {
      this.#own.end.abort(error);
      throw error;
    }
  }

  /** Creates the task, with all that earlier rounds of the call have recorded. */
  async #create(): Promise<PromotedTask | undefined> {
    const { strategy } = await (await this.#begun).open();
    if (strategy.recorded !== undefined) this.#journal = withRecorded(this.#journal, strategy.recorded, this.#own);
    return this.#options.create(this.#journal, this.#own.idempotencyKey);
  }

  /** Stores the outcome of the task. */
  async #finish({ held, lease, leave }: PromotedTask, running: Promise<HandlerResult>): Promise<void> {
    const { host, limits, onRun, handOver } = this.#options;
    const { end } = this.#own;
    const report = (error: unknown) => host.report(error, { where: "task", id: held.record.id });
    const onLost = () => end.abort(lease.lost.reason);
    if (lease.lost.aborted) onLost();
    lease.lost.addEventListener("abort", onLost, { once: true });
    const onEnd = onRun(held.record, this.#own);
    try {
      const outcome = await this.#outcome(running);
      this.#messages?.stop();
      if (!(await keepSteps(outcome, this.#execution, end))) return;
      if (outcome.kind !== "dropped") await conclude(held, outcome, this.#execution, { limits, report });
      else if (end.reason instanceof TaskHandedOver) await handOver(held);
    } catch (error) {
      if (!(error instanceof TaskLost)) report(error);
    } finally {
      this.#own.close();
      lease.lost.removeEventListener("abort", onLost);
      held.release();
      await (async () => lease.release())().catch(report);
      onEnd();
      leave();
    }
  }

  async #outcome(running: Promise<HandlerResult>): Promise<Outcome> {
    const { host } = this.#options;
    const call = this.#own;
    try {
      const result = await running;
      if (call.end.aborted) return { kind: "dropped" };
      return { kind: "result", result: call.era.encode(call, result, host) };
    } catch (error) {
      return toOutcome(host, call, error);
    }
  }

  async #lose(error: unknown): Promise<never> {
    if (!(error instanceof TaskLost)) throw error;
    this.#own.end.abort(error);
    throw this.#own.end.reason;
  }

  /** Creates the call that runs. It is that of the request until the promotion, and outlives the request then. */
  #createCall(call: Call): Call {
    const { session, id, method, params, client, origin, era, wire } = call;
    const own = new ServedCall({
      era: {
        ...era,
        runHandler: (own, runtime, run) =>
          this.#outlive(async () => era.runHandler(own, runtime, (asking) => this.#handleInRound(asking, run))),
      },
      session,
      id,
      method,
      params,
      client,
      origin,
      wire: {
        ...wire,
        shared: wire.shared,
        notify: (_own, name, values) => {
          const text = this.#promoted === undefined ? undefined : statusText(name, values);
          if (text !== undefined) this.#messages?.show(text);
          const isWanted = name !== "notifications/progress" || call.progressToken !== undefined;
          if (this.#task === undefined && isWanted) return call.notify(name, values);
        },
        request: (_own, ...request) => wire.request(call, ...request),
      },
      progressToken: call.progressToken ?? id,
      logLevel: () => (this.#promoted === undefined ? call.logLevel() : "info"),
    });
    own.sealsState = call.sealsState;
    own.key = call.key;
    return own;
  }

  /**
   * Returns the result of the round of the era, or, if the call was promoted in this round, that of the handler, which
   * continues after the round.
   */
  async #outlive(runRound: () => Promise<HandlerResult>): Promise<HandlerResult> {
    try {
      const result = await runRound();
      if (this.#promoted === undefined) return result;
    } catch (error) {
      if (this.#promoted === undefined) throw error;
    }
    return this.#handled as Promise<HandlerResult>;
  }

  /** Runs the handler until it ends or is promoted. The task is the result of the round then: a repeated request gets it. */
  async #handleInRound(asking: ClientRequestsOpener, run: RunHandler): Promise<HandlerResult> {
    const promoted = new Promise<void>((resolve) => {
      this.#onPromoted = resolve;
    });
    const handled = this.#handle(asking, run);
    this.#handled = handled;
    this.#begin(asking);
    await Promise.race([promoted, handled.catch(() => {})]);
    return this.#promoted === undefined ? handled : this.#options.show(this.#promoted.held.record);
  }

  /** Runs the handler with the requests of the era, which change at the promotion. */
  async #handle(asking: ClientRequestsOpener, run: RunHandler): Promise<HandlerResult> {
    const own = askingThrough(this.#execution, this.#options.host);
    let requests: Promise<ClientRequests> | undefined;
    const open = async (): Promise<ClientRequests> => {
      this.#execution.era = (await asking.open()).strategy;
      return own.open();
    };
    const opener = {
      open: () => {
        requests ??= open();
        return requests;
      },
    };
    try {
      const result = await run(opener);
      await this.#decided();
      return this.#promoted === undefined ? result : settle(this.#execution, this.#own, result);
    } catch (error) {
      await this.#decided();
      if (this.#promoted === undefined) throw error;
      return settleFailure(this.#execution, this.#own, error);
    }
  }

  /** Resolves when no promotion is under way. */
  async #decided(): Promise<void> {
    await this.#task?.catch(() => {});
  }
}

/** Returns the journal with the progress that an era has recorded, also in earlier requests of the call. */
function withRecorded(journal: Journal, { steps, asked, answers }: RecordedProgress, call: Call): Journal {
  const texts = Object.entries(asked).map(([key, text]) => [key, { text, times: 1 }] as const);
  const authored = Object.entries(call.inputResponses ?? {}).filter(([key]) => !Object.hasOwn(asked, key));
  const state = call.authoredState;
  return {
    ...journal,
    steps: { ...steps, ...journal.steps },
    asked: { ...Object.fromEntries(texts), ...journal.asked },
    answers: { ...answers, ...journal.answers },
    ...((state !== undefined || authored.length > 0) && {
      authored: { state, answers: Object.fromEntries(authored) },
    }),
  };
}
