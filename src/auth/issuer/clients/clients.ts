import { DefinitionError } from "../../../protocol/errors.js";
import { digestOf } from "../../crypto.js";
import type { IssuerLimits } from "../limits.js";
import { OAuthProblem } from "../problem.js";
import { redirectUriProblem } from "../redirect-uri.js";
import { assertUnique } from "../rules.js";
import type { IssuerStore } from "../store/store.js";
import { CODE_GRANT, type ConfiguredClient, type IssuerClient, REFRESH_GRANT } from "./client.js";
import type { DocumentClients } from "./document.js";
import type { DocumentFetcher } from "./fetch.js";

/** Registered client and its expiry. Times are in milliseconds since 1970. */
interface Registration {
  readonly client: IssuerClient;
  readonly expiresAt: number;
  /** Latest expiry, which use does not extend. */
  readonly endsAt?: number | undefined;
}

/** Returns the store key of a registered client. */
export function clientKeyOf(clientId: string): string {
  return `client:${clientId}`;
}

/** Returns the store key of the approval of a registered client, whose value is the user who approved it first. */
function approvalKeyOf(clientId: string): string {
  return `approved:${clientId}`;
}

/** Finds clients by id: configured, described by a metadata document, or registered. */
export class Clients {
  readonly #configured: ReadonlyMap<string, ConfiguredClient>;
  readonly #documents: DocumentClients | undefined;
  readonly #fetcher: DocumentFetcher;
  readonly #store: IssuerStore;
  readonly #limits: IssuerLimits;
  readonly #now: () => number;

  constructor(
    configured: readonly ConfiguredClient[],
    documents: DocumentClients | undefined,
    fetcher: DocumentFetcher,
    store: IssuerStore,
    limits: IssuerLimits,
    now: () => number,
  ) {
    for (const client of configured) assertConfigured(client, documents !== undefined);
    assertUnique(
      "createIssuer: clients",
      configured.map(({ clientId }) => clientId),
    );
    this.#configured = new Map(configured.map((client) => [client.clientId, client]));
    this.#documents = documents;
    this.#fetcher = fetcher;
    this.#store = store;
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Returns a client; undefined if it is unknown. Throws an `OAuthProblem` if its metadata document is unavailable,
   * invalid or not allowed.
   */
  async find(clientId: string): Promise<IssuerClient | undefined> {
    const configured = this.#configured.get(clientId);
    if (configured !== undefined) return await toIssuerClient(configured);
    if (isAddress(clientId)) return await this.#documents?.find(clientId);
    return (await this.#registered(clientId))?.client;
  }

  /** Stores a client that has just registered, for `unusedClientMs` at first. */
  async register(client: IssuerClient, lifetimeMs: number | undefined): Promise<void> {
    const endsAt = lifetimeMs === undefined ? undefined : this.#now() + lifetimeMs;
    await this.#save({ client, endsAt, expiresAt: this.#now() + this.#limits.unusedClientMs });
  }

  /** Protects a client from eviction during a login. Throws if a registered client no longer exists. */
  async hold(clientId: string): Promise<void> {
    if (!this.#configured.has(clientId) && !isAddress(clientId)) await this.#keep(clientId, this.#now());
  }

  /**
   * Keeps a client that a user has approved, at least until the grant ends. Throws if a registered client no longer
   * exists.
   */
  async approve(clientId: string, grantEndsAt: number, user: string): Promise<void> {
    if (this.#configured.has(clientId)) return;
    if (isAddress(clientId)) return this.#documents?.approve(clientId);
    const { client, endsAt = grantEndsAt } = await this.#keep(clientId, grantEndsAt);
    if (client.jwksUri !== undefined) this.#fetcher.approve(client.jwksUri);
    const key = approvalKeyOf(clientId);
    // The approval counts for the first user, so that others cannot take it over and let it make room for theirs.
    const owner = ((await this.#store.get(key)) as string | undefined) ?? user;
    await this.#store.put(key, owner, Math.min(grantEndsAt, endsAt), { owner, needs: clientKeyOf(clientId) });
  }

  async #keep(clientId: string, untilMs: number): Promise<Registration> {
    const known = await this.#registered(clientId);
    if (known === undefined) throw new OAuthProblem("unauthorized_client", "the client is no longer registered");
    await this.#save({ ...known, expiresAt: Math.max(known.expiresAt, untilMs + this.#limits.unusedClientMs) });
    return known;
  }

  async #registered(clientId: string): Promise<Registration | undefined> {
    return (await this.#store.get(clientKeyOf(clientId))) as Registration | undefined;
  }

  /** Stores a registration, and protects it from eviction for the duration of a login. */
  async #save(registration: Registration): Promise<void> {
    const { client, expiresAt, endsAt = expiresAt } = registration;
    const heldUntil = this.#now() + this.#limits.loginMs;
    await this.#store.put(clientKeyOf(client.id), registration, Math.min(expiresAt, endsAt), { heldUntil });
  }
}

/** True if a client id is an http(s) URL. Such ids are reserved for the URLs of metadata documents. */
export function isAddress(clientId: string): boolean {
  return /^https?:/i.test(clientId);
}

function assertConfigured(client: ConfiguredClient, documents: boolean): void {
  const name = JSON.stringify(client.clientId);
  if (documents && /^https:/i.test(client.clientId)) {
    throw new DefinitionError(`createIssuer: clients: the clientId ${name} is a URL: these are for clientDocuments`);
  }
  for (const uri of client.redirectUris ?? []) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined)
      throw new DefinitionError(`createIssuer: clients: the redirect URI ${uri} of ${name} ${problem}`);
  }
}

async function toIssuerClient(client: ConfiguredClient): Promise<IssuerClient> {
  const { clientId: id, clientSecret, jwks, grantTypes = [CODE_GRANT, REFRESH_GRANT], redirectUris = [] } = client;
  const method = jwks !== undefined ? "private_key_jwt" : clientSecret !== undefined ? "client_secret_basic" : "none";
  const { name, scopes, dpopBound } = client;
  const secretDigest = clientSecret === undefined ? undefined : await digestOf(clientSecret);
  const known = { id, source: "configured", name, redirectUris, grantTypes, scopes, jwks, dpopBound } as const;
  return { ...known, method: client.method ?? method, secretDigest };
}
