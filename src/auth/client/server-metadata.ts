/**
 * Metadata of an authorization server (RFC 8414). It is a type of this package, so that programs need no types of
 * `oauth4webapi`, whose `AuthorizationServer` may be passed in its place.
 */
export interface AuthorizationServerMetadata {
  /** Issuer identifier. */
  readonly issuer: string;
  readonly authorization_endpoint?: string | undefined;
  readonly token_endpoint?: string | undefined;
  readonly registration_endpoint?: string | undefined;
  readonly revocation_endpoint?: string | undefined;
  readonly scopes_supported?: readonly string[] | undefined;
  readonly token_endpoint_auth_methods_supported?: readonly string[] | undefined;
  readonly code_challenge_methods_supported?: readonly string[] | undefined;
  readonly [member: string]: unknown;
}
