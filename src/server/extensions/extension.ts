import { tellAll } from "../../call/abort-switch.js";
import type { Clock } from "../../call/clock.js";
import { composeInterceptors } from "../../call/interceptor.js";
import type { MaybePromise } from "../../call/maybe-promise.js";
import { missingCapability } from "../../era/capabilities.js";
import type {
  Call,
  ClientDescription,
  OfferedEra,
  ReportContext,
  Result,
  ServerRuntime,
  Topics,
} from "../../era/server-era.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { methodNotFound } from "../../protocol/jsonrpc/errors.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { assertExtensionIds } from "../../protocol/meta.js";
import type { Implementation, JsonObject } from "../../protocol/types/index.js";
import { type AnySchema, type OutputOf, parseStandard, type StandardSchema } from "../../schema/standard-schema.js";
import type { ChangeBus } from "../../store/change-bus.js";
import type { Admission } from "../admission.js";
import { type CallInfo, type CallInterceptor, type CallViews, viewed } from "../call-info.js";
import type { MethodHandler, MethodOptions, NotificationHandler } from "../definitions/custom-method.js";
import type { Definition, Registry } from "../definitions/registry.js";
import type { ResourceHandler, ResourceOptions } from "../definitions/resource.js";
import type { UriVariableName } from "../definitions/uri-template.js";
import type { ServerInterceptor } from "../options.js";
import { claim, expectOwnType } from "./conflicts.js";

/** Options of a server extension. */
export interface ExtensionOptions<S extends StandardSchema | undefined = undefined> {
  /** Identifier: a prefixed name such as com.example/name. */
  readonly id: string;
  /**
   * True if the extension needs no support by the client. It then applies to all clients, even if they do not declare
   * it.
   * @default false
   */
  readonly serverOnly?: boolean | undefined;
  /**
   * Settings that are announced to clients.
   * @default {}
   */
  readonly settings?: JsonObject | undefined;
  /** Schema of the client's settings. A client whose settings do not match counts as one without the extension. */
  readonly clientSettings?: S | undefined;
  /**
   * Result types of the extension, each with the method that may return it. In protocol versions without result types
   * such an extension is not announced and its methods are unknown.
   */
  readonly results?: { readonly [type: string]: string } | undefined;
}

const OPTIONS: Known<ExtensionOptions<StandardSchema>> = {
  id: [{ string: "any" }, "required"],
  serverOnly: "boolean",
  settings: "object",
  clientSettings: "any",
  results: [{ map: "string" }],
};

/** Parts of the server that an extension may use. */
export interface ExtensionServer {
  /** Name and version of the server. */
  readonly info: Implementation;
  readonly clock: Clock;
  /** Announces changes to clients. */
  readonly changes: ChangeBus;
  /** Reports an error to `onError` and the logger. With `warn`, the log gets no stack. */
  report(error: unknown, where: ReportContext, level?: "warn"): void;
  /** Warns the developer of a setup that works but should be changed: through the logger or, without one, once on stderr. */
  warn(message: string, fields?: Record<string, unknown>): void;
  /** Calls the listener when a drain begins, which waits for its promise, and with true at the close. Returns its removal. */
  onClosing(listener: (isOver: boolean) => unknown): () => void;
}

/** Serves a member of a subscription's filter. Returns undefined if none of it can be served. */
export type TopicHandler = (wanted: unknown, call: CallInfo) => MaybePromise<ServedTopic | undefined>;

/** Member of a subscription's filter that an extension serves. */
export interface ServedTopic {
  /** Value of the member in the acknowledged filter. */
  readonly honoured: unknown;
  /** Called after the acknowledgment with a function that sends notifications. Returns a function that stops them. */
  start(send: (method: string, params: object) => void | Promise<void>): () => void;
}

/** Server runtime that extensions are installed in. */
export interface ExtensionHost extends ServerRuntime {
  readonly registry: Registry;
  readonly admission: Pick<Admission, "enter" | "leave">;
  readonly eras: readonly OfferedEra[];
  readonly views: CallViews;
  /** Called when the server has joined a cluster after its construction. An extension calls the former listener too. */
  onShare?: () => void;
  use(interceptor: CallInterceptor): void;
  isSpecified(method: string): boolean;
}

