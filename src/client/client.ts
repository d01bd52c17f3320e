import type { ClientResult, PriorKnowledge, SavedSession } from "../era/client-era.js";
import { toCustomResult } from "../era/results.js";
import { CLOSE_OPTIONS, type CloseOptions } from "../era/transport.js";
import type { EraName } from "../era/versions.js";
import { atCaller } from "../protocol/at-caller.js";
import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { assertOptions } from "../protocol/known-options.js";
import type {
  CallToolResult,
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
  Tool,
} from "../protocol/types/index.js";
import { expandUriTemplate } from "../protocol/uri-expand.js";
import type { OutputOf, StandardSchema } from "../schema/standard-schema.js";
import type { CacheStats } from "./cache/cache.js";
import { capabilityRefusal } from "./capabilities.js";
import { firstArgumentError } from "./first-argument.js";
import {
  type AnswerOptions,
  type CallOptions,
  NO_OPTIONS,
  type ToolCallOptions,
  type TypedCallOptions,
} from "./options.js";
import { Pages, type ReadPage } from "./pages.js";
import { completed, type MethodResults, type ToolOutcome, toParsedOutcome, toToolOutcome } from "./results.js";
import type { ClientCore } from "./runtime.js";
import type {
  AnyServer,
  CallArguments,
  ReadOptions,
  ResourceUri,
  ResourceVariables,
  ServerPromptArguments,
  ServerPrompts,
  ServerTools,
  TemplateValues,
} from "./server-types.js";

import { openWatch, type Watch, type WatchFilter, type WatchOptions } from "./subscriptions/watch.js";

const ROOTS_CHANGED = "notifications/roots/list_changed";

/** Connection to a server, independent of protocol version and transport. */
export class Client<S extends AnyServer = AnyServer> {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Capabilities that this client declares. */
  get capabilities(): ClientCapabilities {
    return this.#core.capabilities;
  }

