import { readText } from "../http/client/read.js";
import { discard, type Fetch } from "../http/client/send.js";
import { AuthError, type AuthStep } from "../protocol/auth-error.js";
import { messageOf } from "../protocol/text.js";
import { withinTime } from "./abortable.js";
import { type AddressPolicy, addressProblem, PRIVATE_ADDRESS } from "./addresses.js";

/** Run of an authorization: its signal, and the URLs that it has requested so far. */
export interface AuthRun {
  readonly signal: AbortSignal;
  readonly tried: string[];
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
}

/**
 * Metadata document, or the reason why there is none. `status` is undefined if the URL must not be requested or
 * redirects too often.
 */
export type Document =
  | { readonly kind: "found"; readonly json: { readonly [member: string]: unknown } }
  | { readonly kind: "absent"; readonly why: string; readonly status?: number };

const MAX_BYTES = 262_144;
const MAX_HOPS = 3;
const REQUEST_MS = 15_000;

/** Sends all requests of an authorization. Checks each URL, and limits the size and time of each response. */
export class OAuthHttp {
  readonly #fetch: Fetch;
  readonly #policy: AddressPolicy;
  readonly #discoveryHeaders: Readonly<Record<string, string>>;

  constructor(fetch: Fetch, policy: AddressPolicy, discoveryHeaders: Readonly<Record<string, string>>) {
    this.#fetch = fetch;
    this.#policy = policy;
    this.#discoveryHeaders = discoveryHeaders;
  }

  /**
   * Fetches a metadata document. Rejects if a request fails or times out, or if the run ends. Any other response yields
   * a document or the reason why there is none.
   */
  getDocument(url: URL, run: AuthRun, step: AuthStep): Promise<Document> {
    return withinTime(run.signal, REQUEST_MS, (signal) => this.#follow(url, run, step, signal));
  }

  async #follow(url: URL, run: AuthRun, step: AuthStep, signal: AbortSignal): Promise<Document> {
    let at = url;
    for (let hops = 0; hops <= MAX_HOPS; hops++) {
      const refusal = await this.#refusal(at, run, step);
      if (refusal !== undefined) return { kind: "absent", why: refusalOf(at, refusal) };
      run.tried.push(at.href);
      const response = await this.#get(at, run, step, signal);
      const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
      if (location === null || !URL.canParse(location, at)) return await toDocument(response, run, signal);
      discard(response);
      at = new URL(location, at);
    }
    return { kind: "absent", why: `more than ${MAX_HOPS} redirects` };
  }

  /** Posts to an endpoint from metadata or from the options. Reads the whole response. Does not follow redirects. */
  async post(url: URL, init: RequestInit, run: AuthRun, step: AuthStep): Promise<Response> {
    const refusal = await this.#refusal(url, run, step);
    if (refusal !== undefined) throw notAsked(url, refusal, run);
    run.tried.push(url.href);
    try {
      return await withinTime(run.signal, REQUEST_MS, async (signal) => {
        const response = await this.#fetch(url, { ...init, method: "POST", redirect: "manual", signal });
        const text = await readText(response, MAX_BYTES, { signal });
        const body = text === "" ? null : text;
        return new Response(body, { status: response.status, headers: response.headers });
      });
    } catch (cause) {
      throw failure(url, cause, run, step);
    }
  }

  /**
   * Throws if no token may be sent to the MCP server. The author configures its URL, so private addresses are allowed.
   */
  async assertServer(url: URL, run: AuthRun): Promise<void> {
    const refusal = await addressProblem(url, { ...this.#policy, allowPrivate: true });
    if (refusal !== undefined) throw notAsked(url, refusal, run);
  }

  async #refusal(url: URL, run: AuthRun, step: AuthStep): Promise<string | undefined> {
    try {
      return await addressProblem(url, this.#policy);
    } catch (cause) {
      throw failure(url, cause, run, step);
    }
  }

  async #get(url: URL, run: AuthRun, step: AuthStep, signal: AbortSignal): Promise<Response> {
    const ask = (more: Readonly<Record<string, string>>) =>
      this.#fetch(url, { method: "GET", redirect: "manual", signal, headers: { accept: "application/json", ...more } });
    try {
      return await ask(this.#discoveryHeaders).catch((cause) => {
        if (signal.aborted || !isPreflightFailure(cause)) throw cause;
        return ask({});
      });
    } catch (cause) {
      throw failure(url, cause, run, step);
    }
  }
}

async function toDocument(response: Response, run: AuthRun, signal: AbortSignal): Promise<Document> {
  const { status } = response;
  if (status !== 200) {
    discard(response);
    return { kind: "absent", why: `status ${status}`, status };
  }
  let json: unknown;
  try {
    json = JSON.parse(await readText(response, MAX_BYTES, { signal }));
  } catch (error) {
    if (run.signal.aborted) throw run.signal.reason;
    return { kind: "absent", why: error instanceof SyntaxError ? "not JSON" : messageOf(error), status };
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return { kind: "absent", why: "not a JSON object", status };
  }
  return { kind: "found", json: json as { [member: string]: unknown } };
}

/**
 * True if a failure may be a rejected CORS preflight, which looks like a network failure in a browser. A request
 * without the additional headers needs no preflight. Workers of a browser have no document; other workers have no
 * location.
 */
function isPreflightFailure(cause: unknown): boolean {
  return cause instanceof TypeError && ("document" in globalThis || globalThis.location !== undefined);
}

function notAsked(url: URL, why: string, { tried }: AuthRun): AuthError {
  return new AuthError("configuration", refusalOf(url, why), { tried });
}

function refusalOf(url: URL, why: string): string {
  const remedy = why.endsWith("private address") ? " (option allowPrivateAddresses)" : "";
  return `${url.href} must not be requested: ${why}${remedy}`;
}

/** Returns the reason of the signal if the run has ended, or else an error that names the URL. */
function failure(url: URL, cause: unknown, run: AuthRun, step: AuthStep): unknown {
  if (run.signal.aborted) return run.signal.reason;
  const { code } = (cause ?? {}) as { code?: unknown };
  if (code === PRIVATE_ADDRESS) return notAsked(url, "its host name resolves to a private address", run);
  const what = `${url.origin}${url.pathname}: no usable response (${messageOf(cause)})`;
  return new AuthError(step, what, { tried: run.tried, cause });
}
