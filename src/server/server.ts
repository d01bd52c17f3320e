import { pause } from "../call/abortable.js";
import type { Cluster } from "../cluster/cluster.js";
import type { AcceptChannel, OfferedEra } from "../era/server-era.js";
import { pathOf, resolveSsePaths } from "../era/sse-paths.js";
import type { HttpExchange } from "../http/exchange.js";
import { createWebExchange } from "../http/web-exchange.js";
import { atCaller, pointAtCallers } from "../protocol/at-caller.js";
import { DefinitionError, McpError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Implementation, LoggingLevel, ServerCapabilities } from "../protocol/types/index.js";
import type { AnySchema, StandardSchema } from "../schema/compile.js";
import type { SchemaCompiler } from "../schema/json-schema/types.js";
import { assertInterceptor, viewed } from "./call-info.js";
import { Changes, type ServerEdit } from "./changes.js";
import type {
  MethodHandler,
  MethodOptions,
  NotificationHandler,
  OtherNotificationHandler,
} from "./definitions/custom-method.js";
import type { PromptHandler, PromptOptions } from "./definitions/prompt.js";
import type { Definition } from "./definitions/registry.js";
import type { ResourceHandler, ResourceOptions } from "./definitions/resource.js";
import type { ToolHandler, ToolOptions } from "./definitions/tool.js";
import type { UriVariableName } from "./definitions/uri-template.js";
import type { ServerExtension } from "./extensions/extension.js";
import type {
  ChannelCaller,
  HttpServerOptions,
  ServedConnection,
  ServerInterceptor,
  ServerOptions,
} from "./options.js";
import { ServerCore } from "./runtime.js";
import type { PromptType, ResourceType, ServerShape, ToolType } from "./server-types.js";
import type { SealKey } from "./state/options.js";
import type { ServerStats } from "./stats.js";
import { ChannelEndpoints } from "./transports/channels.js";
import { HttpEndpoint } from "./transports/http.js";

const ANY_ADDRESS = /^(?:0\.0\.0\.0|::0?)?$/;

/**
 * MCP server for all transports, and for the protocol versions of its eras. Definitions are compiled when they are
 * added, so that serving only looks them up.
 */
export class Server {
  /** Types of the definitions. Exists for type inference only and has no value. */
  declare readonly shape: ServerShape;
  /** Announces changes to clients. */
  readonly changes: Changes;
  /** Changes, hides or removes existing definitions while clients are connected. */
  readonly edit: ServerEdit;
  /** @internal */
  readonly core: ServerCore;
  readonly #options: HttpServerOptions;
  readonly #channels: ChannelEndpoints;
  readonly #closing = new AbortController();
  #http: HttpEndpoint | undefined;
  /** The endpoint, once the definitions were checked. */
  #serving: HttpEndpoint | undefined;
  #closed: Promise<void> | undefined;

  /**
   * `validator` compiles JSON Schemas if the options have no validator.
   * @internal
   */
  constructor(info: Implementation, options: ServerOptions, eras: readonly OfferedEra[], validator?: SchemaCompiler) {
    this.core = atCaller(new.target, () => new ServerCore(info, options, eras, options?.validator ?? validator));
    this.#options = options.http ?? {};
    this.#channels = new ChannelEndpoints(this.core);
    this.changes = new Changes(this.core);
    const { registry } = this.core;
    this.edit = {
      tool: (name) => registry.edit("tools", name),
      prompt: (name) => registry.edit("prompts", name),
      resource: (uri) => registry.edit("resources", uri),
    };
    pointAtCallers(this.edit, "tool", "prompt", "resource");
    // Creates the endpoint now, so that invalid options throw here and not with the first request.
    if (options.http !== undefined) this.#http = this.#createEndpoint();
  }

  /** Name and version of the server, as announced. */
  get info(): Implementation {
    return this.core.info;
  }

  /** Capabilities of the server: one for each feature that is defined or declared. */
  get capabilities(): ServerCapabilities {
    return this.core.capabilities;
  }

