import type { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type { MaybePromise } from "../call/maybe-promise.js";
import type { PingOptions } from "../call/ping-options.js";
import type { Cluster } from "../cluster/cluster.js";
import type { AuthInfo } from "../http/auth-info.js";
import type { GateAdmission, HttpExchange } from "../http/exchange.js";
import type { ParamHeader } from "../http/param-headers.js";
import type { RequestBodies } from "../http/request-bodies.js";
import type { Steps } from "../journal/steps.js";
import type { DeprecatedFeature, Deprecation } from "../protocol/deprecations.js";
import type { RpcError } from "../protocol/errors.js";
import type { Check } from "../protocol/json.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Refusal } from "../protocol/jsonrpc/errors.js";
import type { JsonText } from "../protocol/jsonrpc/format.js";
import type {
  Params,
  RequestId,
  RpcErrorObject,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse,
} from "../protocol/jsonrpc/message.js";
import type { Parsed } from "../protocol/jsonrpc/parse.js";
import type { Optional } from "../protocol/known-options.js";
import type {
  CacheScope,
  ClientCapabilities,
  Implementation,
  InputResponses,
  LoggingLevel,
  Progress,
  ProgressToken,
  ServerCapabilities,
} from "../protocol/types/index.js";
import type { ChangeBus } from "../store/change-bus.js";
import type { EventLog } from "../store/event-log.js";
import type { Busy } from "./busy.js";
import type { ClientRequestsOpener } from "./request-strategy.js";
import type { ServerLimits } from "./server-limits.js";
import type { SsePaths } from "./sse-paths.js";

import type { UrlElicitations } from "./url-elicitations.js";
import type { EraName } from "./versions.js";

/** Description of the client that made a call. */
export interface ClientDescription {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** Reported by the client itself. Use it for display and logs, never for decisions. */
  readonly info: Implementation | undefined;
}

/** Connection to the client, for messages of the server. */
export interface ServerWire {
  /** True if many calls share one connection, so that the end of a subscription has to be stated in a message. */
  readonly shared: boolean;
  /** Principal of all that the client sends, if there is one. Requests may name their own. */
  readonly principal?: string | undefined;
  /** Sends a notification. `call` is the call to which it belongs, if any. */
  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void>;
  /** Sends a request to the client. Legacy only. */
  request(
    call: Call | undefined,
    method: string,
    params: Params | undefined,
    lifetime: CallLifetime,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse>;
  /** True if the client currently has no stream that could receive messages outside calls. */
  readonly deserted?: boolean;
  /** True if `detach` has an effect for this call, or, without a call, for messages outside calls. */
  detachable?(call: Call | undefined): boolean;
  /** Closes the stream of a call, which goes on, or that of messages outside calls. The client resumes after `retryMs`. */
  detach?(call: Call | undefined, retryMs?: number): void;
}

/** Data that arrived with a request outside its JSON. */
export interface CallOrigin {
  /** Result of the authorization gate. Handlers read it as `ctx.auth`. */
  readonly auth?: AuthInfo | undefined;
  /** Identity of the caller, if a gate names it. State that was sealed for one principal is refused to another. */
  readonly principal?: string | undefined;
  /** Time at which the authorization of the caller expires, on the server's clock. */
  readonly endsAt?: number | undefined;
  /** Decides if the caller is authorized for the operation in the request body. */
  readonly judge?: GateAdmission["judge"];
  /** Path and query of the HTTP request. */
  readonly url?: string;
  /** Returns a header of the HTTP request by its lower-case name. */
  header?(name: string): string | undefined;
  readonly sessionId?: string | undefined;
  /** Address by which callers without a principal are told apart in limits, if the host knows one. */
  readonly remote?: string | undefined;
}

/** Properties that a {@link Call} has from its start. */
export interface CallInit {
  readonly era: ServerEra;
  /** Undefined if nothing is kept between requests. */
  readonly session: EraSession | undefined;
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
  readonly client: ClientDescription;
  readonly wire: ServerWire;
  readonly origin: CallOrigin;
  readonly progressToken: ProgressToken | undefined;
  /** Returns the minimum level of the log messages that the client wants, if any. Called for each message. */
  readonly logLevel: () => LoggingLevel | undefined;
  /** Runs the handler in place of the era, such as for a task. */
  readonly runner?: HandlerRunner | undefined;
}

/** Request that is being served. It ends once. */
export interface Call extends CallInit {
  /** Params as the client sent them. Members that are null are left out if the method does not allow them. */
  params: Params;
  /** Aborted when the call is cancelled, its connection ends, or the server shuts down. */
  readonly end: AbortSwitch;
  /** State that the author put into the result of an earlier round. */
  authoredState: unknown;
  /** True if that state is sealed before it is sent. Otherwise it is sent as the author wrote it. */
  sealsState: boolean;
  /** Answers to the questions in the result of an earlier round. */
  inputResponses: InputResponses | undefined;
  /** Runs after the response has been written. */
  afterAnswer: (() => void) | undefined;
  /** Runs when the handler has finished, while notifications may still be sent. */
  beforeClose: (() => void) | undefined;
  /** Additions of extensions to a subscription. */
  topics?: Topics | undefined;
  /** Idempotency key, if it was read or is that of an earlier round. */
  key?: string | undefined;
  /** Text that is the same for all runs of a handler for this call, in each round and process. Created when it is read. */
  readonly idempotencyKey: string;
  /** True while notifications may be sent for this call. */
  readonly open: boolean;
  /** Marks the handler as finished. From now on only the response is written for this call. */
  close(): void;
  notify(method: string, params: Params | undefined): void | Promise<void>;
}

/** Notifications that a subscription delivers in addition to changes. */
export interface Topics {
  /** Members to add to the acknowledged filter. */
  readonly honoured: { readonly [member: string]: unknown };
  /** Called after the acknowledgment with a function that sends notifications. Returns a function that stops them. */
  start(send: (method: string, params: object) => void | Promise<void>): () => void;
}

/** Result of any method. Public signatures name it so, since `Result` is a type of the protocol there. */
export type ResultObject = { readonly [key: string]: unknown };
export type Result = ResultObject;
export type HandlerResult = Result | PreparedResult;
export type HeaderReader = (name: string) => string | undefined;

/** Handler that is ready to run. It may throw instead of rejecting. */
export type RunHandler = (asking: ClientRequestsOpener) => MaybePromise<HandlerResult>;

/** Runs handlers, which may send requests to the client. */
export interface HandlerRunner {
  runHandler(call: Call, runtime: ServerRuntime, run: RunHandler): MaybePromise<HandlerResult>;
}

export type Outcome =
  | { readonly kind: "result"; readonly result: JsonText }
  | {
      readonly kind: "error";
      readonly error: RpcErrorObject;
      /** True if the SDK refused the call before a handler ran. */
      readonly refused: boolean;
      /** Refusal at a limit, if it was one. */
      readonly busy?: Busy | undefined;
    }
  /** The call was cancelled, so no response is written. */
  | { readonly kind: "dropped" };

/** Encrypts the state of handlers, so that clients can neither read nor change it. */
export interface StateSeal {
  seal(state: unknown, binding: string): Promise<string>;
  /** Rejects with a `Refusal` that gives no details. The reason goes to the log only. */
  open(sealed: string, binding: string): Promise<OpenedState>;
  /** Opens a state. Resolves with undefined if `open` would reject. */
  tryOpen(text: string, binding: string): Promise<OpenedState | undefined>;
}

export interface OpenedState {
  readonly state: unknown;
  /** Round that the state starts, if the server tracks the use of states. */
  readonly use?: StateUse | undefined;
}

/** Use of a sealed state, which a client may present several times. */
export interface StateUse {
  /** Runs the round, joins the round in progress, or returns the outcome of the round that has ended. */
  once(call: Call, run: () => MaybePromise<HandlerResult>): Promise<HandlerResult>;
  /** Returns the steps of the round, which start with the results of earlier rounds. */
  stepsAfter(done: Readonly<Record<string, unknown>>): Steps;
}

/** Settings of legacy HTTP sessions. */
export interface SessionSettings {
  /** True if HTTP sessions are kept. Without them each request is self-contained. */
  readonly enabled: boolean;
  /** Creates the id of a new session: visible ASCII characters that cannot be guessed. @default a random id */
  readonly createId?: (() => string) | undefined;
  /** Called when a client opens a session, before the response is sent. If it fails, the session is refused. */
  readonly onOpen?: ((id: string) => void | Promise<void>) | undefined;
  /** Called once when a session has ended for any reason. */
  readonly onEnd?: ((id: string) => void | Promise<void>) | undefined;
  /** True if clients may end their session by DELETE. @default true */
  readonly clientMayEnd?: boolean | undefined;
  /** True if clients may open a GET stream, for messages outside calls or to resume a lost stream. @default true */
  readonly clientMayListen?: boolean | undefined;
}

/** Request of a caller without a principal. */
export interface UnnamedRequest {
  /** Path and query. */
  readonly url: string;
  /** Address of the connection, if it is known and public. */
  readonly remote: string | undefined;
  /** Returns a header by its lower-case name. */
  header(name: string): string | undefined;
}

/** Options of a server that concern eras. */
export interface RuntimeOptions {
  readonly http?:
    | {
        readonly remoteOf?: ((request: UnnamedRequest) => string | undefined) | undefined;
        readonly gate?: unknown;
      }
    | undefined;
  readonly instructions?: string | undefined;
  readonly capabilities?: { readonly logging?: boolean | undefined } | undefined;
  /** Ping settings. Without them clients are not pinged. */
  readonly pings?: PingOptions | undefined;
  readonly cluster?: Cluster | undefined;
  /** Minimum time between two progress notifications of a call. */
  readonly progressIntervalMs?: number | undefined;
  /** True if results name the server. @default true */
  readonly identify?: boolean | undefined;
  /** Minimum log level for clients that have not set one, in versions that do not require it. */
  readonly logLevel?: LoggingLevel | undefined;
  /** Called when the first client subscribes to a resource, and when the last has unsubscribed. */
  readonly resources?:
    | {
        readonly onSubscribe?: ((uri: string) => void) | undefined;
        readonly onUnsubscribe?: ((uri: string) => void) | undefined;
      }
    | undefined;
}

/** Open subscriptions of a server in all eras. Each watched resource counts as one. */
export interface OpenSubscriptions {
  open: number;
  /** Count of callers without a principal. */
  anonymous: number;
  /** Count by principal, or by address or connection if no gate names a principal. */
  readonly byOwner: Map<unknown, number>;
}

/** Parts of the server that an era uses. */
export interface ServerRuntime {
  readonly options: RuntimeOptions;
  readonly limits: ServerLimits;
  readonly info: Implementation;
  /** Name that the processes of this server share, and that their sealed states and data in a cluster have. */
  readonly audience: string;
  readonly capabilities: ServerCapabilities;
  readonly changes: ChangeBus;
  readonly clock: Clock;
  /** Request bodies that are being received. */
  readonly bodies: RequestBodies;
  /** Returns the seal of states. It is loaded on first use, since few servers need it. */
  seal(): MaybePromise<StateSeal>;
  /** URL elicitations that are not complete. */
  readonly urlElicitations: UrlElicitations;
  /** Serialized metadata at the end of plain results, which is the same for all results of a server. Modern only. */
  plainStamp?: string | undefined;
  /** True if new requests are refused. */
  readonly draining: boolean;
  /** Creates the refusal of a call at a limit, and counts it. */
  busy(status: 429 | 503, limit: string, message: string): Busy;
  readonly subscriptions: OpenSubscriptions;
  /** All versions that this server supports, newest first. */
  readonly versions: readonly string[];
  /**
   * Runs a call until its outcome, in the same turn if nothing waits. Never rejects. The limits of running calls apply
   * to each call, the rate limit unless the call `skipsRateLimit`.
   */
  readonly run: (call: Call, skipsRateLimit?: boolean) => MaybePromise<Outcome>;
  /** True if the author defined this method. */
  knows(method: string): boolean;
  /** Returns the params member of a custom method that is mirrored in the Mcp-Name header. */
  nameFrom?(method: string): string | undefined;
  /** True if a tool mirrors arguments in headers. */
  readonly mirrorsArguments: boolean;
  /** Returns the arguments of a tool that are mirrored in headers. Returns undefined for an unknown tool. */
  paramHeaders(tool: string): readonly ParamHeader[] | undefined;
  /** Returns the output schema of a tool, if it has one. */
  outputSchema(tool: string): { readonly [key: string]: unknown } | undefined;
  /** Returns the cache hints for results of a method that have none of their own. */
  cacheHints(method: string): { readonly ttlMs: number; readonly cacheScope: CacheScope };
  /**
   * Creates the function that passes the notifications of a connection to the author's handlers. It never throws. A call
   * of `notificationCall` belongs to no request, and sends messages as other calls do, as far as the era supports it. The
   * notifications are counted for the principal of the connection.
   */
  receiver(
    notificationCall: (method: string) => Call,
    principal: string | undefined,
  ): (notification: RpcNotification) => void;
  /** Called when the server uses a capability that the era has deprecated. */
  uses?(feature: DeprecatedFeature): void;
  /** Called when a feature is used that the protocol has deprecated. */
  deprecated?(deprecation: Deprecation): void;
  /**
   * Reports an error to `onError` and the logger, or prints it if there is neither. With `warn`, for mistakes of the
   * client, the log gets no stack and nothing is printed.
   */
  report(error: unknown, where: ReportContext, level?: "warn"): void;
  /** Warns the developer of a setup that works but should be changed. */
  warn(message: string, ...fields: readonly Record<string, unknown>[]): void;
  /** Same as `warn`, for a setup that is not safe or not whole. Without a logger, the message is printed once. */
  warnOfRisk(message: string, ...fields: readonly Record<string, unknown>[]): void;
  debug(message: string, ...fields: readonly Record<string, unknown>[]): void;
  /** Calls the listener when a drain begins, which waits for its promise, and with true at the close. Returns its removal. */
  onClosing(listener: (isOver: boolean) => unknown): () => void;
  /** Called when a session has ended, here or elsewhere, with the id of an HTTP session or the session of a connection. */
  onSessionEnd?: ((ended: string | EraSession) => void) | undefined;
  /** Calls the listener for log messages outside calls. Returns a function that removes the listener. */
  onLog(listener: (message: LogMessage) => void): () => void;
  /** True if a resource exists for the caller: in the definitions, or perhaps in a handler of the author's own. */
  hasResource(call: Call, uri: string): MaybePromise<boolean>;
  /** Calls `tell` if the caller may see the resource: at once if all callers may, otherwise after the check. */
  ifSeen(call: Call, uri: string, tell: () => void): void;
  /** Number of subscribers by resource URI. */
  readonly watched: Map<string, number>;
}

/** Log message for clients. */
export interface LogMessage {
  readonly level: LoggingLevel;
  readonly data: unknown;
  readonly logger?: string | undefined;
}

export interface ReportContext {
  readonly where: string;
  readonly method?: string | undefined;
  readonly id?: string | number | undefined;
  /** Name of the tool or prompt, or URI of the resource, that the handler belongs to. */
  readonly name?: string | undefined;
}

/** State of an era for one connection. */
export interface EraSession {
  /** Description of the client from the handshake. Undefined before the handshake, and in the modern era. */
  readonly established?: ClientDescription | undefined;
  /** Number of calls in progress. */
  running: number;
  /** Decodes a request to a call or to a refusal. It may return a promise, since sessions may be stored elsewhere. */
  decode(request: RpcRequest, origin: CallOrigin): MaybePromise<Call | Refusal>;
  /** Processes a notification other than `notifications/cancelled`. Never throws or rejects. */
  receive(notification: RpcNotification): void;
  /** Returns the reason why a batch is refused, or undefined if it is accepted. */
  batchProblem(items: readonly unknown[]): string | undefined;
  /** True if `notifications/cancelled` may end this call. */
  cancellable(call: Call): boolean;
  close(): void;
}

export type BuiltinHandler = (call: Call, runtime: ServerRuntime) => MaybePromise<HandlerResult>;

/** HTTP side of an era on a server. */
export interface HttpBinding {
  /** Answers an exchange. `body` is undefined for HTTP methods without a body. */
  serve(exchange: HttpExchange, body: Parsed | undefined): void;
  /** Returns counts of what is open, for tests and gauges. */
  stats?(): Readonly<Record<string, number>>;
  /** Answers an exchange on a path that only this era has. Its body has not been read. */
  route?(exchange: HttpExchange): void;
  /** Resolves when no call is running. */
  idle(): Promise<void>;
  /** Ends all streams and sessions. Resolves when their last messages have been written. */
  close(): void | Promise<void>;
}

/** Session options of the author. `false` disables sessions. */
export type SessionOptions = false | Optional<Omit<SessionSettings, "enabled">>;

/** Options of an HTTP endpoint that concern eras. */
export interface HttpBindingOptions {
  readonly sessions?: SessionOptions | undefined;
  /** Milliseconds of silence on a stream after which a comment is written. */
  readonly keepAliveMs?: number | undefined;
  /**
   * Form of responses. `sse`: always a stream. `json`: never a stream, except for subscriptions. `prefer-json`: a stream
   * only for messages (modern), or only if the client does not accept JSON (legacy).
   */
  readonly responseMode?: "auto" | "sse" | "prefer-json" | "json" | undefined;
  /** Log of streamed events, from which lost streams are resumed. `true` keeps it in memory. */
  readonly resumable?: EventLog | boolean | undefined;
  /** Milliseconds that clients should wait before they reconnect. */
  readonly retryMs?: number | undefined;
  /** Paths of the HTTP+SSE transport. `true` uses the default paths. Legacy only. */
  readonly sse?: boolean | SsePaths | undefined;
  /** Serves a channel that this binding creates. */
  readonly accept?: AcceptChannel | undefined;
  /** Returns true if the body may be served. Otherwise it answers the exchange. */
  readonly admits?: (exchange: HttpExchange, body: Parsed) => boolean;
}

/** Serves a channel in a single era. `origin` is read for each request. Settles when the channel is being served. */
export type AcceptChannel = (era: ServerEra, channel: Channel, origin: () => CallOrigin) => Promise<unknown>;

/** Era that a server offers: the data that is needed before a client uses it. `load` returns the rest. */
export interface OfferedEra {
  readonly name: EraName;
  readonly versions: readonly string[];
  /** True if the message belongs to this era. */
  claims(message: RpcMessage, header?: HeaderReader): boolean;
  /** True if the era defines a method of this name. */
  specifies(method: string): boolean;
  /** Returns the HTTP methods other than POST that this era answers. */
  httpMethods(options: HttpBindingOptions): readonly string[];
  /** True if only this era serves the HTTP path. */
  ownsPath?(url: string, options: HttpBindingOptions): boolean;
  /** Returns the era, or a promise if it has to be loaded. */
  load(): MaybePromise<ServerEra>;
}

/** Protocol era on the server. The object has no state and is shared. */
export interface ServerEra extends OfferedEra, HandlerRunner {
  /** Methods of this era. A method outside this table exists only if the author defined it. */
  readonly methods: MethodTable;
  /** True if results have a `resultType`. */
  readonly typesResults: boolean;
  /** Methods that the era answers itself. */
  readonly builtins: ReadonlyMap<string, BuiltinHandler>;
  encode(call: Call, result: HandlerResult, runtime: ServerRuntime): JsonText;
  encodeError(error: RpcError, call: Call | undefined): RpcErrorObject;
  /** Creates the params of a progress notification. */
  encodeProgress(call: Call, token: ProgressToken, progress: Progress): Params;
  /** Returns why a handler's error code cannot be sent in this era, and the remedy. Returns undefined if it can. */
  misuse(rpcCode: number): string | undefined;
  /** Creates the HTTP side of this era for one server. */
  http(runtime: ServerRuntime, options: HttpBindingOptions): MaybePromise<HttpBinding>;
  /** Creates the state of this era for one channel. */
  attach(runtime: ServerRuntime, wire: ServerWire): EraSession;
}

/** Rules of a protocol version for requests of one method. */
export interface MethodShape {
  /** Checks `params`, which is undefined if the request has none. */
  readonly params: Check;
  /** Params member that is mirrored in the Mcp-Name header. */
  readonly nameFrom?: "name" | "uri" | "taskId";
  /** Side that may send the request. */
  readonly from: "client" | "server" | "both";
  /** True if the result may be `input_required`. */
  readonly asks?: boolean;
  /** True if the result carries cache hints. */
  readonly cacheable?: boolean;
}

/** Methods that exist in a version. */
export type MethodTable = ReadonlyMap<string, MethodShape>;

/** Checks of results by method, for the side that sent the request. */
export type ResultTable = ReadonlyMap<string, Check>;
/** Notifications that exist in a version, with the checks of their params. */
export type NotificationTable = ReadonlyMap<string, Check>;

/** Result that is the same for every client. It is serialized once per key: an era, or a version of the legacy era. */
export class PreparedResult {
  /** Undefined, as in every plain result. */
  declare readonly resultType: undefined;
  static readonly #byResult = new WeakMap<object, PreparedResult>();
  readonly #texts = new Map<string, JsonText>();

  constructor(readonly result: { readonly [key: string]: unknown }) {
    PreparedResult.#byResult.set(result, this);
  }

  /** Returns the prepared form of a result that interceptors passed on, or the result itself if it has none. */
  static of(result: HandlerResult): HandlerResult {
    return PreparedResult.#byResult.get(result) ?? result;
  }

  textFor(key: string, write: (result: { readonly [key: string]: unknown }) => JsonText): JsonText {
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = write(this.result);
      this.#texts.set(key, text);
    }
    return text;
  }
}
