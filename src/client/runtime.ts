import type { AbortSwitch } from "../call/abort-switch.js";
import { RetryWaits } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import { ignoreErrors, isThenable } from "../call/maybe-promise.js";
import type { ClientResult, ClientRuntime, Connection, Subscription, WatchEvents } from "../era/client-era.js";
import { CLIENT_LIMITS, CLIENT_TIMES, type ClientLimits } from "../era/client-limits.js";
import type { CloseOptions } from "../era/transport.js";
import {
  type DeprecatedFeature,
  type Deprecation,
  warnByProcess,
  warnOfDeprecated,
  warnOnce,
} from "../protocol/deprecations.js";
import { McpError, notConnected, RpcError, toError, UrlElicitationRequiredError } from "../protocol/errors.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";
import type { Params, RpcNotification } from "../protocol/jsonrpc/message.js";
import { withDefaults } from "../protocol/known-options.js";
import { assertExtensionIds } from "../protocol/meta.js";
import type { ClientCapabilities, Implementation, Root, SubscriptionFilter, Tool } from "../protocol/types/index.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import { type Change, toChange } from "../store/change-bus.js";
import { assertCacheOptions, type CacheStats, ClientCache } from "./cache/cache.js";
import { type CallingClient, ClientCalls } from "./call.js";
import { capabilitiesOf, missingMethod } from "./capabilities.js";
import type { Extensions } from "./extensions.js";
import { tooManyQuestions } from "./input-rounds.js";
import { KnownTools } from "./known-tools.js";
import {
  ANSWER_OPTIONS,
  type AnswerContext,
  type AnswerOptions,
  assertClientOptions,
  type CallOptions,
  type ClientOptions,
} from "./options.js";
import { answerServerRequest, presentUrlElicitations } from "./server-requests.js";
import type { Listening } from "./subscriptions/resilient.js";
import { UrlElicitationWaits } from "./url-elicitations.js";

const ELICITATION_COMPLETE = "notifications/elicitation/complete";
const DEFAULT_INFO: Implementation = { name: "bowline", version: "0.1.0" };

/** Client as its connections see it: identity, capabilities, handlers and listeners. */
export class ClientCore implements ClientRuntime, CallingClient {
  readonly info: Implementation;
  readonly identify: boolean;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly limits: ClientLimits;
  readonly calls: ClientCalls;
  readonly tools: KnownTools;
  readonly waits = new RetryWaits();
  /** Open subscriptions, which end with the connection. */
  readonly listening = new Set<Listening>();
  /** Enabled extensions. Set before connecting. */
  extensions: Extensions | undefined;
  options: ClientOptions;
  /** Capabilities that are declared to servers. */
  capabilities: ClientCapabilities;
  readonly #urlElicitations: UrlElicitationWaits;
  #cache: ClientCache | undefined;
  #connection: Connection | undefined;
  /** Connection that ended last, whether it was in use or not. */
  #ended: { readonly connection: Connection; readonly reason: Error | undefined } | undefined;
  #closing: Promise<void> | undefined;
  /** Number of open input requests from results. */
  #questions = 0;

  constructor(
    options: ClientOptions,
    clock: Clock,
    loadValidator: () => Promise<JsonSchemaValidator>,
    defaults = CLIENT_LIMITS,
  ) {
    assertExtensionIds("capabilities", options.capabilities?.extensions);
    this.info = options.info ?? DEFAULT_INFO;
    this.identify = options.identify ?? true;
    this.capabilities = capabilitiesOf(options);
    this.clock = clock;
    this.timeoutMs = options.timeoutMs ?? CLIENT_TIMES.timeoutMs;
    this.limits = withDefaults(options.limits, defaults);
    this.#urlElicitations = new UrlElicitationWaits(this.limits.maxUrlElicitations);
    this.options = options;
    if (options.cache) assertCacheOptions(options.cache);
    this.calls = new ClientCalls(this);
    this.tools = new KnownTools(
      this.limits,
      () => options.validator ?? loadValidator(),
      (warning) => ignoreErrors(() => this.options.logger?.warn?.(warning)),
    );
  }

  get cacheStats(): CacheStats | undefined {
    return this.#cache?.stats;
  }

  /** Attaches the connection after negotiation. `address` identifies the server. */
  attach(connection: Connection, address: string): void {
    if (connection === this.#ended?.connection) throw notConnected(this.#ended.reason);
    const { cache, pings, clock: authors } = this.options;
    if (cache !== false) {
      // Uses the time of day unless the author supplies a clock, since a cache store may outlive the process.
      const now = () => authors?.now() ?? Date.now();
      const onProblem = (problem: Error) => this.onProblem(problem);
      this.#cache = new ClientCache(cache ?? {}, {
        connection,
        address,
        now,
        clock: this.clock,
        limits: this.limits,
        onProblem,
      });
    }
    this.#connection = connection;
    if (pings !== undefined) connection.keepPinging?.(pings);
    this.calls.begin(connection, this.#cache);
  }

  /**
   * Replaces the given handlers for requests of the server. Legacy: throws if that changes the capabilities that the
   * handshake declared.
   */
  answerWith(handlers: AnswerOptions): void {
    assertClientOptions("answerWith", handlers, ANSWER_OPTIONS);
    assertExtensionIds("answerWith", handlers.capabilities?.extensions);
    const options = { ...this.options, ...handlers };
    const capabilities = capabilitiesOf(options);
    const { declaresOnce } = this.calls.connected().era;
    if (declaresOnce && JSON.stringify(capabilities) !== JSON.stringify(this.capabilities)) {
      const message = "answerWith: the handshake declared other capabilities; connect again";
      throw new McpError("not_declared", message);
    }
    this.options = options;
    this.capabilities = capabilities;
  }

