import { ProtocolError } from "../../protocol/errors.js";
import { type Check, isObject } from "../../protocol/json.js";
import { inputRequests } from "../../protocol/shapes/input.js";
import { anyObject, integer, object, oneOf, string } from "../../protocol/shapes/kit.js";
import { mustBe } from "../../protocol/text.js";
import type { DetailedTask, Task, TaskStatus } from "../types.js";

type Members = { readonly [member: string]: unknown };

const base: Check = object(
  { taskId: string, status: oneOf("working", "input_required", "completed", "failed", "cancelled") },
  { statusMessage: string, createdAt: string, lastUpdatedAt: string },
);

/** Members that a task has by its status, besides those of every task. */
const DETAILS: { readonly [S in TaskStatus]?: Check } = {
  input_required: object({ inputRequests }),
  completed: object({ result: anyObject }),
  failed: object({ error: object({ code: integer, message: string }) }),
};

/** Reads a task of a creating result, without the member that belongs to its status. */
export function toTask(method: string, given: unknown): Task {
  const problem = base(given);
  if (problem !== undefined) throw invalid(method, mustBe(problem));
  const { ttlMs, ttl, pollIntervalMs, pollInterval, ...members } = given as Members & Task;
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = members;
  const pollMs = duration(pollIntervalMs ?? pollInterval);
  return {
    taskId,
    status,
    ...(statusMessage === undefined ? undefined : { statusMessage }),
    createdAt: createdAt ?? "",
    lastUpdatedAt: lastUpdatedAt ?? "",
    ttlMs: duration(ttlMs ?? ttl) ?? null,
    ...(pollMs === undefined ? undefined : { pollIntervalMs: pollMs }),
  };
}

/** Reads a task with the member that belongs to its status. Throws if the member is missing. */
export function toDetailedTask(method: string, given: unknown): DetailedTask {
  const task = toTask(method, given);
  const problem = DETAILS[task.status]?.(given);
  if (problem !== undefined) throw invalid(method, `${mustBe(problem)}, since its status is ${task.status}`);
  const { result, error, inputRequests } = given as Members;
  if (task.status === "completed") return { ...task, result } as DetailedTask;
  if (task.status === "failed") return { ...task, error } as DetailedTask;
  return (task.status === "input_required" ? { ...task, inputRequests } : task) as DetailedTask;
}

/** Throws if the task is not the one that was asked for. */
export function assertSame(method: string, { taskId }: Task, wanted: string): void {
  if (taskId !== wanted) throw invalid(method, "/taskId must be the id of the request");
}

/** Returns the object of a result member. Throws if it is not an object. */
export function memberOf(method: string, result: Members, member: string): Members {
  const value = result[member];
  if (isObject(value)) return value;
  throw invalid(method, `/${member} must be an object`);
}

export function invalid(method: string, problem: string): ProtocolError {
  return new ProtocolError(`${method}: the task is invalid: ${problem}`);
}

/** Returns a number of milliseconds. Other values count as absent. */
function duration(ms: unknown): number | undefined {
  return typeof ms === "number" && ms >= 0 ? ms : undefined;
}
