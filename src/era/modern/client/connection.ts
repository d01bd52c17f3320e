import type { CallLifetime } from "../../../call/lifetime.js";
import { McpError, ProtocolError } from "../../../protocol/errors.js";
import type { Check, Problem } from "../../../protocol/json.js";
import type { JsonText } from "../../../protocol/jsonrpc/format.js";
import type { Params, RpcFailure, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { inputRequiredResult } from "../../../protocol/shapes/input.js";
import { quoted } from "../../../protocol/text.js";
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
import { supportedIn } from "../../versions.js";
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  HEADER_MISMATCH,
  LOG_LEVEL_KEY,
  readImplementation,
  SERVER_INFO_KEY,
  VERSION_KEY,
} from "../envelope.js";
import { modernMethods, modernNotifications, REMOVED_NOTIFICATIONS } from "../methods.js";
import { modernResults } from "../results.js";
import { ListenSubscriptions } from "./subscription.js";
import { toTypedError } from "./typed-error.js";

/** Envelope of the last call, with the values from which it was made. */
interface LastEnvelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | undefined;
  readonly envelope: object;
  readonly text: JsonText;
}

/** Connection without state on the server: each call carries its version, capabilities and identity. */
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
          new ProtocolError(
            `The server sent a request, which this protocol version does not allow: ${quoted(request.method)}`,
          ),
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

  /** Uses the result of `server/discover`, from this connection or an earlier one. */
  adopt(discovered: DiscoverResult): void {
    this.#discovered = discovered;
    this.version = this.#versions.find((version) => discovered.supportedVersions.includes(version)) ?? this.#version;
  }

  /** Sends `server/discover`. Calls `onAnswer` in the turn in which the server answers. */
  probe(lifetime: CallLifetime, onAnswer?: () => void): Promise<RpcResponse> {
    const request = { method: "server/discover", params: this.#wrap(undefined), cancellable: false };
    return this.#transport.exchange(request, lifetime, (response) => {
      onAnswer?.();
      return response;
    });
  }

  call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult> {
    if (call.resume !== undefined) {
      return Promise.reject(
        new McpError("cannot_resume", `${call.method} cannot be resumed: this protocol version has no sessions`),
      );
    }
    return this.#transport.exchange(this.#request(call), lifetime, (response) =>
      "error" in response ? this.#sendAgain(call, lifetime, response) : this.#decode(call, response.result),
    );
  }

  /**
   * Sends a refused call again: in another version if the server names a common one, and with new headers if the
   * listing of the tool may be outdated. Throws the last refusal.
   */
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

  /** Sets the log level that each later call requests. */
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

  /**
   * Serializes params together with their envelope, for a channel. Returns undefined over HTTP, whose headers repeat
   * params, and if the call has progress, capabilities or metadata of its own.
   */
  #write(call: ConnectionCall): JsonText | undefined {
    const { params, onProgress, capabilities } = call;
    if (this.#transport.kind !== "channel" || params === undefined) return undefined;
    if ((onProgress ?? capabilities ?? params._meta ?? params.toJSON) !== undefined) return undefined;
    const text = JSON.stringify(params);
    return text.startsWith('{"') ? `${text.slice(0, -1)},"_meta":${this.#envelopeOf(call).text}}` : undefined;
  }

  /** Adds the envelope to params. Keys of the caller stay. Keys of the protocol take precedence. */
  #wrap(params: Params | undefined, call?: ConnectionCall): Params {
    const { envelope } = this.#envelopeOf(call);
    const own = params?._meta as object | undefined;
    return { ...params, _meta: own === undefined ? envelope : { ...own, ...envelope } };
  }

  /** Returns the envelope of a call. The last one is kept, since most calls have equal envelopes. */
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

  /** True if the server refused the headers of a tool call. The listing from which they were made may be outdated. */
  #isMismatch(method: string, response: RpcResponse): boolean {
    return (
      method === "tools/call" && this.mirrorsHeaders && "error" in response && response.error.code === HEADER_MISMATCH
    );
  }

  /** Returns the version to use after the server refused the present one, if there is a common version. */
  #otherVersion(response: RpcResponse): string | undefined {
    const supported = "error" in response ? supportedIn(response.error) : undefined;
    return supported && this.#versions.find((version) => supported.includes(version));
  }

  problemOf(method: string, result: ClientResult): Problem | undefined {
    return modernResults.get(method)?.(result);
  }

  #decode(call: ConnectionCall, result: ClientResult): ClientResult {
    const { method, capabilities = this.#runtime.capabilities } = call;
    const type = result.resultType ?? "complete";
    if (this.#runtime.extensions?.accepts(type, method, capabilities)) return result;
    if (type === "complete") return fitting(method, result, modernResults.get(method));
    if (type !== "input_required") throw new ProtocolError(`${method}: unknown resultType ${JSON.stringify(type)}`);
    if (modernMethods.get(method)?.asks === true) return fitting(method, result, inputRequiredResult);
    throw new ProtocolError(`${method}: the server asked for input, which this method does not allow`);
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

/** Returns the result if it has the right shape, otherwise throws. */
function fitting(method: string, result: ClientResult, check: Check | undefined): ClientResult {
  const problem = check?.(result);
  if (problem === undefined) return result;
  throw new McpError("invalid_result", `${method}: ${problem.path} of the result must be ${problem.expected}`, {
    cause: result,
  });
}

/** Removes `roots.listChanged`, since this version has no `notifications/roots/list_changed`. */
function withoutRootChanges(capabilities: ClientCapabilities): ClientCapabilities {
  return capabilities.roots?.listChanged === undefined ? capabilities : { ...capabilities, roots: {} };
}
