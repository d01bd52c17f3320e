import type { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type { PingOptions } from "../call/ping-options.js";
import type { Deprecation } from "../protocol/deprecations.js";
import type { RpcError } from "../protocol/errors.js";
import type { Problem } from "../protocol/json.js";
import type { Params, RequestId, RpcErrorObject, RpcNotification } from "../protocol/jsonrpc/message.js";
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  ServerCapabilities,
  SubscriptionFilter,
} from "../protocol/types/index.js";
import type { Change } from "../store/change-bus.js";
import type { ClientLimits } from "./client-limits.js";
import type { CloseOptions, TransportTarget } from "./transport.js";
import type { EraName } from "./versions.js";

/** Reports the progress of a request to the peer, if the peer requested progress. */
export type ReportProgress = (progress: number, total?: number, message?: string) => void | Promise<void>;

export type ClientResult = { readonly [key: string]: unknown };

/** Requests of a server that an extension serves, besides those of the client. Legacy only. */
export interface RequestReceiver {
  /** Adds the capabilities of the receiver to those of the handshake. */
  declare(capabilities: ClientCapabilities): ClientCapabilities;
  /** Begins to serve the requests of a connection. */
  open(runtime: ClientRuntime): ReceivedRequests;
}

/** Requests of one connection. */
export interface ReceivedRequests {
  readonly answer: ClientRuntime["answer"];
  /** Aborts everything that is still served, since the connection has ended. */
  close(reason: Error): void;
}

/** Parts of the client's extensions that an era uses. */
export interface ClaimedResults {
  readonly receiver?: RequestReceiver | undefined;
  /** True if a result of this type is a valid response to a call of this method that declared these capabilities. */
  accepts(type: unknown, method: string, declared: ClientCapabilities): boolean;
  /** Removes the capabilities that need such result types, for versions without result types. */
  withoutResultTypes(capabilities: ClientCapabilities): ClientCapabilities;
}

/** Parts of the client that an era uses. */
export interface ClientRuntime {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly extensions?: ClaimedResults | undefined;
  /** True if requests name the client (`clientInfo`) in versions where that is optional. */
  readonly identify: boolean;
  readonly clock: Clock;
  /** Maximum duration of opening a subscription and of other maintenance requests. */
  readonly timeoutMs: number;
  readonly limits: ClientLimits;
  /** Answers a request of the server. Rejects with an `RpcError` if the client cannot answer it. */
  answer(method: string, params: Params | undefined, end: AbortSwitch, progress: ReportProgress): Promise<ClientResult>;
  /** Lists all tools again, to learn which arguments are mirrored in headers. */
  relearnTools(connection: Connection, lifetime: CallLifetime): Promise<void>;
  onNotification(notification: RpcNotification): void;
  onProblem(problem: Error): void;
  /** Called when a feature is used that the protocol has deprecated. */
  deprecated?(deprecation: Deprecation): void;
  debug(message: string, fields: Record<string, unknown>): void;
  /** Called when `connection` has ended. The client may already have another connection. */
  onClose(reason: Error | undefined, connection: Connection): void;
}

/** Description of the server of a connection. */
export interface ServerDescription {
  readonly version: string;
  /** True if the server has described itself, on this connection or on an earlier one. */
  readonly heard: boolean;
  readonly capabilities: ServerCapabilities;
  /** Reported by the server itself. Use it for display and logs, never for decisions. */
  readonly info: Implementation | undefined;
  readonly instructions: string | undefined;
}

/** Request of a {@link Connection}. */
export interface ConnectionCall {
  readonly method: string;
  readonly params: Params | undefined;
  readonly id?: RequestId | undefined;
  readonly onProgress?: ((params: Params) => void) | undefined;
  /** Replaces the capabilities of the client for this call, in versions where each call declares its own. */
  readonly capabilities?: ClientCapabilities | undefined;
  readonly logLevel?: LoggingLevel | undefined;
  /** Use of the client's cache for this call. */
  readonly cache?: "use" | "refresh" | "bypass" | undefined;
  readonly resume?: ResumeToken | undefined;
  readonly onResumable?: ((token: ResumeToken) => void) | undefined;
}

/**
 * Session that another client may continue, as JSON. Anyone who has it can act as this client, so treat it as a secret.
 */
export interface SavedSession {
  readonly era: EraName;
  readonly id: string;
  /** Result of `initialize`. */
  readonly initialized: ClientResult;
}

/**
 * Position in the stream of a call's response, from which the stream can be resumed. It is JSON and as secret as its
 * session.
 */
export interface ResumeToken {
  readonly session: SavedSession;
  /** Id of the call's request. */
  readonly id: RequestId;
  readonly lastEventId: string;
}

