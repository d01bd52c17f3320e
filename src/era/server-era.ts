import type { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type { MaybePromise } from "../call/maybe-promise.js";
import type { PingOptions } from "../call/ping-loop.js";
import type { GateAdmission, HttpExchange } from "../http/exchange.js";
import type { ParamHeader } from "../http/param-headers.js";
import type { RequestBodies } from "../http/request-bodies.js";
import type { Deprecation } from "../protocol/deprecations.js";
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
import type { Steps } from "./steps.js";
import type { UrlElicitations } from "./url-elicitations.js";

/** What is known about the client that made a call. */
export interface ClientDescription {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** Self-reported: for display and logs, never for decisions. */
  readonly info: Implementation | undefined;
}

/** The way back to the client. */
export interface ServerWire {
  /** True where many calls share one pipe, so that ends must be spelled out. */
  readonly shared: boolean;
  /** Sends a notification; `call` is the call it belongs to, if any. */
  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void>;
  /** Sends a request to the client, where the era has such a thing. */
  request(
    call: Call | undefined,
    method: string,
    params: Params | undefined,
    lifetime: CallLifetime,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse>;
  /** Whether nobody is there to hear now what belongs to no call. */
  readonly deserted?: boolean;
  /** Whether `detach` can do anything for this call, or without one for what belongs to no call. */
  detachable?(call: Call | undefined): boolean;
  /**
   * Closes the connection that carries what is sent for this call, or what belongs to no call. The call goes on, and the
   * client, told to come back after `retryMs`, receives the rest then.
   */
  detach?(call: Call | undefined, retryMs?: number): void;
}

/** What came along with a request outside its JSON. */
export interface CallOrigin {
  /** What an authorization gate found out; handlers read it as `ctx.auth`. */
  readonly auth?: unknown;
  /** Who makes the call, as far as a gate could tell: state made for one is refused to another. */
  readonly principal?: string | undefined;
  /** When the gate's word for the caller ends, on the server's clock. */
  readonly endsAt?: number | undefined;
  /** What the gate says of what the caller is about to do. */
  readonly judge?: GateAdmission["judge"];
  /** Path and query as requested, on HTTP. */
  readonly url?: string;
  /** A request header by lower-case name, on HTTP. */
  header?(name: string): string | undefined;
  readonly sessionId?: string | undefined;
}

export interface CallInit {
  readonly era: ServerEra;
  /** Undefined where nothing is kept between requests. */
  readonly session: EraSession | undefined;
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
  readonly client: ClientDescription;
  readonly wire: ServerWire;
  readonly origin: CallOrigin;
  readonly progressToken: ProgressToken | undefined;
  /** The least severe level the client wants to hear, if any; read anew for each message. */
  readonly logLevel: () => LoggingLevel | undefined;
}

/** One request being served. It ends once. */
export interface Call extends CallInit {
  /** Thrown when the call is cancelled, its connection ends, or the server shuts down. */
  readonly end: AbortSwitch;
  /** The state that the author put into an earlier round's result. */
  authoredState: unknown;
  /** Whether that state is sealed on its way; otherwise it goes out as the author wrote it. */
  sealsState: boolean;
  /** The answers to the questions of an earlier round's result. */
  inputResponses: InputResponses | undefined;
  /** Runs after the answer has been written. */
  afterAnswer: (() => void) | undefined;
  /** Runs when the handler is done, as long as something may still be sent. */
  beforeClose: (() => void) | undefined;
  /** What extensions add to a subscription. */
  topics?: Topics | undefined;
  /** Whether anything may still be sent on behalf of this call. */
  readonly open: boolean;
  /** The handler is done: from here on nothing is written for this call but its answer. */
  close(): void;
  notify(method: string, params: Params | undefined): void | Promise<void>;
}

/** What is served on a subscription beside changes. */
export interface Topics {
  /** Members of the filter that is acknowledged. */
  readonly honoured: { readonly [member: string]: unknown };
  /** Called after the acknowledgment, with the way to send; returns what ends it. */
  start(send: (method: string, params: object) => void | Promise<void>): () => void;
}

export type Result = { readonly [key: string]: unknown };
export type HandlerResult = Result | PreparedResult;
export type HeaderReader = (name: string) => string | undefined;

/** A handler, ready to run. It may throw instead of rejecting. */
export type RunHandler = (asking: ClientRequestsOpener) => MaybePromise<HandlerResult>;

/** How serving a call ended. */
export type Outcome =
  | { readonly kind: "result"; readonly result: JsonText }
  | {
      readonly kind: "error";
      readonly error: RpcErrorObject;
      /** The SDK refused it before any handler ran. */
      readonly refused: boolean;
      /** The refusal, where a bound was reached. */
      readonly busy?: Busy | undefined;
    }
  /** Cancelled: nothing is to be written for it. */
  | { readonly kind: "dropped" };

/** Turns handler state into a text that only this server can read, and back. */
export interface StateSeal {
  seal(state: unknown, binding: string): Promise<string>;
  /** Rejects with a `Refusal` that says nothing, and tells the log why. */
  open(sealed: string, binding: string): Promise<OpenedState>;
  /** Undefined for whatever `open` would refuse. */
  tryOpen(text: string, binding: string): Promise<OpenedState | undefined>;
}

export interface OpenedState {
  readonly state: unknown;
  /** The round that the state begins, where the server keeps account of it. */
  readonly use?: StateUse | undefined;
}

/** One sealed state that a client has presented, once or several times. */
export interface StateUse {
  /** Runs the round, joins the one that runs, or gives the outcome of the one that ran. */
  once(call: Call, run: () => MaybePromise<HandlerResult>): Promise<HandlerResult>;
  /** The steps of the round, which begin with those of earlier rounds. */
  stepsAfter(done: Readonly<Record<string, unknown>>): Steps;
}

export interface SessionSettings {
  /** Whether HTTP sessions are kept at all; without them each request stands alone. */
  readonly enabled: boolean;
  /** Names a new session: visible ASCII that nobody can guess. Random unless given. */
  readonly createId?: (() => string) | undefined;
  /** Called when a client opens a session, before it is told so; a failure refuses it. */
  readonly onOpen?: ((id: string) => void | Promise<void>) | undefined;
  /** Called once when a session has ended, whoever ended it. */
  readonly onEnd?: ((id: string) => void | Promise<void>) | undefined;
  /** Whether clients may end their session. They may unless told otherwise. */
  readonly clientMayEnd?: boolean | undefined;
  /** Whether clients may open a stream for what belongs to no call, or take up a lost one. They may unless told otherwise. */
  readonly clientMayListen?: boolean | undefined;
}

/** What the author of a server says about what eras do. Where nothing is said, they know what to do. */
export interface RuntimeOptions {
  readonly instructions?: string | undefined;
  /** How to watch whether clients are there, if at all. */
  readonly pings?: PingOptions | undefined;
  /** The shortest time between two reports of progress of a call, if there is one. */
  readonly progressIntervalMs?: number | undefined;
  /** Whether results name the server. They do unless told otherwise. */
  readonly identify?: boolean | undefined;
  /** What clients hear that need not ask, until they do. */
  readonly logLevel?: LoggingLevel | undefined;
  /** Told when the first client begins to watch a resource, and when the last has stopped. */
  readonly resources?:
    | {
        readonly onSubscribe?: (uri: string) => void;
        readonly onUnsubscribe?: (uri: string) => void;
      }
    | undefined;
}

/** The subscriptions that are open in all eras of a server. A resource that a client watches counts as one. */
export interface OpenSubscriptions {
  open: number;
  /** By principal, or by connection where no gate names a principal. */
  readonly byOwner: Map<unknown, number>;
}

/** What an era may ask of the server that it serves. */
export interface ServerRuntime {
  readonly options: RuntimeOptions;
  readonly limits: ServerLimits;
  readonly info: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly changes: ChangeBus;
  readonly clock: Clock;
  /** The request bodies that are under way. */
  readonly bodies: RequestBodies;
  /** What seals is loaded with the first state: few servers ask. */
  seal(): MaybePromise<StateSeal>;
  /** The pages that clients were asked to send their users to. */
  readonly urlElicitations: UrlElicitations;
  /** The text that ends plain results, where the era stamps them; it is the same for all results of a server. */
  plainStamp?: string | undefined;
  /** Whether new requests are refused. */
  readonly draining: boolean;
  /** Makes the refusal of what a limit does not allow, and counts it. */
  busy(status: 429 | 503, limit: string, message: string): Busy;
  readonly subscriptions: OpenSubscriptions;
  /** Every version that this server speaks, newest first. */
  readonly versions: readonly string[];
  /** Serves one call to its end: in this turn, unless something in it takes time. Never throws or rejects. */
  readonly run: (call: Call) => MaybePromise<Outcome>;
  /** Whether the author defined this method. */
  knows(method: string): boolean;
  /** The params member that names what a method of the author's is about, mirrored in the Mcp-Name header. */
  nameFrom?(method: string): string | undefined;
  /** Whether some tool mirrors arguments into headers. */
  readonly mirrorsArguments: boolean;
  /** The arguments of a tool that are mirrored into headers; undefined for a tool that does not exist. */
  paramHeaders(tool: string): readonly ParamHeader[] | undefined;
  /** The output schema that a tool was defined with, if any. */
  outputSchema(tool: string): { readonly [key: string]: unknown } | undefined;
  /** What is told about keeping results of a method that do not say so themselves. */
  cacheHints(method: string): { readonly ttlMs: number; readonly cacheScope: CacheScope };
  /**
   * Makes what hands the notifications of one connection to the handlers of the server's author; it never throws.
   * `notificationCall` makes a call that belongs to no request but may ask and tell as a call can, where the era lets it.
   */
  receiver(notificationCall: (method: string) => Call): (notification: RpcNotification) => void;
  /** Looks at what a client can do, where some of it is deprecated. */
  meet?(capabilities: ClientCapabilities): void;
  /** A feature that the protocol has deprecated is being used. */
  deprecated?(deprecation: Deprecation): void;
  report(error: unknown, where: ReportContext): void;
  /** Tells the developer of something that works but should not be left so. */
  warn(message: string, fields?: Record<string, unknown>): void;
  debug(message: string, fields: Record<string, unknown>): void;
  /** Calls the listener when the server begins to close; returns the way to stop listening. */
  onClosing(listener: () => void): () => void;
  /** Hears of log messages that belong to no call; returns the way to stop. */
  onLog(listener: (message: LogMessage) => void): () => void;
  /** Tells of a change of a resource if the maker of a call may see it: at once where all may, and otherwise once it is known. */
  ifSeen(call: Call, uri: string, tell: () => void): void;
  /** How many clients watch each resource. */
  readonly watched: Map<string, number>;
}

/** A log message on its way to clients. */
export interface LogMessage {
  readonly level: LoggingLevel;
  readonly data: unknown;
  readonly logger?: string | undefined;
}

export interface ReportContext {
  readonly where: string;
  readonly method?: string | undefined;
  readonly id?: string | number | undefined;
}

/** What an era knows about one connection. */
export interface EraSession {
  /** What a handshake told about the client; undefined before it, and where there is none. */
  readonly established?: ClientDescription | undefined;
  /** How many of its calls run. */
  running: number;
  /** Makes a call of a request, or tells why it is refused. It may take time, since sessions may be kept elsewhere. */
  decode(request: RpcRequest, origin: CallOrigin): MaybePromise<Call | Refusal>;
  /** A notification other than a cancellation. Never throws or rejects. */
  receive(notification: RpcNotification): void;
  /** Why an inbound array is not taken apart; undefined where it is. */
  batchProblem(items: readonly unknown[]): string | undefined;
  /** Whether a cancellation may end this call. */
  cancellable(call: Call): boolean;
  close(): void;
}

export type BuiltinHandler = (call: Call, runtime: ServerRuntime) => MaybePromise<HandlerResult>;

/** One way of speaking HTTP, on the server. */
export interface HttpBinding {
  /** Answers one exchange; `body` is undefined for methods without one. */
  serve(exchange: HttpExchange, body: Parsed | undefined): void;
  /** What is being held, for tests and gauges. */
  stats?(): Readonly<Record<string, number>>;
  /** Answers an exchange on a path of the era's own. Its body is unread. */
  route?(exchange: HttpExchange): void;
  /** Resolves when no call is running. */
  idle(): Promise<void>;
  /** Ends everything: streams and sessions. Resolves when what has a last word has said it. */
  close(): void | Promise<void>;
}

/** What the author says about sessions: `false` for none. */
export type SessionOptions = false | Partial<Omit<SessionSettings, "enabled">>;

/** How an endpoint is to be served, as far as its author says. */
export interface HttpBindingOptions {
  readonly sessions?: SessionOptions | undefined;
  /** Answer with one JSON document instead of a stream wherever that loses nothing the client asked for. */
  readonly preferJson?: boolean | undefined;
  /** A comment is written on a stream that has been silent this long. */
  readonly keepAliveMs?: number | undefined;
  /** The form of answers that is insisted on: only streams, or never one but for subscriptions. */
  readonly responseMode?: "auto" | "sse" | "json" | undefined;
  /** Remembers what was streamed, so that a lost stream can be read on; `true` for a log in memory. */
  readonly resumable?: EventLog | boolean | undefined;
  /** What clients are told to wait before they reconnect. */
  readonly retryMs?: number | undefined;
  /** The two paths of the transport with a stream of its own, in the era that had it. */
  readonly sse?: boolean | SsePaths | undefined;
  /** Serves a channel that this binding makes. */
  readonly accept?: AcceptChannel | undefined;
  /** Whether a body may be served; answers the exchange where it may not. */
  readonly admits?: (exchange: HttpExchange, body: Parsed) => boolean;
}

export interface SsePaths {
  /** Where the stream is. `/sse` unless given. */
  readonly path?: string;
  /** Where messages are posted; it may have a query. `/messages` unless given. */
  readonly messagesPath?: string;
}

/** Serves a channel in one era alone, each request with the origin of its moment; settles when it is being served. */
export type AcceptChannel = (era: ServerEra, channel: Channel, origin: () => CallOrigin) => Promise<unknown>;

/**
 * An era that a server offers: what has to be known of it before a client speaks it, and the way to the rest, which may
 * be loaded then.
 */
export interface OfferedEra {
  readonly name: string;
  readonly versions: readonly string[];
  claims(message: RpcMessage, header?: HeaderReader): boolean;
  /** Whether a method of this name is the era's. */
  specifies(method: string): boolean;
  /** HTTP methods other than POST that this era answers. */
  httpMethods(options: HttpBindingOptions): readonly string[];
  /** Whether an HTTP path is the era's own. */
  ownsPath?(url: string, options: HttpBindingOptions): boolean;
  /** What `HttpBinding.stats` tells before the era is loaded. */
  readonly noStats?: Readonly<Record<string, number>>;
  /** Gives the era itself: at once, or once it is loaded. */
  load(): MaybePromise<ServerEra>;
}

/** What a protocol era answers for on the server. Built once, shared, no state. */
export interface ServerEra extends OfferedEra {
  /** A method missing here does not exist in this era, unless the author defined it. */
  readonly methods: MethodTable;
  /** Whether results say of which type they are. */
  readonly typesResults: boolean;
  /** What the era itself answers. */
  readonly builtins: ReadonlyMap<string, BuiltinHandler>;
  encode(call: Call, result: HandlerResult, runtime: ServerRuntime): JsonText;
  encodeError(error: RpcError, call: Call | undefined): RpcErrorObject;
  /** What a report of progress looks like in this era. */
  encodeProgress(call: Call, token: ProgressToken, progress: Progress): Params;
  /** Why a handler's error code cannot be sent in this era, and what to do instead; undefined for one that can. */
  misuse(rpcCode: number): string | undefined;
  /** Runs a handler that may ask, in this era's way of asking. */
  runHandler(call: Call, runtime: ServerRuntime, run: RunHandler): MaybePromise<HandlerResult>;
  /** Makes this era's way of speaking HTTP, for one server. */
  http(runtime: ServerRuntime, options: HttpBindingOptions): HttpBinding;
  /** Makes what this era keeps for one channel. */
  attach(runtime: ServerRuntime, wire: ServerWire): EraSession;
}

/** What a protocol version says about a request of one method. */
export interface MethodShape {
  /** Checks `params`, which is undefined when the request has none. */
  readonly params: Check;
  /** The params member that names what the request is about, mirrored in the Mcp-Name header. */
  readonly nameFrom?: "name" | "uri" | "taskId";
  /** Who may send it. */
  readonly from: "client" | "server" | "both";
  /** May be answered by a question for input. */
  readonly asks?: boolean;
  /** Its result carries cache hints. */
  readonly cacheable?: boolean;
}

/** The methods that exist; one that is missing here does not. */
export type MethodTable = ReadonlyMap<string, MethodShape>;

/** What the answers to the methods look like: for whoever asks. */
export type ResultTable = ReadonlyMap<string, Check>;

/** The notifications that exist, each with the check of its params. */
export type NotificationTable = ReadonlyMap<string, Check>;

/** A result that is the same for every client: each era writes it as text once. */
export class PreparedResult {
  /** Undefined, as in every plain result. */
  declare readonly resultType: undefined;
  readonly #texts = new Map<string, JsonText>();

  constructor(readonly result: { readonly [key: string]: unknown }) {}

  textFor(key: string, write: (result: { readonly [key: string]: unknown }) => JsonText): JsonText {
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = write(this.result);
      this.#texts.set(key, text);
    }
    return text;
  }
}
