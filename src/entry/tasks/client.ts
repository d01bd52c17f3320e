export { ClientTasks, GroupTasks, type TaskOptions } from "../../tasks/client/client-tasks.js";
export { tasksClient } from "../../tasks/client/extension.js";
export type { TaskHandle, TaskState } from "../../tasks/client/handle.js";
export type { TasksClientLimits, TasksClientOptions } from "../../tasks/client/options.js";
export { TaskError } from "../../tasks/error.js";
export { TASKS_EXTENSION, type Task, type TaskStatus } from "../../tasks/types.js";
