import type { JSONWebKeySet } from "jose";
import { RemoteKeys } from "../../issuer-keys.js";
import type { DocumentFetcher } from "./document.js";

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
