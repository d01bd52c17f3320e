import { type Delivery, type HttpAnswer, isRetrySafe } from "./delivery.js";
import { isTextList } from "./json.js";
import { describeIssues, oneLine } from "./text.js";
import type { ClientCapabilities, InputRequiredResult } from "./types/index.js";

export const USER_REJECTED = -1;

export const URL_ELICITATION_REQUIRED = -32042;

/** The longest message; the rest of a longer one is cut off. */
const MAX_MESSAGE_CHARS = 4000;

/**
 * The errors a user of the SDK can meet. `code` is the contract: a stable string, safe to branch on.
 * The classes exist so that `instanceof` reads well; messages may change. A message may repeat words of a peer, so it is one
 * line of visible text.
 */
export class McpError extends Error {
  override readonly name: string = "McpError";
  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(oneLine(message, MAX_MESSAGE_CHARS), options);
  }
}

export interface RpcErrorOptions extends ErrorOptions {
  readonly method?: string | undefined;
  readonly local?: boolean;
  /** How HTTP carried the answer, where it has a status of its own. */
  readonly http?: HttpAnswer | undefined;
}

/** The peer answered with a JSON-RPC error, or a handler wants to answer with one: its message is sent as it is. */
export class RpcError extends McpError {
  override readonly name: string = "RpcError";
  readonly rpcCode: number;
  readonly data: unknown;
  /** The method that was answered so, on the side that called. */
  readonly method: string | undefined;
  /** True when this side refused the call itself and nothing was sent. */
  readonly local: boolean;
  /** Whether the error proves that no handler ran: see `Delivery`. */
  readonly delivery: Delivery;
  readonly retrySafe: boolean;
  /** The HTTP status that the error came with, where the call was refused by one. */
  readonly status: number | undefined;
  /** How long the server asks to wait before the next request, by `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  constructor(rpcCode: number, message: string, data?: unknown, options?: RpcErrorOptions) {
    super("rpc_error", message, options);
    this.message = message;
    this.rpcCode = rpcCode;
    this.data = data;
    this.method = options?.method;
    this.local = options?.local === true;
    const { http } = options ?? {};
    this.delivery = this.local ? "not_sent" : http?.delivery === "refused" ? "refused" : "answered";
    this.retrySafe = isRetrySafe(this.delivery);
    this.status = http?.status;
    this.retryAfterMs = http?.retryAfterMs;
  }
}

/** The server's last word was a question: `result` holds it. The code says why it was not answered. */
export class InputRequiredError extends McpError {
  override readonly name = "InputRequiredError";
  constructor(
    code: "input_required" | "too_many_rounds",
    message: string,
    readonly result: InputRequiredResult,
  ) {
    super(code, message);
  }
}

/** The two sides have no protocol version in common that this side may speak. */
export class VersionError extends McpError {
  override readonly name = "VersionError";
  constructor(
    message: string,
    /** What the server said it speaks, if it said so. */
    readonly supported: readonly string[] | undefined,
    /** What this side may speak. */
    readonly wanted: readonly string[],
    options?: ErrorOptions,
  ) {
    super("no_common_version", message, options);
  }
}

/** The server does not speak the version that was asked for, and names those that it does. */
export class UnsupportedVersionError extends RpcError {
  override readonly name = "UnsupportedVersionError";
  readonly supported: readonly string[];
  readonly requested: string | undefined;
  constructor(
    rpcCode: number,
    message: string,
    data: unknown,
    details: RpcErrorOptions & { readonly supported: readonly string[]; readonly requested: string | undefined },
  ) {
    super(rpcCode, message, data, details);
    this.supported = details.supported;
    this.requested = details.requested;
  }
}

/** The server needs something of the client that the call did not declare. */
export class MissingCapabilityError extends RpcError {
  override readonly name = "MissingCapabilityError";
  /** Only what is missing. */
  readonly requiredCapabilities: ClientCapabilities;
  constructor(
    rpcCode: number,
    message: string,
    data: unknown,
    details: RpcErrorOptions & { readonly requiredCapabilities: ClientCapabilities },
  ) {
    super(rpcCode, message, data, details);
    this.requiredCapabilities = details.requiredCapabilities;
  }
}

/** The user said no to what the server asked of the model. Thrown by a client's handler, met by the server's. */
export class UserRejectedError extends RpcError {
  constructor(message = "The user rejected the request") {
    super(USER_REJECTED, message);
  }
}

/** A page that the user must visit. */
export interface RequiredUrl {
  readonly mode?: "url";
  readonly message: string;
  readonly url: string;
  readonly elicitationId: string;
}

/** The server cannot go on before the user has been at these addresses. */
export class UrlElicitationRequiredError extends RpcError {
  readonly elicitations: readonly RequiredUrl[];
  constructor(elicitations: readonly RequiredUrl[], message = "The user must visit a page first") {
    const problem = requiredUrlProblem(elicitations);
    if (problem !== undefined) throw new TypeError(`UrlElicitationRequiredError: ${problem}`);
    const listed = elicitations.map((one) => ({ ...one, mode: "url" as const }));
    super(URL_ELICITATION_REQUIRED, message, { elicitations: listed });
    this.elicitations = listed;
  }
}

/** The peer broke the protocol: the message says what and where. */
export class ProtocolError extends McpError {
  override readonly name = "ProtocolError";
  constructor(message: string, options?: ErrorOptions) {
    super("protocol_error", message, options);
  }
}

export interface ConnectionErrorDetails extends ErrorOptions {
  /**
   * How far the call had got.
   * @default "sent": nothing is proved
   */
  readonly delivery?: Exclude<Delivery, "answered"> | undefined;
  /** The HTTP status that ended the call, where there is one. */
  readonly status?: number | undefined;
  /** How long the server asks to wait before the next request, by `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** Of a process: its exit code, signal and last lines on stderr. */
  readonly exitCode?: number | null | undefined;
  readonly exitSignal?: string | null | undefined;
  readonly stderr?: readonly string[];
  /** Of a process: the program that was started, without its arguments. */
  readonly command?: string | undefined;
  /** What probably went wrong, where the signs tell. */
  readonly likelyCause?: string | undefined;
}

/** The other side went away, or could not be reached. */
export class ConnectionError extends McpError {
  override readonly name = "ConnectionError";
  readonly delivery: Exclude<Delivery, "answered">;
  /** Whether sending the same call again cannot make a handler run twice. Follows from `delivery` alone. */
  readonly retrySafe: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly exitCode: number | null | undefined;
  readonly exitSignal: string | null | undefined;
  readonly stderr: readonly string[];
  readonly command: string | undefined;
  readonly likelyCause: string | undefined;
  constructor(message: string, details: ConnectionErrorDetails = {}) {
    super("connection_error", message, details);
    this.delivery = details.delivery ?? "sent";
    this.retrySafe = isRetrySafe(this.delivery);
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.exitCode = details.exitCode;
    this.exitSignal = details.exitSignal;
    this.stderr = details.stderr ?? [];
    this.command = details.command;
    this.likelyCause = details.likelyCause;
  }
}

/**
 * The error of a call whose handler has run already, when a further request on its behalf fails: another round of input, or
 * a look at what became of it. What such a request proves about itself, it does not prove about the call. `delivery` is what
 * is known of the call.
 */
export function afterFirstAnswer(error: unknown, delivery: "answer_lost" | "sent" = "answer_lost"): unknown {
  if (error instanceof ConnectionError && error.retrySafe) {
    return new ConnectionError(error.message, { delivery, cause: error });
  }
  if (!(error instanceof RpcError) || !error.retrySafe || error.local) return error;
  const { rpcCode, message, data, method } = error;
  return new RpcError(rpcCode, message, data, { method, cause: error });
}

/** Time ran out: `idle` when nothing was heard for too long, `deadline` when the whole call took too long. */
export class TimeoutError extends McpError {
  override readonly name = "TimeoutError";
  constructor(
    readonly kind: "idle" | "deadline",
    readonly afterMs: number,
    message: string,
  ) {
    super("timeout", message);
  }
}

/** A server of a group cannot be reached, and is left alone for a while; `cause` is why. */
export class ServerUnavailableError extends McpError {
  override readonly name = "ServerUnavailableError";
  declare readonly cause: Error;
  constructor(
    readonly server: string,
    /** How long until it may be tried again. */
    readonly retryInMs: number,
    cause: Error,
  ) {
    const when = `it is tried again when needed in ${retryInMs} ms or later`;
    super("server_unavailable", `Server ${JSON.stringify(server)} is not available (${when}): ${cause.message}`, {
      cause,
    });
  }
}

/** A tool's own failure, meant for the model: becomes a result with `isError`. Its message is sent as it is. */
export class ToolError extends McpError {
  override readonly name = "ToolError";
  constructor(message: string, options?: ErrorOptions) {
    super("tool_error", message, options);
    this.message = message;
  }
}

/** A tool's structured result does not fit the schema that it was listed with, or that the caller gave. */
export class OutputError extends McpError {
  override readonly name = "OutputError";
  constructor(
    readonly tool: string,
    /** What is wrong, and where in the structured content. */
    readonly issues: readonly { readonly path: string; readonly message: string }[],
    /** The result as it came. */
    readonly result: unknown,
  ) {
    super("invalid_output", `The result of tool ${tool} does not fit its output schema: ${describeIssues(issues)}`);
  }
}

/** A server or client is defined in a way that cannot work: thrown while defining, never while serving. */
export class DefinitionError extends McpError {
  override readonly name = "DefinitionError";
  constructor(message: string, options?: ErrorOptions) {
    super("definition_error", message, options);
  }
}

/** What was thrown, as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Why a connection ended is what keeps the next call from being sent. */
export function notConnected(reason?: Error): ConnectionError {
  const why = reason instanceof ConnectionError ? reason.message : "the connection has been closed";
  return new ConnectionError(`Not connected: ${why}`, { ...endOf(reason), delivery: "not_sent", cause: reason });
}

/** How a process ended, for an error that follows from that. */
export function endOf(reason: Error | undefined): ConnectionErrorDetails {
  if (!(reason instanceof ConnectionError)) return {};
  const { exitCode, exitSignal, stderr, command, likelyCause } = reason;
  return { exitCode, exitSignal, stderr, command, likelyCause };
}

/** Whether a value lists protocol versions, one at least. */
export function isVersionList(value: unknown): value is readonly string[] {
  return isTextList(value) && value.length > 0;
}

/** What keeps a value from being a list of pages to visit. */
export function requiredUrlProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return "needs at least one elicitation";
  for (const one of value as readonly Partial<RequiredUrl>[]) {
    if (one.mode !== undefined && one.mode !== "url") return "takes elicitations by URL only";
    if (typeof one.elicitationId !== "string" || one.elicitationId === "") return "needs an elicitationId for each";
    if (typeof one.url !== "string" || typeof one.message !== "string") return "needs a url and a message for each";
  }
  return undefined;
}

/** Thrown into a handler whose call goes on in a later request: whoever catches errors of handlers lets it pass. */
export class HandlerSuspended extends Error {
  override readonly name: string = "HandlerSuspended";
}