  setRoots(roots: readonly Root[]): void {
    this.options = { ...this.options, roots };
  }

  async notify(method: string, params: Params | undefined): Promise<void> {
    const { connection } = this.calls;
    if (connection === undefined) return;
    const missing = missingMethod(method, connection);
    if (missing !== undefined) throw missing;
    await connection.notify(method, params);
  }

  listen(filter: SubscriptionFilter, events: WatchEvents, options: CallOptions = {}): Promise<Subscription> {
    const connection = this.calls.connected();
    return this.calls.run("subscriptions/listen", options, (lifetime) => connection.watch(filter, events, lifetime));
  }

  /** Invalidates cached results that may have changed without notice. */
  missed(changes: readonly Change[]): void {
    for (const change of changes) this.#cache?.invalidate(change);
  }

  /**
   * Stores a listed tool. Returns false if arguments are mirrored into headers and the tool's header annotations are
   * invalid.
   */
  learnTool(tool: Tool): boolean {
    return this.tools.learn(tool, this.calls.connected().mirrorsHeaders);
  }

  relearnTools(connection: Connection, lifetime: CallLifetime): Promise<void> {
    return this.tools.relearnHeaders(connection, lifetime);
  }

  /** Resolves when the server reports that the user has finished a URL elicitation. */
  urlElicitationCompleted(elicitationId: string, options: CallOptions): Promise<void> {
    this.calls.connected();
    return this.calls.runOffWire(ELICITATION_COMPLETE, options, (lifetime) =>
      this.#urlElicitations.wait(elicitationId, lifetime),
    );
  }

  /**
   * Registers the URL elicitations that a failed call requires, and, with `showRequiredUrls`, shows them before the
   * call rejects.
   */
  readonly onFailure: CallingClient["onFailure"] = async (error, options) => {
    if (!(error instanceof UrlElicitationRequiredError)) throw error;
    const { elicitations } = error;
    for (const { elicitationId } of elicitations) this.#urlElicitations.expect(elicitationId);
    if (this.options.showRequiredUrls !== true) throw error;
    const limits = { ...options, timeoutMs: Number.POSITIVE_INFINITY };
    await this.calls.runOffWire("elicitation/create", limits, (lifetime) =>
      presentUrlElicitations(this.options, elicitations, lifetime),
    );
    throw error;
  };

  get freeQuestions(): number {
    return this.limits.maxQuestions - this.#questions;
  }

  readonly answerInput: CallingClient["answerInput"] = async (method, params, end) => {
    if (this.freeQuestions <= 0) throw tooManyQuestions(method, this.limits.maxQuestions);
    this.#questions++;
    try {
      return await answerServerRequest(this.options, method, params, end);
    } finally {
      this.#questions--;
    }
  };

  async answer(
    method: string,
    params: Params | undefined,
    end: AbortSwitch,
    progress: AnswerContext["progress"],
  ): Promise<ClientResult> {
    if (this.options.answerDuringCallsOnly === true && this.calls.pending === 0) {
      throw new RpcError(INVALID_PARAMS, `${method} was refused: no call of this client is in progress`);
    }
    if (typeof params?.elicitationId === "string") this.#urlElicitations.expect(params.elicitationId);
    return this.calls.whileServerWaits(() => answerServerRequest(this.options, method, params, end, progress));
  }

  onNotification(notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === ELICITATION_COMPLETE) this.#urlElicitations.complete(params?.elicitationId);
    const change = this.#cache === undefined ? undefined : toChange(method, params);
    if (change !== undefined) this.#cache?.invalidate(change);
    if (this.extensions?.deliver(notification, this.onProblem)) return;
    const { notifications: own, onNotification } = this.options;
    try {
      const handler = own !== undefined && Object.hasOwn(own, method) ? own[method] : undefined;
      const handled = handler === undefined ? onNotification?.(notification) : handler(params);
      // A handler may return any value. Only a promise can reject.
      if (isThenable(handled)) Promise.resolve(handled).catch(this.onProblem);
    } catch (error) {
      this.onProblem(error);
    }
  }

  readonly onProblem = (error: unknown): void => {
    const problem = toError(error);
    ignoreErrors(() => this.options.logger?.error?.(problem.message, { error: problem }));
    ignoreErrors(() => this.options.onError?.(problem));
  };

  deprecated(deprecation: Deprecation): void {
    if (this.options.warnDeprecated !== false) warnOnce(deprecation, warnByProcess);
  }

  /** Warns of a deprecated feature that this client uses, if the era deprecates it. */
  uses(feature: DeprecatedFeature): void {
    const { logger, warnDeprecated } = this.options;
    if (logger?.warn === undefined || warnDeprecated === false || !this.calls.connected().era.deprecates) return;
    warnOfDeprecated(feature, (message, fields) => ignoreErrors(() => logger.warn?.(message, fields)));
  }

  debug(message: string, fields: Record<string, unknown>): void {
    ignoreErrors(() => this.options.logger?.debug?.(message, fields));
  }

  /** Handles the end of a connection. While connecting, the caller of `connect` gets the error instead. */
  onClose(reason: Error | undefined, connection: Connection): void {
    this.#ended = { connection, reason };
    if (connection !== this.#connection) return;
    this.calls.end(reason);
    for (const one of [...this.listening]) one.over("lost", reason);
    ignoreErrors(() => this.options.onClose?.(reason));
  }

  /** Ends all calls and closes the connection. */
  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async #close(options: CloseOptions | undefined): Promise<void> {
    // A lost connection may still be closing, so `close` waits for it.
    for (const one of [...this.listening]) one.over("closed", undefined);
    this.calls.end(undefined);
    await this.#connection?.close(options);
  }
}
