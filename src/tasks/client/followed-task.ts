import { AbortSwitch } from "../../call/abort-switch.js";
import { pause } from "../../call/abortable.js";
import { askedMs } from "../../call/backoff.js";
import type { CallLifetime } from "../../call/lifetime.js";
import type { ExtensionClient } from "../../client/extensions.js";
import { isPassing, isProcessGone } from "../../client/retry.js";
import type { ClientResult } from "../../era/client-era.js";
import { InputRequiredError, RpcError, TimeoutError } from "../../protocol/errors.js";
import { INVALID_PARAMS, LIMIT_EXCEEDED } from "../../protocol/jsonrpc/errors.js";
import type { InputResponses } from "../../protocol/types/index.js";
import { TaskError } from "../error.js";
import { CANCEL_TASK, type DetailedTask, isTerminal, type Task } from "../types.js";
import { TaskInput } from "./input.js";
import type { ResolvedOptions, TasksClientLimits } from "./options.js";
import { hasEnded, type PolledTask, type TaskWire } from "./wire.js";

/** Longest time that doubles after each failure. */
const LONGEST_RETRY_MS = 30_000;

/** Parts that the run of a task uses. */
export interface RunContext {
  readonly client: ExtensionClient;
  readonly options: ResolvedOptions;
  readonly wire: TaskWire;
  /** Called with each state. Undefined if nobody looks at them. */
  readonly onTask: ((task: Task) => void) | undefined;
  /** True if the caller answers input requests. */
  readonly isManual: boolean;
  /** Keys of input requests that are taken, shared by all runs of the task in this client. */
  readonly taken: Set<string>;
  /** Subscribes to notifications of the task. Returns a function that ends the subscription. */
  listen(onTask: (task: DetailedTask) => void): () => void;
}

/**
 * Run of one task in a client, from its first state to its outcome: polls, takes notifications and handles input
 * requests.
 */
export class FollowedTask {
  readonly #context: RunContext;
  readonly #input: TaskInput;
  /** Ends waits and requests of the run: it has an outcome, or the call has ended. */
  readonly #over = new AbortSwitch();
  /** Last state. Undefined for a task that is taken up by its id, before the first poll. */
  #task: Task | undefined;
  /** Time of the first state. */
  #seenAt = 0;
  /** Makes the outcome. The first one counts. */
  #outcome: (() => ClientResult) | undefined;
  #hasGivenUp = false;
  #isCollecting = false;
  /** Number of consecutive failed polls. */
  #failures = 0;
  /** Number of consecutive failed requests for the result. */
  #failedResults = 0;
  /** Time of the next poll, unless the task's lifetime ends before. */
  #dueAt = 0;
  /** Time before which nothing is requested. */
  #notBefore = 0;
  #cancelled: Promise<void> | undefined;

