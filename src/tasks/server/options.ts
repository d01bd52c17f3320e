import type { Cluster } from "../../cluster/cluster.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { Known, Optional } from "../../protocol/known-options.js";
import type { ToolTask } from "../../server/definitions/tool.js";

/** Options of {@link tasks}. */
export interface TasksOptions {
  /**
   * State that keeps the tasks, such as `sqliteCluster(...)` or `redisCluster(...)`. Any process that shares it runs the
   * tasks and answers for them.
   * @default the cluster of the server, or the memory of this process
   */
  readonly cluster?: Cluster | undefined;
  /**
   * Runs tasks in this process. If false, it creates tasks that other processes of the cluster run.
   * @default true
   */
  readonly work?: boolean | undefined;
  /**
   * Time between two polls that clients are told.
   * @default 1_000
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * Life of a task from its creation, if its tool sets none. Null keeps tasks without end. Beyond
   * `limits.maxKeptPerPrincipal`, the task that ended first gives way to a new one, whatever its life.
   * @default 86_400_000
   */
  readonly ttlMs?: number | null | undefined;
  /**
   * Answer to a call that would create a task beyond the limits of their number, if its tool may run without one: the
   * ordinary result after the tool has run in its request, or an error.
   * @default "run"
   */
  readonly whenFull?: "refuse" | "run" | undefined;
  /**
   * Refuses methods of tasks over HTTP without the header `Mcp-Name`. Some clients do not send it.
   * @default true
   */
  readonly requireName?: boolean | undefined;
  /** Limits on tasks. Each limit has a default. */
  readonly limits?: Optional<TasksLimits> | undefined;
}

/** Limits of tasks. */
export interface TasksLimits {
  /**
   * Maximum number of tasks that have not ended, in all processes. `anonymousShare` of the server is a part of it.
   * @default 100_000
   */
  readonly maxTasks: number;
  /**
   * Maximum number of tasks of a principal that have not ended, in all processes. A caller without a principal is told
   * by its address, or else by its session or connection.
   * @default 1_000
   */
  readonly maxTasksPerPrincipal: number;
  /**
   * Maximum number of tasks of a principal that are kept, ended ones included.
   * @default 10_000
   */
  readonly maxKeptPerPrincipal: number;
  /**
   * Maximum number of tasks of all callers without a principal that are kept, ended ones included.
   * @default 100_000
   */
  readonly maxKeptAnonymous: number;
  /**
   * Maximum number of tasks that run in this process at a time. Further ones wait in the queue.
   * @default 64
   */
  readonly maxRunning: number;
  /**
   * Maximum number of tasks of a principal that run in this process at a time.
   * @default 16
   */
  readonly maxRunningPerPrincipal: number;
  /**
   * Maximum number of characters of a task's arguments, steps and answers together.
   * @default 262_144
   */
  readonly maxTaskChars: number;
  /**
   * Maximum number of characters of a task's result. A task with a longer one fails.
   * @default 524_288
   */
  readonly maxResultChars: number;
  /**
   * Time after which a task of a lost process goes to another one.
   * @default 10_000
   */
  readonly leaseMs: number;
  /**
   * Minimum time between two updates of a task's status message.
   * @default 1_000
   */
  readonly statusIntervalMs: number;
  /**
   * Time that a new step or question waits until the handler has asked for the recorded ones again. Then the task fails
   * with `definition_changed`.
   * @default 10_000
   */
  readonly replayMs: number;
  /**
   * Maximum number of tasks that a subscription watches. The limit `maxClientChars` of the server applies too.
   * @default 100
   */
  readonly maxWatchedTasks: number;
}

export const TASKS_LIMITS: TasksLimits = {
  maxTasks: 100_000,
  maxTasksPerPrincipal: 1_000,
  maxKeptPerPrincipal: 10_000,
  maxKeptAnonymous: 100_000,
  maxRunning: 64,
  maxRunningPerPrincipal: 16,
  maxTaskChars: 256 * 1024,
  maxResultChars: 512 * 1024,
  leaseMs: 10_000,
  statusIntervalMs: 1_000,
  replayMs: 10_000,
  maxWatchedTasks: 100,
};

/** Throws if no task could run with these limits. */
export function assertLimits({ maxRunning, maxRunningPerPrincipal, leaseMs }: TasksLimits): void {
  for (const [name, most] of Object.entries({ maxRunning, maxRunningPerPrincipal }))
    if (most < 1)
      throw new DefinitionError(
        `tasks: limits.${name} must be 1 or more, got ${most}; use work: false to run no tasks in this process`,
      );
  if (leaseMs === 0 || leaseMs === Number.POSITIVE_INFINITY)
    throw new DefinitionError(`tasks: limits.leaseMs must be above 0 and finite, got ${leaseMs}`);
}

export const TASKS_OPTIONS: Known<TasksOptions> = {
  cluster: "object",
  work: "boolean",
  pollIntervalMs: "positive",
  ttlMs: [{ number: "positive limit", null: "any" }],
  whenFull: [{ string: ["refuse", "run"] }],
  requireName: "boolean",
  limits: TASKS_LIMITS,
};

/** Way in which a tool runs as a task. */
export interface TaskMode {
  readonly support: "optional" | "required";
  /** Undefined if a task is created at once. */
  readonly promoteAfterMs: number | undefined;
  readonly restartable: boolean;
  readonly attempts: number;
  readonly ttlMs: number | null;
}

const ATTEMPTS = 3;
const DAY_MS = 86_400_000;

/** Returns the way in which a tool runs as a task. */
export function toMode(task: ToolTask, defaults: Pick<TasksOptions, "ttlMs">): TaskMode {
  const options = typeof task === "string" ? { support: task } : task;
  const { support = "optional", promoteAfterMs, restartable = false, attempts = ATTEMPTS } = options;
  const ttlMs = toLife(options.ttlMs === undefined ? defaults.ttlMs : options.ttlMs);
  return { support, promoteAfterMs, restartable, attempts, ttlMs };
}

/** Returns the life of a task. Infinity means the same as null. */
function toLife(ttlMs: number | null = DAY_MS): number | null {
  return ttlMs === Number.POSITIVE_INFINITY ? null : ttlMs;
}
