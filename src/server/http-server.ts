import { pause } from "../call/clock.js";
import { type AcceptChannel, completeUrlElicitation, type OfferedEra } from "../era/server-era.js";
import type { HttpExchange } from "../http/exchange.js";
import { createWebExchange } from "../http/web-exchange.js";
import { DefinitionError, McpError } from "../protocol/errors.js";
import { assertOptions } from "../protocol/known-options.js";
import type { Implementation, LoggingLevel, ServerCapabilities } from "../protocol/types/index.js";
import type { AnySchema, InputOf, OutputOf } from "../schema/compile.js";
import type { SchemaCompiler } from "../schema/json-schema/types.js";
import type { Change, ChangeBus } from "../store/change-bus.js";
import type { Editable } from "./definitions/catalogue.js";
import type {
  MethodHandler,
  MethodOptions,
  NotificationHandler,
  OtherNotificationHandler,
} from "./definitions/custom-method.js";
import type { PromptHandler, PromptOptions } from "./definitions/prompt.js";
import type { PromptChanges, ResourceChanges, ToolChanges } from "./definitions/registry.js";
import type { ResourceHandler, ResourceOptions } from "./definitions/resource.js";
import type { ToolHandler, ToolOptions } from "./definitions/tool.js";
import type { UriVariables } from "./definitions/uri-template.js";
import type { ServerExtension } from "./extensions/extension.js";
import { HTTP } from "./option-names.js";
import type { HttpServerOptions, ServerInterceptor, ServerOptions } from "./options.js";
import { ServerCore } from "./runtime.js";
import { HttpEndpoint } from "./transports/http.js";

const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "::0", ""]);

/** The tools that a server has, as a type: a client connected to `typeof server` is checked against it. */
export interface ToolTypes {
  readonly [name: string]: { readonly input: unknown; readonly output: unknown };
}

/** The prompts that a server has, as a type. */
export interface PromptTypes {
  readonly [name: string]: { readonly arguments: unknown };
}

/** The resources that a server has, by URI or URI template, as a type. */
export interface ResourceTypes {
  readonly [uri: string]: { readonly variables: unknown };
}

/** The way to each definition; one that does not exist is an error. */
export interface ServerEdit {
  tool(name: string): Editable<ToolChanges>;
  prompt(name: string): Editable<PromptChanges>;
  /** By URI or URI template. */
  resource(uri: string): Editable<ResourceChanges>;
}

/** What defining one tool adds to them. */
export type ToolType<Name extends string, I, O> = {
  readonly [Key in Name]: {
    readonly input: I extends AnySchema ? InputOf<I> : Record<string, unknown>;
    readonly output: O extends AnySchema ? OutputOf<O> : unknown;
  };
};

/** What defining one prompt adds to them. */
export type PromptType<Name extends string, A> = {
  readonly [Key in Name]: {
    readonly arguments: A extends AnySchema ? InputOf<A, Record<string, string>> : Record<string, string>;
  };
};

/** What defining one resource adds to them. */
export type ResourceType<Uri extends string> = {
  readonly [Key in Uri]: { readonly variables: UriVariables<Uri> };
};

/**
 * One definition of a server, for every client and protocol version over HTTP. Definitions are compiled as they are made;
 * serving looks them up.
 */
// biome-ignore-start lint/complexity/noBannedTypes: the empty start of a chain of intersections
export class HttpServer<
  Tools extends ToolTypes = {},
  Prompts extends PromptTypes = {},
  Resources extends ResourceTypes = {},
