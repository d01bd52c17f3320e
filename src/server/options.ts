import { type Clock, systemClock } from "../call/clock.js";
import type { Interceptor } from "../call/interceptor.js";
import type { PingOptions } from "../call/ping-loop.js";
import type {
  Call,
  ClientDescription,
  HandlerResult,
  ReportContext,
  SessionOptions,
  SsePaths,
} from "../era/server-era.js";
import type { ServerLimits } from "../era/server-limits.js";
import type { HttpGate } from "../http/gate.js";
import type { GuardOptions } from "../http/guard.js";
import { defined } from "../protocol/json.js";
import type { CacheScope, JsonObject, LoggingLevel } from "../protocol/types/index.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import type { EventLog } from "../store/event-log.js";
import type { RateLimitOptions } from "./rate-limit.js";
import type { SealKey, StateCodec } from "./state/options.js";

/** Where the SDK writes what happens. Silent by default; never stdout. */
export interface Logger {
  debug?(message: string, fields?: Record<string, unknown>): void;
  info?(message: string, fields?: Record<string, unknown>): void;
  warn?(message: string, fields?: Record<string, unknown>): void;
  error?(message: string, fields?: Record<string, unknown>): void;
}

export type ServerInterceptor = Interceptor<Call, HandlerResult>;

export interface HttpServerOptions extends GuardOptions {
  /** Lets scripts of the allowed origins call from a browser. No such header is sent without it. */
  readonly cors?: boolean;
  /** Authenticates every request. Without one nobody is known, whatever the request says of itself. */
  readonly gate?: HttpGate;
  /** Sessions for clients that need a handshake: `false` keeps none, each request stands alone. */
  readonly sessions?: SessionOptions;
  /** Answer handshake-era requests with one JSON document instead of a stream. */
  readonly preferJson?: boolean;
  /**
   * The form of answers: `"auto"` streams when there is something to say before the answer, `"sse"` streams always,
   * `"json"` never and drops what a call says on its way.
   */
  readonly responseMode?: "auto" | "sse" | "json";
  /** Silence on a stream after which a comment is written. 15 s unless told otherwise. */
  readonly keepAliveMs?: number;
  /** Makes lost streams resumable: `true` for a bounded log in memory. */
  readonly resumable?: boolean | EventLog;
  /** What clients are told to wait before they reconnect. */
  readonly retryMs?: number;
  /**
   * Serves the HTTP+SSE transport of 2024-11-05 too: a stream at `/sse`, messages at `/messages`.
   * For clients that know nothing else.
   * @deprecated by SEP-2596; may go three months after SEP-2596 is final.
   */
  readonly sse?: boolean | SsePaths;
}

/** A connection that a server is serving. */
export interface ServedConnection {
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>;
  /** How many calls are running. */
  readonly running: number;
  /** What a handshake told about the client; undefined before it, and where there is none: see the calls' own then. */
  readonly client: ClientDescription | undefined;
  close(): Promise<void>;
}

