import { DefinitionError, McpError } from "../protocol/errors.js";
import type { Problem } from "../protocol/json.js";
import { findPageUrlProblem } from "../protocol/page-url.js";
import { findSamplingAnswerProblem, findSamplingProblem } from "../protocol/sampling-rules.js";
import { inputShapes } from "../protocol/shapes/input.js";
import { mustBe } from "../protocol/text.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitUrlParams,
  InputRequest,
  ListRootsResult,
} from "../protocol/types/index.js";
import type { RequestedSchema } from "./elicitation-answer.js";
import { compileForm } from "./elicitation-form.js";

/**
 * Rules for input requests and responses beyond their shapes. Each side applies them to its own messages and to the
 * peer's.
 */

/** Returns the reason why an input request cannot be sent to any client, or undefined. */
export function questionProblem(request: InputRequest): McpError | undefined {
  const { method } = request;
  const problem = inputShapes.get(method)?.params(request.params) ?? findQuestionProblem(request);
  if (problem !== undefined) {
    return new McpError("invalid_question", `${method} was not sent: ${mustBe(problem)}`);
  }
  if (method !== "elicitation/create" || request.params.mode === "url") return undefined;
  try {
    compileForm(request.params.requestedSchema as unknown as RequestedSchema, method);
    return undefined;
  } catch (error) {
    return error as DefinitionError;
  }
}

/** Throws if an input request of a result cannot be sent. */
export function assertQuestions(requests: Readonly<Record<string, InputRequest>>): void {
  for (const [key, request] of Object.entries(requests)) {
    const problem = questionProblem(request);
    if (problem !== undefined)
      throw new DefinitionError(
        `inputRequired: the input request ${JSON.stringify(key)} is invalid: ${problem.message}`,
      );
  }
}

/** Returns the problem of an input request whose shape is valid. */
export function findQuestionProblem(request: Pick<InputRequest, "method" | "params">): Problem | undefined {
  const { method, params } = request;
  if (method === "sampling/createMessage") return findSamplingProblem(params as CreateMessageParams);
  if (method !== "elicitation/create" || (params as ElicitUrlParams).mode !== "url") return undefined;
  const expected = findPageUrlProblem((params as ElicitUrlParams).url);
  return expected === undefined ? undefined : { path: "/url", expected };
}

/** Returns the problem of an input response whose shape is valid. */
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
    : { path: `/roots/${at}/uri`, expected: "a file:// URI without .. and without encoded separators" };
}

/**
 * True for a `file://` URI without `..` segments and without encoded separators or NUL, so that it denotes the folder
 * it shows.
 */
function isRootUri(uri: string): boolean {
  if (!/^file:\/\//i.test(uri) || !URL.canParse(uri) || /%(?:2f|5c|00)|[\\\0]/i.test(uri)) return false;
  const path = uri.slice("file://".length).replace(/%2e/gi, ".");
  return !path.split(/[/?#]/).includes("..");
}
