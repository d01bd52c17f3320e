import { currentCall, runInCall } from "../node/current-call.js";
import { serveStdio } from "../node/stdio/serve.js";
import { isObject } from "../protocol/json.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type {
  ClientCapabilities,
  CreateMessageParams,
  Implementation,
  LoggingLevel,
  Root,
} from "../protocol/types/index.js";
import type { Context } from "../server/context.js";
import type { Server as BowlineServer } from "../server/server.js";
import {
  askClient,
  type CompatMessage,
  type CompatRequestOptions,
  type HandlerExtra,
  notifyClient,
  toExtra,
  withErrors,
} from "./extra.js";

/** Transport of the official SDK, such as its `InMemoryTransport`. */
export interface CompatTransport {
  readonly sessionId?: string | undefined;
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
  close(): Promise<void>;
}

/** Serves stdin and stdout of the process by `serveStdio`. */
export class StdioServerTransport {
  readonly sessionId = undefined;
}

/** Zod schema of a request or notification of the official SDK, or its method. */
export type MethodSchema = string | { readonly shape: { readonly method: unknown } };

type RequestHandler = (request: never, extra: HandlerExtra) => unknown;

/** Methods that Bowline serves itself. A handler runs before them instead of replacing them. */
const OBSERVED = new Set(["resources/subscribe", "resources/unsubscribe"]);

const LIST_CHANGES = {
  "notifications/tools/list_changed": "toolsChanged",
  "notifications/prompts/list_changed": "promptsChanged",
  "notifications/resources/list_changed": "resourcesChanged",
} as const;

/**
 * Low-level `Server` of the official SDK on a Bowline server. In the official SDK, a server belongs to one connection.
 * Here it may serve several: members about the client refer to the call in which they are used, and `oninitialized`
 * runs once, for the first client.
 */
export class CompatLowLevel {
  oninitialized: (() => unknown) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  transport: CompatTransport | StdioServerTransport | undefined;
  /** Bowline server, for `serveHttp`, `toNodeListener` and other hosts. */
  readonly bowline: BowlineServer;
  readonly #observers = new Map<string, RequestHandler>();
  #client: { readonly capabilities: ClientCapabilities; readonly info: Implementation | undefined } | undefined;

  constructor(bowline: BowlineServer) {
    this.bowline = bowline;
    bowline.onNotification("notifications/initialized", {}, (_params, ctx) => this.#initialize(ctx.client, ctx));
    bowline.use(async (call, next) => {
      // Clients of 2026-07-28 have no handshake. Their first request replaces it.
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

  setRequestHandler(schema: MethodSchema, handler: RequestHandler): void {
    const method = methodOf(schema);
    if (OBSERVED.has(method)) this.#observe(method, handler);
    else
      this.bowline.method(method, {}, (params, ctx) =>
        withErrors(() => runInCall(ctx, () => handler({ method, params } as never, toExtra(ctx)))),
      );
  }

  setNotificationHandler(schema: MethodSchema, handler: (notification: never) => unknown): void {
    const method = methodOf(schema);
    this.bowline.onNotification(method, {}, async (params, ctx) => {
      await runInCall(ctx, () => handler({ method, params } as never));
    });
  }

  /** Sends a notification of the running call, or to all subscribed clients. */
  async notification(notification: CompatMessage): Promise<void> {
    const { method, params = {} } = notification;
    const { changes } = this.bowline;
    if (method === "notifications/resources/updated") return changes.resourceUpdated(String(params.uri));
    if (Object.hasOwn(LIST_CHANGES, method)) return changes[LIST_CHANGES[method as keyof typeof LIST_CHANGES]]();
    if (method === "notifications/message") return this.sendLoggingMessage(params as never);
    return notifyClient(this.#call(method), notification);
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

  createMessage(params: CreateMessageParams, options?: CompatRequestOptions): Promise<unknown> {
    return this.#ask({ method: "sampling/createMessage", params: { ...params } }, options);
  }

  elicitInput(params: CompatMessage["params"], options?: CompatRequestOptions): Promise<unknown> {
    return this.#ask({ method: "elicitation/create", params }, options);
  }

  /** Serves a transport of the official SDK, or stdin and stdout of the process. */
  async connect(transport: CompatTransport | StdioServerTransport): Promise<void> {
    this.transport = transport;
    if (transport instanceof StdioServerTransport) {
      void serveStdio(this.bowline).then(
        () => this.onclose?.(),
        (error: Error) => this.onerror?.(error),
      );
      return;
    }
    const connection = await this.bowline.accept(toChannel(transport));
    void connection.closed.then(() => this.onclose?.());
  }

  close(): Promise<void> {
    return this.bowline.close();
  }

  async #ask(request: CompatMessage, options?: CompatRequestOptions): Promise<unknown> {
    return askClient(this.#call(request.method), request, options);
  }

  #call(method: string): Context {
    const ctx = currentCall();
    if (ctx?.open) return ctx;
    throw new Error(
      `${method} was sent outside of a handler: Bowline sends it only while a request of the client runs`,
    );
  }

  #observe(method: string, handler: RequestHandler): void {
    const isFirst = this.#observers.size === 0;
    this.#observers.set(method, handler);
    if (!isFirst) return;
    this.bowline.use(async (call, next) => {
      const observer = this.#observers.get(call.method);
      const extra = { sessionId: call.origin.sessionId, requestId: call.id, signal: call.end.signal } as HandlerExtra;
      if (observer !== undefined) await observer({ method: call.method, params: call.params } as never, extra);
      return next(call);
    });
  }

  async #initialize(client: Context["client"], ctx?: Context): Promise<void> {
    if (this.#client !== undefined) return;
    this.#client = client;
    try {
      await (ctx === undefined ? this.oninitialized?.() : runInCall(ctx, () => this.oninitialized?.()));
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}

/** Returns the method of a schema of the official SDK. */
function methodOf(schema: MethodSchema): string {
  if (typeof schema === "string") return schema;
  const literal = schema.shape.method;
  const value = isObject(literal) ? literal.value : undefined;
  if (typeof value !== "string")
    throw new TypeError(
      'setRequestHandler and setNotificationHandler take a schema of the SDK, or a method such as "tools/list"',
    );
  return value;
}

/** Converts a transport of the official SDK, which carries objects, to a channel, which carries text. */
function toChannel(transport: CompatTransport): Channel {
  return {
    async open(events) {
      transport.onmessage = (message) => events.onFrame(JSON.stringify(message));
      transport.onclose = () => events.onClose(undefined);
      transport.onerror = (error) => events.onProblem(error);
      await transport.start();
    },
    send: (text) => transport.send(JSON.parse(text) as never),
    close: () => transport.close(),
  };
}
