import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { RequestOptions } from "node:http";
import { isLoopback, isPrivate, PRIVATE_ADDRESS } from "../auth/addresses.js";
import type { Fetch } from "../http/client/send.js";
import { requestBy } from "./outgoing/request.js";
import { isUsual, nodesDispatcher, proxyFor } from "./undici/dispatcher.js";

type LookupAll = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedFetchOptions {
  /** Resolves names; the system's resolver unless given. */
  readonly lookup?: LookupAll;
  /** Addresses of this machine, for development. */
  readonly allowLoopback?: boolean;
}

/** The `fetch` of this moment. A proxy that the environment names is used. */
export const usualFetch: Fetch = (url, init) => {
  const proxy = proxyFor(url, nodesDispatcher());
  return proxy === undefined ? globalThis.fetch(url, init) : requestBy(url, init, { proxy });
};

/** A guarded `fetch`, unless somebody has put another `fetch` or dispatcher in place, which then decides. */
export function createUsualGuardedFetch(options?: GuardedFetchOptions): Fetch {
  const strict = createGuardedFetch(options);
  return (url, init) => (isUsual(nodesDispatcher()) ? strict(url, init) : globalThis.fetch(url, init));
}

export const usualGuardedFetch = createUsualGuardedFetch();

/**
 * A `fetch` for addresses that strangers name: it connects to no private address. What is looked at is the very address
 * that is connected to, so a name that changes its mind in between gains nothing. A proxy that the environment names resolves
 * names itself: then only names and addresses as they are written are looked at. Redirects are not followed.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): Fetch {
  const { lookup = systemLookup, allowLoopback = false } = options;
  const isRefused = (host: string) => isPrivate(host) && !(allowLoopback && isLoopback(host));
  const guarded: NonNullable<RequestOptions["lookup"]> = (hostname, options, done) => {
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
  return Object.assign(new Error(`${hostname} is, or stands for, a private address`), { code: PRIVATE_ADDRESS });
}
