import type { Reply } from "./reply.js";
import { discard } from "./reply-reader.js";

/** What a request comes with beside what `fetch` knows. */
export interface FetchInit extends RequestInit {
  /** Stops the idle time of the call that the request belongs to, while something else than the server is waited for. */
  readonly patience?: { hold(): void; release(): void } | undefined;
  /** The address of the server that the request is for, which the request's own need not be. */
  readonly server?: URL | undefined;
}

export type Fetch = (url: URL, init: FetchInit) => Promise<Response>;

/** A `fetch` that may answer with less than a `Response`. */
export type Send<R extends Reply = Reply> = (url: URL, init: FetchInit) => Promise<R>;

const MAX_HOPS = 5;

/**
 * Fetches, and follows a redirect only where nothing is given away and nothing is changed: to the same origin, with
 * method, headers and body kept. Any other redirect is handed back as it came, for the caller to refuse.
 */
export async function fetchSameOrigin<R extends Reply>(send: Send<R>, url: URL, init: FetchInit): Promise<R> {
  let at = url;
  for (let hops = 0; ; hops++) {
    const response = await send(at, { ...init, redirect: "manual" });
    const next = hops < MAX_HOPS ? nextHop(response, at, init.method === "GET") : undefined;
    if (next === undefined) return response;
    discard(response);
    at = next;
  }
}

function nextHop(response: Reply, from: URL, isGet: boolean): URL | undefined {
  const { status } = response;
  const keepsMethod = status === 307 || status === 308 || (isGet && (status === 301 || status === 302));
  const location = keepsMethod ? response.headers.get("location") : null;
  if (location === null || !URL.canParse(location, from)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to : undefined;
}
