import { isInstance } from "./brand.js";
import { type Delivery, type HttpAnswer, isRetrySafe } from "./delivery.js";
import { isTextList } from "./json.js";
import { findPageUrlProblem } from "./page-url.js";
import { describeIssues, oneLine } from "./text.js";
import type { ClientCapabilities, InputRequiredResult } from "./types/index.js";

/** JSON-RPC error code of a sampling request that the user rejected. */
export const USER_REJECTED = -1;

/** JSON-RPC error code of a call that requires the user to visit a URL first. */
export const URL_ELICITATION_REQUIRED = -32042;

/** Maximum length of a message. Longer messages are truncated. */
const MAX_MESSAGE_CHARS = 4000;

/**
 * Base class of the errors that this package throws. `code` is stable and safe to branch on. Messages may change. A
 * message may contain text from a peer, so it is reduced to one line of visible characters.
 */
export class McpError extends Error {
  protected static readonly bowline: string = "McpError";
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = isInstance;
  override readonly name: string = "McpError";
  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(oneLine(message, MAX_MESSAGE_CHARS), options);
  }
}

/** Options of an {@link RpcError}. */
export interface RpcErrorOptions extends ErrorOptions {
  /** Method of the call that failed. */
  readonly method?: string | undefined;
  /** True if this side rejected the call and sent nothing. */
  readonly local?: boolean;
  /**
   * HTTP properties of the response, if it had an HTTP status of its own.
   * @internal
   */
  readonly http?: HttpAnswer | undefined;
  /**
   * Time to wait before the next request, if a server at a limit named one.
   * @internal
   */
  readonly retryAfterMs?: number | undefined;
}

/**
 * JSON-RPC error. A client receives it as the response to a call; a handler throws it to respond with it. Its message
 * is sent unchanged.
 */
export class RpcError extends McpError {
  protected static override readonly bowline: string = "RpcError";
  override readonly name: string = "RpcError";
  readonly rpcCode: number;
  readonly data: unknown;
  /** Method of the call that failed. Set on the calling side only. */
  readonly method: string | undefined;
  /** True if this side rejected the call and sent nothing. */
  readonly local: boolean;
  /** Delivery state of the call when it failed. */
  readonly delivery: Delivery;
  /** True if sending the same call again cannot run a handler twice. */
  readonly retrySafe: boolean;
  /** HTTP status of the response, if the call was refused with one. */
  readonly status: number | undefined;
  /** Time to wait before the next request, from `Retry-After`, or from `data.retryAfterMs` of error -32005. */
  readonly retryAfterMs: number | undefined;
  constructor(rpcCode: number, message: string, data?: unknown, options?: RpcErrorOptions) {
    super("rpc_error", message, options);
    this.message = message;
    this.rpcCode = rpcCode;
    this.data = data;
    const { method, local, http, retryAfterMs } = options ?? {};
    this.method = method;
    this.local = local === true;
    this.delivery = this.local ? "not_sent" : http?.delivery === "refused" ? "refused" : "answered";
    this.retrySafe = isRetrySafe(this.delivery);
    this.status = http?.status;
    this.retryAfterMs = http?.retryAfterMs ?? retryAfterMs;
  }
}

/**
 * Failure of a call whose last result was an `input_required` result. `result` holds it. `code` tells why it was not
 * answered.
 */
export class InputRequiredError extends McpError {
  protected static override readonly bowline: string = "InputRequiredError";
  override readonly name = "InputRequiredError";
  constructor(
    code: "input_required" | "too_many_rounds",
    message: string,
    readonly result: InputRequiredResult,
  ) {
    super(code, message);
  }
}

/** Failure of a negotiation: client and server support no common protocol version that this side may use. */
export class VersionError extends McpError {
  protected static override readonly bowline: string = "VersionError";
  override readonly name = "VersionError";
  constructor(
    message: string,
    /** Versions that the server supports, if it named them. */
    readonly supported: readonly string[] | undefined,
    /** Versions that this side may use. */
    readonly wanted: readonly string[],
    options?: ErrorOptions,
  ) {
    super("no_common_version", message, options);
  }
}

