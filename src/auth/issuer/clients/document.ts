import { discard, readText } from "../../../http/client/read.js";
import type { Fetch } from "../../../http/client/send.js";
import { orAborted } from "../../abortable.js";
import { type AddressPolicy, addressProblem } from "../../addresses.js";
import { clientDocumentUrlProblem } from "../../client-document.js";
import { mediaType } from "../forms.js";
import type { ClientDocumentOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";
import type { IssuerClient } from "./client.js";
import type { DocumentClients } from "./clients.js";
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
      if (clientDocumentUrlProblem(clientId) !== undefined) throw refused("the id of the app is not valid");
      const url = new URL(clientId);
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

export interface FetchedDocument {
  readonly json: unknown;
  readonly headers: Headers;
}

const MAX_BYTES = 5_120;
const TIMEOUT_MS = 5_000;

/**
 * Fetches what clients name: their metadata documents and keys. No private address is asked, no redirect followed, and
 * time and size are bounded. Throws `invalid_client`, in words that tell nothing of what was found.
 */
export class DocumentFetcher {
  readonly #fetch: Fetch;
  readonly #policy: AddressPolicy;
  readonly #maxBytes: number;
  readonly #timeoutMs: number;

  constructor(options: ClientDocumentOptions) {
    const { maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, allowLoopback = false, resolve } = options;
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#policy = { allowInsecure: false, allowPrivate: false, allowLoopback, resolve };
    this.#maxBytes = maxBytes;
    this.#timeoutMs = timeoutMs;
  }

  async get(url: URL): Promise<FetchedDocument> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      if ((await addressProblem(url, this.#policy)) !== undefined) throw new Error("the address is not asked");
      const headers = { accept: "application/json" };
      const init = { method: "GET", headers, redirect: "manual", credentials: "omit", signal } as const;
      const response = await orAborted(this.#fetch(url, init), signal);
      if (response.status !== 200 || !isJson(response)) {
        discard(response);
        throw new Error("not a JSON document");
      }
      return { json: JSON.parse(await readText(response, this.#maxBytes, { signal })), headers: response.headers };
    } catch (cause) {
      throw new OAuthProblem("invalid_client", "the document of the app cannot be had", { cause });
    }
  }
}

function isJson(response: Response): boolean {
  return /^application\/(json|[\w.+-]+\+json)$/.test(mediaType(response));
}
