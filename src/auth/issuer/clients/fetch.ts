import type { JSONWebKeySet } from "jose";
import { readText } from "../../../http/client/read.js";
import { discard, type Fetch } from "../../../http/client/send.js";
import { orAborted } from "../../abortable.js";
import { type AddressPolicy, addressProblem } from "../../addresses.js";
import { RemoteKeys } from "../../issuer-keys.js";
import { mediaType } from "../http.js";
import type { ClientDocumentOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";

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

const MAX_KEPT = 1_000;

/**
 * The keys of clients that say where theirs are. Each set is kept for a while, so that a token request costs none at the
 * client's; a key that is taken out there is good for as long here, and no longer when it cannot be asked.
 */
export class ClientKeys {
  readonly #documents: DocumentFetcher;
  readonly #now: () => number;
  readonly #kept = new Map<string, RemoteKeys>();

  constructor(documents: DocumentFetcher, now: () => number) {
    this.#documents = documents;
    this.#now = now;
  }

  at(uri: string): RemoteKeys {
    const keys = this.#kept.get(uri) ?? new RemoteKeys(() => this.#load(uri), this.#now, { maxStaleMs: 0 });
    // The one that was used last is the last to go.
    this.#kept.delete(uri);
    if (this.#kept.size >= MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(uri, keys);
    return keys;
  }

  async #load(uri: string): Promise<JSONWebKeySet> {
    const { json } = await this.#documents.get(new URL(uri));
    return (typeof json === "object" && json !== null ? json : {}) as JSONWebKeySet;
  }
}
