import type { AbortSwitch } from "../call/abort-switch.js";
import { ProgressReporter, toReport } from "../call/progress-reporter.js";
import type { AskOptions, ClientRequests, ClientRequestsOpener, ElicitAnswer } from "../era/request-strategy.js";
import type { Call, ClientDescription, Result, ServerRuntime } from "../era/server-era.js";
import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { isWanted } from "../protocol/logging.js";
import { PARTIAL_CONTENT_KEY } from "../protocol/meta.js";
import type {
  ContentBlock,
  CreateMessageParams,
  CreateMessageResult,
  ElicitResult,
  InputResponses,
  LoggingLevel,
  Meta,
  ProgressToken,
  RequestId,
  Root,
} from "../protocol/types/index.js";
import type { OutputOf, StandardSchema } from "../schema/compile.js";
import type { FormSchema } from "../schema/elicitation-form.js";

/** What a handler knows and can do while its call runs. Afterwards it is closed: sends do nothing and questions reject. */
export class Context {
  readonly #call: Call;
  readonly #asking: ClientRequestsOpener;
  readonly #runtime: ServerRuntime;
  readonly #end: AbortSwitch;
  /** The context that reports for this one too, when this is the same call with another end. */
  readonly #root: Context;
  #reporting: ProgressReporter | undefined;

  constructor(
    call: Call,
    asking: ClientRequestsOpener,
    runtime: ServerRuntime,
    end: AbortSwitch = call.end,
    root?: Context,
  ) {
    this.#root = root ?? this;
    this.#call = call;
    this.#runtime = runtime;
    this.#asking = asking;
    this.#end = end;
  }

