import type { JWK, JWTPayload } from "jose";
import type { Fetch } from "../../http/client/send.js";
import type { DpopOptions } from "../dpop/check.js";
import type { IssuerKeyOptions } from "../issuer-keys.js";
import type { ConfiguredClient, IssuerClient } from "./clients/client.js";
import type { ClientMetadata } from "./clients/metadata.js";
import type { IssuerLimits } from "./limits.js";
import type { IssuerStore } from "./store/store.js";

export interface LoginContext {
  /** Where to send the browser once the user has logged in. */
  readonly returnTo: URL;
  readonly client: IssuerClient;
}

/** What a user is asked to approve. */
export interface ConsentQuestion {
  readonly client: IssuerClient;
  /** Nobody in upstream mode, where consent comes before the login. */
  readonly user: IssuerUser | undefined;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
}

export interface RegistrationOptions {
  /**
   * Looks at what a client says of itself before anything is kept. Throws an `OAuthProblem` to refuse it; may choose its id.
   */
  readonly accept?: (
    metadata: ClientMetadata & { readonly software_statement?: unknown },
    request: Request,
  ) => { readonly clientId?: string } | undefined | Promise<{ readonly clientId?: string } | undefined>;
  /** What a client that names no scopes is registered for. Without this it may ask for any. */
  readonly defaultScopes?: readonly string[];
  /** The longest that a registration is kept, in use or not. Clients in use are kept for ever unless given. */
  readonly lifetimeMs?: number;
}

export interface ClientDocumentOptions {
  /** Looks at the address before it is fetched: false refuses the client. */
  readonly allow?: (url: URL) => boolean | Promise<boolean>;
  /** Looks at the document before anything is done with it: false refuses the client. */
  readonly accept?: (client: IssuerClient) => boolean | Promise<boolean>;
  /** Fetches documents. On Node, one that connects to no private address unless given. */
  readonly fetch?: Fetch;
  /** Resolves names, so that private addresses behind them are refused before anything is fetched. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** Documents on this machine, for development. */
  readonly allowLoopback?: boolean;
}

/** A part of the issuer that can be limited. */
export type LimitedEndpoint = "authorize" | "consent" | "callback" | "token" | "register" | "revoke";

/** Says how many seconds a request has to wait, or nothing to let it pass. */
export type RateLimit = (
  endpoint: LimitedEndpoint,
  request: Request,
) => number | undefined | Promise<number | undefined>;

export interface Lifetimes {
  /** One minute unless given, ten at most. */
  readonly codeMs?: number;
  /** Fifteen minutes unless given. A revocation is remembered for as long: change the keys as well when you shorten it. */
  readonly accessTokenMs?: number;
  /** Thirty days unless given, from the approval on; a refresh does not prolong it. */
  readonly grantMs?: number;
  /** How long a browser remembers an approval; thirty days unless given. */
  readonly consentMs?: number;
}

