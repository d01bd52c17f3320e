/** Permission that a user has given to a client, or that a client has by itself. Its tokens end with it. */
export interface Grant {
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Resources for which the grant is valid. */
  readonly audience: readonly string[];
  /** Expiry in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Record of a code, stored under its digest. */
export interface CodeRecord {
  readonly grant: Grant;
  readonly redirectUri: string;
  /** True if the authorization request named the redirect URI, so that the token request must name it too. */
  readonly redirectSent: boolean;
  readonly challenge: string;
}

/** Record of a family of refresh tokens, stored under the digest of the family name. */
export interface RefreshRecord {
  readonly grant: Grant;
  /** Digest of the only valid token. */
  readonly last: string;
  /** Thumbprint of the key to which the tokens of a public client are bound. */
  readonly jkt?: string | undefined;
}

/** Valid authorization request. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly redirectSent: boolean;
  readonly state?: string | undefined;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly challenge: string;
}

/** Key to which a token is bound. */
export interface TokenBinding {
  /** `token_type` of the token response. */
  readonly type: string;
  /** Thumbprint of the key that the holder must prove. */
  readonly jkt: string;
}

/** Permission for one access token now, and for refresh tokens if `refreshes` is true. */
export interface Granted {
  readonly grant: Grant;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly refreshes: boolean;
  /** Family name of the grant's refresh tokens; undefined if a new family begins. */
  readonly family?: string;
}
