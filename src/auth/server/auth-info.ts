import { McpError } from "../../protocol/errors.js";

/** What is known of a verified access token. Handlers get it as `ctx.auth`, as the verifier made it. */
export interface AuthInfo {
  readonly token: string;
  /** The client that the token was issued to. */
  readonly clientId?: string | undefined;
  readonly scopes: readonly string[];
  /** When it ends, in seconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** The resources that it is for. */
  readonly audience?: string | readonly string[] | undefined;
  /** The user, or the client itself where there is none. */
  readonly subject?: string | undefined;
  readonly issuer?: string | undefined;
  /** The key that the token is bound to, as its `cnf` claim says. */
  readonly confirmation?: { readonly [method: string]: unknown } | undefined;
  /** Everything else that the authorization server said about it. */
  readonly claims?: { readonly [name: string]: unknown } | undefined;
}

/**
 * Tells what a token stands for. Undefined, and an `InvalidTokenError`, refuse it; any other error is a failure of this
 * server and says nothing about the token.
 */
export type TokenVerifier = (token: string) => AuthInfo | undefined | Promise<AuthInfo | undefined>;

/** The token is not good; the message is told to the client. */
export class InvalidTokenError extends McpError {
  override readonly name = "InvalidTokenError";
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super("invalid_token", message, options);
  }
}

/** The authorization of a call that a protected server serves: `authOf(ctx).subject`. */
export function authOf(ctx: { readonly auth: unknown }): AuthInfo {
  const { auth } = ctx;
  if (typeof auth === "object" && auth !== null && "token" in auth) return auth as AuthInfo;
  throw new McpError("no_auth", "The call has no authorization: nothing protects the server that it came to");
}
