import type { Lease } from "../../cluster/cluster.js";
import type { AskOptions, ClientRequests, ClientRequestsOpener, RequestStrategy } from "../../era/request-strategy.js";
import { ServedCall } from "../../era/served-call.js";
import type { Call, HandlerResult, Outcome, RunHandler } from "../../era/server-era.js";
import { HandlerSuspended } from "../../protocol/errors.js";
import type { InputRequest } from "../../protocol/types/index.js";
import { askingThrough } from "../../server/detach-call.js";
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

/** Result of a call, or the task that it has become. */
export type PromotionEnd =
  | { readonly result: HandlerResult; readonly task?: undefined }
  | { readonly task: TaskRecord };

export interface PromotionOptions {
  readonly host: ExtensionHost;
  readonly limits: TasksLimits;
  readonly afterMs: number;
  /** Creates the task. Returns undefined if there are too many; the call then goes on in its request. */
  readonly create: (journal: Journal, idempotencyKey: string) => Promise<PromotedTask | undefined>;
  /** Called when the task exists. Returns a function that is called when its run has ended. */
  readonly onRun: (record: TaskRecord, call: Call) => () => void;
  /** Cancels a task whose client has gone before it was told of it. */
  readonly cancel: (record: TaskRecord) => Promise<unknown>;
  /** Leaves a task to other processes. */
  readonly handOver: (held: HeldTask) => Promise<void>;
}

/** Execution that begins in a request: until it is promoted, the era asks its questions and keeps its steps. */
class PromotableExecution extends TaskExecution {
  /** Strategy of the era. Undefined after the promotion. */
  inRequest: RequestStrategy | undefined;
  /** Resolves when it is decided whether the call is promoted. */
  promoting: Promise<unknown> | undefined;
  /** True if the call waits for answers in a later request, so that it is not promoted. */
  isSuspended = false;

  override async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    if (this.promoting !== undefined) await this.promoting;
    if (this.inRequest === undefined) return super.ask(request, options);
    const key = this.keyOf(options);
    try {
      const answer = await this.inRequest.ask(request, { ...options, key });
      const asked = { text: JSON.stringify(request), times: 1 };
      await this.keep((journal) => ({
        ...journal,
        asked: { ...journal.asked, [key]: asked },
        answers: { ...journal.answers, [key]: answer },
      }));
      return answer;
    } catch (error) {
      this.isSuspended ||= error instanceof HandlerSuspended;
      throw error;
    }
  }

  override async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.promoting !== undefined) await this.promoting;
    if (this.inRequest === undefined) return super.step(name, work);
    const value = await this.inRequest.step(name, () => super.step(name, work));
    // A step of an earlier round is known to the era alone.
    if (!Object.hasOwn(this.journal.steps, name))
      await this.keep((journal) => ({ ...journal, steps: { ...journal.steps, [name]: value ?? null } }));
    return value;
  }
}

/** Call that becomes a task if it does not end in time. */
export class Promotion implements JournalKeeper {
  readonly #call: Call;
  readonly #options: PromotionOptions;
  readonly #own: Call;
  readonly #execution: PromotableExecution;
  readonly #key = crypto.randomUUID();
  #journal: Journal = NO_JOURNAL;
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
  }

  get journal(): Journal {
    return this.#promoted?.held.journal ?? this.#journal;
  }

  async keep(change: (journal: Journal) => Journal): Promise<void> {
    const task = this.#task === undefined ? undefined : await this.#task;
    if (task === undefined) this.#journal = change(this.#journal);
    else await task.held.keep(change).catch((error) => this.#lose(error));
  }

  /** Runs the call. Resolves with its result, or with the task that it has become. */
  async run(next: (call: Call) => Promise<HandlerResult>): Promise<PromotionEnd> {
    const { host, afterMs } = this.#options;
    const abort = (reason: unknown) => {
      if (this.#task === undefined) this.#own.end.abort(reason);
    };
    this.#call.end.onAbort(abort);
    const running = next(this.#own);
    let timer: unknown;
    const due = new Promise<true>((resolve) => {
      timer = host.clock.schedule(() => resolve(true), afterMs);
    });
    try {
      const first = await Promise.race([running, due]);
      if (first !== true) return { result: first };
      const task = this.#execution.isSuspended ? undefined : await this.#promote();
      if (task === undefined) return { result: await running };
      void this.#finish(task, running);
      await this.#assertWanted(task.held.record);
      return { task: task.held.record };
    } finally {
      host.clock.cancel(timer);
      this.#call.end.offAbort(abort);
      if (this.#promoted === undefined) this.#own.close();
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
    const { create, limits, host } = this.#options;
    this.#task = create(this.#journal, this.#key);
    this.#execution.promoting = this.#task;
    try {
      const task = await this.#task;
      if (task === undefined) {
        this.#task = undefined;
        this.#execution.promoting = undefined;
        if (this.#call.end.aborted) this.#own.end.abort(this.#call.end.reason);
        return undefined;
      }
      const onError = (error: unknown) => void this.#lose(error).catch(() => {});
      this.#messages = new StatusMessages(task.held, host.clock, limits.statusIntervalMs, onError);
      this.#promoted = task;
      this.#execution.inRequest = undefined;
      return task;
    } catch (error) {
      this.#own.end.abort(error);
      throw error;
    }
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
        runHandler: (own, runtime, run) => era.runHandler(own, runtime, (asking) => this.#handle(asking, run)),
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
    own.idempotencyKey = this.#key;
    return own;
  }

  /** Runs the handler with the requests of the era, which change at the promotion. */
  async #handle(asking: ClientRequestsOpener, run: RunHandler): Promise<HandlerResult> {
    const own = askingThrough(this.#execution, this.#options.host);
    let requests: Promise<ClientRequests> | undefined;
    const open = async (): Promise<ClientRequests> => {
      const { strategy } = await asking.open();
      if (this.#promoted === undefined) this.#execution.inRequest = strategy;
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
      await this.#task;
      return this.#promoted === undefined ? result : settle(this.#execution, this.#own, result);
    } catch (error) {
      if (this.#promoted === undefined) throw error;
      return settleFailure(this.#execution, this.#own, error);
    }
  }
}
