import type { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type { PingOptions } from "../call/ping-loop.js";
import type { Deprecation } from "../protocol/deprecations.js";
import type { RpcError } from "../protocol/errors.js";
import type { Params, RequestId, RpcNotification } from "../protocol/jsonrpc/message.js";
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

/** Tells the other side how far a request has got, if it asked. */
export type ReportProgress = (progress: number, total?: number, message?: string) => void | Promise<void>;

export type ClientResult = { readonly [key: string]: unknown };

/** The types of results that extensions of a client add to the protocol's. */
export interface ClaimedResults {
  /** Whether a result of this type may answer a call of this method that declared these capabilities. */
  accepts(type: unknown, method: string, declared: ClientCapabilities): boolean;
  /** The capabilities without what needs such results, for where they have no types. */
  withoutResultTypes(capabilities: ClientCapabilities): ClientCapabilities;
}

/** What an era may ask of the client that it connects. */
export interface ClientRuntime {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly extensions?: ClaimedResults | undefined;
  /** Whether to say who this is where that is left open. */
  readonly identify: boolean;
  readonly clock: Clock;
  /** How long opening a subscription and other upkeep may take. */
  readonly timeoutMs: number;
  readonly limits: ClientLimits;
  /** Answers a request of the server. Rejects with an `RpcError` where it cannot. */
  answer(method: string, params: Params | undefined, end: AbortSwitch, progress: ReportProgress): Promise<ClientResult>;
  /** Lists all tools anew, to learn which of their arguments travel in headers. */
  relearnTools(connection: Connection, lifetime: CallLifetime): Promise<void>;
  onNotification(notification: RpcNotification): void;
  onProblem(problem: Error): void;
  /** A feature that the protocol has deprecated is being used. */
  deprecated?(deprecation: Deprecation): void;
  debug(message: string, fields: Record<string, unknown>): void;
  /** `connection` has ended; a client may have others meanwhile. */
  onClose(reason: Error | undefined, connection: Connection): void;
}

/** What is known about the server of a connection. */
export interface ServerDescription {
  readonly version: string;
  /** Whether the server itself, or whoever asked it before, has told what it can do. */
  readonly heard: boolean;
  readonly capabilities: ServerCapabilities;
  /** Self-reported: for display and logs, never for decisions. */
  readonly info: Implementation | undefined;
  readonly instructions: string | undefined;
}

export interface ConnectionCall {
  readonly method: string;
  readonly params: Params | undefined;
  readonly id?: RequestId | undefined;
  readonly onProgress?: ((params: Params) => void) | undefined;
  /** Instead of those of the client, where each call carries its own. */
  readonly capabilities?: ClientCapabilities | undefined;
  readonly logLevel?: LoggingLevel | undefined;
  /** Whether what is kept may be used instead of asking. */
  readonly cache?: "use" | "refresh" | "bypass" | undefined;
  readonly resume?: ResumeToken | undefined;
  readonly onResumable?: ((token: ResumeToken) => void) | undefined;
}

/** A session that another client may go on with: JSON. Whoever has it can act as this client: keep it as a secret. */
export interface SavedSession {
  readonly era: string;
  readonly id: string;
  /** What the server said when the session was opened. */
  readonly initialized: ClientResult;
}

/** The place that the answer to a call has reached, from where it can be read on: JSON, and as secret as its session. */
export interface ResumeToken {
  readonly session: SavedSession;
  /** The id of the call's request. */
  readonly id: RequestId;
  readonly lastEventId: string;
}

/** What a subscription tells its owner, in order; `onEnd` is last. */
export interface WatchEvents {
  onChange(change: Change): void;
  /** For a time nobody listened; now what is honoured is heard again. */
  onMissed(honoured: SubscriptionFilter, reason: Error | undefined): void;
  /** `graceful`: the server said so. `lost`: the connection went. */
  onEnd(how: "graceful" | "lost", reason: Error | undefined): void;
}

export interface Subscription {
  /** What the server agreed to tell. */
  readonly honoured: SubscriptionFilter;
  /** Stops it; nothing is delivered any more. Idempotent. */
  close(): void | Promise<void>;
}

/** A negotiated way to a server: calls in, results out, in the server's own dialect. */
export interface Connection {
  readonly era: ClientEra;
  readonly server: ServerDescription;
  /** Whether arguments travel in headers too, so that listings must be looked at. */
  readonly mirrorsHeaders: boolean;
  /** What another client may start from without asking. */
  readonly prior: PriorKnowledge;
  /** The session that calls are made in, where there is one that can be gone on with. */
  readonly session?: SavedSession | undefined;
  /** One request. Resolves with the result, which may ask for input; rejects with an `RpcError` for an error answer. */
  call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult>;
  notify(method: string, params: Params | undefined): void | Promise<void>;
  setLogLevel(level: LoggingLevel, lifetime: CallLifetime): Promise<void>;
  /** Asks for signs of life until the connection ends, in the era that can. */
  keepPinging?(options: PingOptions): void;
  watch(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription>;
  close(options?: CloseOptions): Promise<void>;
}

/** What a client learnt about a server: JSON, good for the next connection. */
export interface PriorKnowledge {
  readonly era: string;
  /** The server's answer to discovery, in the era that has it. */
  readonly discovered?: ClientResult | undefined;
}

export interface OpenOptions {
  /** The versions of this era that may be spoken, newest first. */
  readonly versions: readonly string[];
  /** Speak the first version without asking. */
  readonly pinned: boolean;
  /** No other era is left to try: what the server says to this one is the last word. */
  readonly last: boolean;
  /** An answer to discovery from an earlier connection. */
  readonly discovered: ClientResult | undefined;
  /** A session of this era to go on with. */
  readonly session?: SavedSession | undefined;
  /** Called in the turn in which the server answers the first question. */
  readonly onAnswer?: (() => void) | undefined;
  /** Awaited when the server has answered, before it is told anything more: rejects where it speaks another era. */
  readonly beforeUse?: (() => Promise<void>) | undefined;
}

/** What a protocol era answers for on the client. Built once, shared, no state. */
export interface ClientEra {
  readonly name: string;
  readonly versions: readonly string[];
  /** Whether results of a method carry hints about keeping them. */
  isCacheable(method: string): boolean;
  /** Whether connecting asks the server what it can do even where the version is given. */
  readonly alwaysAsks: boolean;
  /** Whether servers of another era may leave its first question unanswered: on a channel, silence is a sign of that. */
  readonly mayBeIgnored: boolean;
  /** Whether what the client can do is said once, and cannot change then. */
  readonly declaresOnce: boolean;
  /** Whether it has deprecated features of earlier ones. */
  readonly deprecates: boolean;
  /** Whether a refusal says that what was listed about a tool has changed since. */
  isOfOldListing(error: RpcError): boolean;
  /** What to call for nothing but a sign of life. */
  readonly pingMethod: string;
  /** The methods and notifications that only other eras have, and what to do instead. */
  readonly replacements: ReadonlyMap<string, string>;
  /** Whether a method or notification is the protocol's, of which no extension can make its own. */
  specifies(method: string): boolean;
  /** Makes a connection. Rejects with `WrongEraError` when the server plainly speaks another. */
  open(
    wire: TransportTarget,
    runtime: ClientRuntime,
    options: OpenOptions,
    lifetime: CallLifetime,
  ): Promise<Connection>;
}

/** The server answered, but not in this era. */
export class WrongEraError extends Error {
  override readonly name = "WrongEra";
  constructor(
    message: string,
    /** The versions that the server said it speaks. */
    readonly versions: readonly string[] | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
