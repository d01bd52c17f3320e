import { type DefinitionError, McpError } from "../protocol/errors.js";
import { inputShapes } from "../protocol/shapes/input.js";
import type { InputRequest } from "../protocol/types/index.js";
import type { RequestedSchema } from "./elicitation-answer.js";
import { compileForm } from "./elicitation-form.js";
import { findQuestionProblem } from "./input-rules.js";

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
