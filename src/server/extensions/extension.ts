import { tellAll } from "../../call/abort-switch.js";
import { composeInterceptors } from "../../call/interceptor.js";
import { missingCapability } from "../../era/capabilities.js";
import {
  type Call,
  type ClientDescription,
  type HandlerResult,
  PreparedResult,
  type ServerRuntime,
  type Topics,
} from "../../era/server-era.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { methodNotFound } from "../../protocol/jsonrpc/errors.js";
import { assertExtensionIds } from "../../protocol/meta.js";
import type { JsonObject } from "../../protocol/types/index.js";
import { type AnySchema, type OutputOf, parseStandard, type StandardSchema } from "../../schema/standard-schema.js";
import type { CustomMethod, MethodHandler, MethodOptions, NotificationHandler } from "../definitions/custom-method.js";
import type { Registry } from "../definitions/registry.js";
import type { ServerInterceptor } from "../options.js";
import { claim, expectOwnType } from "./conflicts.js";

export interface ExtensionOptions<S extends StandardSchema | undefined = undefined> {
  /**
   * The extension is the server's alone: all of it is for every client, whether or not the client declares it.
   * @default false
   */
  readonly serverOnly?: boolean;
  /** What clients are told about it; nothing beyond its name unless given. */
  readonly settings?: JsonObject;
  /** What the settings of a client must fit: one whose settings do not has not got the extension. */
  readonly clientSettings?: S;
  /**
   * Types of results that are the extension's own, each with the method that may be answered so. Where results have no
   * types such an extension does not exist: it is not announced, its methods are unknown and nothing of it runs.
   */
  readonly results?: { readonly [type: string]: string };
}

/** What an extension may ask of the server that it belongs to. */
export type ExtensionServer = Pick<ServerRuntime, "info" | "clock" | "changes" | "report" | "warn" | "onClosing">;

/** Serves one member of a subscription's filter; undefined where nothing of it can be served. */
export type TopicHandler = (
  wanted: unknown,
  call: Call,
) => { readonly honoured: unknown; start: Topics["start"] } | undefined;

/** A server, as far as extensions go. */
export interface ExtensionHost extends ServerRuntime {
  readonly registry: Registry;
  use(interceptor: ServerInterceptor): void;
  isSpecified(method: string): boolean;
}

type Settings<S> = S extends StandardSchema ? OutputOf<S> : JsonObject;
type Definition = readonly [options: MethodOptions<AnySchema>, handler: CustomMethod["handler"]];

/**
 * An extension of the protocol, for `server.extend`: what it announces, the methods, notifications, types of results and
 * subscriptions that are its own, and what it does around calls. All of it is for clients that declare the extension, or for
 * every client where it is the server's alone.
 */
export class ServerExtension<S extends StandardSchema | undefined = undefined> {
  readonly #methods = new Map<string, Definition>();
  readonly #notifications = new Map<string, Definition>();
  readonly #topics = new Map<string, TopicHandler>();
  readonly #interceptors: ServerInterceptor[] = [];
  readonly #onInstall: ((server: ExtensionServer) => void)[] = [];

  /** `id` is like com.example/name. */
  constructor(
    readonly id: string,
    readonly options: ExtensionOptions<S> = {},
  ) {
    assertExtensionIds("extension", { [id]: {} });
    if (options.serverOnly === true && options.results !== undefined)
      throw new DefinitionError(`${id}: serverOnly excludes results, whose types only clients that declare it know`);
  }