  constructor(context: RunContext) {
    this.#context = context;
    const { wire, client, options } = context;
    this.#input = new TaskInput({
      taskId: wire.id,
      client,
      maxInputRequests: options.limits.maxInputRequests,
      taken: context.taken,
      update: (responses) => this.#answer(responses),
      fail: (error) => this.#giveUp(error),
    });
  }

  /** True if the client cannot continue with a task that may still run. */
  get hasGivenUp(): boolean {
    return this.#hasGivenUp;
  }

  /** True if the server has shown that it knows the task. */
  get isKnown(): boolean {
    return this.#task !== undefined;
  }

  /** Follows the task until it ends. `lifetime` ends with the call. */
  async follow(first: Task | undefined, lifetime: CallLifetime): Promise<ClientResult> {
    lifetime.onAbort((reason) => this.#over.abort(reason));
    if (first !== undefined) this.#note(first);
    const isEnded = first !== undefined && isTerminal(first.status);
    const stopListening = isEnded ? () => {} : this.#context.listen((task) => this.#take(task));
    // The first state of a task that waits for input or has ended lacks the member that belongs to it.
    this.#dueAt = this.#context.client.clock.now() + (first?.status === "working" ? this.#intervalMs() : 0);
    try {
      while (!this.#over.aborted) {
        await this.#wait();
        if (!this.#over.aborted) await this.#poll();
      }
      lifetime.throwIfAborted();
      return (this.#outcome as () => ClientResult)();
    } finally {
      stopListening();
      this.#input.close(notFollowed(this.#context.wire.id));
    }
  }

  get limits(): TasksClientLimits {
    return this.#context.options.limits;
  }

  /** Sends the caller's responses to input requests. The handlers of the client do not get these requests. */
  update(responses: InputResponses): Promise<void> {
    this.#input.skip(Object.keys(responses));
    return this.#context.wire.update(responses);
  }

  /** Sends `tasks/cancel`, once. After a failure it can be sent again. */
  cancel(): Promise<void> {
    this.#cancelled ??= this.#context.wire.cancel().catch((error) => {
      this.#cancelled = undefined;
      throw error;
    });
    return this.#cancelled;
  }

  /**
   * Cancels a task that nobody follows any more, until the client is closed. Repeats that after failures that may pass.
   * A final failure is reported, unless the task has ended before.
   */
  async abandon(): Promise<void> {
    const { client } = this.#context;
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, deadlineMs: Number.POSITIVE_INFINITY };
    let life: CallLifetime | undefined;
    try {
      await client.calls.runOffWire(CANCEL_TASK, limits, (lifetime) => {
        life = lifetime;
        return this.#repeat(() => this.cancel(), lifetime);
      });
    } catch (error) {
      const isUnknown = error instanceof RpcError && error.rpcCode === INVALID_PARAMS;
      if (life !== undefined && !life.aborted && !isUnknown) client.onProblem(error);
    }
  }

  /**
   * Waits for the next poll, which is made at the end of the task's lifetime at the latest. A lifetime that ends before
   * a poll is allowed ends the run, unless the result is on its way.
   */
  async #wait(): Promise<void> {
    const { clock } = this.#context.client;
    while (!this.#over.aborted) {
      const endsAt = this.#isFetching ? Number.POSITIVE_INFINITY : this.#diesAt();
      const isTooLate = endsAt < this.#notBefore;
      const waitMs = (isTooLate ? endsAt : Math.max(Math.min(this.#dueAt, endsAt), this.#notBefore)) - clock.now();
      if (waitMs > 0) await pause(clock, waitMs, this.#over.signal);
      else if (isTooLate) this.#expire();
      else return;
    }
  }

  /** Requests the state once. A failure that may pass is counted. Any other ends the run. */
  async #poll(): Promise<void> {
    const { wire, options } = this.#context;
    const { maxFailedPolls, maxPollIntervalMs } = options.limits;
    const known = this.#task;
    try {
      const task = await wire.poll(this.#over.signal);
      this.#failures = 0;
      // A state that was requested after the last one arrived is not older, even if the clocks of two servers differ.
      this.#take(task, known === this.#task);
      this.#hold(Math.min(options.minPollIntervalMs, maxPollIntervalMs), this.#intervalMs());
    } catch (error) {
      if (this.#over.aborted) return;
      if (!isTransient(error)) return this.#fail(this.#isForgotten(error) ? expired(this.#task as Task) : error);
      if (++this.#failures > maxFailedPolls) return this.#fail(unreachable(wire.id, maxFailedPolls, error));
      this.#hold(retryMs(this.#intervalMs(), this.#failures, error, maxPollIntervalMs));
    }
  }

  /** Requests nothing for a time, and polls after another, which is not shorter. */
  #hold(ms: number, pollIntervalMs = ms): void {
    const now = this.#context.client.clock.now();
    this.#notBefore = Math.max(this.#notBefore, now + ms);
    this.#dueAt = now + pollIntervalMs;
  }

  /** Uses a state from a poll or a notification. */
  #take(task: PolledTask, isLatest = false): void {
    if (this.#over.aborted || (!isLatest && this.#isOutdated(task))) return;
    this.#note(task);
    if (hasEnded(task)) return this.#end(() => this.#context.wire.outcome(task as DetailedTask));
    if (task.status === "working") return;
    if ("isBare" in task) void this.#collect();
    else if (task.status === "input_required") this.#ask(task);
  }

  /** True if a later state is known. */
  #isOutdated({ status, lastUpdatedAt }: Task): boolean {
    return !isTerminal(status) && Date.parse(lastUpdatedAt) < Date.parse(this.#task?.lastUpdatedAt ?? "");
  }

  #note(task: Task): void {
    if (this.#task === undefined) this.#seenAt = this.#context.client.clock.now();
    this.#task = task;
    this.#context.onTask?.(task);
  }

  #ask({ inputRequests }: DetailedTask & { readonly status: "input_required" }): void {
    const { isManual, onTask, wire } = this.#context;
    if (!isManual) return this.#input.take(inputRequests);
    if (onTask !== undefined) return;
    const message = `tools/call: the task ${wire.id} requires input; set input to "auto", or call startTool and update`;
    const result = { resultType: "input_required" as const, inputRequests };
    this.#giveUp(new InputRequiredError("input_required", message, result));
  }

  /** Requests the result, which may wait for it (2025-11-25 only). The server may ask questions meanwhile. */
  async #collect(): Promise<void> {
    const { clock } = this.#context.client;
    const began = clock.now();
    if (this.#isCollecting || began < this.#notBefore) return;
    this.#isCollecting = true;
    try {
      const result = await this.#context.wire.result(this.#over.signal);
      const last = this.#task as Task;
      if (!isTerminal(last.status)) this.#note({ ...last, status: "completed" });
      this.#end(() => result);
    } catch (error) {
      if (!this.#over.aborted) this.#onNoResult(error, clock.now() - began);
    } finally {
      this.#isCollecting = false;
    }
  }

  /**
   * Handles a failed request for the result, after which the next poll requests it again. While the task continues, a
   * request that waited is not counted: a timeout or a proxy may have cut it off.
   */
  #onNoResult(error: unknown, waitedMs: number): void {
    const { wire, options } = this.#context;
    const { maxFailedPolls, maxPollIntervalMs } = options.limits;
    const { status } = this.#task as Task;
    const isAnswer = error instanceof RpcError && error.status === undefined && !isProcessGone(error);
    const isOutcome = status === "failed" && isAnswer && error.retryAfterMs === undefined;
    if (isOutcome || !isTransient(error))
      return this.#fail(this.#isForgotten(error) ? expired(this.#task as Task) : error);
    if (isTerminal(status) || waitedMs < this.#intervalMs()) this.#failedResults++;
    else this.#failedResults = 0;
    if (this.#failedResults > maxFailedPolls) return this.#fail(unreachable(wire.id, maxFailedPolls, error));
    this.#hold(retryMs(this.#intervalMs(), Math.max(1, this.#failedResults), error, maxPollIntervalMs));
    this.#expire();
  }

  /** True if the task has ended, and its result is on its way. */
  get #isFetching(): boolean {
    return this.#isCollecting && this.#task !== undefined && isTerminal(this.#task.status);
  }

  /** Ends the run if the lifetime of the task is over. */
  #expire(): void {
    if (this.#context.client.clock.now() >= this.#diesAt()) this.#fail(expired(this.#task as Task));
  }

  /** True if the server does not know the task any more, since its lifetime is over. */
  #isForgotten(error: unknown): boolean {
    const isUnknown = error instanceof RpcError && error.rpcCode === INVALID_PARAMS;
    return isUnknown && this.#context.client.clock.now() >= this.#diesAt();
  }

  /** Sends responses to input requests. A task whose server stays away is left as it is. */
  async #answer(responses: InputResponses): Promise<void> {
    const { wire, options } = this.#context;
    try {
      await this.#repeat(() => wire.update(responses, this.#over.signal), this.#over);
    } catch (error) {
      if (isTransient(error)) this.#fail(unreachable(wire.id, options.limits.maxFailedPolls, error));
      throw error;
    }
  }

  /** Repeats a request after failures that may pass. */
  async #repeat(request: () => Promise<void>, end: AbortSwitch): Promise<void> {
    const { client, options } = this.#context;
    const { maxFailedPolls, maxPollIntervalMs } = options.limits;
    for (let failures = 1; ; failures++) {
      try {
        return await request();
      } catch (error) {
        if (!isTransient(error) || failures > maxFailedPolls) throw error;
        await pause(client.clock, retryMs(this.#intervalMs(), failures, error, maxPollIntervalMs), end.signal);
        end.throwIfAborted();
      }
    }
  }

  #giveUp(error: unknown): void {
    this.#hasGivenUp ||= !this.#over.aborted;
    this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#end(() => {
      throw error;
    });
  }

  #end(outcome: () => ClientResult): void {
    this.#outcome ??= outcome;
    this.#over.abort(undefined);
  }

  #intervalMs(): number {
    const { pollIntervalMs, minPollIntervalMs, limits } = this.#context.options;
    return Math.min(
      Math.max(this.#task?.pollIntervalMs ?? pollIntervalMs, minPollIntervalMs),
      limits.maxPollIntervalMs,
    );
  }

  /** Time after which the server may have deleted the task. */
  #diesAt(): number {
    const ttlMs = this.#task?.ttlMs ?? Number.POSITIVE_INFINITY;
    return this.#seenAt + ttlMs;
  }
}

/** True if a later request may succeed. */
function isTransient(error: unknown): boolean {
  if (error instanceof TimeoutError) return error.kind === "idle";
  return isPassing(error) || (error instanceof RpcError && error.rpcCode === LIMIT_EXCEEDED && !error.local);
}

/** Returns the wait after a failure. It doubles with each failure. `Retry-After` may require more. */
function retryMs(intervalMs: number, failures: number, error: unknown, maxDelayMs: number): number {
  const doubledMs = Math.min(intervalMs * 2 ** (failures - 1), LONGEST_RETRY_MS);
  return Math.max(intervalMs, doubledMs, askedMs(error, { maxDelayMs }));
}

export function notFollowed(id: string): TaskError {
  return new TaskError("task_detached", `The task ${id} is no longer followed; it may continue`, id);
}

function expired({ taskId, ttlMs }: Task): TaskError {
  return new TaskError("task_expired", `The task ${taskId} has not ended within its lifetime of ${ttlMs} ms`, taskId);
}

function unreachable(id: string, most: number, cause: unknown): TaskError {
  const message = `The state of the task ${id} is unknown: more than ${most} requests failed (limits.maxFailedPolls of tasksClient); take it up later by its id`;
  return new TaskError("task_unreachable", message, id, { cause });
}