type Settings<S> = S extends StandardSchema ? OutputOf<S> : JsonObject;

/**
 * Extension of the protocol, for `server.extend`: its settings, methods, notifications, result types, topics of
 * subscriptions and interceptors. It applies to clients that declare the extension, or, with `serverOnly`, to all
 * clients.
 */
export class ServerExtension<S extends StandardSchema | undefined = undefined> {
  readonly #methods = new Map<string, Definition>();
  readonly #notifications = new Map<string, Definition>();
  readonly #resources: [uri: string, options: ResourceOptions, handler: ResourceHandler][] = [];
  readonly #topics = new Map<string, TopicHandler>();
  readonly #interceptors: ServerInterceptor[] = [];
  readonly #onInstall: ((server: ExtensionServer) => void)[] = [];

  /** Options as given. */
  readonly options: ExtensionOptions<S>;
  /** Identifier, such as com.example/name. */
  readonly id: string;

  constructor(options: ExtensionOptions<S>) {
    atCaller(ServerExtension, () => assertExtension(options));
    this.options = options;
    this.id = options.id;
  }

  /**
   * Handles a method. Unless `serverOnly` is set, a client that did not declare the extension gets a missing capability
   * error.
   */
  method(name: string, handler: MethodHandler<undefined>): this;
  /** Handles a method whose params match a schema. */
  method<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: MethodHandler<P>,
  ): this;
  method(name: string, ...given: Definition): this {
    return atCaller(this.method, () => this.#define(this.#methods, name, given));
  }

  /** Handles a notification. */
  onNotification(name: string, handler: NotificationHandler<undefined>): this;
  /** Handles a notification whose params match a schema. */
  onNotification<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: NotificationHandler<P>,
  ): this;
  onNotification(name: string, ...given: Definition): this {
    return atCaller(this.onNotification, () => this.#define(this.#notifications, name, given));
  }

  /** Defines a resource, or a family of resources at a URI template, for all clients. */
  resource<const Uri extends string>(
    uri: Uri,
    options: ResourceOptions<AnySchema | undefined, UriVariableName<Uri>>,
    handler: ResourceHandler<Uri>,
  ): this {
    this.#resources.push([uri, options as ResourceOptions, handler as unknown as ResourceHandler]);
    return this;
  }

  /** Serves a custom member of a subscription's filter. */
  topic(member: string, serve: TopicHandler): this {
    this.#topics.set(member, serve);
    return this;
  }

  /** Wraps the calls of clients that the extension applies to. May return results of the extension's types. */
  use(interceptor: ServerInterceptor): this {
    this.#interceptors.push(interceptor);
    return this;
  }

  /** Adds a listener that is called when a server is extended by this extension. */
  onInstall(listener: (server: ExtensionServer) => void): this {
    this.#onInstall.push(listener);
    return this;
  }

  /**
   * Returns the settings of the client of a call. Undefined unless the client declared the extension for this call with
   * settings that match the schema.
   */
  settingsOf({ client }: { readonly client: ClientDescription }): Settings<S> | undefined {
    const { extensions } = client.capabilities;
    const given = isObject(extensions) && Object.hasOwn(extensions, this.id) ? extensions[this.id] : undefined;
    if (!isObject(given)) return undefined;
    const schema = this.options.clientSettings;
    const parsed = schema === undefined ? { ok: true as const, value: given } : parseStandard(schema, given);
    if (parsed instanceof Promise) throw this.#invalid("the schema of clientSettings must be synchronous");
    return parsed.ok ? (parsed.value as Settings<S>) : undefined;
  }

  /**
   * Installs the extension in a server. Installs nothing if one of its names is taken. Called by `server.extend`.
   * @internal
   */
  installIn(runtime: ExtensionHost): void {
    const { registry } = runtime;
    const wanted = {
      methods: [...this.#methods.keys()],
      notifications: [...this.#notifications.keys()],
      results: Object.entries(this.options.results ?? {}),
      topics: [...this.#topics.keys()],
      resources: this.#resources.map(([uri]) => uri),
    };
    claim(registry, this.id, wanted, (method) => runtime.isSpecified(method));
    for (const [name, given] of this.#methods) registry.addMethod(name, ...given);
    for (const [name, given] of this.#notifications) registry.addNotification(name, ...given);
    for (const resource of this.#resources) registry.add("resources", ...resource);
    registry.extensions = { ...registry.extensions, [this.id]: this.options.settings ?? {} };
    // An interceptor makes all calls asynchronous, so it is added only if it is needed.
    const isForAll = this.options.serverOnly === true && this.#interceptors.length + this.#topics.size === 0;
    if (!isForAll) runtime.use((call, next) => this.#around(call, next, runtime));
    const server = partsOf(runtime);
    for (const listener of this.#onInstall) listener(server);
  }

  #define(into: Map<string, Definition>, name: string, given: Definition): this {
    const noun = into === this.#methods ? "method" : "notification";
    if (into.has(name)) throw this.#invalid(`the ${noun} ${name} is already defined`);
    into.set(name, given);
    return this;
  }

  async #around(call: Call, next: (call: Call) => Promise<Result>, server: ExtensionHost): Promise<Result> {
    const { method, era } = call;
    const owned = this.#methods.has(method);
    if (this.options.results !== undefined && !era.typesResults) {
      if (owned) throw methodNotFound(method);
      return method === "initialize" ? this.#unannounced(await next(call)) : next(call);
    }
    const declared = this.options.serverOnly === true || this.settingsOf(call) !== undefined;
    if (owned && !declared) throw this.#missing();
    if (method === "subscriptions/listen") await this.#addTopics(call, declared, server);
    if (!declared || (this.#interceptors.length === 0 && this.options.results === undefined)) return next(call);
    const interceptors = this.#interceptors.map((interceptor) => viewed(server.views, interceptor));
    return expectOwnType(server.registry, this.id, method, await composeInterceptors(interceptors, next)(call));
  }

  async #addTopics(call: Call, declared: boolean, { views }: ExtensionHost): Promise<void> {
    const filter = call.params.notifications;
    for (const [member, serve] of this.#topics) {
      if (!isObject(filter) || !Object.hasOwn(filter, member)) continue;
      if (!declared) throw this.#missing();
      const topic = await serve(filter[member], views.infoOf(call));
      if (topic !== undefined) call.topics = joined(call.topics, member, topic);
    }
  }

  #invalid(problem: string): Error {
    return new DefinitionError(`extension ${this.id}: ${problem}`);
  }

  #missing(): Error {
    return missingCapability({ extensions: { [this.id]: {} } });
  }

  /** Removes this extension from the result of a handshake. */
  #unannounced(result: Result): Result {
    if (!isObject(result.capabilities)) return result;
    const { extensions, ...capabilities } = result.capabilities;
    const { [this.id]: _, ...others } = (extensions ?? {}) as { readonly [id: string]: unknown };
    const left = Object.keys(others).length === 0 ? undefined : { extensions: others };
    return { ...result, capabilities: { ...capabilities, ...left } };
  }
}

/** Returns the parts of a server that an extension may use. The rest of the server cannot be reached from them. */
function partsOf(runtime: ExtensionHost): ExtensionServer {
  const { info, clock } = runtime;
  return Object.freeze<ExtensionServer>({
    info,
    clock,
    // A server that joins a cluster gets another bus.
    get changes() {
      return runtime.changes;
    },
    report: (...given) => runtime.report(...given),
    warn: (message, fields) => runtime.warnOfRisk(message, ...(fields === undefined ? [] : [fields])),
    onClosing: (listener) => runtime.onClosing(listener),
  });
}

function joined(before: Topics | undefined, member: string, topic: ServedTopic): Topics {
  return {
    honoured: { ...before?.honoured, [member]: topic.honoured },
    start(send) {
      const stopBefore = before?.start(send);
      try {
        const stop = topic.start(send);
        return () => tellAll([() => stopBefore?.(), stop], undefined);
      } catch (error) {
        stopBefore?.();
        throw error;
      }
    },
  };
}

function assertExtension(options: ExtensionOptions<StandardSchema | undefined>): void {
  assertOptions("ServerExtension", options, OPTIONS);
  const { id, serverOnly, results } = options;
  assertExtensionIds("ServerExtension", { [id]: {} });
  if (serverOnly === true && results !== undefined)
    throw new DefinitionError(
      `extension ${id}: serverOnly and results cannot be combined, because other clients do not know its result types`,
    );
}
