import type { Clock } from "../call/clock.js";
import type { Interceptor } from "../call/interceptor.js";
import type { PingOptions } from "../call/ping-loop.js";
import type { CallProgress } from "../call/progress.js";
import type {
  ClientResult,
  PriorKnowledge,
  ReportProgress,
  ResumeToken,
  SavedSession,
  ServerDescription,
} from "../era/client-era.js";
import type { ClientLimits } from "../era/client-limits.js";
import type { ReconnectOptions } from "../era/transport.js";
import { McpError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
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
import type { CacheMode, ClientCacheOptions } from "./cache/cache.js";
import type { RestartLimits } from "./connections/restarting.js";
import type { ListListeners } from "./subscriptions/list-refresh.js";

/** What a handler of the server's questions gets besides the question. */
export interface AnswerContext {
  /** Fires when the server, or the call that the question belongs to, gives up. */
  readonly signal: AbortSignal;
  /** Tells the server how far the answer has got, where it asked and can hear. */
  readonly progress: ReportProgress;
}

export type ServerRequestHandler<Question, Result> = (
  question: Question,
  ctx: AnswerContext,
) => Result | Promise<Result>;

export interface ClientLogger {
  debug?(message: string, fields?: Record<string, unknown>): void;
  warn?(message: string, fields?: Record<string, unknown>): void;
  error?(message: string, fields?: Record<string, unknown>): void;
}

/** A call on its way to the server. */
export interface ClientCall {
  readonly method: string;
  readonly params: Params | undefined;
  readonly options: CallOptions;
}

export type ClientInterceptor = Interceptor<ClientCall, ClientResult>;

export interface CallOptions {
  /** Ends the call with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The longest silence; any sign of life starts it anew. `Infinity` for none.
   * @default 60_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The longest the whole call may take. None when `timeoutMs` is `Infinity`.
   * @default 3_600_000
   */
  readonly deadlineMs?: number | undefined;
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
  /** The id to send, instead of one that the client makes. */
  readonly id?: RequestId | undefined;
  /** Goes along in `_meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined;
  /** What this client can do for this call alone, in the era in which each call says so. */
  readonly capabilities?: ClientCapabilities | undefined;
  /**
   * Which log messages this call wants, in the era in which each call says so.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly logLevel?: LoggingLevel | undefined;
  /** `"manual"` hands a result that asks for input to the caller instead of answering it. */
  readonly input?: "auto" | "manual" | undefined;
  /** Listings and resources: whether what is kept may be used. It may unless told otherwise. */
  readonly cache?: CacheMode | undefined;
  /**
   * HTTP, in the era with sessions: called with each place from which the answer can be read on, if the server keeps what
   * it sends. The token serves another client, in this process or in another, as `resume`.
   */
  readonly onResumable?: ((token: ResumeToken) => void) | undefined;
  /** Sends nothing, and reads on the answer to a call that was made earlier. The client must be in the token's session. */
  readonly resume?: ResumeToken | undefined;
}

export interface ToolCallOptions extends CallOptions {
  /** The definition to check the result by, where the tool was not listed by this client. */
  readonly tool?: Tool | undefined;
}

/** With a schema of one's own: the structured result is checked by it and has its type. */
export interface TypedCallOptions<Output extends StandardSchema> extends ToolCallOptions {
  readonly output: Output;
}

/** What an extension gets besides a result of its own. */
export interface ExtensionContext {
  /** The call that was answered by it. */
  readonly method: string;
  readonly params: Params | undefined;
  readonly signal: AbortSignal | undefined;
  /** Sends a request of the extension's own. */
  readonly request: (method: string, params?: Params, options?: CallOptions) => Promise<ClientResult>;
}

/** An extension of the protocol, as a client has it. */
export interface ClientExtension {
  /** What servers are told about it; nothing beyond its name unless given. */
  readonly settings?: JsonObject;
  /** What the settings of a server must fit: one whose settings do not has not got the extension. */
  readonly serverSettings?: StandardSchema;
  /**
   * Types of results that are the extension's own, each with the method that it may answer and what makes an ordinary
   * result of it. Where results have no types, servers are not told of the extension.
   */
  readonly results?: {
    readonly [type: string]: {
      readonly method: string;
      readonly resolve: (result: ClientResult, ctx: ExtensionContext) => ClientResult | Promise<ClientResult>;
    };
  };
  /** Its requests: refused on this side where the server does not have the extension. */
  readonly methods?: readonly string[];
  /** For those of its methods that have one: the member of params that names what a request is about. Over HTTP it is told in Mcp-Name too. */
  readonly names?: { readonly [method: string]: string };
  /** Its notifications, one after the other in the order in which they came; `withParams` makes a handler that checks. */
  readonly notifications?: { readonly [method: string]: (params: Params | undefined) => void | Promise<void> };
}

/** The part of the options that answers the server's questions. */
export type AnswerOptions = Pick<
  ClientOptions,
  "onElicit" | "onElicitUrl" | "onSample" | "samplingTools" | "roots" | "methods" | "capabilities"
>;

export interface ClientOptions {
  /** Who this client says it is. */
  readonly info?: Implementation;
  /** Whether calls say who makes them, where that is left open. They do unless told otherwise. */
  readonly identify?: boolean;
  /** The era to speak: `"auto"` probes and falls back. */
  readonly era?: string;
  /** The one version to speak. In the era without handshakes, nothing is negotiated then. */
  readonly version?: string;
  /** The versions that may be spoken; all by default. */
  readonly versions?: readonly string[];
  /** What an earlier client learnt about this server (`client.prior`). */
  readonly prior?: PriorKnowledge | null;
  /** HTTP: a session to go on with (`client.session`, or that of a `ResumeToken`), instead of opening one. */
  readonly session?: SavedSession | undefined;
  /** Ends connecting. */
  readonly signal?: AbortSignal;
  /** For calls that set none. */
  readonly timeoutMs?: number;
  readonly deadlineMs?: number;
  /** Pings the server while connected, in the era that has pings; silence is told to `onError`. */
  readonly pings?: PingOptions;
  /**
   * How long a channel stays silent before another era is tried beside the first; the answer that comes decides.
   * @default 10_000
   */
  readonly probeTimeoutMs?: number;
  /** Fills in a form for the server. */
  readonly onElicit?: ServerRequestHandler<ElicitFormParams, ElicitResult>;
  /** Takes the user to a page for the server. */
  readonly onElicitUrl?: ServerRequestHandler<ElicitUrlParams, ElicitResult>;
  /**
   * Lets the server ask a model.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly onSample?: ServerRequestHandler<CreateMessageParams, CreateMessageResult>;
  /**
   * Whether `onSample` can take tools.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly samplingTools?: boolean;
  /**
   * Whether `onSample` adds context of this or other servers when asked to.
   * @deprecated by SEP-2596; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly samplingContext?: boolean;
  /** Whether defaults of a form take the place of what `onElicit` left out. They do unless told otherwise. */
  readonly applyDefaults?: boolean;
  /**
   * Whether changes of the roots are announced, in the era that has a word for it. They are unless told otherwise.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly rootsListChanged?: boolean;
  /**
   * The folders that the server may work in.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly roots?: readonly Root[] | ((ctx: AnswerContext) => readonly Root[] | Promise<readonly Root[]>);
  /** Requests of the author's own that the server may send, in the era where it can. */
  readonly methods?: {
    readonly [method: string]: ServerRequestHandler<Params | undefined, { readonly [key: string]: unknown }>;
  };
  /** Notifications by method; `withParams` makes a handler that checks. */
  readonly notifications?: {
    readonly [method: string]: (params: Params | undefined) => void | Promise<void>;
  };
  /** Every notification that has no handler in `notifications`, those of subscriptions included. */
  readonly onNotification?: (notification: {
    readonly method: string;
    readonly params?: Params;
  }) => void | Promise<void>;
  readonly capabilities?: {
    readonly experimental?: { readonly [key: string]: JsonObject };
    readonly extensions?: { readonly [key: string]: JsonObject };
  };
  /** Extensions of the protocol that are on, by their identifiers. */
  readonly extensions?: { readonly [id: string]: ClientExtension };
  /** Refuse calls that the server did not announce, before anything is sent. */
  readonly strictCapabilities?: boolean;
  /**
   * The least severe log messages that the server is to send; none are asked for by default.
   * @deprecated by SEP-2577; may go with the first revision that is released on or after 28 July 2027.
   */
  readonly logLevel?: LoggingLevel;
  /** Whether pages that the server requires by an error are shown by `onElicitUrl`, before the call rejects. */
  readonly showRequiredUrls?: boolean;
  /** How listings and resources are kept, as long as their server allows; `false` keeps none. */
  readonly cache?: false | ClientCacheOptions;
  /** What to do when a list of the server changes. */
  readonly onListChanged?: ListListeners;
  /** Compiles the output schemas of tools. */
  readonly validator?: JsonSchemaValidator;
  readonly interceptors?: readonly ClientInterceptor[];
  readonly logger?: ClientLogger;
  /** Whether features that the protocol has deprecated are warned of, once per process: by the logger or the runtime. */
  readonly warnDeprecated?: boolean;
  readonly onError?: (error: Error) => void;
  /** Called once the client is connected. */
  readonly onOpen?: (server: ServerDescription) => void;
  readonly onClose?: (reason: Error | undefined) => void;
  /** `"manual"` hands results that ask for input to the callers instead of answering them. */
  readonly input?: "auto" | "manual";
  /** HTTP: headers to send along, in any form that `fetch` takes, and another way to fetch. */
  readonly headers?: HeadersInit;
  readonly fetch?: (url: URL, init: RequestInit) => Promise<Response>;
  /** What one server can make this client keep, do at once, or wait for. */
  readonly limits?: Partial<ClientLimits>;
  /** HTTP: how streams that broke off are read on, in the era in which they can be. */
  readonly reconnect?: Partial<ReconnectOptions>;
  /** Refuse questions of the server, pings aside, that come while no call of this client is under way. */
  readonly answerDuringCallsOnly?: boolean;
  /**
   * HTTP: whether the HTTP+SSE transport of 2024-11-05 is tried where the first POST was refused with 400, 404 or 405;
   * `"any-4xx"` tries it on every refusal but 401 and 403. Tried unless told otherwise.
   * For servers that know nothing newer.
   * @deprecated by SEP-2596; may go three months after SEP-2596 is final.
   */
  readonly sse?: boolean | "any-4xx";
  readonly clock?: Clock;
}

/** A server process to start. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stderr?: "inherit" | "pipe" | "ignore" | ((line: string) => void);
  /**
   * The longest line accepted from the server, in bytes.
   * @default 32 MiB
   */
  readonly maxLineBytes?: number;
  /**
   * Calls are refused while more bytes than this wait to be read by the server.
   * @default 256 MiB
   */
  readonly maxBehindBytes?: number;
  /**
   * How many of the last lines on the server's standard error are kept for errors.
   * @default 50
   */
  readonly maxStderrLines?: number;
  /**
   * How many characters these lines may have together. A longer line counts as several.
   * @default 8192
   */
  readonly maxStderrChars?: number;
  /**
   * With `inherit` and `pipe`: text is dropped while more bytes than this wait to be read.
   * @default 1 MiB
   */
  readonly maxUnreadStderrBytes?: number;
  /** How long closing waits for the process to end. */
  readonly shutdown?: {
    /**
     * After the end of its input, before SIGTERM.
     * @default 2000
     */
    readonly stdinMs?: number;
    /**
     * After SIGTERM, before SIGKILL.
     * @default 2000
     */
    readonly termMs?: number;
  };
  /**
   * Whether a process that goes away unasked is started again. Calls that it had not answered are lost; later calls and
   * open watches go on with the new one. With `maxMissedPings`, so is one that hangs.
   * @default false
   */
  readonly restart?: boolean | RestartLimits;
}

/** A server in this process. */
export interface LocalTarget {
  accept(channel: Channel): Promise<{ close(): Promise<void> }>;
}

/** A channel of the author's own: a WebSocket, a pipe, anything that carries frames. */
export interface ChannelTarget {
  readonly channel: Channel;
}

/** What to connect to: an address, a command, a server in this process, or a channel. */
export type Target = string | URL | CommandTarget | LocalTarget | ChannelTarget;

const NEEDED = " needs a URL, { command, args }, a server of this process or { channel }";

export function unknownTarget(problem = NEEDED): McpError {
  return new McpError("unknown_target", `connect${problem}`);
}
