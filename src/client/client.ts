import type { ClientResult, PriorKnowledge, SavedSession } from "../era/client-era.js";
import { toCustomResult } from "../era/results.js";
import type { CloseOptions } from "../era/transport.js";
import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
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
import type { AnswerOptions, CallOptions, ToolCallOptions, TypedCallOptions } from "./options.js";
import { Pages, type ReadPage } from "./pages.js";
import { completed, type MethodResults, type ToolOutcome, toParsedOutcome, toToolOutcome } from "./results.js";
import type { ClientCore } from "./runtime.js";
import type {
  AnyServer,
  CallArguments,
  PromptArguments,
  ReadOptions,
  ResourceUri,
  ResourceVariables,
  ServerPrompts,
  ServerTools,
  TemplateValues,
} from "./server-types.js";

import { openWatch, type Watch, type WatchFilter, type WatchOptions } from "./subscriptions/watch.js";

const ROOTS_CHANGED = "notifications/roots/list_changed";

/** A connection to one server, the same whatever it speaks and wherever it runs. */
export class Client<S extends AnyServer = AnyServer> {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** What this client declares: what its handlers amount to. */
  get capabilities(): ClientCapabilities {
    return this.#core.capabilities;
  }

  /**
   * Changes how the server's questions are answered from now on. Where the handshake told the server what this client
   * can do, nothing can be added to that.
   */
  answerWith(handlers: AnswerOptions): void {
    this.#core.answerWith(handlers);
  }

  /** The version being spoken; undefined once closed. */
  get version(): string | undefined {
    return this.#core.calls.connection?.server.version;
  }

  /** The era being spoken; undefined once closed. */
  get era(): string | undefined {
    return this.#core.calls.connection?.era.name;
  }

  get server(): {
    readonly info: Implementation | undefined;
    readonly capabilities: ServerCapabilities;
    readonly instructions: string | undefined;
  } {
    const { info, capabilities, instructions } = this.#core.calls.connected().server;
    return { info, capabilities, instructions };
  }

  /** What a later client may start from (`prior`), as JSON. */
  get prior(): PriorKnowledge {
    return this.#core.calls.connected().prior;
  }

  /** The session that this client is in, for another to go on with (`session`); undefined where there is none. A secret. */
  get session(): SavedSession | undefined {
    return this.#core.calls.connected().session;
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#core.calls.pending;
  }

  /** What the cache has done so far. */
  get cacheStats(): CacheStats | undefined {
    return this.#core.cacheStats;
  }

