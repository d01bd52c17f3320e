import type { Resolved } from "../../protocol/known-options.js";
import type { IssuerClient } from "./clients/client.js";
import type { Clients } from "./clients/clients.js";
import type { ClientKeys } from "./clients/fetch.js";
import type { MetadataRules } from "./clients/metadata.js";
import type { Tokens } from "./grants/tokens.js";
import type { Params } from "./http.js";
import type { IssuerLimits } from "./limits.js";
import type { Consents } from "./login/consents.js";
import type { ConsentQuestion, IssuerOptions, IssuerUser, RateLimit } from "./options.js";
import type { OAuthProblem } from "./problem.js";
import type { Seal } from "./seal.js";
import type { AuthorizationRequest, Granted, TokenBinding } from "./store/records.js";
import type { IssuerStore } from "./store/store.js";

/** Single-use credential: the key that records its use, its expiry, and the error for a second use. */
export interface OneUse {
  readonly mark: string;
  readonly expiresAt: number;
  readonly refusal: OAuthProblem;
}

/** Authenticated client, and the single-use credentials of its request. */
export interface Authenticated {
  readonly client: IssuerClient;
  readonly uses: readonly OneUse[];
}

/** Token request of an authenticated client. */
export interface TokenRequest {
  readonly form: Params;
  readonly client: IssuerClient;
  readonly binding: TokenBinding | undefined;
}

/** Grant for a token request, before any single-use credential is marked as used. */
export interface FoundGrant {
  /** User, or client that acts for itself. Marks are counted per subject. */
  readonly subject: string;
  /** Marks the credential of the grant, such as a code, as used. Returns the permission for the tokens. */
  redeem(): Promise<Granted>;
}

/** Finds the grant for a token request. Writes nothing to the store. */
export type GrantHandler = (core: IssuerCore, request: TokenRequest) => Promise<FoundGrant>;

/** Client credentials of a request. */
export interface Credentials {
  readonly clientId: string;
  /** Returns the single-use parts of the credentials; undefined if they are not valid credentials of the client. */
  match(core: IssuerCore, client: IssuerClient): Promise<readonly OneUse[] | undefined>;
}

/** Client authentication method. */
export interface ClientAuthenticator {
  readonly method: string;
  /**
   * Returns the credentials of this method; undefined if the request has none. Throws an `OAuthProblem` if they are
   * malformed.
   */
  read(request: Request, form: Params): Credentials | undefined;
}

/** Login of users, and the step that follows their consent. */
export interface Login {
  /** Returns the user, or the response that lets the user log in, or undefined if the login follows the consent. */
  findUser(
    core: IssuerCore,
    request: Request,
    asked: AuthorizationRequest,
    client: IssuerClient,
  ): Promise<IssuerUser | Response | undefined>;
  /** Redirects the browser after the client is approved: to the client with a code, or to the upstream login. */
  proceed(
    core: IssuerCore,
    request: Request,
    asked: AuthorizationRequest,
    user: IssuerUser | undefined,
  ): Promise<Response>;
  /** Handles the browser that returns from an upstream login. */
  callback?(core: IssuerCore, request: Request): Promise<Response>;
  /** URLs, other than this server and the client, to which a form may redirect. */
  readonly redirectTargets: readonly string[];
}

/** Extension of an issuer by a grant, an authentication method or a token binding. */
export interface IssuerExtension {
  readonly grants?: Readonly<Record<string, GrantHandler>>;
  readonly authentication?: readonly ClientAuthenticator[];
  /** Returns the binding for the tokens of a request. Marks nothing as used. */
  readonly bind?: (
    core: IssuerCore,
    request: Request,
  ) => Promise<{ readonly binding: TokenBinding; readonly uses: readonly OneUse[] } | undefined>;
  /**
   * Returns the placeholder client for a grant type that needs no client credentials; undefined for other grant types.
   * Called for requests without client credentials.
   */
  readonly anonymous?: (grantType: string) => IssuerClient | undefined;
  /** Members of the issuer's metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Settings and services that the endpoints share. State that processes must share is in the store. */
export interface IssuerCore {
  /** Issuer identifier, as the operator wrote it. */
  readonly issuer: string;
  /** Prefix of the URLs of all endpoints. */
  readonly base: string;
  readonly name: string;
  readonly resources: readonly string[];
  readonly defaultResource: string | undefined;
  /** Description of each scope. */
  readonly scopes: ReadonlyMap<string, string>;
  readonly defaultScopes: readonly string[];
  readonly options: IssuerOptions;
  readonly rateLimit: RateLimit | undefined;
  readonly limits: IssuerLimits;
  readonly lifetimes: Resolved<NonNullable<IssuerOptions["lifetimes"]>>;
  readonly rules: MetadataRules;
  readonly store: IssuerStore;
  readonly seal: Seal;
  readonly clients: Clients;
  readonly clientKeys: ClientKeys;
  readonly tokens: Tokens;
  readonly consents: Consents;
  readonly login: Login;
  readonly grants: ReadonlyMap<string, GrantHandler>;
  readonly authenticators: readonly ClientAuthenticator[];
  readonly extensions: readonly IssuerExtension[];
  /** Ends a grant and all its tokens. `expiresAt` is the latest expiry of these tokens, `owner` the user. */
  endGrant(grantId: string, expiresAt: number, owner?: string): Promise<void>;
  approves(question: ConsentQuestion): Promise<boolean>;
  onError(error: unknown): void;
  now(): number;
}

/** Marks credentials as used by `owner`. Throws the `refusal` of a credential that was used before. */
export async function useUp({ store }: IssuerCore, uses: readonly OneUse[], owner: string): Promise<void> {
  for (const { mark, expiresAt, refusal } of uses) {
    if (!(await store.add(mark, true, expiresAt, { owner }))) throw refusal;
  }
}
