/**
 * Caller of a request, as the authorization gate describes it. Handlers read it as `ctx.auth`. `protect` of
 * `bowline/auth/server` delivers what the verifier knows of the token. A gate of your own delivers the members that it
 * knows, and declares further ones:
 *
 * ```ts
 * declare module "bowline/server" {
 *   interface AuthInfo {
 *     readonly tenant?: string;
 *   }
 * }
 * ```
 */
export interface AuthInfo {
  /** Access token. A task keeps none. */
  readonly token?: string | undefined;
  /** Client to which the token was issued. */
  readonly clientId?: string | undefined;
  /** Scopes that the caller was granted. `ctx.grants` compares with them. */
  readonly scopes?: readonly string[] | undefined;
  /** Expiry in seconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** Resources for which the token is valid. */
  readonly audience?: string | readonly string[] | undefined;
  /** User, or the client itself if there is no user. */
  readonly subject?: string | undefined;
  /** Authorization server that issued the token. */
  readonly issuer?: string | undefined;
  /** Key to which the token is bound, from its `cnf` claim. */
  readonly confirmation?: { readonly [method: string]: unknown } | undefined;
  /** All claims of the token, or members of the introspection response. */
  readonly claims?: { readonly [name: string]: unknown } | undefined;
}
