import type { RequestedSchema } from "./check-answer.js";
import { compileForm } from "./elicit-schema.js";
import { type DefinitionError, McpError } from "./errors.js";
import { findQuestionProblem } from "./input-rules.js";
import { inputShapes } from "./input-shapes.js";
import type { InputRequest } from "./types.js";

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
