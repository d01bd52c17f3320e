import type { Fetch } from "../../http/client/send.js";
import type { IssuerUser } from "./user.js";

/** What the provider upstream gave. It stays with the issuer. */
export interface UpstreamTokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
  readonly scope?: string | undefined;
  /** In milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/** An identity provider with one client for all: this issuer. */
export interface UpstreamOptions {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** `client_secret_basic` unless given. */
  readonly method?: "client_secret_basic" | "client_secret_post";
  readonly scope?: string;
  /** The provider's issuer: an answer that names another is refused. */
  readonly issuer?: string;
  /** More parameters for its authorization endpoint, such as `access_type`. */
  readonly params?: Readonly<Record<string, string>>;
  /** Who the tokens are of: from the provider's user info, or from the ID token that came straight from it. */
  readonly user: (
    tokens: UpstreamTokens,
    context: { readonly signal: AbortSignal },
  ) => IssuerUser | Promise<IssuerUser>;
  readonly fetch?: Fetch;
}
