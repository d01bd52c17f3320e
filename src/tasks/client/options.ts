import { assertOptions, type Known, type Optional, type Resolved, withDefaults } from "../../protocol/known-options.js";

/** Options of {@link tasksClient}. */
export interface TasksClientOptions {
  /**
   * Time between two polls of a task, if the server suggests none.
   * @default 1000
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * Minimum time between two polls of a task, even if the server suggests less.
   * @default 250
   */
  readonly minPollIntervalMs?: number | undefined;
  /**
   * Subscribes to notifications about tasks, so that calls end sooner. Tasks are polled nevertheless.
   * @default true
   */
  readonly notifications?: boolean | undefined;
  /**
   * Uses the experimental tasks of 2025-11-25 with servers that declared them: calls of tools that support or require
   * tasks ask for one.
   * @default true
   */
  readonly experimental?: boolean | undefined;
  /**
   * Lifetime to request for a task from its creation (2025-11-25 only). The server decides.
   * @default 86_400_000
   */
  readonly ttlMs?: number | undefined;
  /**
   * Serves elicitation and sampling requests that ask for a task as tasks of this client (2025-11-25 only).
   * @default false
   */
  readonly receive?: boolean | undefined;
  readonly limits?: Optional<TasksClientLimits> | undefined;
}

/** Limits of a client of tasks. */
export interface TasksClientLimits {
  /**
   * Maximum time between two polls, if the server suggests or requests more.
   * @default 3_600_000
   */
  readonly maxPollIntervalMs: number;
  /**
   * Maximum number of consecutive failed polls of a task, such as lost connections, of failed attempts to send the same
   * answers, and of failed requests for its result (2025-11-25 only). The time between them doubles, up to 30 seconds.
   * @default 10
   */
  readonly maxFailedPolls: number;
  /**
   * Maximum number of input requests of one task.
   * @default 1000
   */
  readonly maxInputRequests: number;
  /**
   * Maximum number of tasks of one client that are subscribed to at once. Further tasks are polled only.
   * @default 8
   */
  readonly maxSubscriptions: number;
  /**
   * Maximum number of changes of a task that wait until they are read. The oldest are dropped first.
   * @default 256
   */
  readonly maxChanges: number;
  /**
   * Maximum number of tasks that this client keeps for one server, with the option `receive`.
   * @default 64
   */
  readonly maxReceived: number;
  /**
   * Maximum lifetime of these tasks.
   * @default 3_600_000
   */
  readonly maxReceivedMs: number;
}

export const TASKS_CLIENT_LIMITS: TasksClientLimits = {
  maxPollIntervalMs: 3_600_000,
  maxFailedPolls: 10,
  maxInputRequests: 1000,
  maxSubscriptions: 8,
  maxChanges: 256,
  maxReceived: 64,
  maxReceivedMs: 3_600_000,
};

/** Options with their defaults. */
export type ResolvedOptions = Resolved<Omit<TasksClientOptions, "limits">> & { readonly limits: TasksClientLimits };

const TASKS_CLIENT_OPTIONS: Known<TasksClientOptions> = {
  pollIntervalMs: "positive",
  minPollIntervalMs: "positive",
  notifications: "boolean",
  experimental: "boolean",
  ttlMs: "positive",
  receive: "boolean",
  limits: TASKS_CLIENT_LIMITS,
};

/** Checks the options and adds the defaults. */
export function resolveOptions(options: TasksClientOptions): ResolvedOptions {
  assertOptions("tasksClient", options, TASKS_CLIENT_OPTIONS);
  const limits = withDefaults(options.limits, TASKS_CLIENT_LIMITS);
  const { pollIntervalMs = 1000, minPollIntervalMs = 250, ttlMs = 86_400_000 } = options;
  const { notifications = true, experimental = true, receive = false } = options;
  return {
    pollIntervalMs,
    minPollIntervalMs,
    ttlMs,
    notifications,
    experimental,
    receive,
    limits,
  };
}
