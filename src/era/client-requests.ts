import type { Params } from "../protocol/jsonrpc/message.js";
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
import { findAnswerProblem, questionProblem } from "../schema/input-rules.js";
import type { SchemaIssue } from "../schema/json-schema/types.js";
import type { OutputOf, ParseOutcome, StandardSchema } from "../schema/standard-schema.js";
import type { AskOptions, ClientRequests, ElicitAnswer, RequestStrategy } from "./request-strategy.js";
import { toCustomResult } from "./results.js";
import type { Result, ServerRuntime } from "./server-era.js";

const INCLUDE_CONTEXT = {
  code: "deprecated_include_context",
  message: 'includeContext is deprecated by MCP (SEP-2596): leave it out, or use "none"',
};

/** Builds the requests of a handler to its client, sends them by the strategy of the era, and validates the answers. */
export class CheckedClientRequests implements ClientRequests {
  readonly strategy: RequestStrategy;
  readonly #runtime: ServerRuntime;

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
    if (isPlainHttp(url)) this.#runtime.warn("a URL elicitation opens a page without TLS: use https", { url });
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

  step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    return this.strategy.step(name, work);
  }

  async #ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const problem = questionProblem(request);
    if (problem !== undefined) throw problem;
    const check = options.check ?? ((answer: unknown) => findAnswerProblem(request, answer));
    return this.strategy.ask(request, { ...options, check });
  }
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
