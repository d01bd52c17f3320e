import type { Client } from "../../client/client.js";
import type {
  Group,
  GroupServer,
  GroupServerName,
  GroupToolName,
  GroupToolNameOr,
  ServerTypes,
} from "../../client/group/group.js";
import {
  assertCallOptions,
  type CallOptions,
  type ToolCallOptions,
  type TypedCallOptions,
} from "../../client/options.js";
import { Pages } from "../../client/pages.js";
import { type ToolOutcome, toParsedOutcome } from "../../client/results.js";
import type { AnyServer, CallArguments, ServerTools } from "../../client/server-types.js";
import { CLIENT_LIMITS } from "../../era/client-limits.js";
import { isObject } from "../../protocol/json.js";
import type { Known } from "../../protocol/known-options.js";
import type { CallToolResult } from "../../protocol/types/index.js";
import type { OutputOf, StandardSchema } from "../../schema/standard-schema.js";
import { TaskError } from "../error.js";
import { GET_TASK, LIST_TASKS, TASKS_EXTENSION, type Task } from "../types.js";
import { offersTasks } from "./extension.js";
import { TaskHandle } from "./handle.js";
import { toTask } from "./shape.js";

/** Options for taking a task up. */
export interface TaskOptions<Output extends StandardSchema = StandardSchema>
  extends Pick<CallOptions, "signal" | "timeoutMs" | "deadlineMs" | "input" | "capabilities"> {
  /** Schema of the structured result. */
  readonly output?: Output | undefined;
}

const TASK_OPTIONS: Known<TaskOptions> = {
  signal: "object",
  timeoutMs: "ms",
  deadlineMs: "ms",
  input: "any",
  capabilities: "any",
  output: "any",
};

/**
 * Tasks of one server: `new ClientTasks(client)`. The client must have been connected with `extensions: [tasksClient()]`. Nothing
 * is sent before it is needed.
 */
export class ClientTasks<S extends AnyServer = AnyServer> {
  readonly client: Client<S>;

  constructor(client: Client<S>) {
    if (!isObject(client.capabilities.extensions?.[TASKS_EXTENSION]))
      throw unsupported("connect with the option extensions: [tasksClient()]");
    this.client = client;
  }

  /** True if the server announced tasks. Undefined if the server has not described itself. */
  get supported(): boolean | undefined {
    const { capabilities } = this.client.server;
    if (offersTasks(capabilities) || isObject(capabilities.extensions?.[TASKS_EXTENSION])) return true;
    const isHeard = Object.keys(capabilities).length > 0 || this.client.prior.discovered !== undefined;
    return isHeard ? false : undefined;
  }

  /**
   * Calls a tool. Resolves as soon as the server has created a task, or has answered without one. The options are those
   * of `callTool`, and `input: "manual"` leaves input requests to `update` of the handle.
   */
  startTool<Name extends keyof ServerTools<S> & string, Output extends StandardSchema>(
    name: Name,
    args: ServerTools<S>[Name]["input"] | undefined,
    options: TypedCallOptions<Output>,
  ): Promise<TaskHandle<OutputOf<Output>>>;
  startTool<Name extends keyof ServerTools<S> & string>(
    name: Name,
    ...given: CallArguments<ServerTools<S>[Name]["input"], ToolCallOptions>
  ): Promise<TaskHandle<ServerTools<S>[Name]["output"]>>;
  startTool(name: string, args?: unknown, options: ToolCallOptions = {}): Promise<TaskHandle> {
    const callTool = this.client.callTool.bind(this.client) as CallAnyTool;
    return TaskHandle.start((more) => callTool(name, args, { ...options, ...more }), options.signal);
  }

  /**
   * Takes a task up by its id, also in another process than the one that called the tool. Resolves with the first state.
   * Rejects with the error of the server if it does not know the task.
   */
  async task<Output extends StandardSchema>(
    id: string,
    options: TaskOptions<Output> = {},
  ): Promise<TaskHandle<OutputOf<Output>>> {
    assertCallOptions(GET_TASK, options, TASK_OPTIONS);
    options.signal?.throwIfAborted();
    if (this.supported === false) throw unsupported("the server announced no tasks");
    const { output, ...limits } = options;
    const resume = async (more: CallOptions) => {
      const result = await this.client.request(GET_TASK, { taskId: id }, { ...limits, ...more });
      const outcome = toParsedOutcome(`of the task ${id}`, result as unknown as CallToolResult, output, undefined);
      return outcome as Promise<ToolOutcome<OutputOf<Output>>>;
    };
    return TaskHandle.start(resume, options.signal, id);
  }

  /** Lists the tasks of this client, page by page (2025-11-25 only). */
  list(options: CallOptions = {}): Pages<Task> {
    return new Pages<Task>(
      "tasks",
      async (at) => {
        const { tasks } = this.client.server.capabilities;
        if (!isObject(tasks?.list)) throw unsupported("the server did not announce tasks.list");
        const page = await this.client.request(LIST_TASKS, at, options);
        const listed = Array.isArray(page.tasks) ? page.tasks.map((task) => toTask(LIST_TASKS, task)) : page.tasks;
        return { ...page, tasks: listed };
      },
      CLIENT_LIMITS,
    );
  }
}

/**
 * Tasks of the servers of a group: `new GroupTasks(group)`. The group must have been created with
 * `client: { extensions: [tasksClient()] }`.
 */
export class GroupTasks<M extends ServerTypes = ServerTypes> {
  readonly group: Group<M>;

  constructor(group: Group<M>) {
    this.group = group;
  }

  /** Same as `startTool` of `ClientTasks`, for a tool by its name in the group. */
  startTool<const Name extends GroupToolName<M> | (string & Record<never, never>)>(
    name: GroupToolNameOr<M, Name>,
    args?: unknown,
    options: ToolCallOptions = {},
  ): Promise<TaskHandle> {
    const callTool = this.group.callTool.bind(this.group) as CallAnyTool;
    return TaskHandle.start((more) => callTool(name, args, { ...options, ...more }), options.signal);
  }

  /** Returns the tasks of one server, to take a task up or to list tasks. Connects on first use. */
  async of<S extends GroupServerName<M>>(
    server: S,
    options: CallOptions = {},
  ): Promise<ClientTasks<GroupServer<M, S>>> {
    return new ClientTasks(await this.group.client(server, options));
  }
}

type CallAnyTool = (name: string, args: unknown, options: ToolCallOptions) => Promise<ToolOutcome>;

function unsupported(reason: string): TaskError {
  return new TaskError("tasks_unsupported", `Nothing was sent: ${reason}`, undefined);
}
