import { McpError } from "./errors.js";

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
  | "revocation"
  | "store";

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
