import { lookup as systemLookup } from "node:dns";
import type { RequestOptions } from "node:http";
import { PRIVATE_ADDRESS } from "../../auth/addresses.js";
import { nodesDispatcher, proxyFor } from "../undici/dispatchers.js";
import type { LookupAll } from "./lookup.js";
import { requestBy } from "./request.js";

/** Rule by which hosts are refused, and the resolver that is used instead of the system's. */
export interface Guard {
  readonly lookup: LookupAll | undefined;
  isRefused(host: string): boolean;
}

/** Sends a request, unless its host is refused or resolves to an address that is. */
export async function requestGuarded(url: URL, init: RequestInit, guard: Guard): Promise<Response> {
  if (guard.isRefused(url.hostname)) throw refusal(url.hostname);
  const proxy = proxyFor(url, nodesDispatcher());
  return await requestBy(url, init, proxy === undefined ? { lookup: guarded(guard) } : { proxy });
}

function guarded({ lookup: given, isRefused }: Guard): NonNullable<RequestOptions["lookup"]> {
  return (hostname, options, done) => {
    const lookup: LookupAll = given ?? systemLookup; // read here: a program may replace the resolver after this
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return done(error ?? new Error(`${hostname} has no address`), "", 4);
      if (addresses.some(({ address }) => isRefused(address))) return done(refusal(hostname), "", 4);
      if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

function refusal(hostname: string): Error {
  return Object.assign(new Error(`${hostname} is a private address, or resolves to one`), { code: PRIVATE_ADDRESS });
}
