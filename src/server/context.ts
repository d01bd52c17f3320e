import type { Call, ClientFacts } from "../era/call.js";
import type { Asker, AskOptions, ServerHost } from "../era/era.js";
import { isWanted } from "../era/logging-level.js";
import { checkAnswer, compileForm, type FormSchema, knownFields } from "../schema/elicit-schema.js";
import { McpError } from "../schema/errors.js";
import { findAnswerProblem } from "../schema/input-rules.js";
import type { OutputOf } from "../schema/standard.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  InputRequest,
  InputResponses,
  ListRootsResult,
  LoggingLevel,
  Meta,
  RequestId,
  Root,
} from "../schema/types.js";
import { questionProblem } from "./input-required.js";

export type ElicitAnswer<T> =
  | { readonly action: "accept"; readonly content: T }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

/** What a handler knows and can do while its call runs. Afterwards it is closed: sends do nothing and questions reject. */
export class Context {
  readonly #call: Call;
  readonly #asker: Asker;
  readonly #host: Pick<ServerHost, "warn">;
  #lastProgress = Number.NEGATIVE_INFINITY;

  constructor(call: Call, asker: Asker, host: Pick<ServerHost, "warn">) {
    this.#call = call;
    this.#asker = asker;
    this.#host = host;
  }

  /** Fires when the call is cancelled, times out at the caller, loses its connection, or the server shuts down. */
  get signal(): AbortSignal {
    return this.#call.end.signal;
  }

  get requestId(): RequestId {
    return this.#call.id;
  }

  get method(): string {
    return this.#call.method;
  }

  /** Version, capabilities and self-reported identity of the client. */
  get client(): ClientFacts {
    return this.#call.client;
  }

  /** The `_meta` of the request, as it came. */
  get meta(): Meta | undefined {
    return this.#call.params._meta as Meta | undefined;
  }

  /** What an authorization gate found out about the caller. */
  get auth(): unknown {
    return this.#call.origin.auth;
  }

  /** The session, in the era that has them. */
  get sessionId(): string | undefined {
    return this.#call.origin.sessionId;
  }

  /** A header of the HTTP request, by name in any case. */
  header(name: string): string | undefined {
    return this.#call.origin.header?.(name.toLowerCase());
  }

  /** Whether anything can still be sent for this call. */
  get open(): boolean {
    return this.#call.open;
  }

  /** Reports progress, if the caller asked for it. Values that do not grow are left out, as the protocol wants. */
  progress(progress: number, total?: number, message?: string): void | Promise<void> {
    const { progressToken } = this.#call;
    if (progressToken === undefined || progress <= this.#lastProgress || !Number.isFinite(progress)) return;
    this.#lastProgress = progress;
    return this.#call.notify("notifications/progress", {
      progressToken,
      progress,
      ...(total === undefined ? undefined : { total }),
      ...(message === undefined ? undefined : { message }),
    });
  }

  /** Sends a log message to the client, if it asked for this level. */
  log(level: LoggingLevel, data: unknown, logger?: string): void | Promise<void> {
    if (!isWanted(level, this.#call.logLevel())) return;
    return this.#call.notify("notifications/message", {
      level,
      data,
      ...(logger === undefined ? undefined : { logger }),
    });
  }

  /** Sends a notification that belongs to this call. */
  notify(method: string, params?: { readonly [key: string]: unknown }): void | Promise<void> {
    return this.#call.notify(method, params);
  }

  /** Asks the user to fill in a small form. An answer that the schema refuses is not an answer: the call rejects. */
  async elicit<const S extends FormSchema>(
    message: string,
    schema: S,
    options: AskOptions = {},
  ): Promise<ElicitAnswer<OutputOf<S>>> {
    const form = compileForm(schema, `elicitation "${message}"`);
    const { requestedSchema } = form;
    const params = { mode: "form", message, requestedSchema } as unknown as ElicitParams;
    const check = (answer: unknown) => {
      const { action, content } = answer as ElicitResult;
      const issue = action === "accept" ? checkAnswer(requestedSchema, content ?? {})[0] : undefined;
      return issue === undefined ? undefined : { path: `/content${issue.path}`, expected: issue.message };
    };
    const answer = (await this.#ask({ method: "elicitation/create", params }, { ...options, check })) as ElicitResult;
    if (answer.action !== "accept") return { action: answer.action };
    const parsed = await form.parse(knownFields(requestedSchema, answer.content ?? {}));
    if (parsed.ok) return { action: "accept", content: parsed.value as OutputOf<S> };
    const issues = parsed.issues.map((issue) => `/content${issue.path} ${issue.message}`).join("; ");
    throw new McpError("invalid_answer", `The answer to elicitation "${message}" does not fit: ${issues}`);
  }

  /** Sends the user to a page; `accept` means that they agreed to go, not that they are done. */
  async elicitUrl(
    message: string,
    url: string,
    options: AskOptions = {},
  ): Promise<{ readonly action: ElicitResult["action"] }> {
    const request: InputRequest = { method: "elicitation/create", params: { mode: "url", message, url } };
    const asking = this.#ask(request, options);
    if (isPlainHttp(url)) this.#host.warn("users are sent to a page without TLS", { url });
    return { action: ((await asking) as ElicitResult).action };
  }

  /** Asks the client's model. */
  async sample(params: CreateMessageParams, options: AskOptions = {}): Promise<CreateMessageResult> {
    return (await this.#ask({ method: "sampling/createMessage", params }, options)) as CreateMessageResult;
  }

  /** Asks which folders the client works in. */
  async listRoots(options: AskOptions = {}): Promise<readonly Root[]> {
    return ((await this.#ask({ method: "roots/list" }, options)) as ListRootsResult).roots;
  }

  /** Runs work once per call, however many rounds of questions the call takes; its value must be JSON. */
  step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    return this.#asker.step(name, work);
  }

  /** The state that an earlier `inputRequired` of this call's handler carried. */
  get state(): unknown {
    return this.#call.authoredState;
  }

  /** The client's answers to an earlier `inputRequired` of this call's handler. */
  get inputResponses(): InputResponses | undefined {
    return this.#call.inputResponses;
  }

  /** Lets go of the call's stream while the call goes on: a client that can resume reconnects for the answer. */
  detachStream(retryMs?: number): void {
    if (this.#call.open) this.#call.wire.detach?.(this.#call, retryMs);
  }

  #ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const { end } = this.#call;
    if (end.aborted) return Promise.reject(end.reason);
    if (!this.#call.open) {
      return Promise.reject(new McpError("call_over", `${request.method}: the call that asks is over`));
    }
    const problem = questionProblem(request);
    if (problem !== undefined) return Promise.reject(problem);
    const check = options.check ?? ((answer: unknown) => findAnswerProblem(request, answer));
    return this.#asker.ask(request, { ...options, check });
  }
}

/** Whether an address leaves this machine unencrypted. */
function isPlainHttp(url: string): boolean {
  if (!/^http:/i.test(url)) return false;
  const { hostname } = new URL(url);
  return hostname !== "localhost" && hostname !== "[::1]" && !hostname.startsWith("127.");
}