  /**
   * Defines a tool without options: it takes no arguments, and may return anything. Returns the server, whose type then
   * has the tool.
   *
   * @example
   * ```ts
   * server.tool("now", () => new Date().toISOString());
   * server.tool("whoami", (_args, ctx) => ctx.client.info?.name ?? "unknown");
   * ```
   */
  tool<Self, const Name extends string>(
    this: Self,
    name: Name,
    handler: ToolHandler<undefined, undefined>,
  ): Self & ToolType<Name, undefined, undefined>;
  /**
   * Defines a tool. Arguments are checked against `input` before the handler runs, its return value against `output`.
   * Returns the server, whose type then has the tool.
   *
   * @example
   * ```ts
   * server.tool(
   *   "forecast",
   *   { description: "Forecasts the weather.", input: z.object({ city: z.string(), days: z.number().default(1) }) },
   *   async ({ city, days }, ctx) => {
   *     await ctx.progress(1, 2);
   *     return `Cold in ${city} for ${days} days`;
   *   },
   * );
   * ```
   */
  tool<
    Self,
    const Name extends string,
    I extends AnySchema | undefined = undefined,
    O extends AnySchema | undefined = undefined,
  >(this: Self, name: Name, options: ToolOptions<I, O>, handler: ToolHandler<I, O>): Self & ToolType<Name, I, O>;
  tool(name: string, ...given: Definition): unknown {
    this.core.registry.add("tools", name, ...given);
    return this;
  }

  /** Removes a tool, and tells clients. Returns false if there is none. */
  removeTool(name: string): boolean {
    return this.core.registry.remove("tools", name);
  }

  /**
   * Defines a prompt without options.
   *
   * @example
   * ```ts
   * server.prompt("tidy", () => "Tidy up the notes of this week.");
   * ```
   */
  prompt<Self, const Name extends string>(
    this: Self,
    name: Name,
    handler: PromptHandler<undefined>,
  ): Self & PromptType<Name, undefined>;
  /**
   * Defines a prompt. A string becomes one message of the user.
   *
   * @example
   * ```ts
   * server.prompt(
   *   "review",
   *   { description: "Reviews code.", arguments: z.object({ code: z.string() }) },
   *   ({ code }) => `Review this code:\n${code}`,
   * );
   * ```
   */
  prompt<Self, const Name extends string, A extends AnySchema | undefined = undefined>(
    this: Self,
    name: Name,
    options: PromptOptions<A>,
    handler: PromptHandler<A>,
  ): Self & PromptType<Name, A>;
  prompt(name: string, ...given: Definition): unknown {
    this.core.registry.add("prompts", name, ...given);
    return this;
  }

  /** Removes a prompt, and tells clients. Returns false if there is none. */
  removePrompt(name: string): boolean {
    return this.core.registry.remove("prompts", name);
  }

  /**
   * Defines a resource at a URI, or a family of resources at a URI template.
   *
   * @example
   * ```ts
   * server
   *   .resource("config://app", { name: "config", mimeType: "application/json" }, () => '{"debug":false}')
   *   .resource("note://{id}", { name: "note" }, ({ id }) => `Note ${id}`);
   * ```
   */
  resource<Self, const Uri extends string, V extends AnySchema | undefined = undefined>(
    this: Self,
    uri: Uri,
    options: ResourceOptions<V, UriVariableName<Uri>>,
    handler: ResourceHandler<Uri, V>,
  ): Self & ResourceType<Uri>;
  resource(uri: string, options: ResourceOptions, handler: ResourceHandler): this {
    this.core.registry.add("resources", uri, options, handler);
    return this;
  }

  /** Removes a resource or a family of resources, and tells clients. Returns false if there is none. */
  removeResource(uri: string): boolean {
    return this.core.registry.remove("resources", uri);
  }

