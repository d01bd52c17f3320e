import { clientDocumentUrlProblem } from "../../client-document.js";
import { parseWebAddress } from "../../web-address.js";
import type { ClientDocumentOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";
import type { IssuerClient } from "./client.js";
import type { DocumentClients } from "./clients.js";
import type { DocumentFetcher, FetchedDocument } from "./fetch.js";
import { type MetadataRules, parseClientMetadata, toClient } from "./metadata.js";

const MAX_CACHED = 1_000;
const DAY = 86_400_000;
/** Without a word from the document it is reused for the length of a login. */
const UNSAID_MS = 60_000;

/** Clients whose id is the address of a document that describes them. */
export function createDocumentClients(
  options: ClientDocumentOptions,
  fetcher: DocumentFetcher,
  rules: MetadataRules,
  now: () => number,
): DocumentClients {
  const cache = new Map<string, { readonly client: IssuerClient; readonly expiresAt: number }>();
  const { maxAgeMs = DAY } = options;

  const remember = (client: IssuerClient, forMs: number): void => {
    if (forMs <= 0) return;
    const oldest = cache.size < MAX_CACHED ? undefined : cache.keys().next().value;
    if (oldest !== undefined) cache.delete(oldest);
    cache.set(client.id, { client, expiresAt: now() + forMs });
  };

  return {
    async find(clientId) {
      const url = parseWebAddress(clientId);
      // The id is compared as text: no other text may lead to the same document.
      if (url?.href !== clientId || clientDocumentUrlProblem(clientId) !== undefined)
        throw refused("the id of the app is not valid");
      const cached = cache.get(clientId);
      if (cached !== undefined && now() < cached.expiresAt) return cached.client;
      cache.delete(clientId);
      if ((await options.allow?.(url)) === false) throw refused("the app is not welcome here");
      const document = await fetcher.get(url);
      const client = parseDocument(clientId, document, rules);
      if ((await options.accept?.(client)) === false) throw refused("the app is not welcome here");
      remember(client, Math.min(maxAgeMs, freshMs(document.headers)));
      return client;
    },
  };
}

function parseDocument(clientId: string, { json }: FetchedDocument, rules: MetadataRules): IssuerClient {
  const said = (typeof json === "object" && json !== null ? json : {}) as { readonly [member: string]: unknown };
  if (said.client_id !== clientId) throw refused("the document of the app is about another one");
  if (typeof said.client_name !== "string" || said.client_name === "") throw refused("the document has no client_name");
  if ("client_secret" in said) throw refused("the document holds a secret");
  const methods = rules.methods.filter((method) => !method.startsWith("client_secret"));
  const ofDocuments = { ...rules, methods, reservedGrantTypes: [] };
  try {
    return toClient(clientId, "document", parseClientMetadata(json, ofDocuments, "none"));
  } catch (error) {
    if (error instanceof OAuthProblem) throw refused(`the document of the app is not valid: ${error.message}`);
    throw error;
  }
}

/** How long the headers allow to reuse it. */
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
