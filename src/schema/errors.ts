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

/** The stage of an authorization that an error belongs to. */
export type AuthStep =
  | "configuration"
  | "resource_metadata"
  | "server_metadata"
  | "issuer"
  | "registration"
  | "authorize"
  | "redirected"
  | "callback"
  | "token"
  | "refresh"
  | "scope"
  | "unauthorized"
  | "revocation";

export interface AuthErrorDetails extends ErrorOptions {
  /** The addresses that were asked, in order. */
  readonly tried?: readonly string[];
  /** The HTTP status that an authorization or MCP server answered with. */
  readonly status?: number | undefined;
  /** What an OAuth error response, or a challenge, says. */
  readonly error?: string | undefined;
  readonly description?: string | undefined;
  readonly uri?: string | undefined;
  /** The scope that the server asks for, where that is what is missing. */
  readonly scope?: string | undefined;
  /** Where the challenge says that the resource's metadata is. */
  readonly resourceMetadata?: string | undefined;
  /** Of a refused registration: what was sent, and what came back. */
  readonly submitted?: { readonly [member: string]: unknown };
  readonly body?: string | undefined;
}

/** Authorization failed: `step` says where, `tried` which addresses were asked on the way. Never holds a secret. */
export class AuthError extends McpError {
  override readonly name = "AuthError";
  readonly tried: readonly string[];
  readonly status: number | undefined;
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly uri: string | undefined;
  readonly scope: string | undefined;
  readonly resourceMetadata: string | undefined;
  readonly submitted: { readonly [member: string]: unknown } | undefined;
  readonly body: string | undefined;
  constructor(
    readonly step: AuthStep,
    message: string,
    details: AuthErrorDetails = {},
  ) {
    super("auth_error", message, details);
    this.tried = details.tried ?? [];
    this.status = details.status;
    this.error = details.error;
    this.description = details.description;
    this.uri = details.uri;
    this.scope = details.scope;
    this.resourceMetadata = details.resourceMetadata;
    this.submitted = details.submitted;
    this.body = details.body;
  }
}