/** The server does not support the requested protocol version and lists the versions that it supports. */
export class UnsupportedVersionError extends RpcError {
  protected static override readonly bowline: string = "UnsupportedVersionError";
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

/** The call requires a client capability that it did not declare. */
export class MissingCapabilityError extends RpcError {
  protected static override readonly bowline: string = "MissingCapabilityError";
  override readonly name = "MissingCapabilityError";
  /** Missing capabilities only. */
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

/** The user rejected a sampling request. The client's handler throws it; the server's handler receives it. */
export class UserRejectedError extends RpcError {
  protected static override readonly bowline: string = "UserRejectedError";
  constructor(message = "The user rejected the request") {
    super(USER_REJECTED, message);
  }
}

/** URL that the user must visit. */
export interface RequiredUrl {
  readonly mode?: "url";
  readonly message: string;
  readonly url: string;
  readonly elicitationId: string;
}

/** The server cannot continue before the user has visited these URLs. */
export class UrlElicitationRequiredError extends RpcError {
  protected static override readonly bowline: string = "UrlElicitationRequiredError";
  readonly elicitations: readonly RequiredUrl[];
  constructor(elicitations: readonly RequiredUrl[], message = "The user must visit a page first") {
    const problem = requiredUrlProblem(elicitations);
    if (problem !== undefined) throw new TypeError(`UrlElicitationRequiredError: ${problem}`);
    const listed = elicitations.map((one) => ({ ...one, mode: "url" as const }));
    super(URL_ELICITATION_REQUIRED, message, { elicitations: listed });
    this.elicitations = listed;
  }
}

/** The peer violated the protocol. The message names the violation and its place. */
export class ProtocolError extends McpError {
  protected static override readonly bowline: string = "ProtocolError";
  override readonly name = "ProtocolError";
  constructor(message: string, options?: ErrorOptions) {
    super("protocol_error", message, options);
  }
}

/** Details of a {@link ConnectionError}. */
export interface ConnectionErrorDetails extends ErrorOptions {
  /**
   * Delivery state of the call when the connection failed.
   * @default "sent"
   */
  readonly delivery?: Exclude<Delivery, "answered"> | undefined;
  /** HTTP status that ended the call, if there is one. */
  readonly status?: number | undefined;
  /** Time to wait before the next request, from `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** Of a process: exit code, signal, and last lines on stderr. */
  readonly exitCode?: number | null | undefined;
  readonly exitSignal?: string | null | undefined;
  readonly stderr?: readonly string[];
  /** Of a process: the command that was started, without its arguments. */
  readonly command?: string | undefined;
  /** Probable cause, if the symptoms indicate one. */
  readonly likelyCause?: string | undefined;
}

/** Returns the cause of an error, or that cause's own cause if it is the end of a process, which the message repeats. */
function withoutEcho(message: string, cause: unknown): ErrorOptions {
  const isEcho = cause instanceof ConnectionError && cause.command !== undefined && message.includes(cause.message);
  const told = isEcho ? cause.cause : cause;
  return told === undefined ? {} : { cause: told };
}

/** The peer closed the connection or could not be reached. */
export class ConnectionError extends McpError {
  protected static override readonly bowline: string = "ConnectionError";
  override readonly name = "ConnectionError";
  readonly delivery: Exclude<Delivery, "answered">;
  /** True if sending the same call again cannot run a handler twice. Derived from `delivery` alone. */
  readonly retrySafe: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly exitCode: number | null | undefined;
  readonly exitSignal: string | null | undefined;
  /** Last lines of a process on stderr. Not enumerable, since the message quotes the line that matters. */
  declare readonly stderr: readonly string[];
  readonly command: string | undefined;
  readonly likelyCause: string | undefined;
  constructor(message: string, details: ConnectionErrorDetails = {}) {
    super("connection_error", message, withoutEcho(message, details.cause));
    this.delivery = details.delivery ?? "sent";
    this.retrySafe = isRetrySafe(this.delivery);
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.exitCode = details.exitCode;
    this.exitSignal = details.exitSignal;
    Object.defineProperty(this, "stderr", { value: details.stderr ?? [] });
    this.command = details.command;
    this.likelyCause = details.likelyCause;
  }
}

/**
 * True if the state that processes share cannot be reached, or has no room now: the same request may succeed later. The
 * class of such an error belongs to a higher layer.
 */
export function isStateAway(error: unknown): boolean {
  if (!(error instanceof McpError)) return false;
  return error.code === "cluster_unavailable" || error.code === "cluster_unknown_outcome";
}

/**
 * Converts the error of a later request of a call, such as another round of input, when the first request has already
 * reached the handler. The later request may be safe to retry, but the call is not. `delivery` is the delivery of the
 * call.
 */
export function afterFirstAnswer(error: unknown, delivery: "answer_lost" | "sent" = "answer_lost"): unknown {
  if (error instanceof ConnectionError && error.retrySafe) {
    return new ConnectionError(error.message, { delivery, cause: error });
  }
  if (error instanceof TimeoutError && error.retrySafe)
    return new TimeoutError(error.kind, error.afterMs, error.message, delivery);
  if (!(error instanceof RpcError) || !error.retrySafe || error.local) return error;
  const { rpcCode, message, data, method } = error;
  return new RpcError(rpcCode, message, data, { method, cause: error });
}

/**
 * A call timed out: `idle` if nothing was received for too long, `deadline` if the whole call took too long. `delivery` is that
 * of the call's own request when the time had passed.
 */
export class TimeoutError extends McpError {
  protected static override readonly bowline: string = "TimeoutError";
  override readonly name = "TimeoutError";
  /** True if sending the same call again cannot run a handler twice. Derived from `delivery` alone. */
  readonly retrySafe: boolean;
  constructor(
    readonly kind: "idle" | "deadline",
    readonly afterMs: number,
    message: string,
    readonly delivery: "not_sent" | "sent" | "answer_lost" = "sent",
  ) {
    super("timeout", message);
    this.retrySafe = isRetrySafe(delivery);
  }
}

/** Returns the error of a part of a call that had the rest of its deadline, with the deadline of the whole call. */
export function withDeadline(error: unknown, partMs: number, deadlineMs: number | undefined): unknown {
  const isOfPart = error instanceof TimeoutError && error.kind === "deadline" && error.afterMs === partMs;
  if (!isOfPart || deadlineMs === undefined || deadlineMs === partMs) return error;
  const message = error.message.replace(`${partMs} ms`, `${deadlineMs} ms`);
  return new TimeoutError("deadline", deadlineMs, message, error.delivery);
}

/** A server of a group is unavailable and is not contacted until `retryInMs` has passed. `cause` is the reason. */
export class ServerUnavailableError extends McpError {
  protected static override readonly bowline: string = "ServerUnavailableError";
  override readonly name = "ServerUnavailableError";
  declare readonly cause: Error;
  constructor(
    readonly server: string,
    /** Time until the next connection attempt is allowed. */
    readonly retryInMs: number,
    cause: Error,
  ) {
    const when = `a call can connect again in ${retryInMs} ms`;
    super("server_unavailable", `Server ${JSON.stringify(server)} is not available (${when}): ${cause.message}`, {
      cause,
    });
  }
}

/** Failure of a tool, intended for the model. It becomes a result with `isError`. Its message is sent unchanged. */
export class ToolError extends McpError {
  protected static override readonly bowline: string = "ToolError";
  override readonly name = "ToolError";
  constructor(message: string, options?: ErrorOptions) {
    super("tool_error", message, options);
    this.message = message;
  }
}

/** The structured result of a tool does not match the schema from its listing, or the schema that the caller passed. */
export class OutputError extends McpError {
  protected static override readonly bowline: string = "OutputError";
  override readonly name = "OutputError";
  constructor(
    readonly tool: string,
    /** Problems and their places in the structured content. */
    readonly issues: readonly { readonly path: string; readonly message: string }[],
    /** Result as received. */
    readonly result: unknown,
    problem = `does not match its output schema: ${describeIssues(issues)}`,
  ) {
    super("invalid_output", `The result of tool ${tool} ${problem}`);
  }
}

/**
 * Invalid definition or option of a server or client. Thrown while defining. If a callback among the options returns an
 * invalid value later, the error is reported to `onError`.
 */
export class DefinitionError extends McpError {
  protected static override readonly bowline: string = "DefinitionError";
  override readonly name = "DefinitionError";
  constructor(message: string, options?: ErrorOptions) {
    super("definition_error", message, options);
  }
}

/** Wraps a thrown value that is not an error. `who` is what threw it. */
export function toError(thrown: unknown, who = "the code"): Error {
  return thrown instanceof Error ? thrown : new Error(textOfThrown(thrown, who));
}

/** Returns a thrown text, or a description of the value. */
function textOfThrown(thrown: unknown, who: string): string {
  if (typeof thrown === "string") return thrown;
  let shown = typeof thrown as string;
  try {
    shown = JSON.stringify(thrown) ?? shown;
  } catch {
    // Some values cannot be written. Their type is named instead.
  }
  return `${who} threw a value that is not an Error: ${oneLine(shown)}`;
}

/** Creates the error of a call on a closed connection. Its message contains `reason` if that is a `ConnectionError`. */
export function notConnected(reason?: Error): ConnectionError {
  const why = reason instanceof ConnectionError ? reason.message : "the connection is closed";
  return new ConnectionError(`Not connected: ${why}`, { ...endOf(reason), delivery: "not_sent", cause: reason });
}

/** Returns the details of a process exit, for an error that follows from it. */
export function endOf(reason: Error | undefined): ConnectionErrorDetails {
  if (!(reason instanceof ConnectionError)) return {};
  const { exitCode, exitSignal, stderr, command, likelyCause } = reason;
  return { exitCode, exitSignal, stderr, command, likelyCause };
}

/** True if the value is a non-empty list of strings, as a list of protocol versions is. */
export function isVersionList(value: unknown): value is readonly string[] {
  return isTextList(value) && value.length > 0;
}

/** Returns the reason why a value is not a list of URLs to visit, or undefined if it is one. */
export function requiredUrlProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return "elicitations must be a non-empty array";
  for (const one of value as readonly (Partial<RequiredUrl> | null)[]) {
    const { mode = "url", elicitationId, url, message } = one ?? {};
    if (mode !== "url") return 'the mode of each elicitation must be "url"';
    if (typeof elicitationId !== "string" || elicitationId === "") return "each elicitation must have an elicitationId";
    if (typeof url !== "string" || typeof message !== "string") return "each elicitation must have a url and a message";
    const expected = findPageUrlProblem(url);
    if (expected !== undefined) return `the url of each elicitation must be ${expected}`;
  }
  return undefined;
}

/**
 * Thrown into a handler whose call continues in a later request. Code that catches errors of handlers must rethrow it.
 */
export class HandlerSuspended extends Error {
  protected static readonly bowline: string = "HandlerSuspended";
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = isInstance;
  override readonly name: string = "HandlerSuspended";
}

/**
 * True for what a handler catches at a question that has no answer yet. It says that the call waits, not that something
 * has failed: the handler runs again with the answer.
 *
 * @example
 * try {
 *   await ctx.elicit("Sure?", schema);
 * } catch (error) {
 *   if (!isSuspension(error)) await undo();
 *   throw error;
 * }
 */
export function isSuspension(thrown: unknown): boolean {
  return thrown instanceof HandlerSuspended;
}
