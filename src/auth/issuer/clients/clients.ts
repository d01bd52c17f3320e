import { DefinitionError } from "../../../protocol/errors.js";
import { digestOf } from "../../crypto.js";
import { redirectUriProblem } from "../redirect-uri.js";
import type { IssuerStore } from "../store/store.js";
import { CODE_GRANT, type ConfiguredClient, type IssuerClient, REFRESH_GRANT } from "./client.js";

/** Where clients come from whose id is an address. */
export interface DocumentClients {
  find(clientId: string): Promise<IssuerClient>;
}

/** Finds clients by id: those known in advance, those described by documents, those that registered. */
export class Clients {
  readonly #configured: ReadonlyMap<string, ConfiguredClient>;
  readonly #documents: DocumentClients | undefined;
  readonly #store: IssuerStore;

  constructor(configured: readonly ConfiguredClient[], documents: DocumentClients | undefined, store: IssuerStore) {
    for (const client of configured) assertConfigured(client, documents !== undefined);
    this.#configured = new Map(configured.map((client) => [client.clientId, client]));
    if (this.#configured.size < configured.length) throw new DefinitionError("clients: two have the same id");
    this.#documents = documents;
    this.#store = store;
  }

  /** Undefined for a client that nobody knows. Throws `invalid_client` for a document that cannot be had or used. */
  async find(clientId: string): Promise<IssuerClient | undefined> {
    const configured = this.#configured.get(clientId);
    if (configured !== undefined) return await toIssuerClient(configured);
    if (/^https?:/i.test(clientId)) return await this.#documents?.find(clientId);
    return (await this.#store.get(`client:${clientId}`)) as IssuerClient | undefined;
  }

  async save(client: IssuerClient, expiresAt: number | undefined): Promise<void> {
    await this.#store.put(`client:${client.id}`, client, expiresAt);
  }
}

function assertConfigured(client: ConfiguredClient, documents: boolean): void {
  const name = JSON.stringify(client.clientId);
  if (documents && /^https:/i.test(client.clientId)) {
    throw new DefinitionError(`The client id ${name} is an address: it would stand for a metadata document`);
  }
  for (const uri of client.redirectUris ?? []) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) throw new DefinitionError(`The redirect URI ${uri} of the client ${name} ${problem}`);
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
