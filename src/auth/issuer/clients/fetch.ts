import type { JSONWebKeySet } from "jose";
import { readText } from "../../../http/client/read.js";
import { discard, type Fetch } from "../../../http/client/send.js";
import { orAborted } from "../../abortable.js";
import { type AddressPolicy, addressProblem } from "../../addresses.js";
import { RemoteKeys } from "../../issuer-keys.js";
import { mediaType } from "../http.js";
import type { IssuerLimits } from "../limits.js";
import type { ClientDocumentOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";
import { Buckets } from "../rate-limiter.js";

export interface FetchedDocument {
  readonly json: unknown;
  readonly headers: Headers;
}

/** Hosts, and addresses that users have approved, that are remembered. */
const MAX_REMEMBERED = 10_000;
const ALL = "";

/**
 * Fetches what clients name: their metadata documents and keys. No private address is asked, no redirect followed, and
 * time and size are bounded. Throws `invalid_client`, in words that tell nothing of what was found. Strangers choose the
 * addresses, so each host, and all hosts together, are asked a bounded number of times.
 */
export class DocumentFetcher {
  readonly #fetch: Fetch;
  readonly #policy: AddressPolicy;
  readonly #limits: IssuerLimits;
  readonly #buckets: Buckets;
  /** How many requests are under way to each host, and to all. */
  readonly #underWay = new Map<string, number>();
  /** Addresses of clients that users have approved: strangers, who cannot do that, take no requests from them. */
  readonly #approved = new Set<string>();

  constructor(options: ClientDocumentOptions & { readonly fetch: Fetch }, limits: IssuerLimits, now: () => number) {
    const { allowLoopback = false, resolve } = options;
    this.#fetch = options.fetch;
    this.#policy = { allowInsecure: false, allowPrivate: false, allowLoopback, resolve };
    this.#limits = limits;
    this.#buckets = new Buckets(MAX_REMEMBERED, now);
  }

  /** A user has approved the client that names this address. Strangers use up nothing of what is fetched for it. */
  approve(href: string): void {
    this.#approved.delete(href);
    if (this.#approved.size >= MAX_REMEMBERED) this.#approved.delete(this.#approved.keys().next().value ?? "");
    this.#approved.add(href);
  }

  isApproved(href: string): boolean {
    return this.#approved.has(href);
  }

  async get(url: URL): Promise<FetchedDocument> {
    const { hostname } = url;
    const names = this.isApproved(url.href) ? [`approved ${hostname}`] : [hostname, ALL];
    for (const name of names) this.#assertWithin(name);
    for (const name of names) this.#count(name, 1);
    try {
      return await this.#request(url);
    } catch (cause) {
      throw new OAuthProblem("invalid_client", "the document of the app cannot be had", { cause });
    } finally {
      for (const name of names) this.#count(name, -1);
    }
  }

  async #request(url: URL): Promise<FetchedDocument> {
    const { documentMs, maxDocumentBytes } = this.#limits;
    const signal = AbortSignal.timeout(documentMs);
    if ((await addressProblem(url, this.#policy)) !== undefined) throw new Error("the address is not asked");
    const headers = { accept: "application/json" };
    const init = { method: "GET", headers, redirect: "manual", credentials: "omit", signal } as const;
    const response = await orAborted(this.#fetch(url, init), signal);
    if (response.status !== 200 || !isJson(response)) {
      discard(response);
      throw new Error("not a JSON document");
    }
    return { json: JSON.parse(await readText(response, maxDocumentBytes, { signal })), headers: response.headers };
  }

  /** Throws while a host, or all together, are asked too much. */
  #assertWithin(name: string): void {
    const perHost = name !== ALL && !name.startsWith("approved ");
    const most = name === ALL ? "maxDocumentFetches" : "maxDocumentFetchesPerHost";
    const perMinute = perHost ? "maxDocumentsPerHostPerMinute" : "maxDocumentsPerMinute";
    if ((this.#underWay.get(name) ?? 0) >= this.#limits[most]) throw busy(1, most);
    const seconds = this.#buckets.take(name, { requests: this.#limits[perMinute] });
    if (seconds !== undefined) throw busy(seconds, perMinute);
  }

  #count(name: string, change: 1 | -1): void {
    const now = (this.#underWay.get(name) ?? 0) + change;
    if (now > 0) this.#underWay.set(name, now);
    else this.#underWay.delete(name);
  }
}

function busy(seconds: number, bound: keyof IssuerLimits): OAuthProblem {
  const headers = { "retry-after": String(Math.ceil(seconds)) };
  const cause = new Error(`limits.${bound} is reached`);
  const message = "too many documents of apps are being fetched; try again later";
  return new OAuthProblem("temporarily_unavailable", message, { status: 429, headers, cause });
}

function isJson(response: Response): boolean {
  return /^application\/(json|[\w.+-]+\+json)$/.test(mediaType(response));
}

/**
 * The keys of clients that say where theirs are. Each set is kept for a while, so that a token request costs none at the
 * client's; a key that is taken out there is good for as long here, and no longer when it cannot be asked.
 */
export class ClientKeys {
  readonly #documents: DocumentFetcher;
  readonly #limits: IssuerLimits;
  readonly #now: () => number;
  readonly #kept = new Map<string, RemoteKeys>();

  constructor(documents: DocumentFetcher, limits: IssuerLimits, now: () => number) {
    this.#documents = documents;
    this.#limits = { ...limits, staleKeysMs: 0 };
    this.#now = now;
  }

  at(uri: string): RemoteKeys {
    const keys = this.#kept.get(uri) ?? new RemoteKeys(() => this.#load(uri), this.#now, this.#limits);
    // The one that was used last is the last to go.
    this.#kept.delete(uri);
    if (this.#kept.size >= this.#limits.maxDocuments) this.#dropOne();
    this.#kept.set(uri, keys);
    return keys;
  }

  #dropOne(): void {
    const uris = [...this.#kept.keys()];
    this.#kept.delete(uris.find((uri) => !this.#documents.isApproved(uri)) ?? uris[0] ?? "");
  }

  async #load(uri: string): Promise<JSONWebKeySet> {
    const { json } = await this.#documents.get(new URL(uri));
    return (typeof json === "object" && json !== null ? json : {}) as JSONWebKeySet;
  }
}