/** Callbacks of a subscription. No callback follows `onEnd`. */
export interface WatchEvents {
  onChange(change: Change): void;
  /** Called with each notification of the subscription that is not a change, such as one of an extension. */
  onOther?(notification: RpcNotification): void;
  /** Called when the subscription works again after an interruption in which changes may have been missed. */
  onMissed(honoured: SubscriptionFilter, reason: Error | undefined): void;
  /**
   * Called at the end. `graceful`: the server ended the subscription. `lost`: the subscription failed, for example
   * because the connection was lost.
   */
  onEnd(how: "graceful" | "lost", reason: Error | undefined): void;
}

/** Open subscription to changes of a server. */
export interface Subscription {
  /** Filter that the server agreed to serve. */
  readonly honoured: SubscriptionFilter;
  /** Ends the subscription. No event is delivered afterwards. Idempotent. */
  close(): void | Promise<void>;
}

/** Negotiated connection to a server. It translates calls and results to the protocol version of the server. */
export interface Connection {
  readonly era: ClientEra;
  readonly server: ServerDescription;
  /** True if arguments are mirrored in headers, so that the client has to read tool listings. */
  readonly mirrorsHeaders: boolean;
  /** Knowledge about the server that saves another client the choice of the era, and discovery if it has a result. */
  readonly prior: PriorKnowledge;
  /** Session of the connection, if it can be continued by another client. */
  readonly session?: SavedSession | undefined;
  /**
   * Sends a request. Resolves with the result, which may ask for input. Rejects with an `RpcError` for an error
   * response.
   */
  call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult>;
  /** Returns the problem of a result that was not received on this connection, such as one of a cache, or undefined. */
  problemOf?(method: string, result: ClientResult): Problem | undefined;
  notify(method: string, params: Params | undefined): void | Promise<void>;
  setLogLevel(level: LoggingLevel, lifetime: CallLifetime): Promise<void>;
  /** Pings the server until the connection ends. Legacy only. */
  keepPinging?(options: PingOptions): void;
  watch(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription>;
  close(options?: CloseOptions): Promise<void>;
}

/** Knowledge about a server, as JSON, for the next connection. */
export interface PriorKnowledge {
  readonly era: EraName;
  /** Result of `server/discover`. Modern only. */
  readonly discovered?: ClientResult | undefined;
}

/** Options of {@link ClientEra.open}. */
export interface OpenOptions {
  /** Versions of this era that may be used, newest first. */
  readonly versions: readonly string[];
  /** True to use the first version without negotiation. */
  readonly pinned: boolean;
  /** True if no other era is left to try, so that the server's response to this one is final. */
  readonly last: boolean;
  /** Result of `server/discover` from an earlier connection. */
  readonly discovered: ClientResult | undefined;
  /** Session of this era to continue. */
  readonly session?: SavedSession | undefined;
  /** Called in the turn in which the server answers the first request. Modern only. */
  readonly onAnswer?: (() => void) | undefined;
  /**
   * Awaited after the response to `initialize` and before anything else is sent. Rejects if the server speaks another
   * era. Legacy only.
   */
  readonly beforeUse?: (() => Promise<void>) | undefined;
}

/** Protocol era on the client. The object has no state and is shared. */
export interface ClientEra {
  readonly name: EraName;
  readonly versions: readonly string[];
  /** True if results of the method carry cache hints. */
  isCacheable(method: string): boolean;
  /** True if connecting asks the server for its capabilities even when the version is given. */
  readonly alwaysAsks: boolean;
  /**
   * True if servers of another era may ignore the first request. On a channel, a missing response then points to
   * another era.
   */
  readonly mayBeIgnored: boolean;
  /** True if the client declares its capabilities once per connection and cannot change them afterwards. */
  readonly declaresOnce: boolean;
  /** True if this era deprecates features of earlier eras. */
  readonly deprecates: boolean;
  /** Converts an error object of the server to the error class of its code. */
  toError(error: RpcErrorObject, method: string): RpcError;
  /** True if the error means that the listing of a tool is outdated. */
  isOfOldListing(error: RpcError): boolean;
  /** Method that serves as a ping. */
  readonly pingMethod: string;
  /** Methods and notifications that exist only in other eras, with the advice on their replacement. */
  readonly replacements: ReadonlyMap<string, string>;
  /** True if the protocol defines this method or notification, so that an extension cannot. */
  specifies(method: string): boolean;
  /** Opens a connection. Rejects with `WrongEraError` if the server clearly speaks another era. */
  open(
    wire: TransportTarget,
    runtime: ClientRuntime,
    options: OpenOptions,
    lifetime: CallLifetime,
  ): Promise<Connection>;
}

/** Thrown when the server seems to speak another era: by its response, or because it does not answer. */
export class WrongEraError extends Error {
  override readonly name = "WrongEra";
  constructor(
    message: string,
    /** Versions that the server reported. */
    readonly versions: readonly string[] | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
