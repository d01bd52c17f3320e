import type { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import { composeInterceptors } from "../call/interceptor.js";
import type { CallLifetime } from "../call/lifetime.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import type { ClientResult, ClientRuntime, Connection, Subscription, WatchEvents } from "../era/client-era.js";
import type { CloseOptions } from "../era/link.js";
import type { ParamHeader } from "../http/param-headers.js";
import { type Deprecation, warnByProcess, warnOfDeprecated, warnOnce } from "../protocol/deprecations.js";
import { McpError, notConnected, RpcError, toError, UrlElicitationRequiredError } from "../protocol/errors.js";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "../protocol/jsonrpc/errors.js";
import type { Params, RpcNotification } from "../protocol/jsonrpc/message.js";
import { assertExtensionIds } from "../protocol/meta.js";
import type {
  ClientCapabilities,
  Implementation,
  Root,
  ServerCapabilities,
  SubscriptionFilter,
  Tool,
} from "../protocol/types/index.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import { type Change, toChange } from "../store/change-bus.js";
import { assertCacheOptions, type CacheStats, ClientCache } from "./cache/cache.js";
import { Caller, type OnFailure, type ReadResult } from "./call.js";
import type { Extensions } from "./extensions.js";
import {
  type AnswerContext,
  type AnswerOptions,
  type CallOptions,
  type ClientCall,
  type ClientOptions,
  DEFAULTS,
} from "./options.js";
import { OutputChecks } from "./output-checks.js";
import { answerServerRequest, presentUrlElicitations } from "./server-requests.js";
import type { Listening } from "./subscriptions/resilient.js";
import { ToolHeaders } from "./tool-headers.js";
import { UrlElicitationWaits } from "./url-elicitations.js";

export const ROOTS_CHANGED = "notifications/roots/list_changed";
const ELICITATION_COMPLETE = "notifications/elicitation/complete";
const DEFAULT_INFO: Implementation = { name: "bowline", version: "0.1.0" };

/** The client as its eras see it: what it knows and answers, and how a call is made on the connection that there is. */
export class ClientCore implements ClientRuntime {
  readonly info: Implementation;
  readonly identify: boolean;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly outputs: OutputChecks;
  /** Pages of the server's that the user is at. */
  readonly visits = new UrlElicitationWaits();
  /** What the extensions that are on own; set before anything is connected. */
  extensions: Extensions | undefined;
  readonly #toolHeaders = new ToolHeaders((warning) => ignoreErrors(() => this.#options.logger?.warn?.(warning)));
  /** Those who listen for changes: they end with the connection. */
  readonly listening = new Set<Listening>();
  #cache: ClientCache | undefined;
  #options: ClientOptions;
  #capabilities: ClientCapabilities;
  #connection: Connection | undefined;
  /** The last one that went away, in use or not. */
  #ended: Connection | undefined;
  #caller: Caller | undefined;
  /** What calls go through beside the caller: undefined where there is nothing. */
  #around: ((call: ClientCall) => Promise<ClientResult>) | undefined;
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
    this.outputs = new OutputChecks(() => options.validator ?? loadValidator());
  }

  get options(): ClientOptions {
    return this.#options;
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#caller?.pending ?? 0;
  }

  get cacheStats(): CacheStats | undefined {
    return this.#cache?.stats;
  }

  /** The connection, if there is one. */
  get connection(): Connection | undefined {
    return this.#closed ? undefined : this.#connection;
  }

  connected(): Connection {
    const { connection } = this;
    if (connection === undefined) throw notConnected();
    return connection;
  }

  /** Called when negotiation has made a connection. `address` tells its server from others. */
  attach(connection: Connection, address: string): void {
    if (connection === this.#ended) throw notConnected();
    this.#warnOfDeprecated(connection);
    const cache = createCache(this.#options, connection, address, this);
    this.#cache = cache;
    this.#connection = connection;
    if (this.#options.pings !== undefined) connection.keepPinging?.(this.#options.pings);
    const caller = new Caller(
      cache === undefined
        ? connection
        : {
            call: (call, lifetime) => cache.through(call, lifetime, connection),
            failed: (call, error) => cache.noteFailure(call, error),
          },
      this.#options,
      (method, params, end) => answerServerRequest(this.#options, method, params, end),
      this.clock,
      (problem) => this.onProblem(toError(problem)),
    );
    this.#caller = caller;
    const { interceptors = [] } = this.#options;
    if (interceptors.length > 0 || this.extensions !== undefined) {
      const intercepted = composeInterceptors(interceptors, (call) => this.#resolved(call, caller));
      this.#around = async (call) => {
        try {
          return await intercepted(call);
        } catch (error) {
          return this.#onFailure(error, call.options);
        }
      };
    }
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
    if (this.connected().era.declaresOnce && JSON.stringify(capabilities) !== JSON.stringify(this.#capabilities)) {
      const message = "answerWith: the handshake declared other capabilities, and they cannot change any more";
      throw new McpError("not_declared", message);
    }
    this.#options = options;
    this.#capabilities = capabilities;
  }

  setRoots(roots: readonly Root[]): void {
    this.#options = { ...this.#options, roots };
  }

  /** Makes a call and gives what is read of its result. */
  call<T>(call: ClientCall, read: ReadResult<T>): Promise<T> {
    try {
      this.connected();
      if (this.#around !== undefined) return this.#around(call).then(read);
      return this.#send(call, this.#caller as Caller, read, this.#onFailure);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #send<T>(call: ClientCall, caller: Caller, read: ReadResult<T>, onFailure: OnFailure): Promise<T> {
    const refusal = this.#refuse(call.method);
    if (refusal !== undefined) throw refusal;
    return caller.call(call, read, onFailure);
  }

  /** A result that an extension owns is what the extension makes of it. */
  async #resolved(call: ClientCall, caller: Caller): Promise<ClientResult> {
    const result = await this.#send(call, caller, asItIs, (error) => Promise.reject(error));
    if (this.extensions === undefined) return result;
    return this.extensions.resolve(call, result, (method, params, options = {}) =>
      this.call({ method, params, options }, asItIs),
    );
  }

  async notify(method: string, params: Params | undefined): Promise<void> {
    const { connection } = this;
    if (connection === undefined) return;
    const missing = this.missing(method);
    if (missing !== undefined) throw missing;
    await connection.notify(method, params);
  }

  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  /** What is not sent, because this era has no such method or, where that is wanted, the server did not announce it. */
  #refuse(method: string): RpcError | undefined {
    const missing = this.missing(method);
    if (missing !== undefined) return missing;
    return this.#foreign(method) ?? this.unannounced(method);
  }

  /** A refusal for what belongs to an extension that the server, if it was heard, did not announce. */
  #foreign(method: string): RpcError | undefined {
    if (this.extensions === undefined) return undefined;
    const { heard, capabilities } = this.connected().server;
    return heard ? this.extensions.refuse(method, capabilities) : undefined;
  }

  /** A refusal for what only other eras have. */
  missing(method: string): RpcError | undefined {
    const connection = this.connected();
    const replacement = connection.era.missing(method);
    if (replacement === undefined) return undefined;
    const message = `${method} does not exist in protocol version ${connection.server.version}: ${replacement}`;
    return new RpcError(METHOD_NOT_FOUND, message, undefined, { local: true });
  }

  /** A refusal for what the server did not announce, where that is wanted. */
  unannounced(method: string): RpcError | undefined {
    return this.#options.strictCapabilities === true
      ? capabilityRefusal(method, this.connected().server.capabilities)
      : undefined;
  }

  /** Runs work within the limits of a call. */
  async inScope<T>(label: string, options: CallOptions, work: (lifetime: CallLifetime) => Promise<T>): Promise<T> {
    const caller = this.#caller as Caller;
    const lifetime = caller.openLifetime(label, options);
    try {
      lifetime.throwIfAborted();
      return await work(lifetime);
    } finally {
      caller.closeScope(lifetime);
    }
  }

  /** Waits until the server says that the user is done with a page. */
  pageDone(elicitationId: string, options: CallOptions): Promise<void> {
    this.connected();
    return this.inScope("notifications/elicitation/complete", options, (lifetime) => {
      this.#caller?.leaveWire(lifetime);
      return this.visits.wait(elicitationId, lifetime);
    });
  }

  listen(filter: SubscriptionFilter, events: WatchEvents, options: CallOptions = {}): Promise<Subscription> {
    const connection = this.connected();
    return this.inScope("subscriptions/listen", options, (lifetime) => connection.watch(filter, events, lifetime));
  }

  /** What may have changed unheard counts as changed. */
  missed(changes: readonly Change[]): void {
    for (const change of changes) this.#cache?.invalidate(change);
  }

  /** Remembers how a tool answers and, where arguments travel in headers, which do; tells whether those make sense. */
  learnTool(tool: Tool): boolean {
    this.outputs.learn(tool);
    return !this.connected().mirrorsHeaders || this.#toolHeaders.learn(tool);
  }

  /** All tools are about to be learnt: what is not among them is gone. */
  forgetHeaders(): void {
    this.#toolHeaders.forget();
  }

  relearnTools(connection: Connection, lifetime: CallLifetime): Promise<void> {
    return this.#toolHeaders.relearn(connection, lifetime);
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
    if (typeof params?.elicitationId === "string") this.visits.expect(params.elicitationId);
    const work = () => answerServerRequest(this.#options, method, params, end, progress);
    return this.#caller === undefined ? work() : this.#caller.whileServerWaits(work);
  }

  onNotification(notification: RpcNotification): void {
    if (notification.method === ELICITATION_COMPLETE) this.visits.complete(notification.params?.elicitationId);
    const change = this.#cache === undefined ? undefined : toChange(notification.method, notification.params);
    if (change !== undefined) this.#cache?.invalidate(change);
    const report = (error: unknown) => this.onProblem(toError(error));
    if (this.extensions?.deliver(notification, report)) return;
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
    ignoreErrors(() => this.#options.logger?.error?.(problem.message, { error: problem }));
    ignoreErrors(() => this.#options.onError?.(problem));
  }

  deprecated(deprecation: Deprecation): void {
    if (this.#options.warnDeprecated !== false) warnOnce(deprecation, warnByProcess);
  }

  debug(message: string, fields: Record<string, unknown>): void {
    ignoreErrors(() => this.#options.logger?.debug?.(message, fields));
  }

  /** Only the connection in use matters: while connecting, whoever connects hears of it. */
  onClose(reason: Error | undefined, connection: Connection): void {
    this.#ended = connection;
    if (connection !== this.#connection) return;
    this.#closed = true;
    this.#caller?.end(reason);
    for (const one of [...this.listening]) one.over("lost", reason);
    ignoreErrors(() => this.#options.onClose?.(reason));
  }

  paramHeaders(tool: string): readonly ParamHeader[] | undefined {
    return this.#toolHeaders.of(tool);
  }

  /** Pages that a call requires are remembered, and shown where that is wanted, before the caller hears of them. */
  readonly #onFailure: OnFailure = async (error, options) => {
    if (!(error instanceof UrlElicitationRequiredError)) throw error;
    const { elicitations } = error;
    for (const { elicitationId } of elicitations) this.visits.expect(elicitationId);
    if (this.#options.showRequiredUrls !== true) throw error;
    const limits = { ...options, timeoutMs: Number.POSITIVE_INFINITY };
    await this.inScope("elicitation/create", limits, async (lifetime) => {
      this.#caller?.leaveWire(lifetime);
      await presentUrlElicitations(this.#options, elicitations, lifetime);
    });
    throw error;
  };

  async #close(options: CloseOptions | undefined): Promise<void> {
    // One that is lost may still be going: whoever closes waits for that.
    for (const one of [...this.listening]) one.over("closed", undefined);
    if (!this.#closed) this.#caller?.end(undefined);
    this.#closed = true;
    await this.#connection?.close(options);
  }

  #warnOfDeprecated(connection: Connection): void {
    const { logger, warnDeprecated } = this.#options;
    if (!connection.era.deprecates || warnDeprecated === false) return;
    const warn =
      logger?.warn === undefined
        ? undefined
        : (message: string, fields: Record<string, unknown>) => ignoreErrors(() => logger.warn?.(message, fields));
    if (this.capabilities.roots !== undefined) warnOfDeprecated("roots", warn);
    if (this.capabilities.sampling !== undefined) warnOfDeprecated("sampling", warn);
    if (connection.server.capabilities.logging !== undefined) warnOfDeprecated("logging", warn);
  }
}

const asItIs: ReadResult<ClientResult> = (result) => result;

function createCache(
  options: ClientOptions,
  connection: Connection,
  address: string,
  client: ClientCore,
): ClientCache | undefined {
  if (options.cache === false) return undefined;
  return new ClientCache(options.cache ?? {}, {
    server() {
      const { version, info } = connection.server;
      return JSON.stringify([address, version, info?.name, info?.version]);
    },
    era: () => connection.era,
    // Stores may outlive the process: without a clock of the author's own, time is the calendar's.
    now: () => options.clock?.now() ?? Date.now(),
    clock: client.clock,
    onProblem: (problem) => client.onProblem(problem),
  });
}

/** What a server must have announced for a method to make sense. */
const NEEDED: { readonly [method: string]: readonly [keyof ServerCapabilities, string?] } = {
  "tools/list": ["tools"],
  "tools/call": ["tools"],
  "prompts/list": ["prompts"],
  "prompts/get": ["prompts"],
  "resources/list": ["resources"],
  "resources/templates/list": ["resources"],
  "resources/read": ["resources"],
  "resources/subscribe": ["resources", "subscribe"],
  "resources/unsubscribe": ["resources"],
  "completion/complete": ["completions"],
  "logging/setLevel": ["logging"],
};

/** A refusal of this side that reads like the server's own would. */
export function capabilityRefusal(method: string, announced: ServerCapabilities): RpcError | undefined {
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined;
  if (needed === undefined) return undefined;
  const [capability, part] = needed;
  const present = announced[capability] as Record<string, unknown> | undefined;
  if (present !== undefined && (part === undefined || present[part] === true)) return undefined;
  const missing = part === undefined ? capability : `${capability}.${part}`;
  return new RpcError(
    METHOD_NOT_FOUND,
    `${method} was not sent: the server did not announce ${missing}`,
    { method, capability: missing },
    { local: true },
  );
}

/** What the handlers of a client amount to. */
export function capabilitiesOf(options: ClientOptions): ClientCapabilities {
  const { onElicit, onElicitUrl, onSample, samplingTools, samplingContext, roots, capabilities } = options;
  const elicitation = {
    ...(onElicit === undefined ? undefined : { form: {} }),
    ...(onElicitUrl === undefined ? undefined : { url: {} }),
  };
  const sampling = {
    ...(samplingTools === true ? { tools: {} } : undefined),
    ...(samplingContext === true ? { context: {} } : undefined),
  };
  const enabled = Object.entries(options.extensions ?? {}).map(([id, { settings = {} }]) => [id, settings] as const);
  const extensions = { ...capabilities?.extensions, ...Object.fromEntries(enabled) };
  return {
    ...(capabilities?.experimental === undefined ? undefined : { experimental: { ...capabilities.experimental } }),
    ...(roots === undefined ? undefined : { roots: options.rootsListChanged === false ? {} : { listChanged: true } }),
    ...(onSample === undefined ? undefined : { sampling }),
    ...(onElicit === undefined && onElicitUrl === undefined ? undefined : { elicitation }),
    ...(capabilities?.extensions === undefined && enabled.length === 0 ? undefined : { extensions }),
  };
}