export interface ServerOptions {
  /** How to use this server, for the model. */
  readonly instructions?: string;
  readonly logger?: Logger;
  /** Whether features that the protocol has deprecated are warned of, once per process: by the logger or the runtime. */
  readonly warnDeprecated?: boolean;
  /** Every error that the SDK answered for an author's handler, and everything that went wrong outside a call. */
  readonly onError?: (error: unknown, context: ReportContext) => void;
  /** Wrap every call, before those of `use`; the first is the outermost. */
  readonly interceptors?: readonly ServerInterceptor[];
  /** Called with each channel that is served, once it is open. */
  readonly onConnection?: (connection: ServedConnection) => void;
  /** Hides the message of an unexpected error in a tool from the model. */
  readonly maskErrors?: boolean;
  /** How many entries a page of a listing has; all by default. */
  readonly pageSize?: number;
  /** The protocol versions to speak, newest first; all by default. */
  readonly versions?: readonly string[];
  /** What clients are told about keeping listings and resources. */
  readonly cache?: ServerCacheOptions;
  readonly capabilities?: {
    /** Offered even while none is defined; `listChanged: false` keeps changes to oneself. */
    readonly tools?: boolean | { readonly listChanged?: boolean };
    readonly prompts?: boolean | { readonly listChanged?: boolean };
    readonly resources?: boolean | { readonly listChanged?: boolean; readonly subscribe?: boolean };
    readonly experimental?: { readonly [key: string]: JsonObject };
    readonly extensions?: { readonly [key: string]: JsonObject };
    /**
     * Whether handlers send log messages.
     * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
     */
    readonly logging?: boolean;
  };
  readonly resources?: {
    /** Called when the first client begins to watch a resource, and when the last has stopped. */
    readonly onSubscribe?: (uri: string) => void;
    readonly onUnsubscribe?: (uri: string) => void;
    /** Lets the variables of all templates climb by `..`, be absolute paths or hold NUL. */
    readonly unsafePaths?: boolean;
  };
  /** Keys that seal the state of calls with questions; the first seals, all open. One of this process by default. */
  readonly stateKeys?: readonly SealKey[];
  /** Takes the place of keys and cryptography; expiry and the bond to caller and request are kept around it. */
  readonly stateCodec?: StateCodec;
  /** Servers of other names take sealed state from each other only where this, and the keys, are the same. */
  readonly stateAudience?: string;
  /**
   * Decides whether a sealed state is taken, by its name and the time of day at which it ends. Takes the place of the
   * server's own account of used states, where several processes share one.
   */
  readonly acceptState?: (id: string, untilMs: number) => boolean | Promise<boolean>;
  /**
   * The least severe log messages for clients that asked for no level, where they need not ask. All by default.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly logLevel?: LoggingLevel;
  /** Bounds on everything that clients can make the server hold. Each has a default. */
  readonly limits?: Partial<ServerLimits>;
  /** How fast one caller may make calls. Off by default. */
  readonly rateLimit?: RateLimitOptions;
  /** Pings each connected client, in the era that has pings; silence is told to `onError`. */
  readonly pings?: PingOptions;
  /** The shortest time between two reports of progress of one call; what comes between is left out but for the latest. */
  readonly progressIntervalMs?: number;
  /** Whether results say which server they come from. */
  readonly identify?: boolean;
  readonly http?: HttpServerOptions;
  /** Compiles the JSON Schemas that authors give. */
  readonly validator?: JsonSchemaValidator;
  readonly clock?: Clock;
}

export function clockOf(options: ServerOptions): Clock {
  return options.clock ?? systemClock;
}

/** What clients are told about keeping a result. */
export interface CacheHints {
  /** How long it stays fresh; a whole number of milliseconds. */
  readonly ttlMs?: number;
  /** `public`: the same for every caller. */
  readonly scope?: CacheScope;
}

export interface ServerCacheOptions extends CacheHints {
  /** For the results of one method: `{ "tools/list": { ttlMs: 60_000 } }`. */
  readonly methods?: { readonly [method: string]: CacheHints };
}

/** Throws a `RangeError` for hints that may not be sent. */
export function assertCacheHints(where: string, { ttlMs, scope }: CacheHints): void {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0)) {
    throw new RangeError(`${where}: ttlMs must be a whole number of milliseconds, 0 or more`);
  }
  if (scope !== undefined && scope !== "public" && scope !== "private") {
    throw new RangeError(`${where}: scope must be "public" or "private"`);
  }
}

/** The hints as a result carries them; only those that are set. */
export function toWireHints({ ttlMs, scope }: CacheHints): {
  readonly ttlMs?: number;
  readonly cacheScope?: CacheScope;
} {
  return defined<ReturnType<typeof toWireHints>>({ ttlMs, cacheScope: scope });
}
