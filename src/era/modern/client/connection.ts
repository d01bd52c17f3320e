import type { CallLifetime } from "../../../call/lifetime.js";
import { HTTP_ANSWER } from "../../../protocol/delivery.js";
import {
  isVersionList,
  McpError,
  MissingCapabilityError,
  ProtocolError,
  type RpcError,
  UnsupportedVersionError,
} from "../../../protocol/errors.js";
import type { Check } from "../../../protocol/json.js";
import { fromErrorObject } from "../../../protocol/jsonrpc/errors.js";
import type { JsonText } from "../../../protocol/jsonrpc/format.js";
import type {
  Params,
  RpcErrorObject,
  RpcFailure,
  RpcNotification,
  RpcResponse,
} from "../../../protocol/jsonrpc/message.js";
import { clientCapabilities } from "../../../protocol/shapes/common.js";
import { inputRequiredResult } from "../../../protocol/shapes/input.js";
import type {
  ClientCapabilities,
  DiscoverResult,
  LoggingLevel,
  SubscriptionFilter,
} from "../../../protocol/types/index.js";
import type {
  ClientEra,
  ClientResult,
  ClientRuntime,
  Connection,
  ConnectionCall,
  PriorKnowledge,
  ServerDescription,
  Subscription,
  WatchEvents,
} from "../../client-era.js";
import { notificationProblem } from "../../request-shapes.js";
import type { ClientTransport, CloseOptions, TransportRequest } from "../../transport.js";
import { supportedIn, UNSUPPORTED_VERSION } from "../../versions.js";
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  HEADER_MISMATCH,
  LOG_LEVEL_KEY,
  MISSING_CAPABILITY,
  readImplementation,
  SERVER_INFO_KEY,
  VERSION_KEY,
} from "../envelope.js";
import { modernMethods, modernNotifications, REMOVED_NOTIFICATIONS } from "../methods.js";
import { modernResults } from "../results.js";
import { ListenSubscriptions } from "./subscription.js";

interface LastEnvelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | undefined;
  readonly envelope: object;
  readonly text: JsonText;
}

/** A way to a server that keeps nothing: each call carries all that is to be known about it. */
export class ModernConnection implements Connection {
  readonly era: ClientEra;
  readonly mirrorsHeaders: boolean;
  readonly #transport: ClientTransport;
  readonly #runtime: ClientRuntime;
  readonly #versions: readonly string[];
  readonly #subscriptions: ListenSubscriptions;
  #version: string;
  #discovered: DiscoverResult | undefined;
  #logLevel: LoggingLevel | undefined;
  #lastEnvelope: LastEnvelope | undefined;

  constructor(
    era: ClientEra,
    transport: ClientTransport,
    runtime: ClientRuntime,
    versions: readonly string[],
    version: string,
  ) {
    this.era = era;
    this.mirrorsHeaders = transport.kind === "http";
    this.#transport = transport;
    this.#runtime = runtime;
    this.#versions = versions;
    this.#version = version;
    this.#subscriptions = new ListenSubscriptions(transport, runtime.clock);
    transport.receiver = {
      onRequest: (request) =>
        runtime.onProblem(
          new ProtocolError(`The server sent a request, which this protocol version does not allow: ${request.method}`),
        ),
      onNotification: (notification) => this.#receive(notification),
      onProblem: (problem) => runtime.onProblem(problem),
      onClose: (reason) => runtime.onClose(reason, this),
    };
  }

  get transportKind(): ClientTransport["kind"] {
    return this.#transport.kind;
  }

  get version(): string {
    return this.#version;
  }

  set version(version: string) {
    this.#version = version;
    if ("version" in this.#transport) (this.#transport as { version: string }).version = version;
  }

  get server(): ServerDescription {
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

  /** `onAnswer` is called in the turn in which the server answers. */
  probe(lifetime: CallLifetime, onAnswer?: () => void): Promise<RpcResponse> {
    const request = { method: "server/discover", params: this.#wrap(undefined), cancellable: false };
    return this.#transport.exchange(request, lifetime, (response) => {
      onAnswer?.();
      return response;
    });
  }

  call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult> {
    if (call.resume !== undefined) {
      return Promise.reject(new McpError("cannot_resume", `${call.method} cannot be resumed: no session`));
    }
    return this.#transport.exchange(this.#request(call), lifetime, (response) =>
      "error" in response ? this.#sendAgain(call, lifetime, response) : this.#decode(call, response.result),
    );
  }

