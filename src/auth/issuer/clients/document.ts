import { dropOldest } from "../../../protocol/oldest.js";
import { clientDocumentUrlProblem } from "../../client-document.js";
import { parseWebAddress } from "../../web-address.js";
import type { IssuerLimits } from "../limits.js";
import type { ClientDocumentOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";
import type { IssuerClient } from "./client.js";
import type { DocumentFetcher, FetchedDocument } from "./fetch.js";
import { type MetadataRules, parseClientMetadata, toClient } from "./metadata.js";

/** Milliseconds during which a document without cache headers is reused, enough for most logins. */
const UNSAID_MS = 60_000;

/** Clients whose id is the URL of their metadata document. */
export class DocumentClients {
  readonly #options: ClientDocumentOptions;
  readonly #fetcher: DocumentFetcher;
  readonly #rules: MetadataRules;
  readonly #limits: IssuerLimits;
  readonly #now: () => number;
  readonly #cache = new Map<string, { readonly client: IssuerClient; readonly expiresAt: number }>();
  /**
   * Documents that were unavailable or invalid. After the second failure in a row, the problem is kept and repeated, so
   * that a client id cannot cause requests without end.
   */
  readonly #failures = new Map<string, { readonly problem: OAuthProblem | undefined; readonly until: number }>();
  /** Requests under way. Concurrent callers share one request per document. */
  readonly #underWay = new Map<string, Promise<IssuerClient>>();

  constructor(
    options: ClientDocumentOptions,
    fetcher: DocumentFetcher,
    rules: MetadataRules,
    limits: IssuerLimits,
    now: () => number,
  ) {
    this.#options = options;
    this.#fetcher = fetcher;
    this.#rules = rules;
    this.#limits = limits;
    this.#now = now;
  }

  async find(clientId: string): Promise<IssuerClient> {
    const url = parseWebAddress(clientId);
    // The id is compared as text, so only one spelling of the URL is accepted.
    const problem = clientDocumentUrlProblem(clientId);
    if (url?.href !== clientId || problem !== undefined)
      throw refused(`client_id ${problem ?? "is not a normalized URL"}`);
    const cached = this.#cache.get(clientId);
    if (cached !== undefined && this.#now() < cached.expiresAt) return cached.client;
    this.#cache.delete(clientId);
    const failure = this.#failures.get(clientId);
    if (failure?.problem !== undefined && this.#now() < failure.until) throw failure.problem;
    const underWay = this.#underWay.get(clientId) ?? this.#load(clientId, url);
    this.#underWay.set(clientId, underWay);
    return await underWay.finally(() => this.#underWay.delete(clientId));
  }

  /** Marks the document and the key set of a client as those of an approved client. */
  approve(clientId: string): void {
    this.#fetcher.approve(clientId);
    this.#approveKeys(this.#cache.get(clientId)?.client);
  }

  async #load(clientId: string, url: URL): Promise<IssuerClient> {
    const { allow, accept } = this.#options;
    if ((await allow?.(url)) === false) throw refused("the app is not allowed");
    try {
      const document = await this.#fetcher.get(url);
      const client = parseDocument(clientId, document, this.#rules);
      if ((await accept?.(client)) === false) throw refused("the app is not allowed");
      if (this.#fetcher.isApproved(clientId)) this.#approveKeys(client);
      this.#remember(client, Math.min(this.#limits.documentAgeMs, freshMs(document.headers)));
      return client;
    } catch (error) {
      if (error instanceof OAuthProblem && error.code === "invalid_client") this.#rememberFailure(clientId, error);
      throw error;
    }
  }

  #approveKeys(client: IssuerClient | undefined): void {
    if (client?.jwksUri !== undefined) this.#fetcher.approve(client.jwksUri);
  }

  /** The next request fetches again after a first failure, but not after a second one. */
  #rememberFailure(clientId: string, problem: OAuthProblem): void {
    const isSecond = this.#now() < (this.#failures.get(clientId)?.until ?? 0);
    this.#failures.delete(clientId);
    this.#failures.set(clientId, {
      problem: isSecond ? problem : undefined,
      until: this.#now() + this.#limits.failedDocumentMs,
    });
    dropOldest(this.#failures, this.#limits.maxDocuments);
  }

  #remember(client: IssuerClient, forMs: number): void {
    if (forMs <= 0) return;
    if (this.#cache.size >= this.#limits.maxDocuments) this.#fetcher.dropOne(this.#cache);
    this.#cache.set(client.id, { client, expiresAt: this.#now() + forMs });
  }
}

function parseDocument(clientId: string, { json }: FetchedDocument, rules: MetadataRules): IssuerClient {
  const said = (typeof json === "object" && json !== null ? json : {}) as { readonly [member: string]: unknown };
  if (said.client_id !== clientId) throw refused("the client_id in the metadata document is not its URL");
  if (typeof said.client_name !== "string" || said.client_name === "")
    throw refused("the metadata document has no client_name");
  if ("client_secret" in said) throw refused("the metadata document contains a client_secret");
  const methods = rules.methods.filter((method) => !method.startsWith("client_secret"));
  const ofDocuments = { ...rules, methods, reservedGrantTypes: [] };
  try {
    return toClient(clientId, "document", parseClientMetadata(json, ofDocuments, "none"));
  } catch (error) {
    if (error instanceof OAuthProblem) throw refused(`the metadata document is not valid: ${error.message}`);
    throw error;
  }
}

/** Returns the milliseconds for which the HTTP headers allow reuse. */
export function freshMs(headers: Headers): number {
  const control = (headers.get("cache-control") ?? "").toLowerCase();
  if (/\bno-(store|cache)\b/.test(control)) return 0;
  const seconds = /\bmax-age\s*=\s*"?(\d{1,9})/.exec(control)?.[1];
  if (seconds === undefined) return UNSAID_MS;
  const age = /^\d{1,9}$/.test(headers.get("age") ?? "") ? Number(headers.get("age")) : 0;
  return Math.max(0, Number(seconds) - age) * 1000;
}

function refused(message: string): OAuthProblem {
  return new OAuthProblem("invalid_client", message);
}
