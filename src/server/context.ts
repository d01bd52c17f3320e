import type { AbortSwitch } from "../call/abort-switch.js";
import { ProgressReporter, toReport } from "../call/progress-reporter.js";
import type { OpenableState, OpenedByContext } from "../era/openable-state.js";
import {
  ASK_OPTIONS,
  type AskOptions,
  type ClientRequests,
  type ClientRequestsOpener,
  type ElicitAnswer,
} from "../era/request-strategy.js";
import type { Call, ClientDescription, ResultObject, ServerRuntime } from "../era/server-era.js";
import type { AuthInfo } from "../http/auth-info.js";
import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { assertAtCall } from "../protocol/known-options.js";
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

/**
 * Caller of a request, as the rules of a definition see it. They run for listings, uses and changes alike, so there is no way to
 * contact the client.
 */
export class Caller {
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  readonly #end: AbortSwitch;

  /** @internal */
  constructor(call: Call, runtime: ServerRuntime, end: AbortSwitch = call.end) {
    this.#call = call;
    this.#runtime = runtime;
    this.#end = end;
  }

  /**
   * Aborts when the client cancels the call (also after a timeout), when the connection ends, when the tool's
   * `timeoutMs` has passed, or when the server shuts down. On legacy HTTP the connection is the session: the loss of a
   * stream does not abort.
   *
   * ```ts
   * const response = await fetch("https://example.com/tides", { signal: ctx.signal });
   * ```
   */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /**
   * True if `signal` has aborted. Unlike `signal`, it creates no AbortSignal.
   * @internal
   */
  get aborted(): boolean {
    return this.#end.aborted;
  }

  /** JSON-RPC id of the request. */
  get requestId(): RequestId {
    return this.#call.id;
  }

  /** Method of the request, such as `tools/call`. */
  get method(): string {
    return this.#call.method;
  }

  /**
   * Protocol version, capabilities and self-reported identity of the client.
   *
   * ```ts
   * if (ctx.client.capabilities.elicitation === undefined) return "Say the city as an argument.";
   * ```
   */
  get client(): ClientDescription {
    return this.#call.client;
  }

  /** `_meta` of the request, unchanged. */
  get meta(): Meta | undefined {
    return this.#call.params._meta as Meta | undefined;
  }

  /**
   * What the authorization gate knows of the caller, such as the claims of a token. Undefined without a gate.
   *
   * ```ts
   * const user = ctx.auth?.subject;
   * ```
   */
  get auth(): AuthInfo | undefined {
    return this.#call.origin.auth;
  }

  /**
   * Identifier of the caller from the authorization gate, the same for all its requests. Undefined without a gate. Use it
   * as the key of data that belongs to the caller.
   */
  get principal(): string | undefined {
    return this.#call.origin.principal;
  }

  /**
   * True if the caller's authorization grants all of these scopes. To require scopes, set `requires` of the definition.
   *
   * ```ts
   * const owner = ctx.grants(["notes:admin"]) ? "everybody" : ctx.principal;
   * ```
   */
  grants(scopes: readonly string[]): boolean {
    const { auth, judge } = this.#call.origin;
    if (judge !== undefined) return judge([{ method: this.method, scopes }]) === undefined;
    const granted = (auth as { readonly scopes?: unknown } | null | undefined)?.scopes;
    return scopes.every((scope) => Array.isArray(granted) && granted.includes(scope));
  }

  /**
   * True if the gate can tell a caller which scopes are missing when it uses a definition (step-up authorization).
   * @internal
   */
  get canAskForMore(): boolean {
    return this.#call.origin.judge !== undefined;
  }

  /** Id of the session. Legacy HTTP only. */
  get sessionId(): string | undefined {
    return this.#call.origin.sessionId;
  }

  /** Path and query of the HTTP request. Undefined on other transports. */
  get url(): string | undefined {
    return this.#call.origin.url;
  }

  /** Returns a header of the HTTP request. The name is case-insensitive. Returns undefined on other transports. */
  header(name: string): string | undefined {
    return this.#call.origin.header?.(name.toLowerCase());
  }

