import type { AuthInfo } from "../../http/auth-info.js";
import { isKeptAuth } from "../../protocol/brand.js";
import { McpError } from "../../protocol/errors.js";
import { assertOpen, type Known } from "../../protocol/known-options.js";

/** Verified access token. Handlers get it as `ctx.auth`, exactly as the verifier returned it; in a task without `token`. */
export interface TokenInfo extends AuthInfo {
  readonly token: string;
  readonly scopes: readonly string[];
}

const TOKEN_INFO: Known<TokenInfo> = {
  token: [{ string: "any" }, "required"],
  scopes: [{ array: "string" }, "required"],
  // The gate tells the client what is wrong with the values of these.
  clientId: "any",
  expiresAt: "any",
  audience: "any",
  subject: "any",
  issuer: "any",
  confirmation: "any",
  claims: "any",
};

/** Claims, and members of an introspection response, from which the members of a `TokenInfo` come. */
const CLAIMS = {
  client_id: "clientId",
  scope: "scopes",
  exp: "expiresAt",
  expires_at: "expiresAt",
  aud: "audience",
  sub: "subject",
  iss: "issuer",
  cnf: "confirmation",
};

/**
 * Throws if what a verifier returned is no `TokenInfo`. It may have further members, but none that looks like one that is
 * missing: a token whose expiry or key has another name would not expire, or need no proof.
 */
export function assertTokenInfo(info: object): void {
  assertOpen("protect", "verify()", info, TOKEN_INFO, CLAIMS);
}

/**
 * Verifies an access token. Undefined or an `InvalidTokenError` that is thrown rejects the token. An `AuthError` means that
 * the token cannot be checked now, and is answered with status 503. Any other error is a failure of this server. So is a
 * result without `token` and `scopes`, or with a member that looks like one of `TokenInfo` that is missing, such as `exp`.
 */
export type TokenVerifier = (token: string) => TokenInfo | undefined | Promise<TokenInfo | undefined>;

/** Error of a verifier that rejects a token. The message is sent to the client. */
export class InvalidTokenError extends McpError {
  protected static override readonly bowline: string = "InvalidTokenError";
  override readonly name = "InvalidTokenError";
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super("invalid_token", message, options);
  }
}

/**
 * Returns the access token of a call: `authOf(ctx).subject`. Throws if the server is not protected. In a task, `token`
 * cannot be read.
 */
export function authOf(ctx: { readonly auth: unknown }): TokenInfo {
  const { auth } = ctx;
  if (typeof auth === "object" && auth !== null) {
    if ("token" in auth) return auth as TokenInfo;
    if (isKeptAuth(auth)) return Object.defineProperty({ ...auth } as TokenInfo, "token", { get: refuseToken });
  }
  throw new McpError(
    "no_auth",
    "The call has no access token: set http.gate to protect({ ... }); calls over stdio never have one",
  );
}

function refuseToken(): never {
  throw new McpError(
    "no_token",
    "A task keeps no access token: call other services with credentials of this server, or in a tool without `task`",
  );
}
