export type { ToolTask, ToolTaskOptions } from "../../server/definitions/tool.js";
export { type TasksExtension, tasks } from "../../tasks/server/extension.js";
export type { TasksLimits, TasksOptions } from "../../tasks/server/options.js";
export { TASKS_EXTENSION, type Task, type TaskStatus } from "../../tasks/types.js";