  /** Sends a refused call once more where that mends it; throws the refusal otherwise. */
  async #sendAgain(call: ConnectionCall, lifetime: CallLifetime, refusal: RpcFailure): Promise<ClientResult> {
    let response: RpcResponse = refusal;
    const again = { ...call, id: undefined };
    const other = this.#otherVersion(response);
    if (other !== undefined) {
      this.version = other;
      response = await this.#transport.request(this.#request(again), lifetime);
    }
    if (this.#isMismatch(call.method, response)) {
      await this.#runtime.relearnTools(this, lifetime);
      response = await this.#transport.request(this.#request(again), lifetime);
    }
    if ("error" in response) throw toTypedError(response.error, call.method);
    return this.#decode(call, response.result);
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    return this.#transport.notify(method, params);
  }

  /** Each later call asks for messages of this level itself. */
  async setLogLevel(level: LoggingLevel): Promise<void> {
    this.#logLevel = level;
  }

  watch(filter: SubscriptionFilter, events: WatchEvents, opening: CallLifetime): Promise<Subscription> {
    return this.#subscriptions.listen(this.#wrap({ notifications: filter }), events, opening);
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#transport.close(options);
  }

  #request(call: ConnectionCall): TransportRequest {
    const { id, method, onProgress } = call;
    const written = this.#write(call);
    const params = written === undefined ? this.#wrap(call.params, call) : undefined;
    return { id, method, params, written, cancellable: method !== "server/discover", onProgress };
  }

  /** The params with their envelope as text, where nothing has to be known of them but that. */
  #write(call: ConnectionCall): JsonText | undefined {
    const { params, onProgress, capabilities } = call;
    if (this.#transport.kind !== "channel" || params === undefined) return undefined;
    if ((onProgress ?? capabilities ?? params._meta ?? params.toJSON) !== undefined) return undefined;
    const text = JSON.stringify(params);
    return text.startsWith('{"') ? `${text.slice(0, -1)},"_meta":${this.#envelopeOf(call).text}}` : undefined;
  }

  /** Puts the envelope around params. Keys of the caller's own stay; the protocol's win. */
  #wrap(params: Params | undefined, call?: ConnectionCall): Params {
    const { envelope } = this.#envelopeOf(call);
    const own = params?._meta as object | undefined;
    return { ...params, _meta: own === undefined ? envelope : { ...own, ...envelope } };
  }

  /** One call's envelope is mostly the next one's too. */
  #envelopeOf(call: ConnectionCall | undefined): LastEnvelope {
    const { capabilities = this.#runtime.capabilities, logLevel = this.#logLevel } = call ?? {};
    const last = this.#lastEnvelope;
    if (last?.version === this.#version && last.capabilities === capabilities && last.logLevel === logLevel) {
      return last;
    }
    const envelope = {
      [VERSION_KEY]: this.#version,
      [CLIENT_INFO_KEY]: this.#runtime.identify ? this.#runtime.info : undefined,
      [CAPABILITIES_KEY]: withoutRootChanges(capabilities),
      ...(logLevel === undefined ? undefined : { [LOG_LEVEL_KEY]: logLevel }),
    };
    this.#lastEnvelope = { version: this.#version, capabilities, logLevel, envelope, text: JSON.stringify(envelope) };
    return this.#lastEnvelope;
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

  #decode(call: ConnectionCall, result: ClientResult): ClientResult {
    const { method, capabilities = this.#runtime.capabilities } = call;
    const type = result.resultType ?? "complete";
    if (this.#runtime.extensions?.accepts(type, method, capabilities)) return result;
    if (type === "complete") return fitting(method, result, modernResults.get(method));
    if (type !== "input_required") throw new ProtocolError(`${method}: unknown resultType ${JSON.stringify(type)}`);
    if (modernMethods.get(method)?.asks === true) return fitting(method, result, inputRequiredResult);
    throw new ProtocolError(`${method}: the server asked for input where it may not`);
  }

  #receive(notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === "notifications/cancelled") return this.#subscriptions.cancel(params?.requestId);
    if (REMOVED_NOTIFICATIONS.has(method)) return;
    const problem = notificationProblem(modernNotifications, notification);
    if (problem !== undefined) return this.#runtime.onProblem(problem);
    this.#subscriptions.receive(notification);
    if (method !== "notifications/subscriptions/acknowledged") this.#runtime.onNotification(notification);
  }
}

function fitting(method: string, result: ClientResult, check: Check | undefined): ClientResult {
  const problem = check?.(result);
  if (problem === undefined) return result;
  throw new McpError("invalid_result", `${method}: ${problem.path} of the result must be ${problem.expected}`, {
    cause: result,
  });
}

/** Changes of roots are not told in this era, so nobody is promised them. */
function withoutRootChanges(capabilities: ClientCapabilities): ClientCapabilities {
  return capabilities.roots?.listChanged === undefined ? capabilities : { ...capabilities, roots: {} };
}

/** An error answer as the class that its code stands for, if its data is what the code promises; else as it is. */
export function toTypedError(error: RpcErrorObject, method: string): RpcError {
  const http = error[HTTP_ANSWER];
  const data = error.data as { supported?: unknown; requested?: unknown; requiredCapabilities?: unknown } | null;
  if (error.code === UNSUPPORTED_VERSION && isVersionList(data?.supported)) {
    const requested = typeof data?.requested === "string" ? data.requested : undefined;
    return new UnsupportedVersionError(error.code, error.message, error.data, {
      method,
      http,
      supported: data.supported,
      requested,
    });
  }
  const required = data?.requiredCapabilities;
  if (error.code === MISSING_CAPABILITY && required !== undefined && clientCapabilities(required) === undefined) {
    const requiredCapabilities = required as ClientCapabilities;
    return new MissingCapabilityError(error.code, error.message, error.data, { method, http, requiredCapabilities });
  }
  return fromErrorObject(error, method);
}
