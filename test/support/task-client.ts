import { equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Server } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import { until } from "./census.js";
import type { World } from "./each-wire.js";
import { enveloped, type Message, type RawClient, rawClient } from "./raw-client.js";

export const TASKS = "io.modelcontextprotocol/tasks";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Members of a task that tests read. */
export interface SeenTask {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number | null;
  readonly result?: Message & { readonly content?: readonly Message[]; readonly isError?: boolean };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Message };
  readonly inputRequests?: Record<string, { readonly method: string; readonly params: Message }>;
}

type Ask = (message: Message, headers: Record<string, string>) => Promise<RecordedMessage>;

/** Client of tasks, written by the test. Each request declares the extension unless it is told not to. */
export class TaskClient {
  readonly #ask: Ask;
  readonly #capabilities: Message;
  #ids = 0;

  constructor(ask: Ask, capabilities: Message = {}) {
    this.#ask = ask;
    this.#capabilities = capabilities;
  }

  /** Sends a request with the extension, or with these capabilities only. */
  request(method: string, params: Message = {}, capabilities?: Message): Promise<RecordedMessage> {
    const declared = capabilities ?? { ...this.#capabilities, extensions: { [TASKS]: {} } };
    const { name = params.taskId } = params;
    const headers = typeof name === "string" && name !== "" ? { "mcp-name": name } : {};
    const id = `task-${++this.#ids}`;
    return this.#ask(enveloped(id, method, params, { [CAPABILITIES]: declared }), headers as Record<string, string>);
  }

  /** Calls a tool without the extension. */
  plain(name: string, more: Message = {}): Promise<RecordedMessage> {
    return this.request("tools/call", { name, arguments: {}, ...more }, this.#capabilities);
  }

  call(name: string, args: Message = {}, more: Message = {}): Promise<RecordedMessage> {
    return this.request("tools/call", { name, arguments: args, ...more });
  }

  /** Calls a tool that creates a task, and returns the id of the task. */
  async start(name: string, args: Message = {}, more: Message = {}): Promise<string> {
    const { result, error } = await this.call(name, args, more);
    equal(result?.resultType, "task", JSON.stringify(error ?? result));
    return result?.taskId as string;
  }

  async get(taskId: string): Promise<SeenTask> {
    const { result, error } = await this.request("tasks/get", { taskId });
    if (result === undefined) throw new Error(`tasks/get: ${JSON.stringify(error)}`);
    return result as unknown as SeenTask;
  }

  update(taskId: string, inputResponses: unknown): Promise<RecordedMessage> {
    return this.request("tasks/update", { taskId, inputResponses });
  }

  cancel(taskId: string): Promise<RecordedMessage> {
    return this.request("tasks/cancel", { taskId });
  }

  /** Polls until the task has the status. */
  async until(taskId: string, ...statuses: string[]): Promise<SeenTask> {
    let task = await this.get(taskId);
    await until(`task ${taskId} is ${statuses}, not ${task.status}`, async () => {
      if (statuses.includes(task.status)) return true;
      task = await this.get(taskId);
      return statuses.includes(task.status);
    });
    return task;
  }

  /** Polls until the task has ended, and returns the text of its result. */
  async text(taskId: string): Promise<unknown> {
    const task = await this.until(taskId, "completed", "failed", "cancelled");
    equal(task.status, "completed", JSON.stringify(task));
    return task.result?.content?.[0]?.text;
  }
}

/** Client of tasks on a wire. */
export async function taskClient(
  world: World,
  server: Server,
  t: TestContext,
  capabilities?: Message,
): Promise<TaskClient & { readonly raw: RawClient }> {
  const raw = await rawClient(world, server, t);
  const client = new TaskClient((message, headers) => raw.ask(message, headers), capabilities);
  return Object.assign(client, { raw });
}

/** Accepted answer to a form. */
export const accept = (content: Message) => ({ action: "accept", content });
