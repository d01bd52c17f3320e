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

/** Something that is good for one use: the mark of its use, when it ends by itself, and the answer to a second use. */
export interface OneUse {
  readonly mark: string;
  readonly expiresAt: number;
  readonly refusal: OAuthProblem;
}

/** A client that is known to be the one it says it is, and the credentials that it can use once. */
export interface Authenticated {
  readonly client: IssuerClient;
  readonly uses: readonly OneUse[];
}

/** A request of the token endpoint, once the client is known to be the one it says it is. */
export interface TokenRequest {
  readonly form: Params;
  readonly client: IssuerClient;
  readonly binding: TokenBinding | undefined;
}

/** A grant that a request may have, before anything is used up for it. */
export interface FoundGrant {
  /** The user, or the client that acts for itself. Marks are counted for it. */
  readonly subject: string;
  /** Uses up what the request brought for the grant, such as a code. */
  redeem(): Promise<Granted>;
}

/** Finds the grant that a request asks for. Nothing is written before it is found. */
export type GrantHandler = (core: IssuerCore, request: TokenRequest) => Promise<FoundGrant>;

/** What a request at the token endpoint shows to tell who sends it. */
export interface Credentials {
  readonly clientId: string;
  /** What can be used once of them; undefined unless they are the client's. */
  match(core: IssuerCore, client: IssuerClient): Promise<readonly OneUse[] | undefined>;
}

/** A way to authenticate as a client. */
export interface ClientAuthenticator {
  readonly method: string;
  /** The credentials of this kind; undefined where there are none. Throws `invalid_client` for malformed ones. */
  read(request: Request, form: Params): Credentials | undefined;
}

/** How users are told apart, and what comes after their consent. */
export interface Login {
  /** Who it is; a page, where that is not known; nobody, where it is found out after the consent. */
  findUser(
    core: IssuerCore,
    request: Request,
    asked: AuthorizationRequest,
    client: IssuerClient,
  ): Promise<IssuerUser | Response | undefined>;
  /** Sends the browser on, once the client is approved. */
  proceed(
    core: IssuerCore,
    request: Request,
    asked: AuthorizationRequest,
    user: IssuerUser | undefined,
  ): Promise<Response>;
  /** Serves the browser that comes back from a login elsewhere. */
  callback?(core: IssuerCore, request: Request): Promise<Response>;
  /** Where a form may lead to beside this server and the client. */
  readonly redirectTargets: readonly string[];
}

/** What an extension of OAuth adds to an issuer. */
export interface IssuerExtension {
  readonly grants?: Readonly<Record<string, GrantHandler>>;
  readonly authentication?: readonly ClientAuthenticator[];
  /** Reads what the tokens of a request are to be bound to. Uses nothing up. */
  readonly bind?: (
    core: IssuerCore,
    request: Request,
  ) => Promise<{ readonly binding: TokenBinding; readonly uses: readonly OneUse[] } | undefined>;
  /** Who asks for a grant that needs no client, where the request names none. */
  readonly anonymous?: (grantType: string) => IssuerClient | undefined;
  /** What the metadata says about it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Everything the endpoints share. Made once; all that changes is in the store. */
export interface IssuerCore {
  /** The identifier, as the operator wrote it. */
  readonly issuer: string;
  /** What the paths of endpoints are appended to. */
  readonly base: string;
  readonly name: string;
  readonly resources: readonly string[];
  readonly defaultResource: string | undefined;
  /** Each scope with its description. */
  readonly scopes: ReadonlyMap<string, string>;
  readonly defaultScopes: readonly string[];
  readonly options: IssuerOptions;
  readonly limit: RateLimit | undefined;
  readonly limits: IssuerLimits;
  readonly lifetimes: Required<NonNullable<IssuerOptions["lifetimes"]>>;
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
  /** Ends a grant with all that came of it. `expiresAt` is when the last of it would have ended by itself. */
  endGrant(grantId: string, expiresAt: number, owner?: string): Promise<void>;
  approves(question: ConsentQuestion): Promise<boolean>;
  onError(error: unknown): void;
  now(): number;
}

/** Uses up what is good once. Throws the answer to a second use. */
export async function useUp({ store }: IssuerCore, uses: readonly OneUse[], owner: string): Promise<void> {
  for (const { mark, expiresAt, refusal } of uses) {
    if (!(await store.add(mark, true, expiresAt, { owner }))) throw refusal;
  }
}
