import type { Clock } from "../call/clock.js";
import type { Interceptor } from "../call/interceptor.js";
import { PING_OPTIONS, type PingOptions } from "../call/ping-options.js";
import type { Cluster } from "../cluster/cluster.js";
import type {
  ClientDescription,
  ReportContext,
  ResultObject,
  SessionOptions,
  UnnamedRequest,
} from "../era/server-era.js";
import { SERVER_LIMITS, type ServerLimits } from "../era/server-limits.js";
import { SSE_PATHS, type SsePaths } from "../era/sse-paths.js";
import type { ProtocolVersion } from "../era/versions.js";
import type { AuthInfo } from "../http/auth-info.js";
import type { HttpGate } from "../http/gate.js";
import { GUARD_OPTIONS, type GuardOptions } from "../http/guard.js";
import { defined } from "../protocol/json.js";
import type { Known, Optional } from "../protocol/known-options.js";
import type { CacheScope, JsonObject, LoggingLevel } from "../protocol/types/index.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import type { EventLog } from "../store/event-log.js";
import type { CallInfo } from "./call-info.js";
import { RATE_LIMIT_OPTIONS, type RateLimitOptions } from "./rate-limit.js";
import type { SealKey, StateCodec } from "./state/options.js";

/**
 * Destination of the SDK's log messages. Without one, warnings of a setup that is not safe or not whole are printed on
 * stderr and, without `onError` too, unexpected errors. Nothing else is logged. The SDK never writes to stdout.
 */
export interface Logger {
  readonly debug?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
  readonly info?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
  readonly warn?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
  readonly error?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
}

/**
 * Wraps each call of a server, to log, measure, limit or answer it.
 *
 * ```ts
 * server.use(async (call, next) => {
 *   const start = performance.now();
 *   try {
 *     return await next(call);
 *   } finally {
 *     console.error(call.method, call.params.name, call.principal, performance.now() - start);
 *   }
 * });
 * ```
 */
export type ServerInterceptor = Interceptor<CallInfo, ResultObject>;

/** Options of the HTTP endpoint. */
export interface HttpServerOptions extends GuardOptions {
  /**
   * Allows browser scripts of the allowed origins to call the server (CORS).
   * @default false
   */
  readonly cors?: boolean | undefined;
  /** Authenticates each request. Without a gate callers have no identity, whatever their headers say. */
  readonly gate?: HttpGate | undefined;
  /**
   * Returns the address by which callers without a principal are told apart in limits, for example from a header that
   * your proxy sets. Undefined if it is unknown.
   * @default the address of the connection, unless it is private
   */
  readonly remoteOf?: ((request: UnnamedRequest) => string | undefined) | undefined;
  /** Options of sessions (legacy only). `false` disables sessions, so that each request stands alone. */
  readonly sessions?: SessionOptions | undefined;
  /**
   * Form of responses. `"auto"` opens a stream only for messages before the response and for keep-alive comments.
   * `"sse"` always opens one. `"prefer-json"` opens none for keep-alive comments. `"json"` opens one for subscriptions
   * only, and drops messages before the response. Legacy clients that accept JSON get one document with `"json"` and
   * `"prefer-json"`, and a stream otherwise.
   * @default "auto"
   */
  readonly responseMode?: "auto" | "sse" | "prefer-json" | "json" | undefined;
  /**
   * Idle time of a stream after which a comment is written.
   * @default 15_000
   */
  readonly keepAliveMs?: number | undefined;
  /** Makes interrupted streams resumable (legacy only). `true` keeps a bounded event log in memory. */
  readonly resumable?: boolean | EventLog | undefined;
  /** Time that clients wait before they reconnect, sent as `retry` on streams. */
  readonly retryMs?: number | undefined;
  /**
   * Serves the HTTP+SSE transport of 2024-11-05 too: a stream at `/sse`, messages at `/messages`.
   * @default false
   * @deprecated by SEP-2596; may be removed three months after SEP-2596 is final.
   */
  readonly sse?: boolean | SsePaths | undefined;
}

const HTTP_OPTIONS: Known<HttpServerOptions> = {
  ...GUARD_OPTIONS,
  cors: "boolean",
  gate: "function",
  remoteOf: "function",
  sessions: [
    {
      boolean: "any",
      object: {
        createId: "function",
        onOpen: "function",
        onEnd: "function",
        clientMayEnd: "boolean",
        clientMayListen: "boolean",
      },
    },
  ],
  responseMode: [{ string: ["auto", "sse", "prefer-json", "json"] }],
  keepAliveMs: "ms",
  resumable: [{ boolean: "any", object: "any" }],
  retryMs: "count",
  sse: [{ boolean: "any", object: SSE_PATHS }],
};

/** What a host knows of the client behind a channel. */
export interface ChannelCaller {
  /** Handlers read it as `ctx.auth`. */
  readonly auth?: AuthInfo | undefined;
  /** Identifier of the caller. Handlers read it as `ctx.principal`. */
  readonly principal?: string | undefined;
  /** Address by which callers without a principal are told apart in limits. */
  readonly remote?: string | undefined;
}

