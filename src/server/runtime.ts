import { type Clock, systemClock } from "../call/clock.js";
import { lazyModule } from "../call/lazy.js";
import { andThen, attempt, ignoreErrors, type MaybePromise } from "../call/maybe-promise.js";
import type { Busy } from "../era/busy.js";
import type {
  Call,
  LogMessage,
  OfferedEra,
  OpenSubscriptions,
  ReportContext,
  ServerRuntime,
} from "../era/server-era.js";
import { SERVER_LIMITS, type ServerLimits } from "../era/server-limits.js";
import { UrlElicitations } from "../era/url-elicitations.js";
import type { ParamHeader } from "../http/param-headers.js";
import { RequestBodies } from "../http/request-bodies.js";
import {
  type DeprecatedFeature,
  type Deprecation,
  warnByProcess,
  warnOfDeprecated,
  warnOnce,
} from "../protocol/deprecations.js";
import { DefinitionError, toError } from "../protocol/errors.js";
import { defined } from "../protocol/json.js";
import type { RpcNotification } from "../protocol/jsonrpc/message.js";
import { assertOptions, withDefaults } from "../protocol/known-options.js";
import { assertExtensionIds } from "../protocol/meta.js";
import type { Implementation, ServerCapabilities } from "../protocol/types/index.js";
import type { SchemaCompiler } from "../schema/json-schema/types.js";
import { type ChangeBus, MemoryChangeBus } from "../store/change-bus.js";
import { Admission } from "./admission.js";
import { assertInterceptor, type CallInterceptor, callViews, viewed } from "./call-info.js";
import { Registry } from "./definitions/registry.js";
import { ErrorPrinter } from "./error-printer.js";
import { createReceiver } from "./notifications.js";
import { SERVER_OPTIONS, type ServerOptions } from "./options.js";
import { createRateLimit } from "./rate-limit.js";
import { createRoutes, createServe, hasResource, type Route, sees } from "./serve-call.js";
import { assertSealOptions } from "./state/options.js";

/** Server as its eras see it: definitions, options, limits, and the function that serves a call. */
export class ServerCore implements ServerRuntime {
  declare readonly info: Implementation;
  changes: ChangeBus;
  readonly clock: Clock;
  readonly seal: ServerRuntime["seal"];
  readonly urlElicitations = new UrlElicitations();
  readonly watched = new Map<string, number>();
  readonly #logListeners = new Set<(message: LogMessage) => void>();
  #droppedLog = false;
  declare plainStamp: string | undefined;
  readonly subscriptions: OpenSubscriptions = { open: 0, anonymous: 0, byOwner: new Map() };
  declare readonly versions: readonly string[];
  readonly registry: Registry;
  declare readonly eras: readonly OfferedEra[];
  declare options: ServerOptions;
  declare onShare?: () => void;
  declare onSessionEnd?: ServerRuntime["onSessionEnd"];
  readonly limits: ServerLimits;
  readonly admission: Admission;
  readonly bodies: RequestBodies;
  declare readonly checkRate: ((call: Call) => MaybePromise<void>) | undefined;
  readonly routes: ReadonlyMap<string, Route>;
  readonly views = callViews;
  readonly #closing = new Set<(isOver: boolean) => unknown>();
  mirrorsArguments = false;
  /** True if new calls are refused. */
  draining = false;
  readonly #interceptors: CallInterceptor[];
  readonly #printer: ErrorPrinter;
  run: ServerRuntime["run"];

