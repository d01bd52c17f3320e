import { CallScope } from "../../call/scope.js";
import type { Params, RequestId, RpcNotification, RpcResponse } from "../../jsonrpc/message.js";
import { isRequestId } from "../../jsonrpc/parse.js";
import { idKey } from "../../jsonrpc/request-id.js";
import { McpError, ProtocolError } from "../../schema/errors.js";
import type { ClientCapabilities, DiscoverResult, LoggingLevel, SubscriptionFilter } from "../../schema/types.js";
import { notificationProblem } from "../check-notification.js";
import type {
  ClientEra,
  ClientHost,
  ClientResult,
  Connection,
  ConnectionCall,
  PriorKnowledge,
  ServerFacts,
  Subscription,
  WatchEvents,
} from "../client-era.js";
import type { CloseOptions, Link } from "../link.js";
import { supportedIn } from "../unsupported-version.js";
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  HEADER_MISMATCH,
  LOG_LEVEL_KEY,
  readImplementation,
  SERVER_INFO_KEY,
  SUBSCRIPTION_KEY,
  VERSION_KEY,
} from "./envelope.js";
import { modernMethods, modernNotifications, REMOVED_NOTIFICATIONS } from "./methods.js";
import { modernResults } from "./results.js";
import type { ListenSubscription } from "./subscription.js";
import { toTypedError } from "./typed-error.js";

const RESULT_TYPES: ReadonlySet<unknown> = new Set(["complete", "input_required"]);

interface LastEnvelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | undefined;
  readonly envelope: object;
}

/** A way to a server that keeps nothing: each call carries all that is to be known about it. */
export class ModernConnection implements Connection {
  readonly era: ClientEra;
  readonly mirrorsHeaders: boolean;
  readonly #link: Link;
  readonly #host: ClientHost;
  readonly #versions: readonly string[];
  readonly #subscriptions = new Map<RequestId, ListenSubscription>();
  #version: string;
  #discovered: DiscoverResult | undefined;
  #logLevel: LoggingLevel | undefined;
  #lastEnvelope: LastEnvelope | undefined;

  constructor(era: ClientEra, link: Link, host: ClientHost, versions: readonly string[], version: string) {
    this.era = era;
    this.mirrorsHeaders = link.kind === "http";
    this.#link = link;
    this.#host = host;
    this.#versions = versions;
    this.#version = version;
    link.receiver = {
      onRequest: (request) =>
        host.onProblem(
          new ProtocolError(`The server sent a request, which this protocol version does not allow: ${request.method}`),
        ),
      onNotification: (notification) => this.#receive(notification),
      onProblem: (problem) => host.onProblem(problem),
      onClose: (reason) => host.onClose(reason, this),
    };
  }

  get linkKind(): Link["kind"] {
    return this.#link.kind;
  }

  get version(): string {
    return this.#version;
  }

