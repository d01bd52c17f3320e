import { DefinitionError, type UrlElicitationRequiredError } from "../protocol/errors.js";
import { findChanged } from "../protocol/json-value.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { inputRequiredResult, inputShapes } from "../protocol/shapes/input.js";
import { mustBe } from "../protocol/text.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  InputRequest,
  ListRootsResult,
  Root,
} from "../protocol/types/index.js";
import { type AnswerContent, checkAnswer, knownFields } from "../schema/elicitation-answer.js";
import { compileForm, type FormSchema } from "../schema/elicitation-form.js";
import { assertQuestions, findAnswerProblem, questionProblem } from "../schema/input-rules.js";
import type { SchemaIssue } from "../schema/json-schema/types.js";
import type { OutputOf, ParseOutcome, StandardSchema } from "../schema/standard-schema.js";
import { missingCapability, undeclaredFor } from "./capabilities.js";
import type { AskOptions, ClientRequests, ElicitAnswer, RequestStrategy } from "./request-strategy.js";
import { toCustomResult } from "./results.js";
import type { Call, Result, ServerRuntime } from "./server-era.js";

const INCLUDE_CONTEXT = {
  code: "deprecated_include_context",
  message: 'includeContext is deprecated by MCP (SEP-2596): leave it out, or use "none"',
};

/**
 * Builds the requests of one run of a handler to its client, sends them by the strategy of the era, and validates the
 * answers and the values of steps.
 */
export class CheckedClientRequests implements ClientRequests {
  readonly strategy: RequestStrategy;
  readonly #runtime: ServerRuntime;
  /** Names of the steps that run or are done. A failed step may run again. */
  readonly #steps = new Set<string>();

  constructor(strategy: RequestStrategy, runtime: ServerRuntime) {
    this.strategy = strategy;
    this.#runtime = runtime;
  }

  async elicit<const S extends FormSchema>(
    message: string,
    schema: S,
    options: AskOptions,
  ): Promise<ElicitAnswer<OutputOf<S>>> {
    const form = compileForm(schema, `elicitation "${message}"`);
    const { requestedSchema } = form;
    const params = { mode: "form", message, requestedSchema } as unknown as ElicitParams;
    let content: unknown;
    const read = (parsed: ParseOutcome) => {
      if (!parsed.ok) return problemWith(parsed.issues[0]);
      content = parsed.value;
      return undefined;
    };
    const check = (answer: unknown) => {
      const { action, content: given } = answer as { action: string; content?: AnswerContent | null };
      if (action !== "accept") return undefined;
      const [issue] = checkAnswer(requestedSchema, given ?? {});
      if (issue !== undefined) return problemWith(issue);
      const parsed = form.parse(knownFields(requestedSchema, given ?? {}));
      return parsed instanceof Promise ? parsed.then(read) : read(parsed);
    };
    const { action } = (await this.#ask(
      { method: "elicitation/create", params },
      { ...options, check },
    )) as ElicitResult;
    return action === "accept" ? { action, content: content as OutputOf<S> } : { action };
  }

  async elicitUrl(message: string, url: string, options: AskOptions): Promise<Pick<ElicitResult, "action">> {
    const request: InputRequest = { method: "elicitation/create", params: { mode: "url", message, url } };
    const asking = this.#ask(request, options);
    if (isPlainHttp(url)) this.#runtime.warnOfRisk("a URL elicitation opens a page without TLS: use https", { url });
    return { action: ((await asking) as ElicitResult).action };
  }

  async sample(params: CreateMessageParams, options: AskOptions): Promise<CreateMessageResult> {
    if ((params.includeContext ?? "none") !== "none") this.#runtime.deprecated?.(INCLUDE_CONTEXT);
    return (await this.#ask({ method: "sampling/createMessage", params }, options)) as CreateMessageResult;
  }

  async listRoots(options: AskOptions): Promise<readonly Root[]> {
    return ((await this.#ask({ method: "roots/list", params: {} }, options)) as ListRootsResult).roots;
  }

  async request(
    method: string,
    params: Params | undefined,
    options: AskOptions & { readonly result?: StandardSchema },
  ): Promise<unknown> {
    const result: Result = await this.strategy.push(method, params, options);
    return options.result === undefined ? result : toCustomResult(method, options.result, result);
  }

  /** Returns the value as JSON keeps it, so that it is the same in each run of the handler. */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.#steps.has(name))
      throw new DefinitionError(
        `step ${JSON.stringify(name)} was already run in this call; give each step its own name`,
      );
    this.#steps.add(name);
    try {
      return copied(await this.strategy.run.step(name, async () => keptValue(name, await work())));
    } catch (error) {
      this.#steps.delete(name);
      throw error;
    }
  }

  async #ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const problem = questionProblem(request);
    if (problem !== undefined) throw problem;
    const check = options.check ?? ((answer: unknown) => findAnswerProblem(request, answer));
    return this.strategy.ask(request, { ...options, check });
  }
}

