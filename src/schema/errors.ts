import type { ClientCapabilities, InputRequiredResult } from "./types.js";

/**
 * The errors a user of the SDK can meet. `code` is the contract: a stable string, safe to branch on.
 * The classes exist so that `instanceof` reads well; messages may change.
 */
export class McpError extends Error {
  override readonly name: string = "McpError";
  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The peer answered with a JSON-RPC error, or a handler wants to answer with one. */
export class RpcError extends McpError {
  override readonly name = "RpcError";
  readonly rpcCode: number;
  readonly data: unknown;
  /** True when this side refused the call itself and nothing was sent. */
  readonly local: boolean;
  constructor(rpcCode: number, message: string, data?: unknown, options?: ErrorOptions & { local?: boolean }) {
    super("rpc_error", message, options);
    this.rpcCode = rpcCode;
    this.data = data;
    this.local = options?.local === true;
  }

  /** What the server speaks, where it refused the version of a request. */
  get supportedVersions(): readonly string[] | undefined {
    const supported = this.rpcCode === -32022 ? (this.data as { supported?: unknown } | null)?.supported : undefined;
    return isVersionList(supported) ? supported : undefined;
  }

  /** What the client would have had to declare, where the server refused a request for want of it. */
  get requiredCapabilities(): ClientCapabilities | undefined {
    const data = this.rpcCode === -32021 ? (this.data as { requiredCapabilities?: unknown } | null) : undefined;
    const required = data?.requiredCapabilities;
    return typeof required === "object" && required !== null ? (required as ClientCapabilities) : undefined;
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

/** The peer broke the protocol: the message says what and where. */
export class ProtocolError extends McpError {
  override readonly name = "ProtocolError";
  constructor(message: string, options?: ErrorOptions) {
    super("protocol_error", message, options);
  }
}

/** How far a call had got when its connection went away. */
export type Delivery = "not_sent" | "sent" | "answer_lost";

export interface ConnectionErrorDetails extends ErrorOptions {
  /** `not_sent`: the peer never saw the call. `sent`: it may have. `answer_lost`: it did, and the answer is gone. */
  readonly delivery?: Delivery;
  /** Whether sending the same call again cannot do harm. */
  readonly retrySafe?: boolean;
  /** The HTTP status that ended the call, where there is one. */
  readonly status?: number | undefined;
  /** Of a process: its exit code, signal and last lines on stderr. */
  readonly exitCode?: number | null | undefined;
  readonly exitSignal?: string | null | undefined;
  readonly stderr?: readonly string[];
}

/** The other side went away, or could not be reached. */
export class ConnectionError extends McpError {
  override readonly name = "ConnectionError";
  readonly delivery: Delivery;
  readonly retrySafe: boolean;
  readonly status: number | undefined;
  readonly exitCode: number | null | undefined;
  readonly exitSignal: string | null | undefined;
  readonly stderr: readonly string[];
  constructor(message: string, details: ConnectionErrorDetails = {}) {
    super("connection_error", message, details);
    this.delivery = details.delivery ?? "not_sent";
    this.retrySafe = details.retrySafe ?? this.delivery === "not_sent";
    this.status = details.status;
    this.exitCode = details.exitCode;
    this.exitSignal = details.exitSignal;
    this.stderr = details.stderr ?? [];
  }
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

/** A tool's own failure, meant for the model: becomes a result with `isError`. */
export class ToolError extends McpError {
  override readonly name = "ToolError";
  constructor(message: string, options?: ErrorOptions) {
    super("tool_error", message, options);
  }
}

/** A server or client is defined in a way that cannot work: thrown while defining, never while serving. */
export class DefinitionError extends McpError {
  override readonly name = "DefinitionError";
  constructor(message: string, options?: ErrorOptions) {
    super("definition_error", message, options);
  }
}

/** Whether a value lists protocol versions, one at least. */
export function isVersionList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}