  set version(version: string) {
    this.#version = version;
    if ("version" in this.#link) (this.#link as { version: string }).version = version;
  }

  get server(): ServerFacts {
    const discovered = this.#discovered;
    const info = readImplementation((discovered?._meta as Params | undefined)?.[SERVER_INFO_KEY]);
    return {
      version: this.#version,
      heard: discovered !== undefined,
      capabilities: discovered?.capabilities ?? {},
      info,
      instructions: discovered?.instructions,
    };
  }

  get prior(): PriorKnowledge {
    return { era: this.era.name, discovered: this.#discovered as ClientResult | undefined };
  }

  /** Takes what discovery told, whoever asked. */
  adopt(discovered: DiscoverResult): void {
    this.#discovered = discovered;
    this.version = this.#versions.find((version) => discovered.supportedVersions.includes(version)) ?? this.#version;
  }

  probe(scope: CallScope): Promise<RpcResponse> {
    return this.#link.request({ method: "server/discover", params: this.#wrap(undefined), cancellable: false }, scope);
  }

  async call(call: ConnectionCall, scope: CallScope): Promise<ClientResult> {
    if (call.resume !== undefined) throw new McpError("cannot_resume", `${call.method} cannot be resumed: no session`);
    let response = await this.#send(call, scope);
    const other = this.#otherVersion(response);
    if (other !== undefined) {
      this.version = other;
      response = await this.#send({ ...call, id: undefined }, scope);
    }
    if (this.#isMismatch(call.method, response)) {
      await this.#host.relearnTools(this, scope);
      response = await this.#send({ ...call, id: undefined }, scope);
    }
    if ("error" in response) throw toTypedError(response.error, call.method);
    return this.#decode(call, response.result);
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    return this.#link.notify(method, params);
  }

  /** Each later call asks for messages of this level itself. */
  async setLogLevel(level: LoggingLevel): Promise<void> {
    this.#logLevel = level;
  }

  async watch(filter: SubscriptionFilter, events: WatchEvents, opening: CallScope): Promise<Subscription> {
    const { ListenSubscription } = await import("./subscription.js");
    opening.throwIfAborted();
    const life = new CallScope("subscriptions/listen", {}, this.#host.clock);
    const subscription = new ListenSubscription(events, life);
    let id: RequestId | undefined;
    const giveUp = (reason: unknown) => life.abort(reason);
    opening.onAbort(giveUp);
    const request = {
      method: "subscriptions/listen",
      params: this.#wrap({ notifications: filter }),
      cancellable: true,
      onId: (used: RequestId) => {
        id = used;
        this.#subscriptions.set(idKey(used), subscription);
      },
    };
    this.#link
      .request(request, life)
      .then(
        (response) => subscription.answered(response),
        (error: unknown) => subscription.failed(error),
      )
      .finally(() => {
        if (id !== undefined) this.#subscriptions.delete(idKey(id));
        life.close();
      });
    try {
      await subscription.acknowledged;
    } finally {
      opening.offAbort(giveUp);
    }
    return subscription;
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#link.close(options);
  }

  #send(call: ConnectionCall, scope: CallScope): Promise<RpcResponse> {
    const { id, method, onProgress } = call;
    return this.#link.request(
      { id, method, params: this.#wrap(call.params, call), cancellable: true, onProgress },
      scope,
    );
  }

  /** Puts the envelope around params. Keys of the caller's own stay; the protocol's win. */
  #wrap(params: Params | undefined, call?: ConnectionCall): Params {
    const envelope = this.#envelope(call?.capabilities ?? this.#host.capabilities, call?.logLevel ?? this.#logLevel);
    const own = params?._meta as object | undefined;
    return { ...params, _meta: own === undefined ? envelope : { ...own, ...envelope } };
  }

  /** One call's envelope is mostly the next one's too. */
  #envelope(capabilities: ClientCapabilities, logLevel: LoggingLevel | undefined): object {
    const last = this.#lastEnvelope;
    if (last?.version === this.#version && last.capabilities === capabilities && last.logLevel === logLevel) {
      return last.envelope;
    }
    const envelope = {
      [VERSION_KEY]: this.#version,
      [CLIENT_INFO_KEY]: this.#host.identify ? this.#host.info : undefined,
      [CAPABILITIES_KEY]: withoutRootChanges(capabilities),
      ...(logLevel === undefined ? undefined : { [LOG_LEVEL_KEY]: logLevel }),
    };
    this.#lastEnvelope = { version: this.#version, capabilities, logLevel, envelope };
    return envelope;
  }

  /** The headers of a tool's call did not fit: the listing that they were made from may be out of date. */
  #isMismatch(method: string, response: RpcResponse): boolean {
    return (
      method === "tools/call" && this.mirrorsHeaders && "error" in response && response.error.code === HEADER_MISMATCH
    );
  }

  /** The version to go on with after a refusal of the present one. */
  #otherVersion(response: RpcResponse): string | undefined {
    const supported = "error" in response ? supportedIn(response.error) : undefined;
    return supported && this.#versions.find((version) => supported.includes(version));
  }

  #decode({ method, capabilities = this.#host.capabilities }: ConnectionCall, result: ClientResult): ClientResult {
    const type = result.resultType ?? "complete";
    if (this.#host.extensions?.accepts(type, method, capabilities)) return result;
    if (!RESULT_TYPES.has(type)) throw new ProtocolError(`${method}: unknown resultType ${JSON.stringify(type)}`);
    if (type === "input_required" && modernMethods.get(method)?.asks !== true) {
      throw new ProtocolError(`${method}: the server asked for input where it may not`);
    }
    const problem = modernResults.get(method)?.(result);
    if (problem === undefined) return result;
    throw new McpError("invalid_result", `${method}: ${problem.path} of the result must be ${problem.expected}`, {
      cause: result,
    });
  }

  #receive(notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === "notifications/cancelled") return this.#endSubscription(params?.requestId);
    if (REMOVED_NOTIFICATIONS.has(method)) return;
    const problem = notificationProblem(modernNotifications, notification);
    if (problem !== undefined) return this.#host.onProblem(problem);
    const id = (params?._meta as Params | undefined)?.[SUBSCRIPTION_KEY];
    if (isRequestId(id)) this.#subscriptions.get(idKey(id))?.receive(notification);
    if (method !== "notifications/subscriptions/acknowledged") this.#host.onNotification(notification);
  }

  #endSubscription(id: unknown): void {
    if (isRequestId(id)) this.#subscriptions.get(idKey(id))?.cancelledByServer();
  }
}

/** Changes of roots are not told in this era, so nobody is promised them. */
function withoutRootChanges(capabilities: ClientCapabilities): ClientCapabilities {
  return capabilities.roots?.listChanged === undefined ? capabilities : { ...capabilities, roots: {} };
}