/**
 * Returns the questions of an `input_required` result that a handler wrote itself, by the same rules as those that `ctx`
 * asks. Throws an error of the author, or a refusal if the client did not declare a capability that a question needs.
 */
export function authoredQuestions(
  { method, client }: Pick<Call, "method" | "client">,
  result: Result,
): Readonly<Record<string, InputRequest>> {
  const problem = inputRequiredResult({ ...result, requestState: result.requestState === undefined ? undefined : "" });
  if (problem !== undefined) throw new Error(`${method}: inputRequired: ${mustBe(problem)}`);
  const requests = (result.inputRequests ?? {}) as Record<string, InputRequest>;
  if (Object.keys(requests).length === 0 && result.requestState === undefined) {
    throw new Error(`${method}: inputRequired needs inputRequests or state`);
  }
  for (const [key, request] of Object.entries(requests)) {
    const place = `${method}: inputRequired: /inputRequests/${key}`;
    if (!inputShapes.has(request.method)) throw new Error(`${place} must not have the method ${request.method}`);
    const extra = Object.keys(request).find((member) => member !== "method" && member !== "params");
    if (extra !== undefined) throw new Error(`${place} must not have ${extra}`);
  }
  assertQuestions(requests);
  for (const request of Object.values(requests)) {
    const missing = undeclaredFor(request, client.capabilities);
    if (missing !== undefined) throw missingCapability(missing);
  }
  return Object.fromEntries(Object.entries(requests).map(([key, request]) => [key, withParams(request)]));
}

/** Adds the params that a request for roots may leave out: the client of the Go SDK fails without them. */
function withParams(request: InputRequest): InputRequest {
  return request.method === "roots/list" ? { ...request, params: request.params ?? {} } : request;
}

/**
 * Converts a `UrlElicitationRequiredError`, which earlier versions send as an error, to a result with questions. The
 * handler runs again when the client has answered them.
 */
export function toUrlRequests({ elicitations }: UrlElicitationRequiredError): Result {
  const requests = elicitations.map(({ elicitationId, message, url }) => {
    return [elicitationId, { method: "elicitation/create", params: { mode: "url", message, url } }] as const;
  });
  return { resultType: "input_required", inputRequests: Object.fromEntries(requests) };
}

/** Returns a copy of the value of a step. Throws if it would not be the same when it is read again. */
function keptValue<T>(name: string, value: T): T {
  const changed = findChanged(value);
  if (changed === undefined) return copied(value);
  const place = changed.startsWith("/") ? changed : `it${changed}`;
  throw new DefinitionError(
    `the value of step ${JSON.stringify(name)} is not JSON: ${place}; return plain objects, lists, texts, finite numbers, booleans or null`,
  );
}

/** Returns a copy, so that a handler does not change a value that is recorded. */
function copied<T>(value: T): T {
  return JSON.parse(JSON.stringify(value) ?? "null") as T;
}

/** True if the URL uses HTTP without TLS and does not point to this machine. */
function isPlainHttp(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}

function problemWith(issue: SchemaIssue | undefined): string {
  return `/content${issue?.path ?? ""} ${issue?.message ?? "is not valid"}`;
}
