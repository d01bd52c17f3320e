import { McpError } from "../protocol/errors.js";

/**
 * Failure of a task. `code` is one of `task_cancelled`, `task_expired`, `task_unreachable`, `task_detached`,
 * `task_input_limit` and `tasks_unsupported`.
 */
export class TaskError extends McpError {
  protected static override readonly bowline: string = "TaskError";
  override readonly name: string = "TaskError";
  constructor(
    code: string,
    message: string,
    /** Id of the task, if there is one. */
    readonly taskId: string | undefined,
    options?: ErrorOptions,
  ) {
    super(code, message, options);
  }
}
