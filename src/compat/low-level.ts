import { systemClock } from "../call/clock.js";
import type { Result } from "../era/server-era.js";
import { SERVER_LIMITS } from "../era/server-limits.js";
import { currentCall, runInCall } from "../node/current-call.js";
import { isObject, isTextList } from "../protocol/json.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type {
  ClientCapabilities,
  CreateMessageParams,
  ElicitResult,
  Implementation,
  LoggingLevel,
  Root,
  ServerCapabilities,
} from "../protocol/types/index.js";
import type { OutputOf, StandardSchema } from "../schema/standard-schema.js";
import type { CallInfo } from "../server/call-info.js";
import { type Context, handled } from "../server/context.js";
import { ErrorPrinter } from "../server/error-printer.js";
import { ServerExtension } from "../server/extensions/extension.js";
import type { Server as BowlineServer } from "../server/server.js";
import { addCapabilities, type CompatCapabilities, type DeclaredCapabilities } from "./capabilities.js";
import {
  askClient,
  type CompatMessage,
  type CompatRequestOptions,
  type HandlerExtra,
  notifyClient,
  publishChange,
  type SampledMessage,
} from "./extra.js";
import { type MessageOf, type MethodSchema, methodOf, type ParamsSchemas, readMessage } from "./message-schema.js";
import { HandlerRunner, type VerifyState } from "./run-handler.js";
import { StdioServerTransport, type TransportHandlers } from "./stdio.js";
import { refuseHttpTransport, unavailable } from "./unavailable.js";

/** Transport of the official SDK, such as its `InMemoryTransport`. */
export interface CompatTransport extends TransportHandlers {
  readonly sessionId?: string | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
  close(): Promise<void>;
}

/** Server to which a server of the official SDK is mapped. */
export interface CompatParts {
  readonly bowline: BowlineServer;
  /** Capabilities that the server was given, to which others can be added. */
  readonly declared: DeclaredCapabilities;
  /** Hides the messages of errors that have no code. */
  readonly maskErrors: boolean;
  readonly verifyState: VerifyState | undefined;
}

type RequestHandler = (request: never, extra: HandlerExtra) => unknown;

/** Methods that Bowline serves itself. A handler of such a method runs before Bowline serves the request. */
const OBSERVED = new Set(["resources/subscribe", "resources/unsubscribe"]);

/**
 * Low-level `Server` of the official SDK, implemented by a Bowline server. In the official SDK, a server has one
 * connection. This server can have many, so members about the client describe the client of the current call, or else
 * the first client. `oninitialized` runs once, for the first client.
 */
export class CompatLowLevel {
  oninitialized: (() => unknown) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  transport: CompatTransport | StdioServerTransport | undefined;
  /** Bowline server, to pass to `serveHttp`, `toNodeListener` and other functions that serve one. */
  readonly bowline: BowlineServer;
  /** @internal */
  readonly runner: HandlerRunner;
  readonly #observers = new Map<string, (message: CompatMessage, extra: HandlerExtra) => unknown>();
  readonly #declared: DeclaredCapabilities;
  readonly #printer = new ErrorPrinter(SERVER_LIMITS, systemClock);
  #client: Context["client"] | undefined;

