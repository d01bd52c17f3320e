import { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import { composeInterceptors } from "../call/interceptor.js";
import type { CallScope } from "../call/scope.js";
import type { ClientHost, ClientResult, Connection, PriorKnowledge } from "../era/client-era.js";
import { toCustomResult } from "../era/custom-result.js";
import { findParamHeaders, type ParamHeader } from "../http/param-headers.js";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "../jsonrpc/error-codes.js";
import type { Params, RpcNotification } from "../jsonrpc/message.js";
import { type DeprecatedFeature, warnByProcess, warnOfDeprecated } from "../schema/deprecated.js";
import {
  ConnectionError,
  InputRequiredError,
  McpError,
  RpcError,
  UrlElicitationRequiredError,
} from "../schema/errors.js";
import { assertExtensionIds } from "../schema/extension-id.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import type { OutputOf, StandardSchema } from "../schema/standard-schema.js";
import type {
  ClientCapabilities,
  CompleteResult,
  CompletionReference,
  DiscoverResult,
  GetPromptResult,
  Implementation,
  InputRequiredResult,
  ListToolsResult,
  LoggingLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  Root,
  ServerCapabilities,
  SubscriptionFilter,
  Tool,
} from "../schema/types.js";
import { toChange } from "../store/change-bus.js";
import { answer, capabilitiesOf } from "./answers.js";
import { assertCacheOptions, type CacheStats, ClientCache } from "./cache.js";
import { Caller } from "./caller.js";
import { capabilityRefusal } from "./capability-check.js";
import {
  type AnswerContext,
  type AnswerOptions,
  type CallOptions,
  type ClientCall,
  type ClientOptions,
  DEFAULTS,
  type ToolCallOptions,
  type TypedCallOptions,
} from "./options.js";
import { OutputChecks, parseOutput } from "./output-checks.js";
import { PageWaits } from "./page-waits.js";
import { Pages } from "./pages.js";
import { type MethodResults, type ToolOutcome, toToolOutcome } from "./results.js";
import { ChangeQueue, Watch } from "./watch.js";

/** What a client knows of a server's definition, as a type. Without one, any name goes. */
export interface AnyServer {
  readonly shape: {
    readonly tools: { readonly [name: string]: { readonly input: unknown; readonly output: unknown } };
  };
}

type Tools<S extends AnyServer> = S["shape"]["tools"];
type ToolName<S extends AnyServer> = keyof Tools<S> & string;

export interface WatchFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs of resources to hear about. */
  readonly resources?: readonly string[];
}

const ROOTS_CHANGED = "notifications/roots/list_changed";
const ELICITATION_COMPLETE = "notifications/elicitation/complete";
const DEFAULT_INFO: Implementation = { name: "bowline", version: "0.1.0" };

/** A connection to one server, the same whatever it speaks and wherever it runs. */
export class Client<S extends AnyServer = AnyServer> implements ClientHost {
  readonly info: Implementation;
  readonly identify: boolean;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly #pages = new PageWaits();
  readonly #paramHeaders = new Map<string, readonly ParamHeader[]>();
  readonly #outputs: OutputChecks;
  #cache: ClientCache | undefined;
  #options: ClientOptions;
  #capabilities: ClientCapabilities;
  #connection: Connection | undefined;
  #caller: Caller | undefined;
  #call: (call: ClientCall) => Promise<ClientResult> = () => Promise.reject(notConnected(undefined));
  #closed = false;
  #closing: Promise<void> | undefined;

  constructor(options: ClientOptions, clock: Clock, loadValidator: () => Promise<JsonSchemaValidator>) {
    assertExtensionIds("capabilities", options.capabilities?.extensions);
    this.info = options.info ?? DEFAULT_INFO;
    this.identify = options.identify ?? true;
    this.#capabilities = capabilitiesOf(options);
    this.clock = clock;
    this.timeoutMs = options.timeoutMs ?? DEFAULTS.timeoutMs;
    this.#options = options;
    if (options.cache) assertCacheOptions(options.cache);
    this.#outputs = new OutputChecks(() => options.validator ?? loadValidator());
  }

