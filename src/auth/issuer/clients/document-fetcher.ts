import { discard, readText } from "../../../http/client/read.js";
import type { Fetch } from "../../../http/client/send.js";
import { type AddressPolicy, addressProblem } from "../../address-policy.js";
import { mediaType } from "../forms.js";
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
      const response = await beforeEnd(this.#fetch(url, init), signal);
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

/** A `fetch` of the operator's need not heed the signal. */
function beforeEnd<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function isJson(response: Response): boolean {
  return /^application\/(json|[\w.+-]+\+json)$/.test(mediaType(response));
}