  /** The same call for a handler that may be given up on before the call is: its signal is that of `end`. */
  endingWith(end: AbortSwitch): Context {
    return new Context(this.#call, this.#asking, this.#runtime, end, this.#root);
  }

  /** Fires when the call is cancelled, times out at the caller, loses its connection, or the server shuts down. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Whether `signal` has fired, for those who need no signal. */
  get aborted(): boolean {
    return this.#end.aborted;
  }

  get requestId(): RequestId {
    return this.#call.id;
  }

  get method(): string {
    return this.#call.method;
  }

  /** Version, capabilities and self-reported identity of the client. */
  get client(): ClientDescription {
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

  /** The caller in one word, as far as a gate could tell. */
  get principal(): string | undefined {
    return this.#call.origin.principal;
  }

  /** Whether the caller's authorization grants all of these scopes. */
  grants(scopes: readonly string[]): boolean {
    const { method } = this;
    const { auth, judge } = this.#call.origin;
    if (judge !== undefined) return judge([{ method, scopes }]) === undefined;
    const granted = (auth as { readonly scopes?: unknown } | null | undefined)?.scopes;
    return scopes.every((scope) => Array.isArray(granted) && granted.includes(scope));
  }

  /** Whether a caller without the scopes for something is told, when it is used, what to ask for. */
  get canAskForMore(): boolean {
    return this.#call.origin.judge !== undefined;
  }

  /** The session, in the era that has them. */
  get sessionId(): string | undefined {
    return this.#call.origin.sessionId;
  }

  /** Path and query of the HTTP request; undefined where there is none. */
  get url(): string | undefined {
    return this.#call.origin.url;
  }

  /** A header of the HTTP request, by name in any case; undefined where there is none. */
  header(name: string): string | undefined {
    return this.#call.origin.header?.(name.toLowerCase());
  }

  /** Whether anything can still be sent for this call. */
  get open(): boolean {
    return this.#call.open && !this.#end.aborted;
  }

  /** Reports progress, if the caller asked for it. Values must grow: others are left out, and reported as a mistake. */
  progress(progress: number, total?: number, message?: string): void | Promise<void> {
    return this.#reporter?.report(toReport(progress, total, message));
  }

  /** Shows a part of the result that is ready already, if the caller asked for progress: one step further than before. */
  partial(content: readonly ContentBlock[], message?: string): void | Promise<void> {
    const reporter = this.#reporter;
    const _meta = { [PARTIAL_CONTENT_KEY]: content };
    return reporter?.report({ ...toReport(reporter.next, undefined, message), _meta });
  }

  /**
   * Sends a log message to the client, if it asked for this level.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
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
    if (method === "notifications/progress") assertOwnToken(this.#call, params);
    return this.#call.notify(method, params);
  }

  /** Asks the user to fill in a small form. What they accept comes as the schema reads it: defaults filled in, refined. */
  async elicit<const S extends FormSchema>(
    message: string,
    schema: S,
    options: AskOptions = {},
  ): Promise<ElicitAnswer<OutputOf<S>>> {
    return (await this.#questions("elicitation/create")).elicit(message, schema, this.#limited(options));
  }

  /** Sends the user to a page; `accept` means that they agreed to go, not that they are done. */
  async elicitUrl(
    message: string,
    url: string,
    options: AskOptions = {},
  ): Promise<{ readonly action: ElicitResult["action"] }> {
    return (await this.#questions("elicitation/create")).elicitUrl(message, url, this.#limited(options));
  }

  /**
   * Asks the client's model.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async sample(params: CreateMessageParams, options: AskOptions = {}): Promise<CreateMessageResult> {
    return (await this.#questions("sampling/createMessage")).sample(params, this.#limited(options));
  }

  /**
   * Asks which folders the client works in.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async listRoots(options: AskOptions = {}): Promise<readonly Root[]> {
    return (await this.#questions("roots/list")).listRoots(this.#limited(options));
  }

  /** Sends the client a request of the author's own, in the era where a server may; rejects in the other. */
  request<S extends StandardSchema>(
    method: string,
    params: Params | undefined,
    options: AskOptions & { readonly result: S },
  ): Promise<OutputOf<S>>;
  request(method: string, params?: Params, options?: AskOptions): Promise<Result>;
  async request(
    method: string,
    params?: Params,
    options: AskOptions & { readonly result?: StandardSchema } = {},
  ): Promise<unknown> {
    return (await this.#questions(method)).request(method, params, this.#limited(options));
  }

  /** Runs work once per call, however many rounds of questions the call takes; its value must be JSON. */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    return (await this.#asking.open()).step(name, work);
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

  /** Undefined where the caller asked for no progress. */
  get #reporter(): ProgressReporter | undefined {
    const root = this.#root;
    const { progressToken } = this.#call;
    if (progressToken !== undefined) root.#reporting ??= createReporter(this.#call, progressToken, this.#runtime);
    return root.#reporting;
  }

  async #questions(method: string): Promise<ClientRequests> {
    this.#assertOpen(method);
    const questions = await this.#asking.open();
    this.#assertOpen(method);
    return questions;
  }

  /** A handler that may be given up on before its call is does not wait longer than that. */
  #limited<O extends AskOptions>(options: O): O {
    if (this.#end === this.#call.end) return options;
    const { signal } = this.#end;
    return { ...options, signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]) };
  }

  #assertOpen(method: string): void {
    this.#end.throwIfAborted();
    if (!this.#call.open) throw new McpError("call_over", `${method}: the call that asks is over`);
  }
}

/** Progress may only be told of a request that is in progress and asked for it. */
function assertOwnToken(call: Call, params: { readonly [key: string]: unknown } | undefined): void {
  if (call.progressToken !== undefined && params?.progressToken === call.progressToken) return;
  throw new McpError("unknown_progress_token", "notifications/progress must carry the token of the call it belongs to");
}

function createReporter(call: Call, token: ProgressToken, runtime: ServerRuntime): ProgressReporter {
  const { clock } = runtime;
  const { progressIntervalMs: intervalMs } = runtime.options;
  const { method, id } = call;
  const reporter = new ProgressReporter(
    (progress) => call.notify("notifications/progress", call.era.encodeProgress(call, token, progress)),
    (error) => runtime.report(error, { where: "progress", method, id }),
    intervalMs === undefined ? undefined : { clock, intervalMs },
  );
  if (intervalMs !== undefined) call.beforeClose = () => void reporter.flush();
  return reporter;
}
