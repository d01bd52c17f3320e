import type { JSONWebKeySet } from "jose";

/** How a client shows at the token endpoint who it is. */
export type ClientMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client, wherever it is known from. */
export interface IssuerClient {
  readonly id: string;
  /** Written by the operator, registered by itself, or described by the document that its id is the address of. */
  readonly source: "configured" | "registered" | "document";
  readonly name?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly termsUri?: string | undefined;
  readonly redirectUris: readonly string[];
  readonly method: ClientMethod;
  readonly grantTypes: readonly string[];
  /** What it may ask for; everything that the server has if undefined. */
  readonly scopes?: readonly string[] | undefined;
  readonly secretDigest?: string | undefined;
  /** In seconds since 1970; 0 or nothing for never. */
  readonly secretExpiresAt?: number | undefined;
  readonly jwks?: JSONWebKeySet | undefined;
  readonly jwksUri?: string | undefined;
  /** It takes no tokens but those that are bound to a key. */
  readonly dpopBound?: boolean | undefined;
}

/** A client that the operator knows in advance. */
export interface ConfiguredClient {
  readonly clientId: string;
  /** Makes it a confidential client. */
  readonly clientSecret?: string;
  /** `client_secret_basic` with a secret, `private_key_jwt` with keys, else `none`. */
  readonly method?: ClientMethod;
  readonly jwks?: JSONWebKeySet;
  readonly name?: string;
  readonly redirectUris?: readonly string[];
  /** `authorization_code` and `refresh_token` unless given. */
  readonly grantTypes?: readonly string[];
  readonly scopes?: readonly string[];
  readonly dpopBound?: boolean;
}

export const CODE_GRANT = "authorization_code";
export const REFRESH_GRANT = "refresh_token";