/** Channel that a server serves, such as stdio. */
export interface ServedConnection {
  /** Resolves when the connection has ended, on either side. */
  readonly closed: Promise<void>;
  /** Number of running calls. */
  readonly running: number;
  /**
   * Description of the client from the handshake. Undefined before it and in protocol versions without a handshake,
   * where each call has its own `ctx.client`.
   */
  readonly client: ClientDescription | undefined;
  /** Ends the connection and its calls. */
  close(): Promise<void>;
}

/** Options of a server. With a `cluster` it needs `stateKeys` too, or a `stateCodec`. */
export type ServerOptions = ServerSettings & (WithoutCluster | WithStateCodec | WithStateKeys);

/** Options of a server that shares nothing with other processes. */
export interface WithoutCluster {
  readonly cluster?: undefined;
}

/** Options of a server that other processes may share the codec with. */
export interface WithStateCodec {
  /** Replaces the encryption of sealed state. */
  readonly stateCodec: StateCodec;
}

/** Options of a server that other processes may share the keys with. */
export interface WithStateKeys {
  /** Keys that seal state, the same in each process. The first key seals, all keys open. */
  readonly stateKeys: readonly SealKey[];
}

/** Options of a server, with or without a cluster. */
export interface ServerSettings {
  /** Instructions for the model on how to use this server. */
  readonly instructions?: string | undefined;
  /**
   * Gets the SDK's own log messages.
   *
   * @example
   * ```ts
   * new McpServer({ name: "weather", version: "1.0.0" }, { logger: console });
   * ```
   */
  readonly logger?: Logger | undefined;
  /**
   * Warns of deprecated features of the protocol, once per process, through the logger or `process.emitWarning`.
   * @default true
   */
  readonly warnDeprecated?: boolean | undefined;
  /**
   * Called with each unexpected error of a handler, and with each error outside of a call. Without it and `logger`, these
   * errors are printed on stderr, up to `limits.maxPrintedErrors` in an hour.
   */
  readonly onError?: ((error: unknown, context: ReportContext) => void) | undefined;
  /** Interceptors of each call, outermost first. They wrap those of `use`. */
  readonly interceptors?: readonly ServerInterceptor[] | undefined;
  /** Called with each channel that is served, after it has opened. */
  readonly onConnection?: ((connection: ServedConnection) => void) | undefined;
  /**
   * Hides messages of unexpected tool errors from the model.
   * @default false
   */
  readonly maskErrors?: boolean | undefined;
  /**
   * Maximum number of entries on a page of a listing.
   * @default all entries
   */
  readonly pageSize?: number | undefined;
  /**
   * Supported protocol versions.
   * @default all versions
   */
  readonly versions?: readonly ProtocolVersion[] | undefined;
  /** Cache hints for clients, on listings and resources. */
  readonly cache?: ServerCacheOptions | undefined;
  /** Capabilities to announce in addition to those that the definitions imply, or without notifications of changes. */
  readonly capabilities?:
    | {
        /** Offers tools even if none is defined. `listChanged: false` disables the notifications of changes. */
        readonly tools?: boolean | { readonly listChanged?: boolean | undefined } | undefined;
        /** Offers prompts even if none is defined. `listChanged: false` disables the notifications of changes. */
        readonly prompts?: boolean | { readonly listChanged?: boolean | undefined } | undefined;
        /** Offers resources even if none is defined. `listChanged: false` disables the notifications of changes. */
        readonly resources?:
          | boolean
          | { readonly listChanged?: boolean | undefined; readonly subscribe?: boolean | undefined }
          | undefined;
        /** Features that are in no version of the protocol, by name, with their settings. */
        readonly experimental?: { readonly [key: string]: JsonObject } | undefined;
        /** Extensions by id, with their settings. Those that `extend` adds are announced without this. */
        readonly extensions?: { readonly [key: string]: JsonObject } | undefined;
        /**
         * Offers log messages to clients.
         * @default true if a tool, prompt or resource is offered
         * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
         */
        readonly logging?: boolean | undefined;
      }
    | undefined;
  /** What concerns all resources. */
  readonly resources?:
    | {
        /** Called when the first client subscribes to a resource. */
        readonly onSubscribe?: ((uri: string) => void) | undefined;
        /** Called when the last client of a resource unsubscribes. */
        readonly onUnsubscribe?: ((uri: string) => void) | undefined;
        /**
         * Allows `..`, absolute paths and NUL in the variables of all templates.
         * @default false
         */
        readonly unsafePaths?: boolean | undefined;
      }
    | undefined;
  /**
   * State that the processes of a deployment share, such as `redisCluster(...)`. Each process serves the sessions of
   * all, and changes reach the clients of all. Requires `stateKeys` or `stateCodec`.
   */
  readonly cluster?: Cluster | undefined;
  /**
   * Keys that seal the state of calls with input requests. The first key seals, all keys open.
   * @default a random key of this process
   */
  readonly stateKeys?: readonly SealKey[] | undefined;
  /** Replaces the encryption of sealed state. The server still checks expiry, caller and request. */
  readonly stateCodec?: StateCodec | undefined;
  /**
   * Audience of sealed state. Servers accept each other's state if they have the same audience and keys. Servers that
   * share a cluster share values of `ctx.state`, rates and tasks only if they have the same audience.
   * @default the name of the server
   */
  readonly stateAudience?: string | undefined;
  /**
   * Decides whether a sealed state is accepted, by its id and the time until which this process accepts it (Unix time in
   * milliseconds; others may accept it for a minute longer), so that no round starts twice. Without it, a repeated request gets the outcome of the first one, also with a `cluster`, and a round that
   * has failed may run again. Replaces the record of used states.
   */
  readonly acceptState?: ((id: string, untilMs: number) => boolean | Promise<boolean>) | undefined;
  /**
   * Minimum level of log messages for clients that set no level (legacy only).
   * @default "debug"
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly logLevel?: LoggingLevel | undefined;
  /** Limits on the resources that clients can make the server hold. Each limit has a default. */
  readonly limits?: Optional<ServerLimits> | undefined;
  /**
   * Rate limit of calls per caller.
   * @default no limit
   */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** Pings each connected client (legacy only). Pings without a response are reported to `onError`. */
  readonly pings?: PingOptions | undefined;
  /** Minimum time between two progress notifications of a call. Of the reports in between, only the latest is sent. */
  readonly progressIntervalMs?: number | undefined;
  /**
   * Includes the server's name and version in results (`_meta`).
   * @default true
   */
  readonly identify?: boolean | undefined;
  /**
   * Options of the HTTP endpoint: who may call it, sessions and streams.
   *
   * @example
   * ```ts
   * const http = { allowedHosts: ["mcp.example.com"], cors: true, allowedOrigins: ["https://app.example.com"] };
   * new McpServer({ name: "weather", version: "1.0.0" }, { http });
   * ```
   */
  readonly http?: HttpServerOptions | undefined;
  /** Compiles JSON Schemas of definitions. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Source of time, for tests: `FakeClock` of `bowline/testing`. */
  readonly clock?: Clock | undefined;
}

