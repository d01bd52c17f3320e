import { DefinitionError, McpError } from "../protocol/errors.js";
import type { Problem } from "../protocol/json.js";
import { findSamplingAnswerProblem, findSamplingProblem } from "../protocol/sampling-rules.js";
import { inputShapes } from "../protocol/shapes/input.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitUrlParams,
  InputRequest,
  ListRootsResult,
} from "../protocol/types/index.js";
import type { RequestedSchema } from "./elicitation-answer.js";
import { compileForm } from "./elicitation-form.js";

/** The rules for questions and answers beyond their shapes. Both sides hold themselves, and each other, to them. */

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

/** Refuses the questions of a result of which one cannot be asked. */
export function assertQuestions(requests: Readonly<Record<string, InputRequest>>): void {
  for (const [key, request] of Object.entries(requests)) {
    const problem = questionProblem(request);
    if (problem !== undefined) throw new DefinitionError(`inputRequired, ${key}: ${problem.message}`);
  }
}

/** What is wrong with a question of the right shape. */
export function findQuestionProblem(request: Pick<InputRequest, "method" | "params">): Problem | undefined {
  const { method, params } = request;
  if (method === "sampling/createMessage") return findSamplingProblem(params as CreateMessageParams);
  if (method !== "elicitation/create" || (params as ElicitUrlParams).mode !== "url") return undefined;
  const isGood = isWebUrl((params as ElicitUrlParams).url);
  return isGood ? undefined : { path: "/url", expected: "an absolute http or https address" };
}

/** What is wrong with an answer of the right shape. */
export function findAnswerProblem(
  request: Pick<InputRequest, "method" | "params">,
  answer: unknown,
): Problem | undefined {
  if (request.method === "sampling/createMessage") {
    return findSamplingAnswerProblem(request.params as CreateMessageParams, answer as CreateMessageResult);
  }
  if (request.method !== "roots/list") return undefined;
  const at = (answer as ListRootsResult).roots.findIndex(({ uri }) => !isRootUri(uri));
  return at < 0
    ? undefined
    : { path: `/roots/${at}/uri`, expected: "a file:// address without .. or hidden separators" };
}

/** An absolute address that a browser may be sent to. */
function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url);
}

/** A file address that means the folder it shows: nothing climbs, and no separator or NUL hides in an escape. */
function isRootUri(uri: string): boolean {
  if (!/^file:\/\//i.test(uri) || !URL.canParse(uri) || /%(?:2f|5c|00)|[\\\0]/i.test(uri)) return false;
  const path = uri.slice("file://".length).replace(/%2e/gi, ".");
  return !path.split(/[/?#]/).includes("..");
}
