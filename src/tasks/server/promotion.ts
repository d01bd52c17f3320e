import type { AbortSwitch } from "../../call/abort-switch.js";
import type { Lease } from "../../cluster/cluster.js";
import type { AskOptions, ClientRequests, ClientRequestsOpener, RequestStrategy } from "../../era/request-strategy.js";
import { ServedCall } from "../../era/served-call.js";
import type { Call, HandlerResult, Outcome, Result, RunHandler } from "../../era/server-era.js";
import { type Journal, type JournalChange, memberOf } from "../../journal/journal.js";
import type { JournalHost, JournalRun } from "../../journal/run.js";
import { HandlerSuspended } from "../../protocol/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import { inputShapes } from "../../protocol/shapes/input.js";
import type { InputRequest } from "../../protocol/types/index.js";
import { askingThrough } from "../../server/asking-through.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { toOutcome } from "../../server/serve-call.js";
import { TaskExecution } from "./execution.js";
import type { TasksLimits } from "./options.js";
import type { TaskRecord } from "./record.js";
import { conclude, keepSteps, StatusMessages, settle, settleFailure, statusText } from "./run.js";
import { type HeldTask, TaskHandedOver, TaskLost } from "./store.js";

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

/** Strategy of a call that may become a task: that of its era, and later that of the task, with one run of the handler. */
class PromotableStrategy implements RequestStrategy {
  readonly era: RequestStrategy;
  readonly #task: () => Promise<RequestStrategy | undefined>;
  /** Questions that the era is asking. */
  readonly asking = new Set<Promise<unknown>>();
  /** True if the call waits for answers in a later request, so that it is not promoted. */
  isSuspended = false;

  /** `task` returns the strategy of the task, once it is decided whether the call is promoted. */
  constructor(era: RequestStrategy, task: () => Promise<RequestStrategy | undefined>) {
    this.era = era;
    this.#task = task;
  }

  get run(): JournalRun {
    return this.era.run;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const task = await this.#task();
    if (task !== undefined) return task.ask(request, options);
    const asking = this.era.ask(request, options);
    this.asking.add(asking);
    try {
      return await asking;
    } catch (error) {
      this.isSuspended ||= error instanceof HandlerSuspended;
      throw error;
    } finally {
      this.asking.delete(asking);
    }
  }

  async push(
    method: string,
    params: Params | undefined,
    options: AskOptions,
  ): Promise<{ readonly [key: string]: unknown }> {
    return ((await this.#task()) ?? this.era).push(method, params, options);
  }
}

/** Sign that the time of a call in its request is over. */
const DUE = Symbol("due");

/** Handler of a call that may become a task, from its first question or step. */
interface Begun {
  readonly strategy: PromotableStrategy;
  /** Host of the journal while the call is in its request. */
  readonly host: JournalHost;
  readonly execution: TaskExecution;
}

/**
 * Call that becomes a task if it does not end in time. It is the host of the journal, which is that of the round before the
 * promotion, and that of the task after it.
 */
export class Promotion implements JournalHost {
  readonly #call: Call;
  readonly #options: PromotionOptions;
  readonly #own: Call;
  /** Resolves with the requests of the era when the handler begins. Another call may run the round in its place. */
  readonly #asking: Promise<ClientRequestsOpener>;
  #begin: (asking: ClientRequestsOpener) => void = () => {};
  #onPromoted: () => void = () => {};
  #opened: Promise<Begun> | undefined;
  #begun: Begun | undefined;
  #handled: Promise<HandlerResult> | undefined;
  #task: Promise<PromotedTask | undefined> | undefined;
  #promoted: PromotedTask | undefined;
  #messages: StatusMessages | undefined;

  constructor(call: Call, options: PromotionOptions) {
    this.#call = call;
    this.#options = options;
    this.#own = this.#createCall(call);
    this.#asking = new Promise((resolve) => {
      this.#begin = resolve;
    });
  }

  get end(): AbortSwitch {
    return this.#own.end;
  }

  get journal(): Journal {
    return this.#promoted?.held.journal ?? (this.#begun as Begun).host.journal;
  }

