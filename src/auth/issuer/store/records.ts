/** What a user has allowed a client. Its tokens live and die with it. */
export interface Grant {
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The resources it is for. */
  readonly audience: readonly string[];
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Kept under the digest of a code. */
export interface CodeRecord {
  readonly grant: Grant;
  readonly redirectUri: string;
  /** Whether the request named the redirect URI, so that the exchange has to. */
  readonly redirectSent: boolean;
  readonly challenge: string;
}

/** Kept under the digest of the name that all refresh tokens of a grant share. */
export interface RefreshRecord {
  readonly grant: Grant;
  /** The digest of the one that is good. */
  readonly last: string;
  /** The thumbprint of the key that a public client's tokens are bound to. */
  readonly jkt?: string | undefined;
}

/** A valid authorization request: what the user is asked for and what the client gets if the user agrees. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly redirectSent: boolean;
  readonly state?: string | undefined;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly challenge: string;
}

/** What a token is bound to beside its audience. */
export interface TokenBinding {
  /** The type that the token response states. */
  readonly type: string;
  /** The thumbprint of the key that the holder has to prove. */
  readonly jkt: string;
}

/** What a grant allows: one access token now, and more by refresh tokens if it says so. */
export interface Granted {
  readonly grant: Grant;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly refreshes: boolean;
  /** The name that its refresh tokens share, where it has one already. */
  readonly family?: string;
}