  /** Handles a custom method, or replaces the handler of a method of the specification. */
  method(name: string, handler: MethodHandler<undefined>): this;
  /** Handles a custom method, or replaces the handler of a method of the specification. */
  method<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: MethodHandler<P>,
  ): this;
  method(name: string, ...given: Definition): this {
    this.core.registry.addMethod(name, ...given);
    return this;
  }

  /** Handles all notifications that have no other handler. */
  onNotification(handler: OtherNotificationHandler): this;
  /** Handles a notification. */
  onNotification(name: string, handler: NotificationHandler<undefined>): this;
  /** Handles a notification whose params match a schema. */
  onNotification<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: NotificationHandler<P>,
  ): this;
  onNotification(...given: [OtherNotificationHandler] | [string, ...Definition]): this {
    const { registry } = this.core;
    const [name, ...definition] = given;
    if (typeof name === "function") registry.otherNotifications = name;
    else registry.addNotification(name, ...(definition as [unknown]));
    return this;
  }

  /**
   * Sends a log message to all connected clients that can receive messages outside of a call. In a handler use
   * `ctx.log`.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.core.log({ level, data, logger });
  }

  /**
   * Notifies the client that the user has finished a URL elicitation. Only the client of that elicitation is notified.
   */
  elicitationCompleted(elicitationId: string): void {
    if (this.core.urlElicitations.complete(elicitationId)) return;
    throw new McpError("unknown_elicitation", `No open URL elicitation has the id ${elicitationId}`);
  }

  /** State that this server shares with other processes. */
  get cluster(): ServerOptions["cluster"] {
    return this.core.options.cluster;
  }

  /** Shares state with other processes, if the options have no cluster. Called by `serveHttp` before the first request. */
  join(cluster: Cluster, stateKeys: readonly SealKey[]): void {
    const { options } = this.core;
    this.core.share({ ...options, stateKeys: options.stateKeys ?? stateKeys, cluster });
  }

  /** Wraps each call that starts from now on. The interceptor that is added first is the outermost. */
  use(interceptor: ServerInterceptor): this {
    assertInterceptor("use", interceptor);
    this.core.use(viewed(this.core.views, interceptor));
    return this;
  }

  /** Adds an extension of the protocol. Throws if it conflicts with the protocol or with another extension. */
  extend(extension: ServerExtension<StandardSchema | undefined>): this {
    if (typeof extension?.installIn !== "function") throw new DefinitionError("extend requires a ServerExtension");
    extension.installIn(this.core);
    return this;
  }

  /** Serves a channel until it closes. Several channels can be served at once. */
  async accept(channel: Channel, caller: ChannelCaller = {}): Promise<ServedConnection> {
    this.core.registry.assertServable();
    return this.#channels.accept(this.core.eras, channel, () => caller);
  }

  /** Serves an HTTP exchange. */
  handle(exchange: HttpExchange): void {
    this.#serving ??= this.#openEndpoint();
    this.#serving.serve(exchange);
  }

  /** Checks the definitions, and returns the endpoint for this exchange and all later ones. */
  #openEndpoint(): HttpEndpoint {
    this.core.registry.assertServable();
    this.#http ??= this.#createEndpoint();
    return this.#http;
  }

  #createEndpoint(): HttpEndpoint {
    const accept: AcceptChannel = (era, channel, origin) => this.#channels.accept([era], channel, origin);
    return new HttpEndpoint(this.core, this.core.eras, this.#options, accept);
  }

  /** Serves a web-standard request: for Workers, Deno, Bun, Hono or Next. */
  readonly fetch = (request: Request): Promise<Response> => {
    const { exchange, response } = createWebExchange(request);
    this.handle(exchange);
    return response;
  };

  /** Counts what the server holds at the moment, for metrics and tests. */
  stats(): ServerStats {
    const { loading = 0, sessions = 0, streams = 0, openRequests = 0 } = this.#http?.stats() ?? {};
    const { admission, bodies, subscriptions } = this.core;
    return {
      sessions,
      streams,
      openRequests,
      connections: this.#channels.size,
      subscriptions: subscriptions.open,
      running: admission.running + loading,
      waiting: admission.waiting,
      refused: admission.refused,
      bodies: bodies.open,
      bodyBytes: bodies.bytes,
    };
  }

  /**
   * Called with the host that a listener for this server is bound to. Returns the paths that the server has in addition
   * to its MCP path: those of the gate and of `http.sse`.
   */
  onListening(hostname: string): readonly string[] {
    this.core.registry.assertServable();
    const { allowedHosts, gate, sse = false } = this.#options;
    if (ANY_ADDRESS.test(hostname) && allowedHosts === undefined) {
      this.core.warnOfRisk("listening on all interfaces; set http.allowedHosts");
    }
    const paths = gate?.paths ?? [];
    if (sse === false) return paths;
    const { stream, messages } = resolveSsePaths(sse);
    return [stream, pathOf(messages), ...paths];
  }

  /**
   * Refuses new calls, waits up to `graceMs` for running calls and tasks, and closes the server. Responses of clients that
   * running calls wait for are still accepted.
   */
  async drain(graceMs: number): Promise<void> {
    await Promise.race([this.#idle(), pause(this.core.clock, graceMs, this.#closing.signal)]);
    await this.close();
  }

  /** Ends every connection, session and call. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #idle(): Promise<void> {
    const closing = this.core.beginClosing();
    await this.core.bodies.idle();
    await Promise.all([closing, this.#http?.idle(), this.#channels.idle()]);
  }

  async #end(): Promise<void> {
    this.#closing.abort();
    this.core.beginClosing(true);
    await Promise.all([this.#http?.close(), this.#channels.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

pointAtCallers(Server.prototype, "tool", "prompt", "resource", "method", "onNotification", "use", "extend");
