import { timeOfDay, unref } from "../../call/clock.js";
import { ClusterError } from "../../cluster/error.js";
import { anonymousPart } from "../../era/caller.js";
import { readAgain } from "../../era/request-shapes.js";
import type { ClientRequestsOpener } from "../../era/request-strategy.js";
import type { Call, Result } from "../../era/server-era.js";
import { AUGMENTING_VERSION } from "../../era/versions.js";
import { RpcError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  methodNotFound,
  Refusal,
} from "../../protocol/jsonrpc/errors.js";
import type { InputRequest, JsonObject } from "../../protocol/types/index.js";
import { type AnswerContent, checkAnswer, type RequestedSchema } from "../../schema/elicitation-answer.js";
import { findAnswerProblem } from "../../schema/input-rules.js";
import { toPlain } from "../../server/call-info.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import {
  CANCEL_TASK,
  GET_TASK,
  LIST_TASKS,
  RELATED_TASK_KEY,
  TASK_RESULT,
  TASK_STATUS,
  type TaskStatus,
} from "../types.js";
import { doneAfterAway, refusedWhileAway } from "./away.js";
import { tooManyTasks } from "./limits.js";
import type { TaskMode } from "./options.js";
import { ANONYMOUS, type Counted, countedFor, ownerOf, ownersOf } from "./owner.js";
import { hasEnded, type OpenQuestion, type TaskRecord, toCreated } from "./record.js";
import { type TaskOwner, type TaskService, unknownTask } from "./service.js";

type Next = (call: Call) => Promise<Result>;

/** Number of tasks in a page of `tasks/list`. */
const PAGE = 50;
/** Part of the allowed calls that may wait for tasks. The others are left to the tasks themselves. */
const WAITING_PART = 0.5;
/** Realm of callers that a gate names, or that have a connection of their own. */
const REALM = "augmented";

export interface AugmentedOptions {
  readonly host: ExtensionHost;
  readonly service: TaskService;
  readonly pollIntervalMs: number;
  readonly modeOf: (tool: unknown) => TaskMode | undefined;
  /** True if the caller may see the tool. */
  readonly sees: (call: Call, tool: string) => Promise<boolean>;
}

/**
 * Tasks of 2025-11-25, in which clients ask for a task by the member `task` of a call, wait for its result by
 * `tasks/result`, and are asked its questions meanwhile. The tasks of clients without a name belong to their session.
 */
export class AugmentedTasks {
  readonly #options: AugmentedOptions;
  readonly #methods: ReadonlyMap<string, (call: Call) => Promise<Result>>;
  /** Number of calls that wait for tasks, in all and by owner. */
  #waiting = 0;
  readonly #waitingOf = new Map<string, number>();

