import type { JSONWebKeySet } from "jose";
import { readText } from "../../../http/client/read.js";
import { discard, type Fetch } from "../../../http/client/send.js";
import { dropOldest } from "../../../protocol/oldest.js";
import { orAborted, timeoutSignal } from "../../abortable.js";
import { type AddressPolicy, addressProblem } from "../../addresses.js";
import { type PublishedKeys, RemoteKeys } from "../../issuer-keys.js";
import { mediaType } from "../http.js";
import type { IssuerLimits } from "../limits.js";
import type { ClientDocumentOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";
import { Buckets } from "../rate-limiter.js";

export interface FetchedDocument {
  readonly json: unknown;
  readonly headers: Headers;
}

/** Maximum number of hosts, and of approved URLs, that are remembered. */
const MAX_REMEMBERED = 10_000;
const ALL = "";

/**
 * Fetches metadata documents and key sets of clients. Refuses private addresses and redirects, and limits time and
 * size. Throws an `OAuthProblem` whose message has no details of the response. Anybody can choose the URLs, so the
 * requests to each host, and to all hosts together, are limited.
 */
export class DocumentFetcher {
  readonly #fetch: Fetch;
  readonly #policy: AddressPolicy;
  readonly #limits: IssuerLimits;
  readonly #buckets: Buckets;
  /** Number of requests under way, per host and in total. */
  readonly #underWay = new Map<string, number>();
  /**
   * URLs of clients that users have approved. They have limits of their own, so that unknown clients cannot use these
   * up.
   */
  readonly #approved = new Set<string>();

  constructor(options: ClientDocumentOptions & { readonly fetch: Fetch }, limits: IssuerLimits, now: () => number) {
    const { allowLoopback = false, resolve, fetch } = options;
    this.#fetch = (url, init) => fetch(url, init);
    this.#policy = { allowInsecure: false, allowPrivate: false, allowLoopback, resolve };
    this.#limits = limits;
    this.#buckets = new Buckets(MAX_REMEMBERED, now);
  }

  /** Marks a URL as that of an approved client. Requests for unknown clients do not count against its limits. */
  approve(href: string): void {
    this.#approved.delete(href);
    this.#approved.add(href);
    dropOldest(this.#approved, MAX_REMEMBERED);
  }

  /** Removes the oldest entry whose URL is not that of an approved client, or else the oldest of all. */
  dropOne(kept: Map<string, unknown>): void {
    const urls = [...kept.keys()];
    kept.delete(urls.find((url) => !this.isApproved(url)) ?? urls[0] ?? "");
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
      throw new OAuthProblem("invalid_client", "the metadata document or key set of the app cannot be fetched", {
        cause,
      });
    } finally {
      for (const name of names) this.#count(name, -1);
    }
  }

  async #request(url: URL): Promise<FetchedDocument> {
    const { documentMs, maxDocumentBytes } = this.#limits;
    const signal = timeoutSignal(documentMs);
    const problem = await addressProblem(url, this.#policy);
    if (problem !== undefined) throw new Error(`the URL must not be requested: ${problem}`);
    const headers = { accept: "application/json" };
    const init = { method: "GET", headers, redirect: "manual", credentials: "omit", signal } as const;
    const response = await orAborted(this.#fetch(url, init), signal);
    const { status } = response;
    if (status !== 200 || !isJson(response)) {
      discard(response);
      throw new Error(status === 200 ? "its type is not JSON" : `the response has status ${status}`);
    }
    return { json: JSON.parse(await readText(response, maxDocumentBytes, { signal })), headers: response.headers };
  }

  /** Throws if a limit of one host, or of all together, is reached. */
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
  const message = "too many requests for documents; try again later";
  return new OAuthProblem("temporarily_unavailable", message, { status: 429, headers, cause });
}

function isJson(response: Response): boolean {
  return /^application\/(json|[\w.+-]+\+json)$/.test(mediaType(response));
}

/**
 * Keys of clients that publish them at a `jwks_uri`. Key sets are cached for `keysMs`, so that most token requests
 * cause no request to the client. A removed key may be accepted until then. Unlike those of issuers, cached keys are
 * not used longer when the client is unreachable.
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
    // Marks the key set as most recently used.
    this.#kept.delete(uri);
    if (this.#kept.size >= this.#limits.maxDocuments) this.#documents.dropOne(this.#kept);
    this.#kept.set(uri, keys);
    return keys;
  }

  async #load(uri: string): Promise<PublishedKeys> {
    const { json } = await this.#documents.get(new URL(uri));
    return { uri, set: (typeof json === "object" && json !== null ? json : {}) as JSONWebKeySet };
  }
}