  /**
   * Replaces the given handlers for requests of the server. Legacy: throws if that changes the capabilities that the
   * handshake declared.
   */
  answerWith(handlers: AnswerOptions): void {
    atCaller(this.answerWith, () => this.#core.answerWith(handlers));
  }

  /** Protocol version in use. Undefined after the connection has ended. */
  get version(): string | undefined {
    return this.#core.calls.connection?.server.version;
  }

  /** Protocol era in use. Undefined after the connection has ended. */
  get era(): EraName | undefined {
    return this.#core.calls.connection?.era.name;
  }

  /** Description of the server. */
  get server(): {
    readonly info: Implementation | undefined;
    readonly capabilities: ServerCapabilities;
    readonly instructions: string | undefined;
  } {
    const { info, capabilities, instructions } = this.#core.calls.connected().server;
    return { info, capabilities, instructions };
  }

  /** Knowledge about the server, as JSON. A later client can use it as the option `prior`. */
  get prior(): PriorKnowledge {
    return this.#core.calls.connected().prior;
  }

  /**
   * Session of this client. Another client can continue it with the option `session`. Undefined without a session. Keep
   * it secret.
   */
  get session(): SavedSession | undefined {
    return this.#core.calls.connected().session;
  }

  /** Number of calls in progress. */
  get pending(): number {
    return this.#core.calls.pending;
  }

  /** Statistics of the cache. Undefined if the cache is disabled. */
  get cacheStats(): CacheStats | undefined {
    return this.#core.cacheStats;
  }

  /**
   * Calls a tool, and validates its structured result by your own schema, which determines its type. Rejects with an
   * `OutputError` if the result does not match.
   *
   * @example
   * ```ts
   * const output = z.object({ celsius: z.number() });
   * const { structured } = await client.callTool("forecast", { city: "Oslo" }, { output });
   * console.log(structured.celsius);
   * ```
   */
  callTool<Name extends keyof ServerTools<S> & string, Output extends StandardSchema>(
    name: Name,
    args: ServerTools<S>[Name]["input"] | undefined,
    options: TypedCallOptions<Output>,
  ): Promise<ToolOutcome<OutputOf<Output>>>;
  /**
   * Calls a tool. `text` of the result is its text, `structured` its value, `isError` tells a failure of the tool. Rejects
   * with an `OutputError` if the result does not match the output schema from the listing.
   *
   * @example
   * ```ts
   * const { text, structured, isError } = await client.callTool("forecast", { city: "Oslo" }, { timeoutMs: 5_000 });
   * console.log(isError ? `failed: ${text}` : structured);
   * ```
   */
  callTool<Name extends keyof ServerTools<S> & string>(
    name: Name,
    ...given: CallArguments<ServerTools<S>[Name]["input"], ToolCallOptions>
  ): Promise<ToolOutcome<ServerTools<S>[Name]["output"]>>;
  callTool(
    name: string,
    args?: unknown,
    options: ToolCallOptions & { readonly output?: StandardSchema } = NO_OPTIONS,
  ): Promise<ToolOutcome> {
    try {
      if (typeof name !== "string") throw firstArgumentError("callTool(name, args, options)", name);
      if (options.tool !== undefined) this.#core.learnTool({ ...options.tool, name });
    } catch (error) {
      return Promise.reject(error);
    }
    const { output } = options;
    const params = args === undefined ? { name } : { name, arguments: args };
    return this.#core.calls.call({ method: "tools/call", params, options }, (answer) => {
      const result = completed("tools/call", answer as unknown as CallToolResult);
      const fits = this.#core.tools.assertFits(name, result);
      return (fits ?? output) === undefined ? toToolOutcome(result) : toParsedOutcome(name, result, output, fits);
    });
  }

  /** Lists all tools, page by page. */
  tools(options: CallOptions = {}): Pages<Tool> {
    return this.#pages("tools", "tools", (at) => this.listTools(at?.cursor, options));
  }

  /**
   * Reads one page of tools. Over HTTP with 2026-07-28, omits tools with invalid header annotations and logs a warning.
   */
  async listTools(cursor?: string, options: CallOptions = {}): Promise<ListToolsResult> {
    const page = await this.request("tools/list", cursor === undefined ? undefined : { cursor }, options);
    if (cursor === undefined && page.nextCursor === undefined) this.#core.tools.forgetHeaders();
    return { ...page, tools: page.tools.filter((tool) => this.#core.learnTool(tool)) };
  }

  /** Lists all prompts, page by page. */
  prompts(options: CallOptions = {}): Pages<Prompt> {
    return this.#pages("prompts", "prompts", (at) => this.request("prompts/list", at, options));
  }

  /** Requests the messages of a prompt: `await client.getPrompt("review", { code })`. */
  async getPrompt<Name extends keyof ServerPrompts<S> & string>(
    name: Name,
    ...[args, options = {}]: CallArguments<ServerPromptArguments<S, Name>, CallOptions>
  ): Promise<GetPromptResult> {
    if (typeof name !== "string") throw firstArgumentError("getPrompt(name, args, options)", name);
    const params = args === undefined ? { name } : { name, arguments: args };
    return completed("prompts/get", await this.request("prompts/get", params, options));
  }

  /** Lists all resources, page by page. */
  resources(options: CallOptions = {}): Pages<Resource> {
    return this.#pages("resources", "resources", (at) => this.request("resources/list", at, options));
  }

  /** Lists the templates of all families of resources, page by page. */
  resourceTemplates(options: CallOptions = {}): Pages<ResourceTemplate> {
    return this.#pages("resources", "resourceTemplates", (at) => this.request("resources/templates/list", at, options));
  }

  /** Reads a resource. With `variables`, expands the URI template first. */
  async readResource<const Uri extends string>(
    uri: Uri | ResourceUri<S>,
    options: ReadOptions<ResourceVariables<S, Uri>> = {},
  ): Promise<ReadResourceResult> {
    if (typeof uri !== "string") throw firstArgumentError("readResource(uri, options)", uri);
    const { variables, ...rest } = options;
    const full = variables === undefined ? uri : expandUriTemplate(uri, variables as TemplateValues);
    return completed("resources/read", await this.request("resources/read", { uri: full }, rest));
  }

  /** Requests completions for an argument of a prompt or a variable of a resource template. */
  async complete(
    ref: CompletionReference,
    argument: { readonly name: string; readonly value: string },
    others?: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<CompleteResult["completion"]> {
    if (typeof argument !== "object")
      throw new TypeError(
        `complete(ref, argument, others, options): argument must be an object, got ${typeof argument}`,
      );
    const context = others === undefined ? undefined : { context: { arguments: others } };
    return (await this.request("completion/complete", { ref, argument, ...context }, options)).completion;
  }

  /** Resolves when the server has responded. */
  async ping(options: CallOptions = {}): Promise<void> {
    await this.request(this.#core.calls.connected().era.pingMethod, undefined, options);
  }

  /**
   * Requests log messages of this level and above from the server.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  async setLogLevel(level: LoggingLevel, options: CallOptions = {}): Promise<void> {
    const connection = this.#core.calls.connected();
    if (this.#core.options.strictCapabilities === true) {
      const refusal = capabilityRefusal("logging/setLevel", connection.server.capabilities);
      if (refusal !== undefined) throw refusal;
    }
    this.#core.uses("logging");
    await this.#core.calls.run("logging/setLevel", options, (lifetime) => connection.setLogLevel(level, lifetime));
  }

  /**
   * Resolves when the server reports that the user has finished a URL elicitation. The server may never report that, so
   * the time limits of a call apply.
   */
  async elicitationCompleted(elicitationId: string, options: CallOptions = {}): Promise<void> {
    await this.#core.urlElicitationCompleted(elicitationId, options);
  }

  /**
   * Replaces the roots, and notifies the server if the protocol version supports that.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  async setRoots(roots: readonly Root[]): Promise<void> {
    this.#core.setRoots(roots);
    await this.rootsChanged();
  }

  /**
   * Notifies the server that the roots have changed. Does nothing in protocol versions without this notification.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  async rootsChanged(): Promise<void> {
    if (this.capabilities.roots?.listChanged !== true) {
      throw new McpError(
        "not_declared",
        "This client did not declare roots.listChanged (options roots and rootsListChanged)",
      );
    }
    if (!this.#core.calls.connected().era.replacements.has(ROOTS_CHANGED)) await this.notify(ROOTS_CHANGED);
  }

  /**
   * Subscribes to changes until the watch or the client is closed. A lost subscription is renewed while the client is
   * connected. The watch then reports which changes may have been missed.
   */
  async watch(filter: WatchFilter, options: WatchOptions = {}): Promise<Watch> {
    this.#core.calls.connected();
    return await atCaller(this.watch, () => openWatch(this.#core, filter, options));
  }

  /** Requests the server's versions and capabilities again (2026-07-28 only). */
  discover(options: CallOptions = {}): Promise<DiscoverResult> {
    return this.request("server/discover", undefined, options);
  }

  /**
   * Sends a request, and checks its result by your own schema, which determines its type.
   *
   * @example
   * ```ts
   * const { total } = await client.request("acme/count", {}, { result: z.object({ total: z.number() }) });
   * console.log(total);
   * ```
   */
  request<S extends StandardSchema>(
    method: string,
    params: Params | undefined,
    options: CallOptions & { readonly result: S },
  ): Promise<OutputOf<S>>;
  /** Sends a request. A request for input of the server is the result, and not answered. */
  request<M extends keyof MethodResults>(
    method: M,
    params: Params | undefined,
    options: CallOptions & { readonly input: "manual" },
  ): Promise<MethodResults[M] | InputRequiredResult>;
  /** Sends a request of the specification. Its result is checked and typed. */
  request<M extends keyof MethodResults>(method: M, params?: Params, options?: CallOptions): Promise<MethodResults[M]>;
  /** Sends a custom request. Its result is not checked. */
  request(method: string, params?: Params, options?: CallOptions): Promise<ClientResult>;
  request(
    method: string,
    params?: Params,
    options: CallOptions & { readonly result?: StandardSchema } = NO_OPTIONS,
  ): Promise<unknown> {
    try {
      if (typeof method !== "string") throw firstArgumentError("request(method, params, options)", method);
    } catch (error) {
      return Promise.reject(error);
    }
    const schema = options?.result;
    return this.#core.calls.call({ method, params, options }, (result) =>
      schema === undefined ? result : toCustomResult(method, schema, result),
    );
  }

  /**
   * Sends a notification. Rejects if it may not be sent. Does nothing after the connection has ended. While a server
   * process restarts, waits for it, and rejects if the restart fails.
   */
  async notify(method: string, params?: Params): Promise<void> {
    if (method === "notifications/progress") {
      throw new McpError(
        "unknown_progress_token",
        `${method} was not sent: call ctx.progress in the handler of the request`,
      );
    }
    await this.#core.notify(method, params);
  }

  /** Ends all calls and closes the connection. Idempotent. */
  close(options?: CloseOptions): Promise<void> {
    if (options !== undefined) assertOptions({ close: this.close }, options, CLOSE_OPTIONS);
    return this.#core.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Creates a listing. If its pages do not end, removes them from the cache. */
  #pages<T>(kind: "tools" | "prompts" | "resources", member: string, read: ReadPage): Pages<T> {
    return new Pages(member, read, this.#core.limits, () => this.#core.missed([{ kind }]));
  }
}
