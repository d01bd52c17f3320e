import type { JSONWebKeySet } from "jose";
import type { Known } from "../../../protocol/known-options.js";

/** Authentication method of a client at the token endpoint. */
export type ClientMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** Client of an issuer. */
export interface IssuerClient {
  readonly id: string;
  /** Source of the client: the options, dynamic registration, or a metadata document whose URL is the id. */
  readonly source: "configured" | "registered" | "document";
  readonly name?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly termsUri?: string | undefined;
  readonly redirectUris: readonly string[];
  readonly method: ClientMethod;
  readonly grantTypes: readonly string[];
  /** Scopes that the client may request; undefined for all supported ones. */
  readonly scopes?: readonly string[] | undefined;
  readonly secretDigest?: string | undefined;
  /** Expiry of the secret in seconds since 1970; 0 or undefined for never. */
  readonly secretExpiresAt?: number | undefined;
  readonly jwks?: JSONWebKeySet | undefined;
  readonly jwksUri?: string | undefined;
  /** True if the client accepts only tokens that are bound to a key. */
  readonly dpopBound?: boolean | undefined;
}

/** Client from the options. */
export interface ConfiguredClient {
  readonly clientId: string;
  /** Secret of a confidential client. */
  readonly clientSecret?: string | undefined;
  /**
   * Authentication method. By default `private_key_jwt` with `jwks`, `client_secret_basic` with a secret, and otherwise
   * `none`.
   */
  readonly method?: ClientMethod | undefined;
  readonly jwks?: JSONWebKeySet | undefined;
  readonly name?: string | undefined;
  readonly redirectUris?: readonly string[] | undefined;
  /**
   * Grants that the client may use.
   * @default ["authorization_code", "refresh_token"]
   */
  readonly grantTypes?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly dpopBound?: boolean | undefined;
}

export const CONFIGURED_CLIENT: Known<ConfiguredClient> = {
  clientId: [{ string: "any" }, "required"],
  clientSecret: "string",
  method: "string",
  jwks: [{ object: "any" }],
  name: "string",
  redirectUris: [{ array: "string" }],
  grantTypes: [{ array: "string" }],
  scopes: [{ array: "string" }],
  dpopBound: "boolean",
};

export const CODE_GRANT = "authorization_code";
export const REFRESH_GRANT = "refresh_token";
