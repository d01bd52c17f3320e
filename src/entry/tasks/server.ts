export type { ToolTask, ToolTaskOptions } from "../../server/definitions/tool.js";
export { TasksExtension, tasks } from "../../tasks/server/extension.js";
export type { TasksLimits, TasksOptions } from "../../tasks/server/options.js";
export { type DetailedTask, TASKS_EXTENSION, type Task, type TaskFailure, type TaskStatus } from "../../tasks/types.js";
