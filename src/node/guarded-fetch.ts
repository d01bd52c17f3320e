import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { RequestOptions } from "node:http";
import { isLoopback, isPrivate, PRIVATE_ADDRESS } from "../auth/addresses.js";
import type { Fetch } from "../http/client/send.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { requestBy } from "./outgoing/request.js";
import { isReplaced, nodesDispatcher, proxyFor } from "./undici/dispatchers.js";

type LookupAll = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Options of {@link guardedFetch}. */
export interface GuardedFetchOptions {
  /**
   * Resolves host names.
   * @default the system's resolver
   */
  readonly lookup?: LookupAll | undefined;
  /**
   * Allows loopback addresses, for development.
   * @default false
   */
  readonly allowLoopback?: boolean | undefined;
}

const OPTIONS: Known<GuardedFetchOptions> = { lookup: "function", allowLoopback: "boolean" };

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

/**
 * Creates a `fetch` for URLs from untrusted sources. It does not connect to private addresses. The check applies to the
 * address of the connection itself, so that a host name cannot resolve to another address between check and connection.
 * A proxy from the environment resolves host names itself; in this case only the host in the URL is checked. Redirects
 * are not followed.
 */
export function guardedFetch(options: GuardedFetchOptions = {}): Fetch {
  assertOptions({ guardedFetch }, options, OPTIONS);
  const { lookup: given, allowLoopback = false } = options;
  const isRefused = (host: string) => isPrivate(host) && !(allowLoopback && isLoopback(host));
  const guarded: NonNullable<RequestOptions["lookup"]> = (hostname, options, done) => {
    const lookup: LookupAll = given ?? systemLookup; // read here: a program may replace the resolver after this
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return done(error ?? new Error(`${hostname} has no address`), "", 4);
      if (addresses.some(({ address }) => isRefused(address))) return done(refusal(hostname), "", 4);
      if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
  return async (url, init) => {
    if (isRefused(url.hostname)) throw refusal(url.hostname);
    const proxy = proxyFor(url, nodesDispatcher());
    return await requestBy(url, init, proxy === undefined ? { lookup: guarded } : { proxy });
  };
}

function refusal(hostname: string): Error {
  return Object.assign(new Error(`${hostname} is a private address, or resolves to one`), { code: PRIVATE_ADDRESS });
}