> {
  // biome-ignore-end lint/complexity/noBannedTypes: the empty start of a chain of intersections
  /** The types of what is defined; has no value. */
  declare readonly shape: { readonly tools: Tools; readonly prompts: Prompts; readonly resources: Resources };
  /** How to say that something changed. */
  readonly changes: Changes;
  /** What is defined already, to change or hide it while clients are connected. */
  readonly edit: ServerEdit;
  protected readonly core: ServerCore;
  readonly #http: HttpServerOptions;
  readonly #closing = new AbortController();
  #front: HttpEndpoint | undefined;
  #closed: Promise<void> | undefined;

  /** `validator` is for those who bring none. */
  constructor(info: Implementation, options: ServerOptions, eras: readonly OfferedEra[], validator?: SchemaCompiler) {
    this.core = new ServerCore(info, options, eras, options?.validator ?? validator);
    this.#http = options.http ?? {};
    assertOptions("McpServer http", this.#http, HTTP);
    this.changes = new Changes(this.core.changes);
    const { registry } = this.core;
    this.edit = {
      tool: (name) => registry.edit("tools", name),
      prompt: (name) => registry.edit("prompts", name),
      resource: (uri) => registry.edit("resources", uri),
    };
    // What is wrong with the options is said where they are written.
    if (options.http !== undefined) this.#front = this.#createFront();
  }

  get info(): Implementation {
    return this.core.info;
  }

  get capabilities(): ServerCapabilities {
    return this.core.capabilities;
  }

  tool<
    const Name extends string,
    I extends AnySchema | undefined = undefined,
    O extends AnySchema | undefined = undefined,
  >(
    name: Name,
    options: ToolOptions<I, O>,
    handler: ToolHandler<I, O>,
  ): HttpServer<Tools & ToolType<Name, I, O>, Prompts, Resources> {
    this.core.registry.add(
      "tools",
      name,
      options as ToolOptions<AnySchema, AnySchema>,
      handler as ToolHandler<AnySchema, AnySchema>,
    );
    return this as unknown as HttpServer<Tools & ToolType<Name, I, O>, Prompts, Resources>;
  }

  removeTool(name: string): boolean {
    return this.core.registry.remove("tools", name);
  }

  prompt<const Name extends string, A extends AnySchema | undefined = undefined>(
    name: Name,
    options: PromptOptions<A>,
    handler: PromptHandler<A>,
  ): HttpServer<Tools, Prompts & PromptType<Name, A>, Resources> {
    this.core.registry.add("prompts", name, options as PromptOptions<AnySchema>, handler as PromptHandler<AnySchema>);
    return this as unknown as HttpServer<Tools, Prompts & PromptType<Name, A>, Resources>;
  }

  removePrompt(name: string): boolean {
    return this.core.registry.remove("prompts", name);
  }

  /** A resource at a URI, or a family of them at a URI template. */
  resource<const Uri extends string, V extends AnySchema | undefined = undefined>(
    uri: Uri,
    options: ResourceOptions<V>,
    handler: ResourceHandler<Uri, V>,
  ): HttpServer<Tools, Prompts, Resources & ResourceType<Uri>> {
    this.core.registry.add("resources", uri, options, handler as unknown as ResourceHandler);
    return this as unknown as HttpServer<Tools, Prompts, Resources & ResourceType<Uri>>;
  }

  removeResource(uri: string): boolean {
    return this.core.registry.remove("resources", uri);
  }

  /** Answers a method of the author's own, or one of the specification in place of the SDK. */
  method<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: MethodHandler<P>,
  ): this {
    this.core.registry.addMethod(name, options as MethodOptions<AnySchema>, handler as never);
    return this;
  }

  /** Listens to one kind of notification, or, without a name, to all that have no handler of their own. */
  onNotification(handler: OtherNotificationHandler): this;
  onNotification<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: NotificationHandler<P>,
  ): this;
  onNotification(
    name: string | OtherNotificationHandler,
    options: MethodOptions<AnySchema> = {},
    handler?: NotificationHandler<AnySchema>,
  ): this {
    const { registry } = this.core;
    if (typeof name === "function") registry.otherNotifications = name;
    else registry.addNotification(name, options, handler as never);
    return this;
  }

  /**
   * Logs to every connected client that hears what belongs to no call of its own; `ctx.log` is for the rest.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.core.log({ level, data, logger });
  }

  /** Says that the user is done with a page that a call sent them to; only the client that was asked hears it. */
  elicitationCompleted(elicitationId: string): void {
    if (completeUrlElicitation(this.core.urlElicitations, elicitationId)) return;
    throw new McpError("unknown_elicitation", `No client was asked with the elicitationId ${elicitationId}`);
  }

  /** Wraps every call that is served from now on; the first added is the outermost. */
  use(interceptor: ServerInterceptor): this {
    this.core.use(interceptor);
    return this;
  }

  /** Adds an extension of the protocol; throws where two, or one and the protocol, want the same. */
  extend(extension: Pick<ServerExtension, "installIn">): this {
    if (typeof extension?.installIn !== "function") throw new DefinitionError("extend needs a ServerExtension");
    extension.installIn(this.core);
    return this;
  }

  /** How a channel is served that a client opens over HTTP; undefined where there is no such thing. */
  protected get acceptChannel(): AcceptChannel | undefined {
    return undefined;
  }

  #createFront(): HttpEndpoint {
    return new HttpEndpoint(this.core, this.core.eras, this.#http, this.acceptChannel);
  }

  /** Answers one HTTP exchange. */
  handle(exchange: HttpExchange): void {
    this.#front ??= this.#createFront();
    this.#front.serve(exchange);
  }

  /** The server as a web-standard handler: for Workers, Deno, Bun, Hono, Next. */
  readonly fetch = (request: Request): Promise<Response> => {
    const { exchange, response } = createWebExchange(request);
    this.handle(exchange);
    return response;
  };

  /** What is being held at the moment. */
  stats(): Readonly<Record<string, number>> {
    const front = this.#front?.stats();
    return { running: 0, ...front, connections: 0, subscriptions: this.core.subscriptions.open };
  }

  /** Told by whoever listens for this server: which host it is bound to, and which paths beside the endpoint's it has. */
  onListening(runtime: string): readonly string[] {
    const { allowedHosts, gate } = this.#http;
    if (ANY_ADDRESS.has(runtime) && allowedHosts === undefined) {
      this.core.warn(`listening on all interfaces (${runtime}) without http.allowedHosts: only local names are served`);
    }
    return gate?.paths ?? [];
  }

  /** Refuses what is new, lets running calls finish within `graceMs`, and then closes. */
  async drain(graceMs: number): Promise<void> {
    this.core.beginClosing();
    this.#front?.beginClosing();
    await Promise.race([this.idle(), pause(this.core.clock, graceMs, this.#closing.signal)]);
    await this.close();
  }

  /** Ends every connection, session and call. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.end();
    return this.#closed;
  }

  /** Resolves when no call is running. */
  protected async idle(): Promise<void> {
    await this.#front?.idle();
  }

  protected async end(): Promise<void> {
    this.#closing.abort();
    this.core.beginClosing();
    await this.#front?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** How an author says that something changed. Registering and removing say so by themselves. */
export class Changes {
  readonly #bus: ChangeBus;

  constructor(bus: ChangeBus) {
    this.#bus = bus;
  }

  toolsChanged(): void {
    this.#bus.publish({ kind: "tools" });
  }

  promptsChanged(): void {
    this.#bus.publish({ kind: "prompts" });
  }

  resourcesChanged(): void {
    this.#bus.publish({ kind: "resources" });
  }

  resourceUpdated(uri: string): void {
    this.#bus.publish({ kind: "resource", uri });
  }

  publish(change: Change): void {
    this.#bus.publish(change);
  }
}