/** Cache hints of a result. */
export interface CacheHints {
  /** Time that the result stays fresh, a whole number of milliseconds. */
  readonly ttlMs?: number | undefined;
  /** `public` if the result is the same for every caller. */
  readonly scope?: CacheScope | undefined;
}

/** Cache hints of results. Each definition may have its own. */
export interface ServerCacheOptions extends CacheHints {
  /** Cache hints per method: `{ "tools/list": { ttlMs: 60_000 } }`. */
  readonly methods?: { readonly [method: string]: CacheHints } | undefined;
}

export const CACHE_HINTS: Known<CacheHints> = { ttlMs: "any", scope: "any" };
const OFFERED: Known<{ readonly listChanged?: boolean }> = { listChanged: "boolean" };

export const SERVER_OPTIONS: Known<ServerOptions> = {
  instructions: "string",
  logger: [{ object: "any" }],
  warnDeprecated: "boolean",
  onError: "function",
  interceptors: "array",
  onConnection: "function",
  maskErrors: "boolean",
  pageSize: "positive",
  versions: [{ array: "string" }],
  cache: { ...CACHE_HINTS, methods: [{ map: CACHE_HINTS }] },
  capabilities: {
    tools: [{ boolean: "any", object: OFFERED }],
    prompts: [{ boolean: "any", object: OFFERED }],
    resources: [{ boolean: "any", object: { ...OFFERED, subscribe: "boolean" } }],
    experimental: "object",
    extensions: "object",
    logging: "boolean",
  },
  resources: { onSubscribe: "function", onUnsubscribe: "function", unsafePaths: "boolean" },
  cluster: "object",
  stateKeys: "array",
  stateCodec: "object",
  stateAudience: "string",
  acceptState: "function",
  logLevel: "string",
  limits: SERVER_LIMITS,
  rateLimit: RATE_LIMIT_OPTIONS,
  pings: PING_OPTIONS,
  progressIntervalMs: "ms",
  identify: "boolean",
  http: HTTP_OPTIONS,
  validator: "object",
  clock: "object",
};

/** Throws a `RangeError` for invalid cache hints. */
export function assertCacheHints(where: string, { ttlMs, scope }: CacheHints): void {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0)) {
    throw new RangeError(`${where}: ttlMs must be a whole number of 0 or more, got ${ttlMs}`);
  }
  if (scope !== undefined && scope !== "public" && scope !== "private") {
    throw new RangeError(`${where}: scope must be "public" or "private", got ${scope}`);
  }
}

/** Converts cache hints to members of a result. Omits unset hints. */
export function toWireHints({ ttlMs, scope }: CacheHints): {
  readonly ttlMs?: number;
  readonly cacheScope?: CacheScope;
} {
  return defined<ReturnType<typeof toWireHints>>({ ttlMs, cacheScope: scope });
}
