import type { RequestedSchema } from "../schema/check-answer.js";
import { compileForm } from "../schema/elicit-schema.js";
import { DefinitionError, McpError } from "../schema/errors.js";
import { findQuestionProblem } from "../schema/input-rules.js";
import { inputShapes } from "../schema/input-shapes.js";
import type { InputRequest, InputRequests, InputRequiredResult } from "../schema/types.js";

/** What keeps a question from being asked, whatever the client. */
export function questionProblem(request: InputRequest): McpError | undefined {
  const { method } = request;
  const problem = inputShapes.get(method)?.params(request.params) ?? findQuestionProblem(request);
  if (problem !== undefined) {
    return new McpError("invalid_question", `${method} was not asked: ${problem.path} must be ${problem.expected}`);
  }
  if (method !== "elicitation/create" || request.params.mode === "url") return undefined;
  try {
    compileForm(request.params.requestedSchema as unknown as RequestedSchema, method);
    return undefined;
  } catch (error) {
    return error as DefinitionError;
  }
}

/**
 * A result that asks the client for input, for handlers that speak the wire themselves. The answers come back in
 * `ctx.inputResponses` and the state, sealed on the way, in `ctx.state`.
 */
export function inputRequired(parts: {
  readonly inputRequests?: InputRequests;
  readonly state?: unknown;
}): InputRequiredResult {
  if (Object.keys(parts.inputRequests ?? {}).length === 0 && parts.state === undefined) {
    throw new DefinitionError("inputRequired needs inputRequests or state");
  }
  for (const [key, request] of Object.entries(parts.inputRequests ?? {})) {
    const problem = questionProblem(request);
    if (problem !== undefined) throw new DefinitionError(`inputRequired, ${key}: ${problem.message}`);
  }
  return {
    resultType: "input_required",
    ...(parts.inputRequests === undefined ? undefined : { inputRequests: parts.inputRequests }),
    ...(parts.state === undefined ? undefined : { requestState: parts.state as string }),
  };
}
