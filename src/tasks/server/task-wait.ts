import { unref } from "../../call/clock.js";
import { ClusterError } from "../../cluster/error.js";
import type { ClientRequestsOpener } from "../../era/request-strategy.js";
import type { Call } from "../../era/server-era.js";
import { RpcError } from "../../protocol/errors.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { InputRequest } from "../../protocol/types/index.js";
import { type AnswerContent, checkAnswer, type RequestedSchema } from "../../schema/elicitation-answer.js";
import { findAnswerProblem } from "../../schema/input-rules.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { TASK_STATUS } from "../types.js";
import { type AugmentedTask, relatedQuestion } from "./augmented-task.js";
import { doneAfterAway } from "./away.js";
import { timeOfDay } from "./options.js";
import { hasEnded, type OpenQuestion, type TaskRecord } from "./record.js";
import { type TaskOwner, type TaskService, unknownTask } from "./service.js";

export interface TaskWaitOptions {
  readonly call: Call;
  readonly host: ExtensionHost;
  readonly service: TaskService;
  readonly owner: TaskOwner;
  readonly show: (record: TaskRecord) => AugmentedTask;
  readonly asking: ClientRequestsOpener;
}

/**
 * Wait of a client for the end of a task. Open questions of the task are sent as requests of the call, and their answers
 * are stored. Changes of the status are sent as notifications. A question that is answered elsewhere is cancelled.
 */
export class TaskWait {
  readonly #options: TaskWaitOptions;
  readonly #id: string;
  /** Questions that were sent, by their keys on the wire. */
  readonly #asked = new Map<string, AbortController>();
  #shown: TaskRecord | undefined;
  #resolve: (record: TaskRecord) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(id: string, options: TaskWaitOptions) {
    this.#id = id;
    this.#options = options;
  }

  /** Resolves with the task when it has ended. Rejects when it has expired, or when the call has ended. */
  async ended(): Promise<TaskRecord> {
    const { call, host, service, owner } = this.#options;
    const first = await service.get(this.#id, owner);
    if (hasEnded(first)) return first;
    await service.join();
    const waiting = new Promise<TaskRecord>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const known = new Map([[this.#id, first.updatedAt]]);
    const stop = service.watchers.watch(known, (record) => this.#look(record));
    const timer = this.#expireAt(first);
    call.end.onAbort(this.#reject);
    try {
      this.#look(first);
      return await waiting;
    } finally {
      stop();
      host.clock.cancel(timer);
      call.end.offAbort(this.#reject);
      for (const asked of this.#asked.values()) asked.abort();
    }
  }

  #look(record: TaskRecord): void {
    const { call, show } = this.#options;
    const task = show(record);
    if (this.#shown !== undefined && show(this.#shown).status !== task.status)
      void call.notify(TASK_STATUS, { ...task });
    this.#shown = record;
    if (hasEnded(record)) return this.#resolve(record);
    const open = record.stage === "waiting" ? record.questions : {};
    for (const [wireKey, asked] of this.#asked) if (!Object.hasOwn(open, wireKey)) asked.abort();
    for (const [wireKey, question] of Object.entries(open))
      if (!this.#asked.has(wireKey)) this.#ask(wireKey, question).catch(this.#reject);
  }

  /**
   * Asks a question and stores the answer, when the engine is back if it is away. The task fails if the client refuses to
   * answer.
   */
  async #ask(wireKey: string, { request }: OpenQuestion): Promise<void> {
    const { asking, service, owner, call } = this.#options;
    const asked = new AbortController();
    this.#asked.set(wireKey, asked);
    const { signal } = asked;
    const store = (change: () => Promise<void>) => this.#store(change, signal);
    try {
      const { strategy } = await asking.open();
      const check = (answer: unknown) => answerIssue(request, answer);
      const question = relatedQuestion(request, this.#id);
      const answer = await strategy.ask(question, { signal, timeoutMs: Number.POSITIVE_INFINITY, check });
      await store(() => service.update(this.#id, { [wireKey]: answer }, owner));
    } catch (error) {
      if (signal.aborted || call.end.aborted) return;
      if (error instanceof RpcError) return store(() => service.refuse(this.#id, wireKey, error, owner));
      // Its message is for the author.
      if (error instanceof ClusterError) throw error;
      throw new RpcError(INTERNAL_ERROR, `A question of the task could not be asked: ${(error as Error).message}`);
    }
  }

  async #store(change: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await doneAfterAway(this.#options.host.clock, change, () => signal);
  }

  #expireAt({ createdAt, ttlMs }: TaskRecord): unknown {
    const { clock } = this.#options.host;
    if (ttlMs === null) return undefined;
    const timer = clock.schedule(() => this.#reject(unknownTask()), createdAt + ttlMs - timeOfDay(clock));
    unref(timer);
    return timer;
  }
}

/** Returns the problem of an answer, so that a client which answers wrongly is not asked again and again. */
function answerIssue(request: InputRequest, answer: unknown) {
  if (request.method !== "elicitation/create") return findAnswerProblem(request, answer);
  const { requestedSchema } = request.params as { readonly requestedSchema?: RequestedSchema };
  const { action, content } = answer as { readonly action: string; readonly content?: AnswerContent | null };
  if (action !== "accept" || requestedSchema === undefined) return undefined;
  const [issue] = checkAnswer(requestedSchema, content ?? {});
  return issue && `/content${issue.path} ${issue.message}`;
}