  /** @internal */
  constructor(parts: CompatParts) {
    const { bowline, declared } = parts;
    this.bowline = bowline;
    this.#declared = declared;
    this.runner = new HandlerRunner(bowline.changes, { ...parts, report: (...failure) => this.#report(...failure) });
    bowline.onNotification("notifications/initialized", {}, (_params, ctx) => this.#initialize(ctx.client, ctx));
    bowline.use(async (call, next) => {
      // Clients of 2026-07-28 have no handshake. Their first request takes its place.
      if (this.#client === undefined && call.method !== "initialize") await this.#initialize(call.client);
      return next(call);
    });
  }

  getClientCapabilities(): ClientCapabilities | undefined {
    return (currentCall()?.client ?? this.#client)?.capabilities;
  }

  getClientVersion(): Implementation | undefined {
    return (currentCall()?.client ?? this.#client)?.info;
  }

  getNegotiatedProtocolVersion(): string | undefined {
    return (currentCall()?.client ?? this.#client)?.version;
  }

  getCapabilities(): ServerCapabilities {
    return this.bowline.capabilities;
  }

  /** Declares further capabilities, before the server is connected. */
  registerCapabilities(capabilities: CompatCapabilities): void {
    if (this.transport !== undefined)
      throw new Error("registerCapabilities: the server is connected; declare its capabilities before connect()");
    const { extensions = {}, ...others } = capabilities;
    addCapabilities(this.#declared, others);
    for (const [id, settings] of Object.entries(extensions))
      this.bowline.extend(new ServerExtension({ id, settings, serverOnly: true }));
  }

  /** Experiments of the official SDK. Reading a member throws an error that names what to use in its place. */
  get experimental(): { readonly tasks: never } {
    return {
      get tasks(): never {
        return unavailable(
          "server.experimental.tasks",
          "define tools with `task` on server.bowline, extended by tasks() of bowline/tasks/server",
        );
      },
    };
  }

  /**
   * Adds the handler of a method. With a schema or a name, the handler receives the request. With a name and a schema
   * of the params, it receives the params.
   */
  setRequestHandler<S extends MethodSchema>(
    schema: S,
    handler: (request: MessageOf<S>, extra: HandlerExtra) => unknown,
  ): void;
  setRequestHandler<P extends StandardSchema>(
    method: string,
    schemas: ParamsSchemas<P>,
    handler: (params: OutputOf<P>, extra: HandlerExtra) => unknown,
  ): void;
  setRequestHandler(schema: MethodSchema, given: RequestHandler | ParamsSchemas, last?: RequestHandler): void {
    const method = methodOf(schema);
    const handler = last ?? given;
    const read = (params: unknown) => readMessage(method, params, schema, last && (given as ParamsSchemas));
    if (OBSERVED.has(method))
      this.#observe(method, async ({ params }, extra) =>
        (handler as RequestHandler)((await read(params)) as never, extra),
      );
    else this.bowline.method(method, {}, async (params, ctx) => this.runner.run(ctx, handler, [await read(params)]));
  }

  setNotificationHandler<S extends MethodSchema>(schema: S, handler: (notification: MessageOf<S>) => unknown): void;
  setNotificationHandler<P extends StandardSchema>(
    method: string,
    schemas: ParamsSchemas<P>,
    handler: (params: OutputOf<P>) => unknown,
  ): void;
  setNotificationHandler(
    schema: MethodSchema,
    given: ((message: never) => unknown) | ParamsSchemas,
    last?: (params: never) => unknown,
  ): void {
    const method = methodOf(schema);
    const handler = (last ?? given) as (message: unknown) => unknown;
    this.bowline.onNotification(method, {}, async (params, ctx) => {
      try {
        const message = await readMessage(method, params, schema, last && (given as ParamsSchemas));
        await runInCall(ctx, () => handler(message));
      } catch (error) {
        if (this.onerror === undefined) throw error;
        this.onerror(error as Error);
      }
    });
  }

  /**
   * Sends a notification: a change to all subscribed clients, any other notification to the client of the current call.
   * Log messages can be sent outside a call too.
   */
  async notification(notification: CompatMessage): Promise<void> {
    const { method, params = {} } = notification;
    if (publishChange(this.bowline.changes, notification)) return;
    if (method === "notifications/message") return this.sendLoggingMessage(params as never);
    return notifyClient(this.#call(method), notification);
  }

  /** Sends a request to the client of the current call. The schema determines only the type of the result. */
  request<S extends StandardSchema>(
    request: CompatMessage,
    _resultSchema?: S,
    options?: CompatRequestOptions,
  ): Promise<OutputOf<S>> {
    return this.#ask(request, options) as Promise<OutputOf<S>>;
  }

  async sendLoggingMessage(message: {
    readonly level: LoggingLevel;
    readonly data?: unknown;
    readonly logger?: string;
  }): Promise<void> {
    const { level, data, logger } = message;
    const ctx = currentCall();
    if (ctx?.open) await ctx.log(level, data, logger);
    else this.bowline.log(level, data, logger);
  }

  async sendResourceUpdated({ uri }: { readonly uri: string }): Promise<void> {
    this.bowline.changes.resourceUpdated(uri);
  }

  async sendToolListChanged(): Promise<void> {
    this.bowline.changes.toolsChanged();
  }

  async sendPromptListChanged(): Promise<void> {
    this.bowline.changes.promptsChanged();
  }

  async sendResourceListChanged(): Promise<void> {
    this.bowline.changes.resourcesChanged();
  }

  listRoots(_params?: unknown, options?: CompatRequestOptions): Promise<{ roots: Root[] }> {
    return this.#ask({ method: "roots/list" }, options) as Promise<{ roots: Root[] }>;
  }

  createMessage<P extends CreateMessageParams>(params: P, options?: CompatRequestOptions): Promise<SampledMessage<P>> {
    return this.#ask(
      { method: "sampling/createMessage", params: { ...(params as CreateMessageParams) } },
      options,
    ) as Promise<SampledMessage<P>>;
  }

  elicitInput(params: CompatMessage["params"], options?: CompatRequestOptions): Promise<ElicitResult> {
    return this.#ask({ method: "elicitation/create", params }, options) as Promise<ElicitResult>;
  }

  ping(): Promise<unknown> {
    return this.#ask({ method: "ping" });
  }

  /** Returns a function that tells the client that the user has finished a URL elicitation. */
  createElicitationCompletionNotifier(elicitationId: string): () => Promise<void> {
    return async () => this.bowline.elicitationCompleted(elicitationId);
  }

  /** Not available: a Bowline server has no handler for all methods. Setting it throws an error that says so. */
  set fallbackRequestHandler(_handler: unknown) {
    unavailable("fallbackRequestHandler", "add a handler for each method with setRequestHandler()");
  }

  /** Not available, like {@link fallbackRequestHandler}. */
  set fallbackNotificationHandler(_handler: unknown) {
    unavailable("fallbackNotificationHandler", "add a handler for each notification with setNotificationHandler()");
  }

  /** Not available: the methods of a server do not change. Throws an error that says so. */
  removeRequestHandler(_method: string): never {
    return unavailable("removeRequestHandler", "throw an error with a code in the handler");
  }

  /** Not available, like {@link removeRequestHandler}. */
  removeNotificationHandler(_method: string): never {
    return unavailable("removeNotificationHandler", "let the handler do nothing");
  }

  /** Serves a transport of the official SDK, or stdin and stdout of the process. */
  async connect(transport: CompatTransport | StdioServerTransport): Promise<void> {
    refuseHttpTransport(transport);
    this.transport = transport;
    if (transport instanceof StdioServerTransport) {
      void transport
        .serve(this.bowline, (error) => this.onerror?.(error))
        .catch((error: unknown) => this.#report("connect", error))
        .then(() => this.#disconnect());
      return;
    }
    const connection = await this.bowline.accept(toChannel(transport, (error) => this.onerror?.(error)));
    void connection.closed.then(() => this.#disconnect());
  }

  close(): Promise<void> {
    return this.bowline.close();
  }

  #disconnect(): void {
    this.transport = undefined;
    this.onclose?.();
  }

  #ask(request: CompatMessage, options?: CompatRequestOptions): Promise<unknown> {
    return handled((async () => askClient(this.#call(request.method), request, options))());
  }

  #call(method: string): Context {
    const ctx = currentCall();
    if (ctx?.open) return ctx;
    throw new Error(`${method} was not sent: it can be sent only in the handler of a request of the client`);
  }

  #observe(method: string, observer: (message: CompatMessage, extra: HandlerExtra) => unknown): void {
    const isFirst = this.#observers.size === 0;
    this.#observers.set(method, observer);
    if (!isFirst) return;
    this.bowline.use(async (call, next) => {
      if (call.method === "subscriptions/listen") return this.#observeListening(call, next);
      await this.#tellObserver(call, call.method, call.params);
      return next(call);
    });
  }

  /** Tells the observers of the resources of a subscription, as if each were subscribed to by a request. */
  async #observeListening(call: CallInfo, next: (call: CallInfo) => Promise<Result>): Promise<Result> {
    const { notifications } = call.params;
    const given = isObject(notifications) ? notifications.resourceSubscriptions : undefined;
    const uris = isTextList(given) ? given : [];
    for (const uri of uris) await this.#tellObserver(call, "resources/subscribe", { uri });
    try {
      return await next(call);
    } finally {
      for (const uri of uris)
        await this.#tellObserver(call, "resources/unsubscribe", { uri }).catch((error) =>
          this.#report("resources/unsubscribe", error),
        );
    }
  }

  async #tellObserver(call: CallInfo, method: string, params: CallInfo["params"]): Promise<void> {
    const observer = this.#observers.get(method);
    if (observer === undefined) return;
    const { id: requestId, client } = call;
    const sendNotification = (notification: CompatMessage) => this.notification(notification);
    const own = { sessionId: call.sessionId, authInfo: call.auth, signal: call.signal };
    const extra = { ...own, requestId, sendNotification } as HandlerExtra;
    try {
      // This context cannot send requests, but identifies the client.
      await runInCall({ client, open: false } as Context, () => observer({ method, params }, extra));
    } catch (error) {
      throw this.runner.toRpcError(error);
    }
  }

  async #initialize(client: Context["client"], ctx?: Context): Promise<void> {
    if (this.#client !== undefined) return;
    this.#client = client;
    try {
      await (ctx === undefined ? this.oninitialized?.() : runInCall(ctx, () => this.oninitialized?.()));
    } catch (error) {
      this.#report("oninitialized", error);
    }
  }

  /** Reports an error that no caller gets to `onerror`, or else prints it. */
  #report(where: string, error: unknown): void {
    if (this.onerror === undefined) this.#printer.print(error, { where });
    else this.onerror(error as Error);
  }
}

/** Creates a channel from a transport of the official SDK. A channel carries text, the transport carries objects. */
function toChannel(transport: CompatTransport, onError: (error: Error) => void): Channel {
  return {
    async open(events) {
      // Handlers of the program.
      const { onmessage, onclose, onerror } = transport;
      transport.onmessage = (message) => {
        onmessage?.(message);
        events.onFrame(JSON.stringify(message));
      };
      transport.onclose = () => {
        onclose?.();
        events.onClose(undefined);
      };
      transport.onerror = (error) => {
        onerror?.(error);
        onError(error);
        events.onProblem(error);
      };
      await transport.start();
    },
    send: (text) => transport.send(JSON.parse(text) as never),
    close: () => transport.close(),
  };
}
