import { isObject } from "../../protocol/json.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import type { InputRequest, JsonObject } from "../../protocol/types/index.js";
import { RELATED_TASK_KEY, type TaskStatus } from "../types.js";
import { type TaskRecord, toCreated } from "./record.js";

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