export interface IssuerOptions {
  /** The issuer's identifier and the address of its endpoints: https, or http on this machine. */
  readonly issuer: string;
  /** The MCP servers that tokens are for, as their resource metadata spells them. */
  readonly resources: readonly (string | URL)[];
  /** What a token is for when the client names no resource. The only resource, if there is one alone. */
  readonly defaultResource?: string | URL;
  /**
   * Finds out who sends the request, by whatever session the application has. Returns a page, or a redirect to one, where
   * nobody is logged in; from there the browser comes back to `returnTo`.
   */
  readonly user?: (request: Request, context: LoginContext) => IssuerUser | Response | Promise<IssuerUser | Response>;
  /** Leaves the login to a provider upstream, in place of `user`. */
  readonly upstream?: UpstreamOptions;
  /** The scopes there are, each with what the consent page says about it. */
  readonly scopes?: Readonly<Record<string, string>> | readonly string[];
  /** What a request without scopes asks for; all there are unless given. */
  readonly defaultScopes?: readonly string[];
  /** Clients that are known in advance. */
  readonly clients?: readonly ConfiguredClient[];
  /** Lets clients register themselves. On unless false. */
  readonly registration?: boolean | RegistrationOptions;
  /** Takes https addresses of metadata documents as client ids. On unless false. */
  readonly clientDocuments?: boolean | ClientDocumentOptions;
  /** Lets clients give tokens back. On unless false. */
  readonly revocation?: boolean;
  /** Binds tokens to a key that the client proves (RFC 9449). Off unless given. */
  readonly dpop?: boolean | IssuerDpopOptions;
  /** Gives tokens to confidential clients that act for themselves. Off unless true. */
  readonly clientCredentials?: boolean;
  /** Gives tokens for users that an identity provider vouches for. */
  readonly identityAssertion?: IdentityAssertionOptions;
  /** Gives tokens to workloads that their platform vouches for. */
  readonly workloadIdentity?: WorkloadIdentityOptions;
  /** True approves without asking the user. Nobody is approved that way unless this is given. */
  readonly approve?: (question: ConsentQuestion) => boolean | Promise<boolean>;
  /**
   * Whether an error may send the browser to a client at once. Clients that are known in advance, and those that the user
   * has approved before, unless given; for others a page says where the link leads.
   */
  readonly trustRedirect?: (client: IssuerClient, redirectUri: string) => boolean;
  /** Adds `iss` to what is sent back to clients. On unless false. */
  readonly issParameter?: boolean;
  /** What the pages call this server; its host unless given. */
  readonly name?: string;
  /** Bounded memory unless given. */
  readonly store?: IssuerStore;
  /** Private keys that sign tokens: the first signs, all are published. Made for this process unless given. */
  readonly keys?: readonly JWK[];
  /** Keys of 32 bytes for cookies, forms and upstream tokens: the first seals, each opens. As long-lived as `keys`. */
  readonly secrets?: readonly Uint8Array[];
  readonly lifetimes?: Lifetimes;
  /** The bounds of the issuer, each with a default. */
  readonly limits?: Partial<IssuerLimits>;
  /** What each endpoint may cost. `limits.maxRegistrationsPerMinute` for all together unless given; false for no limit. */
  readonly limit?: RateLimit | false;
  /** Hears of failures that clients only see as `server_error`. */
  readonly onError?: (error: unknown) => void;
  /** The time, in milliseconds since 1970. */
  readonly now?: () => number;
}

/** Somebody whose assertions are believed. */
export type TrustedIssuer = Pick<IssuerKeyOptions, "issuer" | "jwksUri" | "keys" | "algorithms" | "fetch">;

/** Takes the word of a company's identity provider for its users (an ID-JAG). */
export interface IdentityAssertionOptions {
  readonly providers: readonly TrustedIssuer[];
  /**
   * Whom an assertion is about, in this server's own words; nobody refuses it. Its `sub` unless given: with
   * several providers it has to be, since two of them may have users of the same name.
   */
  readonly subject?: (claims: JWTPayload, client: IssuerClient) => string | undefined | Promise<string | undefined>;
}

/** What a workload may have. */
export interface WorkloadGrant {
  /** The client that its tokens name; its `sub` unless given. */
  readonly clientId?: string;
  /** What its tokens say they are about; its `sub` unless given. */
  readonly subject?: string;
  /** The scopes that it may ask for; all there are unless given. */
  readonly scopes?: readonly string[];
}

/** A platform that gives JWTs to its workloads, and which of them may have tokens. */
export interface WorkloadIssuer extends TrustedIssuer {
  readonly allow: (
    claims: JWTPayload,
  ) => WorkloadGrant | boolean | undefined | Promise<WorkloadGrant | boolean | undefined>;
}

/** Takes the word of platforms for the workloads that run on them. */
export interface WorkloadIdentityOptions {
  readonly issuers: readonly WorkloadIssuer[];
}

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

/** How proofs are judged that tokens are bound by. */
export type IssuerDpopOptions = Omit<DpopOptions, "required" | "acceptProof" | "url">;

/** Whoever sits at the browser. `id` becomes the subject of the tokens. */
export interface IssuerUser {
  readonly id: string;
  /** Shown on the consent page. */
  readonly name?: string;
}