  constructor(info: Implementation, options: ServerOptions, eras: readonly OfferedEra[], validator?: SchemaCompiler) {
    if (typeof info?.name !== "string" || typeof info.version !== "string")
      throw new DefinitionError("McpServer requires { name, version } as strings");
    assertOptions("McpServer", options, SERVER_OPTIONS);
    assertExtensionIds("capabilities", options.capabilities?.extensions);
    this.limits = withDefaults(options.limits, SERVER_LIMITS);
    this.info = info;
    this.clock = options.clock ?? systemClock;
    this.#printer = new ErrorPrinter(this.limits, this.clock);
    this.admission = new Admission(this, options.http?.gate !== undefined);
    this.bodies = new RequestBodies(this.limits, this.clock);
    this.checkRate = options.rateLimit && createRateLimit(options.rateLimit, this);
    this.versions = supportedVersions(eras, options.versions);
    this.eras = eras.filter((era) => era.versions.some((version) => this.versions.includes(version)));
    this.changes = new MemoryChangeBus((error) => this.report(error, { where: "change" }));
    this.share(options);
    const { interceptors = [] } = options;
    for (const interceptor of interceptors) assertInterceptor("interceptors", interceptor);
    this.#interceptors = interceptors.map((interceptor) => viewed(this.views, interceptor));
    assertSealOptions(options.stateKeys, options.stateCodec, this.limits.stateTtlMs);
    this.seal = lazyModule(async () => (await import("./state/seal.js")).createServerSeal(this, this.options));
    this.registry = new Registry(options, this, {
      validator,
      maskErrors: options.maskErrors ?? false,
      clock: this.clock,
      admission: this.admission,
      warn: (message) => this.warn(message),
      onParamHeaders: () => {
        this.mirrorsArguments = true;
      },
      report: (error, tool) => this.report(error, { where: `tool ${tool}`, method: "tools/call", name: tool }),
    });
    this.routes = createRoutes(this.registry);
    this.run = createServe(this, this.#interceptors);
  }

  get audience(): string {
    return this.options.stateAudience ?? this.info.name;
  }

  get capabilities(): ServerCapabilities {
    return this.registry.capabilities;
  }

  /** Takes options whose cluster is new, before the first call. */
  share(options: ServerOptions): void {
    this.options = options;
    this.changes = options.cluster?.connectChanges(this.changes, this) ?? this.changes;
    this.onShare?.();
  }

  use(interceptor: CallInterceptor): void {
    this.#interceptors.push(interceptor);
    this.run = createServe(this, this.#interceptors);
  }

  knows(method: string): boolean {
    return this.registry.methods.has(method);
  }

  nameFrom(method: string): string | undefined {
    return this.registry.methods.get(method)?.nameFrom;
  }

  /** True if an era of this server specifies the method. */
  isSpecified(method: string): boolean {
    return this.eras.some((era) => era.specifies(method));
  }

  receiver(
    notificationCall: (method: string) => Call,
    principal: string | undefined,
  ): (notification: RpcNotification) => void {
    return createReceiver(this, notificationCall, principal);
  }

  /** Sends a log message to all clients that can receive messages outside of a call. */
  log(message: LogMessage): void {
    if (this.capabilities.logging === undefined) return;
    for (const listener of [...this.#logListeners]) listener(message);
    if (this.#logListeners.size > 0 || this.#droppedLog) return;
    this.#droppedLog = true;
    this.report(new Error("No client receives this log message; use ctx.log"), { where: "log" });
  }

  onLog(listener: (message: LogMessage) => void): () => void {
    this.#logListeners.add(listener);
    return () => this.#logListeners.delete(listener);
  }

  report(error: unknown, context: ReportContext, level: "error" | "warn" = "error"): void {
    const { logger, onError } = this.options;
    const { message } = toError(error);
    const cause = level === "error" ? { error } : undefined;
    const fields = { ...defined(context), ...cause };
    if (logger === undefined && onError === undefined && level === "error") this.#printer.print(error, context);
    ignoreErrors(() => logger?.[level]?.(message, fields));
    attempt(
      () => onError?.(error, context),
      () => {},
      (thrown) => ignoreErrors(() => logger?.error?.("onError threw", { ...context, error: thrown })),
    );
  }

  warn(message: string, ...fields: readonly Record<string, unknown>[]): void {
    // A console prints a second argument even if it is undefined.
    ignoreErrors(() => this.options.logger?.warn?.(message, ...fields));
  }

  warnOfRisk(message: string, ...fields: readonly Record<string, unknown>[]): void {
    if (this.options.logger === undefined) this.#printer.warn(message);
    else this.warn(message, ...fields);
  }

  debug(message: string, ...fields: readonly Record<string, unknown>[]): void {
    ignoreErrors(() => this.options.logger?.debug?.(message, ...fields));
  }

  paramHeaders(tool: string): readonly ParamHeader[] | undefined {
    return this.registry.tools.get(tool)?.paramHeaders;
  }

  deprecated(deprecation: Deprecation): void {
    if (this.options.warnDeprecated !== false) warnOnce(deprecation, warnByProcess);
  }

  outputSchema(tool: string): { readonly [key: string]: unknown } | undefined {
    return this.registry.tools.get(tool)?.listing.outputSchema;
  }

  busy(status: 429 | 503, limit: string, message: string): Busy {
    return this.admission.refuse(status, limit, message);
  }

  uses(feature: DeprecatedFeature): void {
    const { logger, warnDeprecated } = this.options;
    if (logger?.warn === undefined || warnDeprecated === false) return;
    warnOfDeprecated(feature, (text, fields) => this.warn(text, { ...fields }));
  }

  cacheHints(method: string): ReturnType<ServerRuntime["cacheHints"]> {
    return this.registry.cacheHints(method);
  }

  onClosing(listener: (isOver: boolean) => unknown): () => void {
    this.#closing.add(listener);
    return () => this.#closing.delete(listener);
  }

  /** Refuses new calls and notifies the listeners of `onClosing`. Resolves when their work has ended. */
  beginClosing(isOver = false): Promise<unknown> {
    this.draining = true;
    return Promise.all([...this.#closing].map((listener) => listener(isOver)));
  }

  hasResource(call: Call, uri: string): MaybePromise<boolean> {
    return hasResource(this, call, uri);
  }

  ifSeen(call: Call, uri: string, tell: () => void): void {
    attempt(
      () => andThen(sees(this, call, uri), (seen) => seen && tell()),
      () => {},
      (error) => this.report(error, { where: "visible", method: call.method, id: call.id }),
    );
  }
}

function supportedVersions(eras: readonly OfferedEra[], wanted: readonly string[] | undefined): readonly string[] {
  const all = eras.flatMap((era) => era.versions);
  if (wanted === undefined) return all;
  const unknown = wanted.filter((version) => !all.includes(version));
  if (unknown.length > 0)
    throw new DefinitionError(`versions: ${unknown.join(", ")} is not supported; choose from ${all.join(", ")}`);
  if (wanted.length === 0) throw new DefinitionError("versions is empty");
  return all.filter((version) => wanted.includes(version));
}
