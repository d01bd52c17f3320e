import { BodyTooLarge, discard, readText } from "../../http/reply-reader.js";
import type { Fetch } from "../../http/same-origin-fetch.js";
import { AuthError, type AuthStep } from "../../schema/errors.js";
import { type AddressPolicy, addressProblem } from "../address-policy.js";

/** One run of an authorization: what ends it, and which addresses it has asked. */
export interface AuthRun {
  readonly signal: AbortSignal;
  readonly tried: string[];
  /** The time, in milliseconds since 1970. */
  now(): number;
}

/** A metadata document, or why there is none. */
export type Document =
  | { readonly kind: "found"; readonly json: { readonly [member: string]: unknown } }
  | { readonly kind: "absent"; readonly why: string; readonly status?: number };

const MAX_BYTES = 262_144;
const MAX_HOPS = 3;
const REQUEST_MS = 15_000;

/** All requests of an authorization go through here: each address is checked, each answer is bounded in size and time. */
export class OAuthHttp {
  readonly #fetch: Fetch;
  readonly #policy: AddressPolicy;
  readonly #discoveryHeaders: Readonly<Record<string, string>>;

  constructor(fetch: Fetch, policy: AddressPolicy, discoveryHeaders: Readonly<Record<string, string>>) {
    this.#fetch = fetch;
    this.#policy = policy;
    this.#discoveryHeaders = discoveryHeaders;
  }

  /** Gets a metadata document. Rejects only when the network fails or the run ends. */
  async getDocument(url: URL, run: AuthRun, step: AuthStep): Promise<Document> {
    let at = url;
    for (let hops = 0; hops <= MAX_HOPS; hops++) {
      run.tried.push(at.href);
      const refusal = await addressProblem(at, this.#policy);
      if (refusal !== undefined) return { kind: "absent", why: refusal };
      const response = await this.#get(at, run, step);
      const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
      if (location === null || !URL.canParse(location, at)) return await this.#toDocument(response, run.signal);
      discard(response);
      at = new URL(location, at);
    }
    return { kind: "absent", why: "too many redirects" };
  }

  /** Posts to an endpoint that metadata or the author named. The answer is read whole; redirects are not followed. */
  async post(url: URL, init: RequestInit, run: AuthRun, step: AuthStep): Promise<Response> {
    const refusal = await addressProblem(url, this.#policy);
    if (refusal !== undefined) {
      throw new AuthError("configuration", `${url.href} is not asked: ${refusal}`, { tried: run.tried });
    }
    run.tried.push(url.href);
    const signal = bounded(run.signal);
    try {
      const response = await this.#fetch(url, { ...init, method: "POST", redirect: "manual", signal });
      const text = await readText(response, MAX_BYTES, signal);
      const body = text === "" ? null : text;
      return new Response(body, { status: response.status, headers: response.headers });
    } catch (cause) {
      throw failure(url, cause, run, step);
    }
  }

  async #get(url: URL, run: AuthRun, step: AuthStep): Promise<Response> {
    const init = { redirect: "manual", signal: bounded(run.signal) } as const;
    const headers = { accept: "application/json" };
    try {
      return await this.#fetch(url, { ...init, method: "GET", headers: { ...headers, ...this.#discoveryHeaders } });
    } catch (cause) {
      if (run.signal.aborted || !isPreflightFailure(cause)) throw failure(url, cause, run, step);
    }
    try {
      return await this.#fetch(url, { ...init, method: "GET", headers });
    } catch (cause) {
      throw failure(url, cause, run, step);
    }
  }

  async #toDocument(response: Response, signal: AbortSignal): Promise<Document> {
    const { status } = response;
    if (status !== 200) {
      discard(response);
      return { kind: "absent", why: `status ${status}`, status };
    }
    let json: unknown;
    try {
      json = JSON.parse(await readText(response, MAX_BYTES, bounded(signal)));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return { kind: "absent", why: error instanceof BodyTooLarge ? error.message : "not JSON", status };
    }
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      return { kind: "absent", why: "not a JSON object", status };
    }
    return { kind: "found", json: json as { [member: string]: unknown } };
  }
}

function bounded(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
}

/** In a browser, a refused CORS preflight looks like a network failure; without the extra header there is none. */
function isPreflightFailure(cause: unknown): boolean {
  return cause instanceof TypeError && "document" in globalThis;
}

/** The end of the run stands for itself; anything else is named with the address it happened at. */
function failure(url: URL, cause: unknown, run: AuthRun, step: AuthStep): unknown {
  if (run.signal.aborted) return run.signal.reason;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AuthError(step, `${url.origin}${url.pathname}: no usable answer (${why})`, { tried: run.tried, cause });
}