  constructor(options: AugmentedOptions) {
    this.#options = options;
    this.#methods = new Map([
      [GET_TASK, (call) => this.#get(call)],
      [TASK_RESULT, (call) => this.#result(call)],
      [LIST_TASKS, (call) => this.#list(call)],
      [CANCEL_TASK, (call) => this.#cancel(call)],
    ]);
  }

  /** True for the calls of the version with this form of tasks. */
  serves({ client }: Call): boolean {
    return client.version === AUGMENTING_VERSION;
  }

  /** Serves a call that concerns tasks. Passes on all others. */
  async serve(call: Call, next: Next): Promise<Result> {
    const { method } = call;
    if (method === "tools/call") return this.#call(call, next);
    if (method === "initialize") return announced(await next(call), isIdentified(call));
    const serve = this.#methods.get(method);
    return serve === undefined ? next(call) : refusedWhileAway(this.#options.host, () => serve(call));
  }

  async #call(call: Call, next: Next): Promise<Result> {
    const { host, service, modeOf, sees } = this.#options;
    const check = call.era.methods.get(call.method)?.params;
    const problem = check?.(call.params);
    if (check !== undefined && problem !== undefined) call.params = readAgain(call, check, problem);
    const name = call.params.name as string;
    const task = call.params.task as { readonly ttl?: number } | undefined;
    const mode = modeOf(name);
    const isPlain = task === undefined ? mode?.support !== "required" : false;
    if (isPlain || !(await sees(call, name))) return next(call);
    if (mode === undefined) throw notAugmented(`The tool ${name} does not run as a task: leave out the member task`);
    if (task === undefined)
      throw notAugmented(
        `The tool ${name} runs as a task only: the call needs the member task, which a client with support for tasks adds`,
      );
    const { realm } = await ownerOfCall(call);
    const life = { ...mode, ttlMs: shorter(mode.ttlMs, task.ttl) };
    const created = await service.create(call, name, life, { realm, displaces: true });
    if (typeof created === "string") throw tooManyTasks(host, created);
    return { task: this.#show(created) };
  }

  async #get(call: Call): Promise<Result> {
    return { ...this.#show(await this.#options.service.get(call.params.taskId, await ownerOfCall(call))) };
  }

  async #list(call: Call): Promise<Result> {
    if (!isIdentified(call)) throw methodNotFound(call.method);
    const { principal, realm } = await ownerOfCall(call);
    const after = fromCursor(call.params.cursor);
    const { host, service } = this.#options;
    const found = await service.list(await ownerOf(principal, realm, host.audience), after, PAGE + 1);
    const page = found.slice(0, PAGE);
    const last = page.at(-1);
    const isMore = found.length > PAGE && last !== undefined;
    return { tasks: page.map((record) => this.#show(record)), ...(isMore && { nextCursor: toCursor(last) }) };
  }

  async #cancel(call: Call): Promise<Result> {
    const { service } = this.#options;
    const owner = await ownerOfCall(call);
    const before = await service.find(call.params.taskId, owner);
    const record = hasEnded(before) ? before : await service.cancel(before.id, owner);
    if (record?.stage === "cancelled" && record !== before) return { ...this.#show(record) };
    const status = record === undefined ? "expired" : this.#show(record).status;
    throw new Refusal(INVALID_PARAMS, `The task cannot be cancelled: it has ended (${status})`);
  }

  async #result(call: Call): Promise<Result> {
    const { host, service } = this.#options;
    const owner = await ownerOfCall(call);
    const { id } = await service.find(call.params.taskId, owner);
    const leave = this.#enter(await countedFor(call, host));
    try {
      const result = await call.era.runHandler(call, host, async (asking) => {
        const show = (record: TaskRecord) => this.#show(record);
        return toResult(await new TaskWait(id, { call, host, service, owner, show, asking }).ended());
      });
      return toPlain(result);
    } finally {
      leave();
    }
  }

  /** Counts a call that waits, which is refused beyond the part of the calls that may. Returns the end of the count. */
  #enter(caller: Counted): () => void {
    const { host } = this.#options;
    const { maxCalls, maxCallsPerPrincipal } = host.limits;
    const owners = ownersOf(caller);
    const isFull = (owner: string, most: number) =>
      owners.includes(owner) && (this.#waitingOf.get(owner) ?? 0) >= most * WAITING_PART;
    if (this.#waiting >= maxCalls * WAITING_PART || isFull(ANONYMOUS, anonymousPart(host.limits, maxCalls)))
      throw host.busy(503, "maxCalls", "Too many calls wait for tasks: poll them by tasks/get");
    if (isFull(caller.owner, maxCallsPerPrincipal))
      throw host.busy(429, "maxCallsPerPrincipal", "Too many calls wait for tasks: poll them by tasks/get");
    this.#count(owners, 1);
    return () => this.#count(owners, -1);
  }

  #count(owners: readonly string[], change: 1 | -1): void {
    this.#waiting += change;
    for (const owner of owners) {
      const left = (this.#waitingOf.get(owner) ?? 0) + change;
      if (left === 0) this.#waitingOf.delete(owner);
      else this.#waitingOf.set(owner, left);
    }
  }

  #show(record: TaskRecord): AugmentedTask {
    return toAugmented(record, this.#options.pollIntervalMs);
  }
}

/** Adds the capability to the result of a handshake. */
function announced(result: Result, lists: boolean): Result {
  const { capabilities } = result;
  const tasks = { ...(lists && { list: {} }), cancel: {}, requests: { tools: { call: {} } } };
  return { ...result, capabilities: { ...(isObject(capabilities) && capabilities), tasks } };
}

/** True if the tasks of the caller can be told from those of others, so that they may be listed. */
function isIdentified({ origin, wire }: Call): boolean {
  return origin.principal !== undefined || origin.sessionId !== undefined || wire.shared;
}

async function ownerOfCall({ origin }: Call): Promise<TaskOwner> {
  const { principal, sessionId } = origin;
  if (principal !== undefined || sessionId === undefined) return { principal, realm: REALM };
  return { principal, realm: `${REALM} ${await ownerOf(sessionId)}` };
}

/** Returns the life of a task: the one that the client asks for, unless that of the tool is shorter. */
function shorter(ttlMs: number | null, wanted: number | undefined): number | null {
  if (wanted === undefined || !(wanted >= 1)) return ttlMs;
  return Math.min(Math.ceil(wanted), ttlMs ?? Number.MAX_SAFE_INTEGER);
}

/** Returns the result that the call would have had, or throws its error. */
function toResult({ id, stage, result, error }: TaskRecord): Result {
  if (stage === "cancelled") throw new RpcError(INTERNAL_ERROR, "The task was cancelled");
  if (error !== undefined) throw new RpcError(error.code, error.message, error.data);
  return related(result ?? {}, id);
}

function notAugmented(message: string): Refusal {
  return new Refusal(METHOD_NOT_FOUND, message);
}

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

/** State of a task in the form of 2025-11-25. */
export interface AugmentedTask {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Lifetime from creation in milliseconds. Null if it is not limited. */
  readonly ttl: number | null;
  readonly pollInterval?: number;
}

/** Returns the task in the form of 2025-11-25. A task whose tool reports an error has failed there. */
export function toAugmented(record: TaskRecord, pollIntervalMs: number): AugmentedTask {
  const { ttlMs: ttl, pollIntervalMs: pollInterval, ...task } = toCreated(record, pollIntervalMs);
  const common = { ...task, ttl, ...(pollInterval !== undefined && { pollInterval }) };
  if (record.result?.isError !== true) return common;
  const statusMessage = textOf(record.result) ?? "The tool reported an error";
  return { ...common, status: "failed", statusMessage };
}

function textOf({ content }: JsonObject): string | undefined {
  if (!Array.isArray(content)) return undefined;
  return content.map((block) => (isObject(block) ? block.text : undefined)).find((text) => typeof text === "string") as
    | string
    | undefined;
}

/** Returns a result, or the params of a request, with the id of the task that it belongs to. */
export function related<T extends { readonly _meta?: unknown }>(message: T, taskId: string): T {
  const meta = isObject(message._meta) ? message._meta : {};
  return { ...message, _meta: { ...meta, [RELATED_TASK_KEY]: { taskId } } };
}

/** Returns a question with the id of its task. */
export function relatedQuestion(request: InputRequest, taskId: string): InputRequest {
  return { ...request, params: related(request.params ?? {}, taskId) } as InputRequest;
}

/** Place of a task in a list: the last one of a page. */
export type TaskPlace = Pick<TaskRecord, "id" | "createdAt">;

export function toCursor({ createdAt, id }: TaskPlace): string {
  return btoa(`${createdAt} ${id}`);
}

/** Returns the place that a cursor names. The first page has none. */
export function fromCursor(cursor: unknown): TaskPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, createdAt, id] = /^(\d{1,15}) ([\da-f-]{36})$/.exec(decoded(cursor)) ?? [];
  if (createdAt === undefined || id === undefined)
    throw new Refusal(INVALID_PARAMS, "Invalid params for tasks/list: /cursor must be a nextCursor of this server");
  return { createdAt: Number(createdAt), id };
}

function decoded(cursor: unknown): string {
  try {
    return typeof cursor === "string" ? atob(cursor) : "";
  } catch {
    return "";
  }
}
