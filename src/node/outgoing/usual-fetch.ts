import type { Fetch } from "../../http/client/send.js";
import { type GuardedFetchOptions, guardedFetch } from "../guarded-fetch.js";
import { isReplaced, nodesDispatcher, proxyFor } from "../undici/dispatchers.js";
import { requestBy } from "./request.js";

/**
 * Sends a request of a client by its connections. Otherwise calls the global `fetch`, or sends the request through the proxy
 * that the environment names for the URL.
 */
export const usualFetch: Fetch = (url, init) => {
  if (init.ownFetch !== undefined) return init.ownFetch(url, init);
  const proxy = proxyFor(url, nodesDispatcher());
  return proxy === undefined ? globalThis.fetch(url, init) : requestBy(url, init, { proxy });
};

/**
 * Creates a guarded `fetch`. If the application has replaced the global `fetch` or its dispatcher, the global `fetch`
 * is called without the guard.
 */
export function createUsualGuardedFetch(options?: GuardedFetchOptions): Fetch {
  const strict = guardedFetch(options);
  return (url, init) => (isReplaced(nodesDispatcher()) ? globalThis.fetch(url, init) : strict(url, init));
}

export const usualGuardedFetch = createUsualGuardedFetch();
