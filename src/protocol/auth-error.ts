import { McpError } from "./errors.js";

/** Step of an authorization in which an error occurred. */
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

/** Details of an {@link AuthError}. */
export interface AuthErrorDetails extends ErrorOptions {
  /** URLs that were requested, in order. */
  readonly tried?: readonly string[];
  /** HTTP status of the authorization server's or MCP server's response. */
  readonly status?: number | undefined;
  /** Members of an OAuth error response or of a challenge. */
  readonly error?: string | undefined;
  readonly description?: string | undefined;
  readonly uri?: string | undefined;
  /** Scope that the server requires, if the token lacks it. */
  readonly scope?: string | undefined;
  /** URL of the resource metadata, as given by the challenge. */
  readonly resourceMetadata?: string | undefined;
  /** Metadata that was submitted in a refused registration. */
  readonly submitted?: { readonly [member: string]: unknown };
  /** Response body of a refused registration. */
  readonly body?: string | undefined;
}

/**
 * Failure of an authorization. `step` is the step that failed, `tried` lists the URLs that were requested. Never
 * contains a secret.
 */
export class AuthError extends McpError {
  protected static override readonly bowline: string = "AuthError";
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
