import type { JWK, JWTPayload } from "jose";
import type { Fetch } from "../../http/client/send.js";
import type { Known, Optional } from "../../protocol/known-options.js";
import { DPOP_OPTIONS, type DpopOptions } from "../dpop/check.js";
import { ISSUER_KEY_OPTIONS, type IssuerKeyOptions } from "../issuer-keys.js";
import { CONFIGURED_CLIENT, type ConfiguredClient, type IssuerClient } from "./clients/client.js";
import type { IssuerClientMetadata } from "./clients/metadata.js";
import { ISSUER_LIMITS, type IssuerLimits } from "./limits.js";
import type { IssuerStore } from "./store/store.js";

/** Context of a `user` call. */
export interface LoginContext {
  /** URL to which the browser is redirected after the login. */
  readonly returnTo: URL;
  readonly client: IssuerClient;
}

/** Authorization that a user, or the option `approve`, decides on. */
export interface ConsentQuestion {
  readonly client: IssuerClient;
  /** Undefined in upstream mode, where consent comes before the login. */
  readonly user: IssuerUser | undefined;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
}

/** Options of dynamic client registration (RFC 7591). */
export interface RegistrationOptions {
  /**
   * Checks the metadata of a client before the client is stored, and may choose its id. Throws an `OAuthProblem` to
   * reject the client.
   */
  readonly accept?:
    | ((
        metadata: IssuerClientMetadata & { readonly software_statement?: unknown },
        request: Request,
      ) =>
        | { readonly clientId?: string | undefined }
        | undefined
        | Promise<{ readonly clientId?: string | undefined } | undefined>)
    | undefined;
  /** Scopes of a client that registers without any. By default it may request all scopes. */
  readonly defaultScopes?: readonly string[] | undefined;
  /**
   * Maximum milliseconds for which a registration is kept, even if it is in use. By default a client in use is kept
   * indefinitely.
   */
  readonly lifetimeMs?: number | undefined;
}

/** Options of clients that are identified by the URL of a metadata document. */
export interface ClientDocumentOptions {
  /** Checks the URL before it is fetched. False rejects the client. */
  readonly allow?: ((url: URL) => boolean | Promise<boolean>) | undefined;
  /** Checks the client that the document describes. False rejects the client. */
  readonly accept?: ((client: IssuerClient) => boolean | Promise<boolean>) | undefined;
  /** Fetches the documents. The default on Node refuses to connect to private addresses. */
  readonly fetch?: Fetch | undefined;
  /** Resolves host names, so that names of private addresses are rejected before anything is fetched. */
  readonly resolve?: ((hostname: string) => Promise<readonly string[]>) | undefined;
  /**
   * Allows documents on this machine, for development.
   * @default false
   */
  readonly allowLoopback?: boolean | undefined;
}

/** Endpoint whose rate can be limited. */
export type LimitedEndpoint = "authorize" | "consent" | "callback" | "token" | "register" | "revoke";

/** Returns the seconds that a request has to wait; undefined to let it pass. */
export type RateLimit = (
  endpoint: LimitedEndpoint,
  request: Request,
) => number | undefined | Promise<number | undefined>;

/** Lifetimes of codes, tokens, grants and consents in milliseconds. */
export interface Lifetimes {
  /**
   * Lifetime of a code; at most ten minutes.
   * @default 60_000
   */
  readonly codeMs?: number | undefined;
  /**
   * Lifetime of an access token. A revocation is remembered for the same time. If you shorten it, also replace `keys`:
   * older tokens would outlive their revocation.
   * @default 900_000
   */
  readonly accessTokenMs?: number | undefined;
  /**
   * Lifetime of a grant from its approval on. A refresh does not extend it.
   * @default 2_592_000_000
   */
  readonly grantMs?: number | undefined;
  /**
   * Time during which a browser remembers an approval.
   * @default 2_592_000_000
   */
  readonly consentMs?: number | undefined;
}

