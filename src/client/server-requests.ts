import type { AbortSwitch } from "../call/abort-switch.js";
import { untilAborted } from "../call/abortable.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import type { ClientResult } from "../era/client-era.js";
import { McpError, type RequiredUrl } from "../protocol/errors.js";
import { INVALID_PARAMS, invalidParams, methodNotFound, Refusal } from "../protocol/jsonrpc/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { inputShapes } from "../protocol/shapes/input.js";
import { withoutNulls } from "../protocol/shapes/nulls.js";
import { describeIssues, mustBe, quoted } from "../protocol/text.js";
import type {
  CreateMessageParams,
  ElicitFormParams,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  InputRequest,
  ListRootsResult,
} from "../protocol/types/index.js";
import { checkAnswer, type RequestedSchema } from "../schema/elicitation-answer.js";
import { applyDefaults } from "../schema/elicitation-form.js";
import { findAnswerProblem, findQuestionProblem } from "../schema/input-rules.js";
import { type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";
import type { AnswerContext, ClientOptions } from "./options.js";

/**
 * Handles a request of the server by the client's handlers. The request may come from a channel, a stream or a result.
 */
export async function answerServerRequest(
  options: ClientOptions,
  method: string,
  params: Params | undefined,
  end: AbortSwitch,
  progress: AnswerContext["progress"] = () => {},
): Promise<ClientResult> {
  // The call that the request belongs to may have ended already.
  end.throwIfAborted();
  const ctx: AnswerContext = {
    get signal() {
      return end.signal;
    },
    progress,
  };
  const shape = inputShapes.get(method);
  if (shape === undefined) return answerOwn(options, method, params, ctx);
  const refused = shape.params(params);
  const read = refused === undefined ? params : withoutNulls(shape.params, params ?? {}, refused);
  assertSupported(options, method, read ?? params);
  const question = { method, params: read } as unknown as InputRequest;
  const problem = read === undefined ? refused : findQuestionProblem(question);
  if (problem !== undefined) throw invalidParams(method, problem);
  const result = await ask(options, question, ctx);
  const mistake = shape.result(result) ?? findAnswerProblem(question, result);
  if (mistake !== undefined) throw wrongAnswer(method, mustBe(mistake));
  return result as unknown as ClientResult;
}

/** Passes URLs to the user, one after the other, until the lifetime ends. */
export async function presentUrlElicitations(
  options: ClientOptions,
  pages: readonly RequiredUrl[],
  lifetime: AbortSwitch,
): Promise<void> {
  for (const page of pages)
    await untilAborted(answerServerRequest(options, "elicitation/create", { ...page }, lifetime), lifetime);
}

async function ask(options: ClientOptions, { method, params }: InputRequest, ctx: AnswerContext): Promise<unknown> {
  switch (method) {
    case "elicitation/create":
      return params.mode === "url" ? elicitUrl(options, params, ctx) : elicit(options, params as ElicitFormParams, ctx);
    case "sampling/createMessage":
      return options.onSample?.(params, ctx);
    case "roots/list":
      return listRoots(options, ctx);
  }
}

/** Throws if the client did not declare the capability. The error code depends on the method. */
function assertSupported(options: ClientOptions, method: string, params: Params | undefined): void {
  if (method === "roots/list" && options.roots === undefined) throw methodNotFound(method);
  if (method === "sampling/createMessage") {
    if (options.onSample === undefined) throw methodNotFound(method);
    const { tools, toolChoice } = (params ?? {}) as Partial<CreateMessageParams>;
    if (options.sampling?.tools !== true && (tools !== undefined || toolChoice !== undefined)) {
      throw new Refusal(INVALID_PARAMS, `Invalid params for ${method}: this client did not declare sampling.tools`);
    }
  }
  if (method !== "elicitation/create") return;
  const mode = (params as Partial<ElicitParams> | undefined)?.mode ?? "form";
  const handler = mode === "url" ? options.onElicitUrl : mode === "form" ? options.onElicit : undefined;
  if (handler === undefined) {
    throw new Refusal(
      INVALID_PARAMS,
      `Invalid params for ${method}: this client did not declare /mode ${quoted(String(mode))}`,
    );
  }
}

async function elicit(options: ClientOptions, params: ElicitFormParams, ctx: AnswerContext): Promise<ElicitResult> {
  const result = (await options.onElicit?.(params, ctx)) as ElicitResult;
  if (result?.action !== "accept") return withoutContent(result);
  const form = params.requestedSchema as unknown as RequestedSchema;
  const given = (result.content ?? {}) as NonNullable<ElicitResult["content"]>;
  const content = options.applyDefaults === false ? given : applyDefaults(form, given);
  const onSkip = (problem: string) =>
    ignoreErrors(() => options.logger?.warn?.(`elicitation/create: the response is not checked against ${problem}`));
  const [issue] = checkAnswer(form, content, { lenient: true, onSkip });
  if (issue !== undefined) {
    throw wrongAnswer("elicitation/create", `/content${issue.path} ${issue.message}`);
  }
  return { ...result, content: content as NonNullable<ElicitResult["content"]> };
}

/** Handles URL elicitation. Its result has no content. */
async function elicitUrl(options: ClientOptions, params: ElicitUrlParams, ctx: AnswerContext): Promise<ElicitResult> {
  return withoutContent((await options.onElicitUrl?.(params, ctx)) as ElicitResult);
}

async function listRoots({ roots }: ClientOptions, ctx: AnswerContext): Promise<ListRootsResult> {
  return { roots: [...((typeof roots === "function" ? await roots(ctx) : roots) ?? [])] };
}

function answerOwn(
  options: ClientOptions,
  method: string,
  params: Params | undefined,
  ctx: AnswerContext,
): ClientResult | Promise<ClientResult> {
  const own = options.methods;
  const handler = own !== undefined && Object.hasOwn(own, method) ? own[method] : undefined;
  if (handler === undefined) throw methodNotFound(method);
  return handler(params, ctx);
}

function withoutContent(result: ElicitResult): ElicitResult {
  const { content: _, ...rest } = result ?? {};
  return rest as ElicitResult;
}

/** Creates the error for an invalid result of a handler. The author gets it, never the server. */
function wrongAnswer(method: string, why: string): McpError {
  return new McpError("invalid_answer", `The handler of ${method} returned an invalid result: ${why}`);
}

/**
 * Wraps a handler of a custom method or notification to check its params first. If they do not match, a request gets
 * the error "Invalid params", and a notification is dropped and reported.
 */
export function withParams<S extends StandardSchema, Rest extends unknown[], Result>(
  schema: S,
  handler: (params: OutputOf<S>, ...rest: Rest) => Result | Promise<Result>,
): (params: Params | undefined, ...rest: Rest) => Promise<Result> {
  return async (params, ...rest) => {
    const { _meta, ...own } = params ?? {};
    const parsed = await parseStandard(schema, own);
    if (parsed.ok) return handler(parsed.value as OutputOf<S>, ...rest);
    throw new Refusal(INVALID_PARAMS, `Invalid params: ${describeIssues(parsed.issues)}`);
  };
}
