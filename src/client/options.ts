import type { Clock } from "../call/clock.js";
import type { Interceptor } from "../call/interceptor.js";
import { PING_OPTIONS, type PingOptions } from "../call/ping-options.js";
import type { CallProgress } from "../call/progress.js";
import type {
  ClientResult,
  PriorKnowledge,
  ReportProgress,
  ResumeToken,
  SavedSession,
  ServerDescription,
} from "../era/client-era.js";
import { CLIENT_LIMITS, type ClientLimits } from "../era/client-limits.js";
import { RECONNECT_OPTIONS, type ReconnectOptions } from "../era/transport.js";
import type { ProtocolVersion } from "../era/versions.js";
import { McpError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import { assertAtCall, assertOptions, type Known, type Optional } from "../protocol/known-options.js";
import type {
  ClientCapabilities,
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  Implementation,
  JsonObject,
  LoggingLevel,
  Root,
  Tool,
} from "../protocol/types/index.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import type { StandardSchema } from "../schema/standard-schema.js";
import { CACHE_OPTIONS, type CacheMode, type ClientCacheOptions } from "./cache/cache.js";
import { COMMAND_LIMITS, type CommandLimits } from "./command-limits.js";
import { RESTART_LIMITS, type RestartLimits } from "./connections/restarting.js";
import { LIST_LISTENERS, type ListListeners } from "./subscriptions/list-refresh.js";

/** Second argument of handlers for requests of the server. */
export interface AnswerContext {
  /** Aborts when the server cancels the request, or when the call that the request belongs to ends. */
  readonly signal: AbortSignal;
  /** Reports progress to the server if it requested progress. */
  readonly progress: ReportProgress;
}

/** Handles a request of the server. */
export type ServerRequestHandler<Question, Result> = (
  question: Question,
  ctx: AnswerContext,
) => Result | Promise<Result>;

/** Destination of the client's log messages. */
export interface ClientLogger {
  readonly debug?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
  readonly warn?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
  readonly error?: ((message: string, fields?: Record<string, unknown>) => void) | undefined;
}

/** Call on its way to the server, as interceptors see it. To change it, pass on a changed copy. */
export interface ClientCall {
  /** Method of the request, such as `tools/call`. */
  readonly method: string;
  /** Params of the request, without what the era adds. */
  readonly params: Params | undefined;
  /** Options that the caller gave. */
  readonly options: CallOptions;
}

/**
 * Wraps each call of a client, to log, measure, change or repeat it.
 *
 * ```ts
 * const patient: ClientInterceptor = (call, next) =>
 *   next({ ...call, options: { timeoutMs: 5_000, ...call.options } });
 * ```
 */
export type ClientInterceptor = Interceptor<ClientCall, ClientResult>;

/** Options of a call. */
export interface CallOptions {
  /** Aborts the call with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum time without a message from the server. `Infinity` disables it.
   * @default 60_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum time of the whole call. Without a limit if `timeoutMs` is `Infinity`.
   * @default 3_600_000
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Called for each progress notification of the call. It also restarts the time of `timeoutMs`.
   *
   * @example
   * ```ts
   * await client.callTool("index", {}, {
   *   onProgress: ({ progress, total, message }) => console.log(progress, total, message),
   * });
   * ```
   */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
  /**
   * JSON-RPC id of the request.
   * @default an id that the client generates
   */
  readonly id?: RequestId | undefined;
  /** Members to add to `_meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined;
  /** Client capabilities for this call alone (2026-07-28 only). */
  readonly capabilities?: ClientCapabilities | undefined;
  /**
   * Minimum level of log messages of this call (2026-07-28 only).
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly logLevel?: LoggingLevel | undefined;
  /**
   * `"auto"` answers requests for input by the handlers of this client. `"manual"` returns them as the result.
   * @default "auto"
   */
  readonly input?: "auto" | "manual" | undefined;
  /**
   * Use of the cache for listings and resources.
   * @default "use"
   */
  readonly cache?: CacheMode | undefined;
  /**
   * Called with a token for each position from which the response can be resumed, if the server supports that (legacy
   * HTTP only). Another client, also in another process, can use the token as `resume`.
   */
  readonly onResumable?: ((token: ResumeToken) => void) | undefined;
  /**
   * Sends no request, and resumes reading the response to an earlier call. The client must use the session of the
   * token.
   */
  readonly resume?: ResumeToken | undefined;
}

/** Options of a tool call. */
export interface ToolCallOptions extends CallOptions {
  /** Definition of the tool, for its output schema and header annotations, if this client has not listed the tool. */
  readonly tool?: Tool | undefined;
}

/** Options with a schema for the structured result, which is checked by the schema and has its type. */
export interface TypedCallOptions<Output extends StandardSchema> extends ToolCallOptions {
  /** Schema of the structured result. The result has its type. */
  readonly output: Output;
}

export const CALL_OPTIONS: Known<TypedCallOptions<StandardSchema> & { readonly result: StandardSchema }> = {
  signal: "object",
  timeoutMs: "ms",
  deadlineMs: "ms",
  onProgress: "function",
  id: "any",
  meta: "any",
  capabilities: "any",
  logLevel: "any",
  input: "any",
  cache: "any",
  onResumable: "function",
  resume: "any",
  tool: "any",
  output: "any",
  result: "any",
};

/** Second argument of an extension's `resolve`. */
export interface ExtensionContext {
  /** Method and params of the call that got the result. */
  readonly method: string;
  readonly params: Params | undefined;
  readonly signal: AbortSignal | undefined;
  /** Sends a request of the extension. */
  readonly request: (method: string, params?: Params, options?: CallOptions) => Promise<ClientResult>;
}

/** Extension of the protocol on the client's side, for the option `extensions`. */
export interface ClientExtension {
  /** Identifier: a prefixed name such as com.example/name. */
  readonly id: string;
  /**
   * Settings that are announced to servers.
   * @default {}
   */
  readonly settings?: JsonObject | undefined;
  /** Schema of the server's settings. A server whose settings do not match counts as one without the extension. */
  readonly serverSettings?: StandardSchema | undefined;
  /**
   * Result types of the extension. Each has the methods that may return it and a function that converts it to an
   * ordinary result. In protocol versions without result types the extension is not announced.
   */
  readonly results?:
    | {
        readonly [type: string]: {
          readonly method: string | readonly string[];
          readonly resolve: (result: ClientResult, ctx: ExtensionContext) => ClientResult | Promise<ClientResult>;
        };
      }
    | undefined;
  /**
   * Request methods of the extension. They are refused without sending if the server does not support the extension.
   */
  readonly methods?: readonly string[] | undefined;
  /**
   * Member of params that names the target of a request, by method. HTTP clients also send it in the header `Mcp-Name`.
   */
  readonly names?: { readonly [method: string]: string } | undefined;
  /**
   * Handlers of the extension's notifications. They run one after the other, in the order of arrival. `withParams`
   * creates a handler that checks params.
   */
  readonly notifications?:
    | { readonly [method: string]: (params: Params | undefined) => void | Promise<void> }
    | undefined;
}

/** Options of an extension, and members of the extensions of this package. */
const EXTENSION: Known<ClientExtension & { readonly intercept: () => void; readonly receiver: unknown }> = {
  id: [{ string: "any" }, "required"],
  settings: "object",
  serverSettings: "any",
  results: [{ map: { method: "any", resolve: "function" } }],
  methods: [{ array: "string" }],
  names: [{ map: "string" }],
  notifications: [{ map: "function" }],
  intercept: "function",
  receiver: "any",
};

/** Options for requests of the server. */
export type AnswerOptions = Pick<
  ClientOptions,
  "onElicit" | "onElicitUrl" | "onSample" | "sampling" | "roots" | "methods" | "capabilities"
>;

/** What `onSample` of a client supports. */
export interface SamplingOptions {
  /**
   * True if it supports tools.
   * @default false
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly tools?: boolean | undefined;
  /**
   * True if it adds context of this or other servers on request.
   * @default false
   * @deprecated by SEP-2596; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly context?: boolean | undefined;
}

/** Options of a client. */
export interface ClientOptions {
  /** Name and version of this client. */
  readonly info?: Implementation | undefined;
  /**
   * Sends name and version of the client in each call, if they are optional in the protocol version.
   * @default true
   */
  readonly identify?: boolean | undefined;
  /**
   * Protocol era. `"legacy"` connects with a handshake, `"modern"` without one, `"auto"` probes the server.
   * @default "auto"
   */
  readonly era?: "auto" | "legacy" | "modern" | undefined;
  /**
   * Allowed protocol versions. With 2026-07-28 alone, nothing is negotiated: connecting sends no request.
   * @default all versions
   */
  readonly versions?: readonly ProtocolVersion[] | undefined;
  /** Knowledge about this server from an earlier client (`client.prior`), which saves the probe. */
  readonly prior?: PriorKnowledge | null | undefined;
  /** Session to continue (`client.session`, or that of a `ResumeToken`) instead of opening one. HTTP only. */
  readonly session?: SavedSession | undefined;
  /** Aborts connecting. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Default of `timeoutMs` in the options of a call.
   * @default 60_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Default of `deadlineMs` in the options of a call.
   * @default 3_600_000
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Pings the server while connected: legacy only, or with `restart.maxMissedPings`. Pings without a response are
   * reported to `onError`.
   */
  readonly pings?: PingOptions | undefined;
  /**
   * Time without a response on a channel after which another era is tried in parallel. The first response decides.
   * @default 10_000
   */
  readonly probeTimeoutMs?: number | undefined;
  /** Handles form elicitation. */
  readonly onElicit?: ServerRequestHandler<ElicitFormParams, ElicitResult> | undefined;
  /** Handles URL elicitation. */
  readonly onElicitUrl?: ServerRequestHandler<ElicitUrlParams, ElicitResult> | undefined;
  /**
   * Handles sampling requests.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly onSample?: ServerRequestHandler<CreateMessageParams, CreateMessageResult> | undefined;
  /**
   * What `onSample` supports.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly sampling?: SamplingOptions | undefined;
  /**
   * Fills in the defaults of a form for fields that `onElicit` omits.
   * @default true
   */
  readonly applyDefaults?: boolean | undefined;
  /**
   * Announces changes of the roots (legacy only).
   * @default true
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly rootsListChanged?: boolean | undefined;
  /**
   * Roots: folders that the server may use.
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly roots?: (readonly Root[] | ((ctx: AnswerContext) => readonly Root[] | Promise<readonly Root[]>)) | undefined;
  /** Handlers of custom requests of the server (legacy only). */
  readonly methods?:
    | {
        readonly [method: string]: ServerRequestHandler<Params | undefined, { readonly [key: string]: unknown }>;
      }
    | undefined;
  /** Handlers of notifications by method. `withParams` creates a handler that checks params. */
  readonly notifications?:
    | {
        readonly [method: string]: (params: Params | undefined) => void | Promise<void>;
      }
    | undefined;
  /** Handles all notifications without a handler in `notifications`, including those of subscriptions. */
  readonly onNotification?:
    | ((notification: { readonly method: string; readonly params?: Params }) => void | Promise<void>)
    | undefined;
  /** Capabilities to declare in addition to those that the handlers and extensions imply. */
  readonly capabilities?:
    | {
        /** Features that are in no version of the protocol, by name, with their settings. */
        readonly experimental?: { readonly [key: string]: JsonObject } | undefined;
        /** Extensions by id, with their settings. Those of the option `extensions` are declared without this. */
        readonly extensions?: { readonly [key: string]: JsonObject } | undefined;
      }
    | undefined;
  /** Enabled extensions: `tasksClient()`, or your own. */
  readonly extensions?: readonly ClientExtension[] | undefined;
  /**
   * Refuses calls for which the server announced no capability, without sending them.
   * @default false
   */
  readonly strictCapabilities?: boolean | undefined;
  /**
   * Minimum level of log messages to request from the server.
   * @default none are requested
   * @deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  readonly logLevel?: LoggingLevel | undefined;
  /**
   * If a call fails because the user must visit URLs first, passes them to `onElicitUrl` before the call rejects.
   * @default false
   */
  readonly showRequiredUrls?: boolean | undefined;
  /** Options of the cache for listings and resources. `false` disables the cache. */
  readonly cache?: false | ClientCacheOptions | undefined;
  /** Callbacks for changes of the server's lists. */
  readonly onListChanged?: ListListeners | undefined;
  /** Compiles the output schemas of tools. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Interceptors of each call, outermost first, such as `retry()`. */
  readonly interceptors?: readonly ClientInterceptor[] | undefined;
  /**
   * Gets the SDK's own log messages.
   *
   * @example
   * ```ts
   * await connect("https://example.com/mcp", { logger: console });
   * ```
   */
  readonly logger?: ClientLogger | undefined;
  /**
   * Warns of deprecated features of the protocol, once per process, through the logger or `process.emitWarning`.
   * @default true
   */
  readonly warnDeprecated?: boolean | undefined;
  /** Called with each error that no call rejects with, such as that of a handler of a notification. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Called after the client has connected. */
  readonly onOpen?: ((server: ServerDescription) => void) | undefined;
  /** Called when the connection has ended, with the reason unless it was closed normally. */
  readonly onClose?: ((reason: Error | undefined) => void) | undefined;
  /**
   * `"auto"` answers requests for input by the handlers of this client. `"manual"` returns them as results.
   * @default "auto"
   */
  readonly input?: "auto" | "manual" | undefined;
  /** HTTP headers to send with each request. */
  readonly headers?: HeadersInit | undefined;
  /** Replacement for the runtime's `fetch`. */
  readonly fetch?: ((url: URL, init: RequestInit) => Promise<Response>) | undefined;
  /** Limits on the resources that a server can make this client hold. */
  readonly limits?: Optional<ClientLimits> | undefined;
  /** Reconnection of interrupted streams (legacy HTTP only). */
  readonly reconnect?: Optional<ReconnectOptions> | undefined;
  /**
   * Refuses requests of the server, except pings, while no call of this client is in progress.
   * @default false
   */
  readonly answerDuringCallsOnly?: boolean | undefined;
  /**
   * Tries the HTTP+SSE transport of 2024-11-05 if the first POST is refused with 400, 404 or 405. `"any-4xx"` tries it
   * after any status 4xx except 401 and 403.
   * @default true
   * @deprecated by SEP-2596; may be removed three months after SEP-2596 is final.
   */
  readonly sse?: boolean | "any-4xx" | undefined;
  /** Source of time, for tests: `FakeClock` of `bowline/testing`. */
  readonly clock?: Clock | undefined;
}

export const ANSWER_OPTIONS: Known<AnswerOptions> = {
  onElicit: "function",
  onElicitUrl: "function",
  onSample: "function",
  sampling: { tools: "boolean", context: "boolean" },
  roots: [{ array: "any", function: "any" }],
  methods: [{ map: "function" }],
  capabilities: { experimental: "object", extensions: "object" },
};

/** Options of `connect`, and members of the object that `oauth` returns, which may be passed as it is. */
export const CLIENT_OPTIONS: Known<ClientOptions & { readonly finish: () => void; readonly logout: () => void }> = {
  ...ANSWER_OPTIONS,
  info: [{ object: "any" }],
  identify: "boolean",
  era: [{ string: ["auto", "legacy", "modern"] }],
  versions: [{ array: "string" }],
  prior: "any",
  session: "any",
  signal: "object",
  timeoutMs: "ms",
  deadlineMs: "ms",
  pings: PING_OPTIONS,
  probeTimeoutMs: "ms",
  applyDefaults: "boolean",
  rootsListChanged: "boolean",
  notifications: [{ map: "function" }],
  onNotification: "function",
  extensions: [{ array: EXTENSION }],
  strictCapabilities: "boolean",
  logLevel: "string",
  showRequiredUrls: "boolean",
  cache: [{ boolean: "any", object: CACHE_OPTIONS }],
  onListChanged: LIST_LISTENERS,
  validator: "object",
  interceptors: "array",
  logger: [{ object: "any" }],
  warnDeprecated: "boolean",
  onError: "function",
  onOpen: "function",
  onClose: "function",
  input: [{ string: ["auto", "manual"] }],
  headers: "any",
  fetch: "function",
  limits: CLIENT_LIMITS,
  reconnect: RECONNECT_OPTIONS,
  answerDuringCallsOnly: "boolean",
  sse: [{ boolean: "any", string: ["any-4xx"] }],
  clock: "object",
  finish: "function",
  logout: "function",
};

/** Names of options in the official SDK and in earlier versions, and what declares a capability. */
const OTHER_NAMES = {
  maxTotalTimeout: "deadlineMs",
  resetTimeoutOnProgress: "timeoutMs",
  maxEntries: "limits.maxCacheEntries",
  elicitation: "onElicit or onElicitUrl",
  version: "versions: [version]",
  samplingTools: "sampling.tools",
  samplingContext: "sampling.context",
};

/** Throws for invalid options of a client, or of something that contains them. */
export function assertClientOptions(owner: string, options: unknown, known: object = CLIENT_OPTIONS): void {
  assertOptions(owner, options, known, OTHER_NAMES);
}

/** Options of a call without any, which need no check. */
export const NO_OPTIONS: CallOptions = Object.freeze({});

/** Throws for an option that calls do not have, or that is not in `known`. */
export function assertCallOptions(method: string, options: object, known: object = CALL_OPTIONS): void {
  assertAtCall(method, options, known, OTHER_NAMES);
}

/** Server process to start. */
export interface CommandTarget {
  /** Program to run: a path, or a name that is looked up in PATH. */
  readonly command: string;
  /** Arguments of the program. */
  readonly args?: readonly string[] | undefined;
  /** Environment variables, added to those that a server always gets (`defaultEnvironment()` of `bowline/node`). */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Working directory of the program.
   * @default that of this process
   */
  readonly cwd?: string | undefined;
  /**
   * Destination of the program's stderr. `inherit` copies it to stderr of this process, `ignore` discards it unread. A
   * function receives each line.
   * @default "inherit"
   */
  readonly stderr?: ("inherit" | "pipe" | "ignore" | ((line: string) => void)) | undefined;
  /** Limits on what the process can make this client hold. Each limit has a default. */
  readonly limits?: Optional<CommandLimits> | undefined;
  /** Times that closing waits for the process to exit. */
  readonly shutdown?:
    | {
        /**
         * Time after the end of its input, before SIGTERM.
         * @default 2000
         */
        readonly stdinMs?: number | undefined;
        /**
         * Time after SIGTERM, before SIGKILL.
         * @default 2000
         */
        readonly termMs?: number | undefined;
      }
    | undefined;
  /**
   * Restarts a process that exits unexpectedly. Calls without a response are lost. Later calls and open watches use the
   * new process. With `maxMissedPings`, a process that hangs is restarted too.
   * @default false
   */
  readonly restart?: boolean | RestartLimits | undefined;
}

export const PROCESS_OPTIONS: Known<Omit<CommandTarget, "command" | "args" | "env" | "cwd">> = {
  stderr: [{ string: ["inherit", "pipe", "ignore"], function: "any" }],
  limits: COMMAND_LIMITS,
  shutdown: { stdinMs: "ms", termMs: "ms" },
  restart: [{ boolean: "any", object: RESTART_LIMITS }],
};

export const COMMAND_TARGET: Known<CommandTarget> = {
  ...PROCESS_OPTIONS,
  command: [{ string: "any" }, "required"],
  args: [{ array: "string" }],
  env: [{ map: "string" }],
  cwd: "string",
};

/** Server in this process. */
export interface LocalTarget {
  accept(channel: Channel): Promise<{ close(): Promise<void> }>;
}

/** Custom channel, such as a WebSocket or a pipe. */
export interface ChannelTarget {
  readonly channel: Channel;
}

/** Server to connect to: a URL, a command, a server in this process, or a channel. */
export type Target = string | URL | CommandTarget | LocalTarget | ChannelTarget;

const NEEDED = " requires a URL, { command, args }, a server in this process or { channel }";

export function unknownTarget(problem = NEEDED): McpError {
  return new McpError("unknown_target", `connect${problem}`);
}