  /**
   * Opens a value that the server keeps for the caller between calls: that of `defineState` of `bowline/state`.
   *
   * ```ts
   * const cart = defineState("cart", { schema: z.array(z.string()) });
   * server.tool("add", { input: z.object({ item: z.string() }) }, async ({ item }, ctx) => {
   *   const items = await ctx.state(cart).update((before = []) => [...before, item]);
   *   return `${items.length} items`;
   * });
   * ```
   */
  state<T>(definition: OpenedByContext<T>): T {
    return (definition as OpenableState<T>).open(this.#call, this.#runtime);
  }
}

/**
 * Second argument of handlers: data of the call, and methods to contact the client while the call runs. After the call,
 * notifications are ignored and requests to the client reject.
 */
export class Context extends Caller {
  readonly #call: Call;
  readonly #asking: ClientRequestsOpener;
  readonly #runtime: ServerRuntime;
  readonly #end: AbortSwitch;
  /** Context of the same call that reports progress. Contexts of `endingWith` share its reporter. */
  readonly #root: Context;
  #reporting: ProgressReporter | undefined;

  /** @internal */
  constructor(
    call: Call,
    asking: ClientRequestsOpener,
    runtime: ServerRuntime,
    end: AbortSwitch = call.end,
    root?: Context,
  ) {
    super(call, runtime, end);
    this.#root = root ?? this;
    this.#call = call;
    this.#runtime = runtime;
    this.#asking = asking;
    this.#end = end;
  }

