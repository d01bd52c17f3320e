import { authoredQuestions, toUrlRequests } from "../../era/client-requests.js";
import { isUrlElicitationRequired } from "../../era/request-strategy.js";
import {
  type Call,
  type HandlerResult,
  PreparedResult,
  type Result,
  type RunHandler,
  type ServerRuntime,
} from "../../era/server-era.js";
import { McpError, RpcError } from "../../protocol/errors.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import { askingThrough } from "../../server/asking-through.js";
import type { TaskExecution } from "./execution.js";

/** Result of a run that waits for answers. It is not sent. */
const WAITING: HandlerResult = { content: [] };

/** Runs the handler of a tool with the recorded steps and answers. Its open questions are those of the execution. */
export async function handle(
  execution: TaskExecution,
  call: Call,
  run: RunHandler,
  runtime: ServerRuntime,
): Promise<HandlerResult> {
  const { authored } = execution.journal;
  call.authoredState = authored?.state;
  call.inputResponses = authored?.answers as typeof call.inputResponses;
  try {
    return settle(execution, call, await run(askingThrough(execution, runtime)));
  } catch (failure) {
    return settleFailure(execution, call, failure);
  }
}

/** Returns the result of a handler that has failed, if it only waits for answers. Throws its error otherwise. */
export function settleFailure(execution: TaskExecution, call: Call, failure: unknown): HandlerResult {
  if (execution.broken !== undefined) throw toVisible(execution.broken);
  if (execution.questions.size > 0) return WAITING;
  if (isUrlElicitationRequired(failure)) return askAuthored(execution, call, toUrlRequests(failure));
  throw failure;
}

/** Returns the result of a handler that has returned, or asks the questions in it. */
export function settle(execution: TaskExecution, call: Call, result: HandlerResult): HandlerResult {
  if (execution.broken !== undefined) throw execution.broken;
  if (execution.questions.size > 0) return WAITING;
  if (!(result instanceof PreparedResult) && result.resultType === "input_required")
    return askAuthored(execution, call, result);
  if (!call.end.aborted) execution.assertComplete();
  return result;
}

/** Asks the questions that a handler has returned. */
function askAuthored(execution: TaskExecution, call: Call, result: Result): HandlerResult {
  const requests = authoredQuestions(call, result);
  if (Object.keys(requests).length === 0)
    throw new Error("inputRequired of a task needs inputRequests: a client does not repeat the call of a task");
  execution.authored = { state: result.requestState };
  for (const [key, request] of Object.entries(requests)) execution.open({ key, request, authored: true });
  return WAITING;
}

/** Codes of errors that the client of a failed task is told. */
const VISIBLE: ReadonlySet<string> = new Set(["definition_changed", "definition_error", "task_too_large"]);

function toVisible(error: Error): Error {
  if (!(error instanceof McpError) || !VISIBLE.has(error.code)) return error;
  return new RpcError(INTERNAL_ERROR, error.message, { code: error.code });
}