  /** Calls a tool. A result that does not fit the schema that the tool was listed with is an `OutputError`. */
  callTool<Name extends keyof ServerTools<S> & string, Output extends StandardSchema>(
    name: Name,
    args: ServerTools<S>[Name]["input"] | undefined,
    options: TypedCallOptions<Output>,
  ): Promise<ToolOutcome<OutputOf<Output>>>;
  callTool<Name extends keyof ServerTools<S> & string>(
    name: Name,
    ...given: CallArguments<ServerTools<S>[Name]["input"], ToolCallOptions>
  ): Promise<ToolOutcome<ServerTools<S>[Name]["output"]>>;
  callTool(
    name: string,
    args?: unknown,
    options: ToolCallOptions & { readonly output?: StandardSchema } = {},
  ): Promise<ToolOutcome> {
    try {
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

  /** All tools, page by page. */
  tools(options: CallOptions = {}): Pages<Tool> {
    return this.#pages("tools", "tools", (at) => this.listTools(at?.cursor, options));
  }

  /** One page of tools. Where arguments travel in headers, a tool whose headers make no sense is left out, and said so. */
  async listTools(cursor?: string, options: CallOptions = {}): Promise<ListToolsResult> {
    const page = await this.request("tools/list", cursor === undefined ? undefined : { cursor }, options);
    if (cursor === undefined && page.nextCursor === undefined) this.#core.tools.forgetHeaders();
    return { ...page, tools: page.tools.filter((tool) => this.#core.learnTool(tool)) };
  }

  prompts(options: CallOptions = {}): Pages<Prompt> {
    return this.#pages("prompts", "prompts", (at) => this.request("prompts/list", at, options));
  }

  async getPrompt<Name extends keyof ServerPrompts<S> & string>(
    name: Name,
    ...[args, options = {}]: CallArguments<PromptArguments<S, Name>, CallOptions>
  ): Promise<GetPromptResult> {
    const params = args === undefined ? { name } : { name, arguments: args };
    return completed("prompts/get", await this.request("prompts/get", params, options));
  }

  resources(options: CallOptions = {}): Pages<Resource> {
    return this.#pages("resources", "resources", (at) => this.request("resources/list", at, options));
  }

  resourceTemplates(options: CallOptions = {}): Pages<ResourceTemplate> {
    return this.#pages("resources", "resourceTemplates", (at) => this.request("resources/templates/list", at, options));
  }

  /** Reads a resource, or one of a template's with the values of its `variables`. */
  async readResource<const Uri extends string>(
    uri: Uri | ResourceUri<S>,
    options: ReadOptions<ResourceVariables<S, Uri>> = {},
  ): Promise<ReadResourceResult> {
    const { variables, ...rest } = options;
    const full = variables === undefined ? uri : expandUriTemplate(uri, variables as TemplateValues);
    return completed("resources/read", await this.request("resources/read", { uri: full }, rest));
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
    await this.request(this.#core.calls.connected().era.pingMethod, undefined, options);
  }

  /**
   * Asks the server for log messages of this level and above.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async setLogLevel(level: LoggingLevel, options: CallOptions = {}): Promise<void> {
    const connection = this.#core.calls.connected();
    if (this.#core.options.strictCapabilities === true) {
      const refusal = capabilityRefusal("logging/setLevel", connection.server.capabilities);
      if (refusal !== undefined) throw refusal;
    }
    await this.#core.calls.run("logging/setLevel", options, (lifetime) => connection.setLogLevel(level, lifetime));
  }

  /** Waits until the server says that the user is done with a page. It may never say so: give a limit. */
  async elicitationCompleted(elicitationId: string, options: CallOptions = {}): Promise<void> {
    await this.#core.urlElicitationCompleted(elicitationId, options);
  }

  /**
   * Replaces the folders that the server may work in, and says so where there is a word for it.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  async setRoots(roots: readonly Root[]): Promise<void> {
    this.#core.setRoots(roots);
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
    if (!this.#core.calls.connected().era.replacements.has(ROOTS_CHANGED)) await this.notify(ROOTS_CHANGED);
  }

  /**
   * Listens for changes until the watch, or the client, is closed. A subscription that is lost is made again while there is
   * a connection; the watch then says what may have been missed.
   */
  async watch(filter: WatchFilter, options: WatchOptions = {}): Promise<Watch> {
    this.#core.calls.connected();
    return openWatch(this.#core, filter, options);
  }

  /** Asks the server again what it speaks and offers, in the era that has this. */
  discover(options: CallOptions = {}): Promise<DiscoverResult> {
    return this.request("server/discover", undefined, options);
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
  request(
    method: string,
    params?: Params,
    options: CallOptions & { readonly result?: StandardSchema } = {},
  ): Promise<unknown> {
    if (typeof method !== "string") return Promise.reject(new TypeError("A method must be a string"));
    const schema = options?.result;
    return this.#core.calls.call({ method, params, options }, (result) =>
      schema === undefined ? result : toCustomResult(method, schema, result),
    );
  }

  /**
   * Sends a notification; rejects where it may not be sent. After the connection has ended it does nothing. While a server
   * process is being started again it waits for that, and rejects if the process cannot be started.
   */
  async notify(method: string, params?: Params): Promise<void> {
    if (method === "notifications/progress") {
      throw new McpError("unknown_progress_token", "Progress is reported by the handler of the request it belongs to");
    }
    await this.#core.notify(method, params);
  }

  /** Ends every call and the connection. Idempotent: whoever asks waits for the same end. */
  close(options?: CloseOptions): Promise<void> {
    return this.#core.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Of pages that have no end none is kept: the next walk asks the server again. */
  #pages<T>(kind: "tools" | "prompts" | "resources", member: string, read: ReadPage): Pages<T> {
    return new Pages(member, read, this.#core.limits, () => this.#core.missed([{ kind }]));
  }
}