  /**
   * Returns a context of the same call whose signal is that of `end`. For a handler whose time may end before the call
   * does.
   * @internal
   */
  endingWith(end: AbortSwitch): Context {
    return new Context(this.#call, this.#asking, this.#runtime, end, this.#root);
  }

  /**
   * Text that is the same each time that the handler runs for this call: in each round of input requests, and in each
   * run of a task. Other calls have others.
   */
  get idempotencyKey(): string {
    return this.#call.idempotencyKey;
  }

  /**
   * True if notifications and requests can still be sent for this call.
   * @internal
   */
  get open(): boolean {
    return this.#call.open && !this.#end.aborted;
  }

  /**
   * Reports progress if the client requested it. Values must increase: other values are dropped and reported to
   * `onError`.
   *
   * ```ts
   * const files = ["tides.csv", "winds.csv"];
   * for (const [index, file] of files.entries()) {
   *   ctx.progress(index, files.length, file);
   *   // Convert the file here.
   * }
   * ```
   */
  progress(progress: number, total?: number, message?: string): void | Promise<void> {
    return this.#reporter?.report(toReport(progress, total, message));
  }

  /**
   * Sends a part of the result as progress if the client requested progress. Increments the progress value. The result
   * must be complete nevertheless.
   */
  partial(content: readonly ContentBlock[], message?: string): void | Promise<void> {
    const reporter = this.#reporter;
    const _meta = { [PARTIAL_CONTENT_KEY]: content };
    return reporter?.report({ ...toReport(reporter.next, undefined, message), _meta });
  }

  /**
   * Sends a log message to the client if `level` is at or above the client's log level. For logs of the server itself use
   * a logger of your own.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void | Promise<void> {
    if (!isWanted(level, this.#call.logLevel())) return;
    return this.#call.notify("notifications/message", { level, data, logger });
  }

  /** Sends a notification that belongs to this call, such as one of an extension. */
  notify(method: string, params?: { readonly [key: string]: unknown }): void | Promise<void> {
    if (method === "notifications/progress") assertOwnToken(this.#call, params);
    return this.#call.notify(method, params);
  }

  /**
   * Requests input from the user by a form. Accepted content is the output of the schema, with defaults and transforms
   * applied.
   *
   * ```ts
   * const answer = await ctx.elicit("Which port?", z.object({ port: z.string() }));
   * if (answer.action !== "accept") return "Nothing was booked.";
   * return `Booked a berth in ${answer.content.port}.`;
   * ```
   */
  elicit<const S extends FormSchema>(
    message: string,
    schema: S,
    options?: AskOptions,
  ): Promise<ElicitAnswer<OutputOf<S>>> {
    return this.#ask("elicitation/create", options, (client, limited) => client.elicit(message, schema, limited));
  }

  /**
   * Requests that the user opens a URL. `accept` means that the user agreed to open it, not that they have finished
   * there.
   *
   * ```ts
   * const { action } = await ctx.elicitUrl("Sign in to the harbour", "https://harbour.example/login");
   * ```
   */
  elicitUrl(message: string, url: string, options?: AskOptions): Promise<{ readonly action: ElicitResult["action"] }> {
    return this.#ask("elicitation/create", options, (client, limited) => client.elicitUrl(message, url, limited));
  }

  /**
   * Requests a completion from the client's model (sampling).
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  sample(params: CreateMessageParams, options?: AskOptions): Promise<CreateMessageResult> {
    return this.#ask("sampling/createMessage", options, (client, limited) => client.sample(params, limited));
  }

  /**
   * Requests the client's roots.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  listRoots(options?: AskOptions): Promise<readonly Root[]> {
    return this.#ask("roots/list", options, (client, limited) => client.listRoots(limited));
  }

  /**
   * Sends a custom request to the client. Legacy only: rejects in other protocol versions. The schema `result` checks the
   * answer.
   */
  request<S extends StandardSchema>(
    method: string,
    params: Params | undefined,
    options: AskOptions & { readonly result: S },
  ): Promise<OutputOf<S>>;
  /** Sends a custom request to the client. Legacy only: rejects in other protocol versions. */
  request(method: string, params?: Params, options?: AskOptions): Promise<ResultObject>;
  request(
    method: string,
    params?: Params,
    options?: AskOptions & { readonly result?: StandardSchema },
  ): Promise<unknown> {
    return this.#ask(method, options, (client, limited) => client.request(method, params, limited));
  }

  /**
   * Runs work once per call and keeps its value, even if the handler is run again for each round of input requests. Each
   * step needs its own name, and the value must be JSON.
   *
   * ```ts
   * const order = await ctx.step("order", () => crypto.randomUUID());
   * const answer = await ctx.elicit("Pay now?", z.object({ pay: z.boolean() }));
   * ```
   */
  step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    return handled(this.#asking.open().then((client) => client.step(name, work)));
  }

  /** State from an earlier `inputRequired` result of this call's handler. Undefined in the first round. */
  get requestState(): unknown {
    return this.#call.authoredState;
  }

  /** Responses of the client to an earlier `inputRequired` result of this call's handler. Undefined in the first round. */
  get inputResponses(): InputResponses | undefined {
    return this.#call.inputResponses;
  }

  /**
   * Closes the SSE stream of the call while the call continues. The client reconnects after `retryMs` to get the
   * response. Has an effect only on legacy HTTP, if the stream can be resumed.
   * @internal
   */
  detachStream(retryMs?: number): void {
    if (this.#call.open) this.#call.wire.detach?.(this.#call, retryMs);
  }

  /** Undefined if the client requested no progress. */
  get #reporter(): ProgressReporter | undefined {
    const root = this.#root;
    const { progressToken } = this.#call;
    if (progressToken !== undefined) root.#reporting ??= createReporter(this.#call, progressToken, this.#runtime);
    return root.#reporting;
  }

  #ask<T, O extends AskOptions>(
    method: string,
    options: O | undefined,
    ask: (client: ClientRequests, limited: O) => Promise<T>,
  ): Promise<T> {
    const asking = this.#asking.open().then((client) => {
      this.#end.throwIfAborted();
      if (!this.#call.open) throw new McpError("call_over", `${method} was not sent: the call has ended`);
      if (options !== undefined) assertAtCall(method, options, ASK_OPTIONS);
      return ask(client, this.#limited(options));
    });
    return handled(asking);
  }

  /** Returns options whose signal also aborts when the handler's own time ends. */
  #limited<O extends AskOptions>(options: O = {} as O): O {
    if (this.#end === this.#call.end) return options;
    const { signal } = this.#end;
    return { ...options, signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]) };
  }
}

/**
 * Returns the promise, whose rejection is no longer reported as unhandled. For promises that the code of an author gets
 * for the work of a peer: the code may end before it awaits them, and a peer must not be able to end the process by that.
 */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Throws unless the params have the progress token of the call, since progress may be sent only for this call. */
function assertOwnToken(call: Call, params: { readonly [key: string]: unknown } | undefined): void {
  if (call.progressToken !== undefined && params?.progressToken === call.progressToken) return;
  throw new McpError("unknown_progress_token", "not the progress token of this call; use ctx.progress");
}

function createReporter(call: Call, token: ProgressToken, runtime: ServerRuntime): ProgressReporter {
  const { progressIntervalMs: intervalMs } = runtime.options;
  const { method, id } = call;
  const pace = intervalMs === undefined ? undefined : { clock: runtime.clock, intervalMs };
  const reporter = new ProgressReporter(
    (progress) => call.notify("notifications/progress", call.era.encodeProgress(call, token, progress)),
    (error) => runtime.report(error, { where: "progress", method, id }),
    pace,
  );
  if (pace !== undefined) call.beforeClose = () => void reporter.flush();
  return reporter;
}