  /** Answers a method. A client that should have declared the extension is told that it is missing. */
  method<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: MethodHandler<P>,
  ): this {
    return this.#define(this.#methods, name, options, handler);
  }

  /** Listens to a notification. */
  onNotification<P extends AnySchema | undefined = undefined>(
    name: string,
    options: MethodOptions<P>,
    handler: NotificationHandler<P>,
  ): this {
    return this.#define(this.#notifications, name, options, handler);
  }

  /** Serves a member of its own in the filter of a subscription. */
  topic(member: string, serve: TopicHandler): this {
    this.#topics.set(member, serve);
    return this;
  }

  /** Wraps the calls of clients that declared the extension, and may answer them with results of its types. */
  use(interceptor: ServerInterceptor): this {
    this.#interceptors.push(interceptor);
    return this;
  }

  /** Runs when a server is extended by it. */
  onInstall(listener: (server: ExtensionServer) => void): this {
    this.#onInstall.push(listener);
    return this;
  }

  /** What the client of a call says of the extension; undefined unless it declared it, for this very call, with settings that fit. */
  settingsOf({ client }: { readonly client: ClientDescription }): Settings<S> | undefined {
    const { extensions } = client.capabilities;
    const given = isObject(extensions) && Object.hasOwn(extensions, this.id) ? extensions[this.id] : undefined;
    if (!isObject(given)) return undefined;
    const schema = this.options.clientSettings;
    const parsed = schema === undefined ? { ok: true as const, value: given } : parseStandard(schema, given);
    if (parsed instanceof Promise) throw new DefinitionError(`${this.id}: clientSettings must not be asynchronous`);
    return parsed.ok ? (parsed.value as Settings<S>) : undefined;
  }

  /** Adds all of it to a server, or nothing where somebody else has claimed a part. For `server.extend`. */
  installIn(runtime: ExtensionHost): void {
    const { registry } = runtime;
    const wanted = {
      methods: [...this.#methods.keys()],
      notifications: [...this.#notifications.keys()],
      results: Object.entries(this.options.results ?? {}),
      topics: [...this.#topics.keys()],
    };
    claim(registry, this.id, wanted, (method) => runtime.isSpecified(method));
    for (const [name, [options, handler]] of this.#methods) registry.addMethod(name, options, handler);
    for (const [name, [options, handler]] of this.#notifications) registry.addNotification(name, options, handler);
    registry.extensions = { ...registry.extensions, [this.id]: this.options.settings ?? {} };
    // An interceptor makes all calls asynchronous.
    const isForAll = this.options.serverOnly === true && this.#interceptors.length + this.#topics.size === 0;
    if (!isForAll) runtime.use((call, next) => this.#around(call, next, registry));
    for (const listener of this.#onInstall) listener(runtime);
  }

  #define(into: Map<string, Definition>, name: string, options: object, handler: unknown): this {
    if (into.has(name)) throw new DefinitionError(`${this.id}: ${name} is defined already`);
    into.set(name, [options as MethodOptions<AnySchema>, handler as CustomMethod["handler"]]);
    return this;
  }

  async #around(call: Call, next: (call: Call) => Promise<HandlerResult>, registry: Registry): Promise<HandlerResult> {
    const { method, era } = call;
    const owned = this.#methods.has(method);
    if (this.options.results !== undefined && !era.typesResults) {
      if (owned) throw methodNotFound(method);
      return method === "initialize" ? this.#unannounced(await next(call)) : next(call);
    }
    const declared = this.options.serverOnly === true || this.settingsOf(call) !== undefined;
    if (owned && !declared) throw this.#missing();
    if (method === "subscriptions/listen") this.#addTopics(call, declared);
    if (!declared || this.#interceptors.length === 0) return next(call);
    return expectOwnType(registry, this.id, method, await composeInterceptors(this.#interceptors, next)(call));
  }

  #addTopics(call: Call, declared: boolean): void {
    const filter = call.params.notifications;
    for (const [member, serve] of this.#topics) {
      if (!isObject(filter) || !Object.hasOwn(filter, member)) continue;
      if (!declared) throw this.#missing();
      const topic = serve(filter[member], call);
      if (topic !== undefined) call.topics = joined(call.topics, member, topic);
    }
  }

  #missing(): Error {
    return missingCapability({ extensions: { [this.id]: {} } });
  }

  /** The answer to a handshake without this extension. */
  #unannounced(result: HandlerResult): HandlerResult {
    if (result instanceof PreparedResult || !isObject(result.capabilities)) return result;
    const { extensions, ...capabilities } = result.capabilities;
    const { [this.id]: _, ...others } = (extensions ?? {}) as { readonly [id: string]: unknown };
    const left = Object.keys(others).length === 0 ? undefined : { extensions: others };
    return { ...result, capabilities: { ...capabilities, ...left } };
  }
}

function joined(before: Topics | undefined, member: string, topic: NonNullable<ReturnType<TopicHandler>>): Topics {
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
