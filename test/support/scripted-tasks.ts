import type { ClientOptions } from "bowline/client";
import { McpServer, RpcError, ServerExtension } from "bowline/server";
import { TASKS_EXTENSION, type TasksClientOptions, tasksClient } from "bowline/tasks/client";
import { until } from "./census.js";
import { FakeClock } from "./fake-clock.js";

type Body = { readonly [key: string]: unknown };

/** Members of every task. */
const STAMPS = { createdAt: "2026-11-01T00:00:00Z", lastUpdatedAt: "2026-11-01T00:00:00Z", ttlMs: null };

/** Creates a state of a task. */
export function state(taskId: string, status: string, more: Body = {}): Body {
  return { taskId, status, ...STAMPS, ...more };
}

export function completed(taskId: string, text: string, more: Body = {}): Body {
  return state(taskId, "completed", { result: { resultType: "complete", content: [{ type: "text", text }], ...more } });
}

/** Creates a state that waits for a name. */
export function asking(taskId: string, ...keys: string[]): Body {
  const params = { mode: "form", message: "Name?", requestedSchema: { type: "object", properties: {} } };
  const inputRequests = Object.fromEntries(keys.map((key) => [key, { method: "elicitation/create", params }]));
  return state(taskId, "input_required", { inputRequests });
}

/** Server of tasks on each wire of 2026-07-28 whose states the test writes. Each tool call creates a task. */
export class TaskScript extends ServerExtension {
  /** Results of `tasks/get`, per task. The last one stays. An error is thrown. */
  readonly states = new Map<string, (Body | Error)[]>();
  readonly updates: Body[] = [];
  /** Called with each update. What it throws is the answer. */
  onUpdate: (update: Body) => void = () => {};
  readonly cancels: unknown[] = [];
  /** First states of the tasks that calls create, one per call. Undefined answers the call without a task. */
  readonly created: (Body | undefined)[] = [];
  /** False if subscriptions to tasks are not served. */
  reports = true;
  readonly #listeners = new Map<string, (method: string, params: object) => void>();

  constructor() {
    super({ id: TASKS_EXTENSION, results: { task: "tools/call" } });
    const named = { nameFrom: "taskId" } as const;
    this.method("tasks/get", named, ({ taskId }) => this.#get(String(taskId)));
    this.method("tasks/update", named, ({ taskId, inputResponses }) => {
      const update = { taskId, inputResponses };
      this.updates.push(update);
      this.onUpdate(update);
      return {};
    });
    this.method("tasks/cancel", named, ({ taskId }) => {
      this.cancels.push(taskId);
      return {};
    });
    this.topic("taskIds", (wanted) => {
      if (!this.reports) return undefined;
      const ids = wanted as string[];
      return {
        honoured: ids,
        start: (send) => {
          for (const id of ids) this.#listeners.set(id, send);
          return () => {
            for (const id of ids) this.#listeners.delete(id);
          };
        },
      };
    });
    this.use(async (call, next) => {
      const result = await next(call);
      if (call.method !== "tools/call" || "inputRequests" in result) return result;
      const first = this.created.shift();
      return first === undefined ? result : { resultType: "task", ...first };
    });
  }

  /** Creates a task by the next call, with these states. */
  task(taskId: string, ...states: (Body | Error)[]): this {
    this.created.push(state(taskId, "working"));
    this.states.set(taskId, states);
    return this;
  }

  /** True if a client is subscribed to the task. */
  isWatched(taskId: string): boolean {
    return this.#listeners.has(taskId);
  }

  notify(task: Body): void {
    this.tell(String(task.taskId), task);
  }

  /** Sends a notification to the subscriber of one task, about any task. */
  tell(subscribed: string, task: Body): void {
    this.#listeners.get(subscribed)?.("notifications/tasks", task);
  }

  /** Returns a server with a tool `work` and these tasks. */
  server(): McpServer {
    const server = new McpServer({ name: "scripted", version: "1.0.0" }).extend(this as unknown as ServerExtension);
    return server.tool("work", {}, () => "plain") as unknown as McpServer;
  }

  #get(taskId: string): Body {
    const states = this.states.get(taskId) ?? [];
    const next = states.length > 1 ? states.shift() : states[0];
    if (next === undefined) throw new RpcError(-32602, "Unknown task");
    if (next instanceof Error) throw next;
    return next as Body;
  }
}

/** Client of tasks on a fake clock, and the numbers that its tests look at. */
export class TaskBench {
  readonly clock = new FakeClock();

  /** Options of a client with tasks. */
  options(more: TasksClientOptions = {}): ClientOptions {
    return { clock: this.clock, extensions: [tasksClient({ pollIntervalMs: 1111, notifications: false, ...more })] };
  }

  /** Resolves when the client waits for so many milliseconds for the nth time. */
  waiting(ms: number, times = 1): Promise<void> {
    return until(
      `wait number ${times} of ${ms} ms`,
      () => this.clock.delays.filter((one) => one === ms).length >= times,
    );
  }

  /** Lets a call wait for its next poll, which is the nth wait of the client, and returns its outcome. */
  async finish<T>(called: Promise<T>, times: number): Promise<T> {
    await this.pass(1111, times);
    return called;
  }

  /** Lets the client wait that long. */
  async pass(ms: number, times = 1): Promise<void> {
    await this.waiting(ms, times);
    this.clock.advance(ms);
  }
}
