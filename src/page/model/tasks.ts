import { isObject } from "../../protocol/json.js";
import { messagesIn, type Run } from "./run.js";

/** Task of a server, as its messages tell of it. */
export interface TaskRow {
  readonly id: string;
  readonly c: number;
  readonly status: string;
  readonly message: string | undefined;
  /** Name of the tool, where its call is in the run. */
  readonly tool: string | undefined;
  readonly from: number;
  readonly to: number;
  /** Line of the last message about it. */
  readonly line: number;
  readonly isEnded: boolean;
}

const ENDED = new Set(["completed", "failed", "cancelled"]);

/** Returns the tasks of a run, in the order in which they appeared. */
export function tasksOf(run: Run): readonly TaskRow[] {
  const tasks = new Map<string, TaskRow>();
  const tools = new Map<string, string>();
  for (const { event, message } of messagesIn(run.events)) {
    const { c, t, line, d } = event;
    if (message.method === "tools/call") tools.set(`${c} ${String(message.id)}`, String(message.params?.name));
    const content = d === "<" ? (message.result ?? message.params) : undefined;
    const told = isObject(content?.task) ? (content.task as { readonly [key: string]: unknown }) : content;
    if (typeof told?.taskId !== "string" || typeof told.status !== "string") continue;
    const { taskId, status, statusMessage } = told;
    const known = tasks.get(taskId);
    tasks.set(taskId, {
      id: taskId,
      c,
      status,
      message: typeof statusMessage === "string" ? statusMessage : known?.message,
      tool: known?.tool ?? tools.get(`${c} ${String(message.id)}`),
      from: known?.from ?? t,
      to: t,
      line,
      isEnded: ENDED.has(status),
    });
  }
  return [...tasks.values()];
}