  async keep(change: JournalChange): Promise<void> {
    const task = await this.#task;
    if (task === undefined) await this.#begun?.host.keep(change);
    else await task.held.keep(change).catch((error) => this.#lose(error));
  }

  async allow(step: string, isRecorded: boolean): Promise<void> {
    const task = await this.#task;
    const host = task === undefined ? this.#begun?.host : this.#begun?.execution;
    await host?.allow?.(step, isRecorded);
  }

  onBroken(error: Error): void {
    this.#begun?.host.onBroken?.(error);
    this.#begun?.execution.onBroken(error);
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
      const task = this.#begun?.strategy.isSuspended === true ? undefined : await this.#promote();
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
    let waiting: Promise<unknown> = Promise.all([due, this.#asking]);
    for (;;) {
      const result = await Promise.race([running, waiting.then(() => DUE)]);
      const asking = this.#begun?.strategy.asking ?? new Set();
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
    try {
      const task = await this.#task;
      // The round of a call that was cancelled may be run again.
      if (this.#call.end.aborted) this.#own.end.abort(this.#call.end.reason);
      if (task === undefined) {
        this.#task = undefined;
        return undefined;
      }
      const onError = (error: unknown) => void this.#lose(error).catch(() => {});
      this.#messages = new StatusMessages(task.held, host.clock, limits.statusIntervalMs, onError);
      this.#promoted = task;
      this.#onPromoted();
      return task;
    } catch (error) {
      this.#own.end.abort(error);
      throw error;
    }
  }

  /** Creates the task, with all that this round and earlier ones have recorded. */
  async #create(): Promise<PromotedTask | undefined> {
    const { execution } = await this.#open(await this.#asking);
    return this.#options.create(toJournal(execution.run.journal, this.#own), this.#own.idempotencyKey);
  }

  /** Opens the strategy of the era, and becomes the host of its journal. */
  #open(asking: ClientRequestsOpener): Promise<Begun> {
    this.#opened ??= asking.open().then(({ strategy }) => {
      const { run } = strategy;
      const { host, limits } = this.#options;
      const execution = new TaskExecution({
        keeper: this,
        capabilities: this.#call.client.capabilities,
        clock: host.clock,
        replayMs: limits.replayMs,
        end: this.#own.end,
        run,
      });
      const taskOf = async () => ((await this.#task) === undefined ? undefined : execution);
      this.#begun = { strategy: new PromotableStrategy(strategy, taskOf), host: run.host, execution };
      run.host = this;
      return this.#begun;
    });
    return this.#opened;
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
      const { execution } = this.#begun as Begun;
      if (!(await keepSteps(outcome, execution, end))) return;
      if (outcome.kind !== "dropped") await conclude(held, outcome, execution, { limits, report });
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
      era,
      runner: {
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
    let requests: Promise<ClientRequests> | undefined;
    const opener = {
      open: () => {
        requests ??= this.#open(asking).then(({ strategy }) => askingThrough(strategy, this.#options.host).open());
        return requests;
      },
    };
    try {
      const result = await run(opener);
      await this.#decided();
      return this.#promoted === undefined ? result : settle((this.#begun as Begun).execution, this.#own, result);
    } catch (error) {
      await this.#decided();
      if (this.#promoted === undefined) throw error;
      return settleFailure((this.#begun as Begun).execution, this.#own, error);
    }
  }

  /** Resolves when no promotion is under way. */
  async #decided(): Promise<void> {
    await this.#task?.catch(() => {});
  }
}

/** Returns the journal of a round as a task keeps it: with what the handler has from the request. */
function toJournal(journal: Journal, { inputResponses, authoredState: state }: Call): Journal {
  const { asked } = journal;
  const answers = Object.entries(journal.answers).filter(([key, answer]) =>
    isAnswer(memberOf(asked, key)?.text, answer),
  );
  const authored = Object.entries(inputResponses ?? {}).filter(([key]) => !Object.hasOwn(asked, key));
  return {
    ...journal,
    answers: Object.fromEntries(answers),
    authored:
      state === undefined && authored.length === 0 ? undefined : { state, answers: Object.fromEntries(authored) },
  };
}

/** True if the value is an answer to the question with this text, as far as its shape tells. */
function isAnswer(text: string | undefined, answer: unknown): boolean {
  if (text === undefined) return false;
  const { method } = JSON.parse(text) as InputRequest;
  return inputShapes.get(method)?.result(answer) === undefined;
}