/** Options of `createIssuer`. Either `user` or `upstream` is required. */
export interface IssuerOptions {
  /** Issuer identifier and base URL of the endpoints: https, or http on this machine. */
  readonly issuer: string;
  /** MCP servers for which tokens are issued, spelt as in their resource metadata. */
  readonly resources: readonly (string | URL)[];
  /**
   * Audience of a token if the client names no resource.
   * @default the only element of `resources`, if there is just one
   */
  readonly defaultResource?: string | URL | undefined;
  /**
   * Returns the user who sends the request, from the session of the application. If nobody is logged in, returns a
   * login page or a redirect to one, which sends the browser back to `returnTo`.
   */
  readonly user?:
    | ((request: Request, context: LoginContext) => IssuerUser | Response | Promise<IssuerUser | Response>)
    | undefined;
  /** Delegates the login to an upstream identity provider, in place of `user`. */
  readonly upstream?: UpstreamOptions | undefined;
  /** Supported scopes, each with its description on the consent page. */
  readonly scopes?: Readonly<Record<string, string>> | readonly string[] | undefined;
  /**
   * Scopes of a request that names none.
   * @default all supported scopes
   */
  readonly defaultScopes?: readonly string[] | undefined;
  /** Clients that are known in advance. */
  readonly clients?: readonly ConfiguredClient[] | undefined;
  /**
   * Lets clients register themselves (RFC 7591).
   * @default true
   */
  readonly registration?: boolean | RegistrationOptions | undefined;
  /**
   * Accepts https URLs of metadata documents as client ids.
   * @default true
   */
  readonly clientDocuments?: boolean | ClientDocumentOptions | undefined;
  /**
   * Lets clients revoke tokens (RFC 7009).
   * @default true
   */
  readonly revocation?: boolean | undefined;
  /**
   * Binds tokens to a key that the client proves (RFC 9449).
   * @default false
   */
  readonly dpop?: boolean | IssuerDpopOptions | undefined;
  /**
   * Issues tokens to confidential clients that act for themselves.
   * @default false
   */
  readonly clientCredentials?: boolean | undefined;
  /** Issues tokens for identity assertions (ID-JAG): JWTs about users from a trusted identity provider. */
  readonly identityAssertion?: IssuerIdentityAssertionOptions | undefined;
  /** Issues tokens to workloads that authenticate with a JWT from their platform (RFC 7523). */
  readonly workloadIdentity?: WorkloadIdentityOptions | undefined;
  /**
   * Returns true to approve without a consent page. By default the user is asked, unless the browser remembers an
   * approval.
   */
  readonly approve?: ((question: ConsentQuestion) => boolean | Promise<boolean>) | undefined;
  /**
   * Returns true if an error may redirect the browser to the client at once. Otherwise a page shows the error and a
   * link to the client. By default clients that are known in advance, and those that the user has approved before, are
   * trusted.
   */
  readonly trustRedirect?: ((client: IssuerClient, redirectUri: string) => boolean) | undefined;
  /**
   * Adds `iss` to authorization responses (RFC 9207).
   * @default true
   */
  readonly issParameter?: boolean | undefined;
  /**
   * Name of this server on its pages.
   * @default the host of the issuer
   */
  readonly name?: string | undefined;
  /**
   * Storage of registered clients, codes, grants, upstream tokens and marks of used credentials.
   * @default `memoryIssuerStore()`
   */
  readonly store?: IssuerStore | undefined;
  /**
   * Private keys of the access tokens. The first one signs; all are published. By default a key is generated that ends
   * with the process.
   */
  readonly keys?: readonly JWK[] | undefined;
  /**
   * Keys of 32 bytes that encrypt cookies, forms and upstream tokens. The first one encrypts; each decrypts. All
   * processes need the same secrets, also after a restart.
   * @default a random key that ends with the process
   */
  readonly secrets?: readonly Uint8Array[] | undefined;
  readonly lifetimes?: Lifetimes | undefined;
  /** Limits of the issuer, each with a default. */
  readonly limits?: Optional<IssuerLimits> | undefined;
  /**
   * Rate limit of each endpoint; false for none. By default only registration is limited, by
   * `limits.maxRegistrationsPerMinute`.
   */
  readonly rateLimit?: RateLimit | false | undefined;
  /**
   * Called with failures of this server: errors that clients see only as `server_error`, and each `OAuthProblem` with a
   * status of 500 or above.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Returns the current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Issuer whose assertions are accepted. */
export type TrustedIssuer = Pick<IssuerKeyOptions, "issuer" | "jwksUri" | "keys" | "algorithms" | "fetch">;

/** Options for identity assertions (ID-JAG), in which a company's identity provider identifies its users. */
export interface IssuerIdentityAssertionOptions {
  readonly providers: readonly TrustedIssuer[];
  /**
   * Returns the subject of the tokens for an assertion; undefined rejects the assertion. The default is the claim
   * `sub`. Required with several providers, because two of them may have the same `sub`.
   */
  readonly subject?:
    | ((claims: JWTPayload, client: IssuerClient) => string | undefined | Promise<string | undefined>)
    | undefined;
}

/** Permissions of a workload. */
export interface WorkloadGrant {
  /**
   * Client id of the tokens.
   * @default the client id of the request, or else the claim `sub`
   */
  readonly clientId?: string | undefined;
  /**
   * Subject of the tokens.
   * @default the claim `sub`
   */
  readonly subject?: string | undefined;
  /**
   * Scopes that the workload may request.
   * @default the scopes of the client in the request, or else all supported scopes
   */
  readonly scopes?: readonly string[] | undefined;
}

/** Platform that issues JWTs to its workloads. */
export interface WorkloadIssuer extends TrustedIssuer {
  /** Decides on a workload by the claims of its verified assertion. False or undefined rejects the workload. */
  readonly allow: (
    claims: JWTPayload,
  ) => WorkloadGrant | boolean | undefined | Promise<WorkloadGrant | boolean | undefined>;
}

/** Options for workloads that authenticate with a JWT from their platform (RFC 7523). */
export interface WorkloadIdentityOptions {
  readonly issuers: readonly WorkloadIssuer[];
}

/** Tokens of the upstream provider. They must not be sent to clients. */
export interface UpstreamTokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
  readonly scope?: string | undefined;
  /** Expiry in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/** Upstream identity provider. This issuer is one client of it, on behalf of all its own clients. */
export interface UpstreamOptions {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /**
   * Authentication method at the provider's token endpoint.
   * @default "client_secret_basic"
   */
  readonly method?: "client_secret_basic" | "client_secret_post" | undefined;
  readonly scope?: string | undefined;
  /** Issuer of the provider. A response that names another one is rejected. */
  readonly issuer?: string | undefined;
  /** Additional parameters of the provider's authorization request, such as `access_type`. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  /** Returns the user of the tokens, from the provider's user info or from the ID token. */
  readonly user: (
    tokens: UpstreamTokens,
    context: { readonly signal: AbortSignal },
  ) => IssuerUser | Promise<IssuerUser>;
  readonly fetch?: Fetch | undefined;
}

/** Options of the DPoP proofs that bind tokens to keys. */
export type IssuerDpopOptions = Omit<DpopOptions, "required" | "acceptProof" | "url">;

/** User at the browser. `id` becomes the subject of the tokens. */
export interface IssuerUser {
  readonly id: string;
  /** Name on the consent page. */
  readonly name?: string | undefined;
}

const TRUSTED_ISSUER: Known<TrustedIssuer> = {
  issuer: [{ string: "any" }, "required"],
  jwksUri: ISSUER_KEY_OPTIONS.jwksUri,
  keys: ISSUER_KEY_OPTIONS.keys,
  algorithms: ISSUER_KEY_OPTIONS.algorithms,
  fetch: ISSUER_KEY_OPTIONS.fetch,
};

export const ISSUER_OPTIONS: Known<IssuerOptions> = {
  issuer: "string",
  resources: "any",
  defaultResource: "any",
  user: "function",
  upstream: {
    authorizationEndpoint: "string",
    tokenEndpoint: "string",
    clientId: "string",
    clientSecret: "string",
    method: [{ string: ["client_secret_basic", "client_secret_post"] }],
    scope: "string",
    issuer: "string",
    params: [{ map: "string" }],
    user: "function",
    fetch: "function",
  },
  scopes: [{ array: "string", map: "string" }],
  defaultScopes: [{ array: "string" }],
  clients: [{ array: CONFIGURED_CLIENT }],
  registration: [
    { boolean: "any", object: { accept: "function", defaultScopes: [{ array: "string" }], lifetimeMs: "ms" } },
  ],
  clientDocuments: [
    {
      boolean: "any",
      object: {
        allow: "function",
        accept: "function",
        fetch: "function",
        resolve: "function",
        allowLoopback: "boolean",
      },
    },
  ],
  revocation: "boolean",
  dpop: [{ boolean: "any", object: { algorithms: DPOP_OPTIONS.algorithms, nonce: DPOP_OPTIONS.nonce } }],
  clientCredentials: "boolean",
  identityAssertion: { providers: [{ array: TRUSTED_ISSUER }, "required"], subject: "function" },
  workloadIdentity: {
    issuers: [{ array: { ...TRUSTED_ISSUER, allow: [{ function: "any" }, "required"] } }, "required"],
  },
  approve: "function",
  trustRedirect: "function",
  issParameter: "boolean",
  name: "string",
  store: "object",
  keys: "array",
  secrets: "array",
  lifetimes: { codeMs: "period", accessTokenMs: "period", grantMs: "ms", consentMs: "ms" },
  limits: ISSUER_LIMITS,
  rateLimit: [{ boolean: [false], function: "any" }],
  onError: "function",
  now: "function",
};
