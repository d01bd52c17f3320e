import { anonymousPart } from "../../era/caller.js";
import { readAgain } from "../../era/request-shapes.js";
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
import { toPlain } from "../../server/call-info.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";
import { CANCEL_TASK, GET_TASK, LIST_TASKS, TASK_RESULT } from "../types.js";
import { type AugmentedTask, fromCursor, related, toAugmented, toCursor } from "./augmented-task.js";
import { refusedWhileAway } from "./away.js";
import type { TaskMode } from "./options.js";
import { ANONYMOUS, type Counted, countedFor, ownerOf, ownersOf } from "./owner.js";
import { hasEnded, type TaskRecord } from "./record.js";
import { tooManyTasks } from "./room.js";
import type { TaskOwner, TaskService } from "./service.js";
import { TaskWait } from "./task-wait.js";

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
  /** True for the call of a task that runs. */
  readonly isTaskCall: (call: Call) => boolean;
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

  /** Serves the calls that concern tasks in this version. Passes on all others. */
  async intercept(call: Call, next: Next): Promise<Result> {
    const { method, client } = call;
    if (client.version !== AUGMENTING_VERSION || this.#options.isTaskCall(call)) return next(call);
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