  /**
   * Called when negotiation has made a connection. `address` tells its server from others; with `redetect`, no word of
   * the server's own went into it.
   */
  attach(connection: Connection, address: string, redetect?: () => Promise<Connection>): void {
    this.#warnOfDeprecated(connection);
    const cache = createCache(this.#options, connection, address, this);
    this.#cache = cache;
    const caller = new Caller(
      cache === undefined
        ? connection
        : { call: (call, scope) => cache.through(call, () => connection.call(call, scope)) },
      this.#options,
      (method, params, end) => answer(this.#options, method, params, end),
      this.clock,
      (problem) => this.onProblem(toError(problem)),
    );
    this.#connection = connection;
    this.#caller = caller;
    if (this.#options.pings !== undefined) connection.keepPinging?.(this.#options.pings);
    let unproved = redetect;
    this.#call = composeInterceptors(this.#options.interceptors ?? [], async (call) => {
      const refusal = this.#refuse(call.method);
      if (refusal !== undefined) throw refusal;
      try {
        const result = await caller.call(call);
        unproved = undefined;
        return result;
      } catch (error) {
        if (unproved === undefined || !isRefusal(error)) throw error;
        const again = unproved;
        unproved = undefined;
        return this.#callInOtherEra(call, error, address, again);
      }
    });
  }

  /** A call was refused on hearsay: the server is asked once what it speaks, and the call made in that era if it is another. */
  async #callInOtherEra(
    call: ClientCall,
    refused: unknown,
    address: string,
    redetect: () => Promise<Connection>,
  ): Promise<ClientResult> {
    const other = await redetect();
    if (other.era === this.#connection?.era || this.#closed) throw refused;
    this.attach(other, address);
    return this.#call({ ...call, options: { ...call.options, id: undefined } });
  }

  /** What this client declares: what its handlers amount to. */
  get capabilities(): ClientCapabilities {
    return this.#capabilities;
  }

  /**
   * Changes how the server's questions are answered from now on. Where the handshake told the server what this client
   * can do, nothing can be added to that.
   */
  answerWith(handlers: AnswerOptions): void {
    assertExtensionIds("answerWith", handlers.capabilities?.extensions);
    const options = { ...this.#options, ...handlers };
    const capabilities = capabilitiesOf(options);
    if (this.#connected().era.handshakes && JSON.stringify(capabilities) !== JSON.stringify(this.#capabilities)) {
      const message = "answerWith: the handshake declared other capabilities, and they cannot change any more";
      throw new McpError("not_declared", message);
    }
    this.#options = options;
    this.#capabilities = capabilities;
  }

  /** The version being spoken; undefined once closed. */
  get version(): string | undefined {
    return this.#connection?.server.version;
  }

  /** The era being spoken; undefined once closed. */
  get era(): string | undefined {
    return this.#connection?.era.name;
  }

  get server(): {
    readonly info: Implementation | undefined;
    readonly capabilities: ServerCapabilities;
    readonly instructions: string | undefined;
  } {
    const { info, capabilities, instructions } = this.#connected().server;
    return { info, capabilities, instructions };
  }

  /** What a later client may start from (`prior`), as JSON. */
  get prior(): PriorKnowledge {
    return this.#connected().prior;
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#caller?.pending ?? 0;
  }

  /** What the cache has done so far. */
  get cacheStats(): CacheStats | undefined {
    return this.#cache?.stats;
  }

  /** Calls a tool. A result that does not fit the schema that the tool was listed with is an `OutputError`. */
  callTool<Name extends ToolName<S>, Output extends StandardSchema>(
    name: Name,
    args: Tools<S>[Name]["input"] | undefined,
    options: TypedCallOptions<Output>,
  ): Promise<ToolOutcome<OutputOf<Output>>>;
  callTool<Name extends ToolName<S>>(
    name: Name,
    args?: Tools<S>[Name]["input"],
    options?: ToolCallOptions,
  ): Promise<ToolOutcome<Tools<S>[Name]["output"]>>;
  async callTool(
    name: string,
    args?: unknown,
    options: ToolCallOptions & { readonly output?: StandardSchema } = {},
  ): Promise<ToolOutcome> {
    const { tool, output, ...rest } = options;
    if (tool !== undefined) this.#outputs.learn({ ...tool, name });
    const params = args === undefined ? { name } : { name, arguments: args };
    const result = completed("tools/call", await this.request("tools/call", params, rest));
    await this.#outputs.assertFits(name, result);
    return toToolOutcome(output === undefined ? result : await parseOutput(name, result, output));
  }

  /** All tools, page by page. */
  tools(options: CallOptions = {}): Pages<Tool> {
    return new Pages(async (cursor) => {
      const page = await this.listTools(cursor, options);
      return { items: page.tools, nextCursor: page.nextCursor };
    }, this.#options.maxPages);
  }

  /** One page of tools. Where arguments travel in headers, a tool whose headers make no sense is left out, and said so. */
  async listTools(cursor?: string, options: CallOptions = {}): Promise<ListToolsResult> {
    const page = await this.request("tools/list", cursor === undefined ? undefined : { cursor }, options);
    for (const tool of page.tools) this.#outputs.learn(tool);
    if (!this.#connected().mirrorsHeaders) return page;
    return { ...page, tools: page.tools.filter((tool) => this.#learnHeaders(tool)) };
  }

  prompts(options: CallOptions = {}): Pages<Prompt> {
    return new Pages(async (cursor) => {
      const page = await this.request("prompts/list", cursor === undefined ? undefined : { cursor }, options);
      return { items: page.prompts, nextCursor: page.nextCursor };
    }, this.#options.maxPages);
  }

  async getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<GetPromptResult> {
    const params = args === undefined ? { name } : { name, arguments: args };
    return completed("prompts/get", await this.request("prompts/get", params, options));
  }

  resources(options: CallOptions = {}): Pages<Resource> {
    return new Pages(async (cursor) => {
      const page = await this.request("resources/list", cursor === undefined ? undefined : { cursor }, options);
      return { items: page.resources, nextCursor: page.nextCursor };
    }, this.#options.maxPages);
  }

  resourceTemplates(options: CallOptions = {}): Pages<ResourceTemplate> {
    return new Pages(async (cursor) => {
      const page = await this.request(
        "resources/templates/list",
        cursor === undefined ? undefined : { cursor },
        options,
      );
      return { items: page.resourceTemplates, nextCursor: page.nextCursor };
    }, this.#options.maxPages);
  }

  async readResource(uri: string, options: CallOptions = {}): Promise<ReadResourceResult> {
    return completed("resources/read", await this.request("resources/read", { uri }, options));
  }

  /** Suggestions for an argument of a prompt or a variable of a resource template. */
  async complete(
    ref: CompletionReference,
    argument: { readonly name: string; readonly value: string },
    others?: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<CompleteResult["completion"]> {
    const context = others === undefined ? undefined : { context: { arguments: others } };
    return (await this.request("completion/complete", { ref, argument, ...context }, options)).completion;
  }

  /** Resolves when the server has shown that it is there. */
  async ping(options: CallOptions = {}): Promise<void> {
    await this.request(this.#connected().era.pingMethod, undefined, options);
  }

  /**
   * Asks the server for log messages of this level and above.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async setLogLevel(level: LoggingLevel, options: CallOptions = {}): Promise<void> {
    const connection = this.#connected();
    const refusal = this.#unannounced("logging/setLevel");
    if (refusal !== undefined) throw refusal;
    await this.#inScope("logging/setLevel", options, (scope) => connection.setLogLevel(level, scope));
  }

  /** Waits until the server says that the user is done with a page. It may never say so: give a limit. */
  async elicitationCompleted(elicitationId: string, options: CallOptions = {}): Promise<void> {
    await this.#inScope("notifications/elicitation/complete", options, (scope) => {
      return this.#pages.wait(elicitationId, scope);
    });
  }

  /**
   * Replaces the folders that the server may work in, and says so where there is a word for it.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async setRoots(roots: readonly Root[]): Promise<void> {
    this.#options = { ...this.#options, roots };
    await this.rootsChanged();
  }

  /**
   * Says that the roots are others now. Where the server asks anew each time, there is nothing to say.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async rootsChanged(): Promise<void> {
    if (this.capabilities.roots?.listChanged !== true) {
      throw new McpError("not_declared", "This client did not declare that it announces changes of its roots");
    }
    if (this.#missing(ROOTS_CHANGED) === undefined) await this.notify(ROOTS_CHANGED);
  }

  /** Listens for changes until the watch, or the client, is closed. */
  async watch(filter: WatchFilter, options: CallOptions = {}): Promise<Watch> {
    const connection = this.#connected();
    const { resources, ...lists } = filter;
    const wire: SubscriptionFilter = {
      ...lists,
      ...(resources === undefined ? undefined : { resourceSubscriptions: [...resources] }),
    };
    const queue = new ChangeQueue();
    const subscription = await this.#inScope("subscriptions/listen", options, (scope) =>
      connection.watch(wire, queue, scope),
    );
    return new Watch(queue, subscription, options.signal);
  }

  /** Asks the server again what it speaks and offers, in the era that has this. */
  discover(options: CallOptions = {}): Promise<DiscoverResult> {
    return this.request("server/discover", undefined, options);
  }

  /** Starts what the options ask for once there is a connection. What cannot be started is reported. */
  async begin(): Promise<void> {
    const connection = this.#connected();
    const { logLevel, onListChanged } = this.#options;
    // A server that was not asked what it can do may log.
    const logs = connection.server.capabilities.logging !== undefined || !connection.era.handshakes;
    if (logLevel !== undefined && logs) await this.setLogLevel(logLevel);
    if (onListChanged === undefined) return;
    const { refreshLists } = await import("./list-refresh.js");
    await refreshLists(onListChanged, {
      clock: this.clock,
      capabilities: connection.server.capabilities,
      read: (kind) => this[kind]({ cache: "refresh" }).all(),
      watch: (filter, events) =>
        this.#inScope("subscriptions/listen", {}, (scope) => connection.watch(filter, events, scope)),
      onProblem: (problem) => this.onProblem(problem),
    }).catch((error: unknown) => this.onProblem(toError(error)));
  }

  /** Any method: those of the specification are checked and typed, others by `result` or not at all. */
  request<S extends StandardSchema>(
    method: string,
    params: Params | undefined,
    options: CallOptions & { readonly result: S },
  ): Promise<OutputOf<S>>;
  request<M extends keyof MethodResults>(
    method: M,
    params: Params | undefined,
    options: CallOptions & { readonly input: "manual" },
  ): Promise<MethodResults[M] | InputRequiredResult>;
  request<M extends keyof MethodResults>(method: M, params?: Params, options?: CallOptions): Promise<MethodResults[M]>;
  request(method: string, params?: Params, options?: CallOptions): Promise<ClientResult>;
  async request(
    method: string,
    params?: Params,
    options: CallOptions & { readonly result?: StandardSchema } = {},
  ): Promise<unknown> {
    this.#connected();
    const result = await this.#call({ method, params, options }).catch((error: unknown) => this.#onFailure(error));
    return options.result === undefined ? result : toCustomResult(method, options.result, result);
  }

  /** Sends a notification; rejects where it may not be sent. After the connection has ended it does nothing. */
  async notify(method: string, params?: Params): Promise<void> {
    if (method === "notifications/progress") {
      throw new McpError("unknown_progress_token", "Progress is reported by the handler of the request it belongs to");
    }
    if (this.#closed || this.#connection === undefined) return;
    const missing = this.#missing(method);
    if (missing !== undefined) throw missing;
    await this.#connection.notify(method, params);
  }

  /** Ends every call and the connection. Idempotent: whoever asks waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async relearnTools(connection: Connection, scope: CallScope): Promise<void> {
    const tools = new Pages<Tool>(async (cursor) => {
      const call = { method: "tools/list", params: cursor === undefined ? undefined : { cursor } };
      const { tools, nextCursor } = (await connection.call(call, scope)) as unknown as ListToolsResult;
      return { items: tools, nextCursor };
    });
    for await (const tool of tools) this.#learnHeaders(tool);
  }

  async answer(
    method: string,
    params: Params | undefined,
    end: AbortSwitch,
    progress: AnswerContext["progress"],
  ): Promise<ClientResult> {
    if (this.#options.answerDuringCallsOnly === true && this.pending === 0) {
      throw new RpcError(INVALID_PARAMS, `${method}: it belongs to no request of this client`);
    }
    if (typeof params?.elicitationId === "string") this.#pages.expect(params.elicitationId);
    const work = () => answer(this.#options, method, params, end, progress);
    return this.#caller === undefined ? work() : this.#caller.whileServerWaits(work);
  }

  onNotification(notification: RpcNotification): void {
    if (notification.method === ELICITATION_COMPLETE) this.#pages.complete(notification.params?.elicitationId);
    const change = this.#cache === undefined ? undefined : toChange(notification.method, notification.params);
    if (change !== undefined) this.#cache?.invalidate(change);
    const report = (error: unknown) => this.onProblem(toError(error));
    const { notifications: own, onNotification } = this.#options;
    const { method, params } = notification;
    try {
      const handler = own !== undefined && Object.hasOwn(own, method) ? own[method] : undefined;
      const handled = handler === undefined ? onNotification?.(notification) : handler(params);
      handled?.catch(report);
    } catch (error) {
      report(error);
    }
  }

  onProblem(problem: Error): void {
    this.#options.logger?.error?.(problem.message, { error: problem });
    this.#options.onError?.(problem);
  }

  deprecated(feature: DeprecatedFeature): void {
    if (this.#options.warnDeprecated !== false) warnOfDeprecated(feature, warnByProcess);
  }

  debug(message: string, fields: Record<string, unknown>): void {
    this.#options.logger?.debug?.(message, fields);
  }

  /** While connecting, whoever connects hears of it. */
  onClose(reason: Error | undefined): void {
    if (this.#caller === undefined) return;
    this.#connection = undefined;
    this.#closed = true;
    this.#caller.end(reason);
    this.#options.onClose?.(reason);
  }

  paramHeaders(tool: string): readonly ParamHeader[] | undefined {
    return this.#paramHeaders.get(tool);
  }

  /** Pages that a call requires are remembered, and shown where that is wanted, before the caller hears of them. */
  async #onFailure(error: unknown): Promise<never> {
    if (!(error instanceof UrlElicitationRequiredError)) throw error;
    for (const page of error.elicitations) {
      this.#pages.expect(page.elicitationId);
      if (this.#options.showRequiredUrls === true) {
        await answer(this.#options, "elicitation/create", { ...page }, new AbortSwitch());
      }
    }
    throw error;
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#caller?.end(undefined);
    await connection?.close();
  }

  /** The eras with handshakes know nothing of it. */
  #warnOfDeprecated(connection: Connection): void {
    const { logger, warnDeprecated } = this.#options;
    if (connection.era.handshakes || warnDeprecated === false) return;
    const warn = logger?.warn?.bind(logger);
    if (this.capabilities.roots !== undefined) warnOfDeprecated("roots", warn);
    if (this.capabilities.sampling !== undefined) warnOfDeprecated("sampling", warn);
    if (connection.server.capabilities.logging !== undefined) warnOfDeprecated("logging", warn);
  }

  #connected(): Connection {
    if (this.#connection === undefined) throw notConnected(undefined);
    return this.#connection;
  }

  /** What is not sent, because this era has no such method or, where that is wanted, the server did not announce it. */
  #refuse(method: string): RpcError | undefined {
    const missing = this.#missing(method);
    if (missing !== undefined) return missing;
    return this.#unannounced(method);
  }

  #missing(method: string): RpcError | undefined {
    const { era, server } = this.#connected();
    const replacement = era.missing(method);
    if (replacement === undefined) return undefined;
    const message = `${method} does not exist in protocol version ${server.version}: ${replacement}`;
    return new RpcError(METHOD_NOT_FOUND, message, undefined, { local: true });
  }

  #unannounced(method: string): RpcError | undefined {
    return this.#options.strictCapabilities === true
      ? capabilityRefusal(method, this.#connected().server.capabilities)
      : undefined;
  }

  async #inScope<T>(
    label: string,
    options: CallOptions,
    work: (scope: ReturnType<Caller["openScope"]>) => Promise<T>,
  ): Promise<T> {
    const caller = this.#caller as Caller;
    const scope = caller.openScope(label, options);
    try {
      scope.throwIfAborted();
      return await work(scope);
    } finally {
      caller.closeScope(scope);
    }
  }

  #learnHeaders(tool: Tool): boolean {
    const found = findParamHeaders(tool.inputSchema);
    if (found.ok) this.#paramHeaders.set(tool.name, found.headers);
    else this.#options.logger?.warn?.(`tool ${tool.name} is left out: ${found.reason}`);
    return found.ok;
  }
}

/** Whether the server refused a call, rather than failed at it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError) return !error.local;
  const status = error instanceof ConnectionError ? (error.status ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}

/** A caller that answers by hand gets questions by `request`; here they can only be in the way. */
function completed<Result extends ClientResult>(method: string, result: Result | InputRequiredResult): Result {
  if ((result as ClientResult).resultType !== "input_required") return result as Result;
  const message = `${method}: the server answered with input_required; answer its requests and call again`;
  throw new InputRequiredError("input_required", message, result as InputRequiredResult);
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function createCache(
  options: ClientOptions,
  connection: Connection,
  address: string,
  client: Client<AnyServer>,
): ClientCache | undefined {
  if (options.cache === false) return undefined;
  return new ClientCache(options.cache ?? {}, {
    server() {
      const { version, info } = connection.server;
      return JSON.stringify([address, version, info?.name, info?.version]);
    },
    honoursHints: (method) => connection.era.methods.get(method)?.cacheable === true,
    // Stores may outlive the process: without a clock of the author's own, time is the calendar's.
    now: () => options.clock?.now() ?? Date.now(),
    clock: client.clock,
    onProblem: (problem) => client.onProblem(problem),
  });
}

function notConnected(cause: unknown): ConnectionError {
  return new ConnectionError("Not connected: the client is closed", { delivery: "not_sent", cause });
}
