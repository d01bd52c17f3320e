import type { Choice, Target } from "../driver.js";

/** Interface of the checks to the tasks of a client of any SDK. Each question of the server is answered with `Ada`. */
export interface TaskDriver {
  /** The negotiated protocol version. */
  readonly version: string | undefined;
  /** True if the server announced tasks. */
  readonly announced: boolean;
  /** Calls a tool in the way of the SDK. Resolves with the result, whether the call became a task or not. */
  call(name: string, args?: TaskArguments): Promise<TaskReply>;
  /** Calls a tool and returns its task. */
  start(name: string, args?: TaskArguments): Promise<TaskHandle>;
  /** Takes a task up that another connection has started. */
  resume?(id: string): Promise<TaskHandle>;
  /** Lists the ids of the tasks of this client. */
  list?(): Promise<readonly string[]>;
  /** Returns the JSON-RPC error code of a rejected call. */
  codeOf(error: unknown): number | undefined;
  close(): Promise<void>;
}

export type TaskArguments = Readonly<Record<string, string>>;

export interface TaskHandle {
  readonly id: string;
  /** Reads the status of the task. */
  status(): Promise<string>;
  result(): Promise<TaskReply>;
  cancel(): Promise<void>;
}

export interface TaskReply {
  readonly text: string;
  readonly isError: boolean;
}

export type OpenTaskDriver = (target: Target, choice: Choice) => Promise<TaskDriver>;
