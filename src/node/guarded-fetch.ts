import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { IncomingMessage, RequestOptions } from "node:http";
import { Readable } from "node:stream";
import { isLoopback, isPrivate } from "../auth/addresses.js";
import type { Fetch } from "../http/client/send.js";

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

/**
 * A `fetch` for addresses that strangers name: it connects to no private address. What is looked at is the very address
 * that is connected to, so a name that changes its mind in between gains nothing. Redirects are not followed.
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
    return await send(url, init, guarded);
  };
}

function refusal(hostname: string): Error {
  return new Error(`${hostname} is, or stands for, a private address`);
}

async function send(url: URL, init: RequestInit, lookup: NonNullable<RequestOptions["lookup"]>): Promise<Response> {
  const { method = "GET", signal } = init;
  const { request } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  const body = init.body === undefined || init.body === null ? undefined : String(init.body);
  const headers = Object.fromEntries(new Headers(init.headers));
  return await new Promise((resolve, reject) => {
    const options: RequestOptions = { method, headers, lookup, agent: false, ...(signal ? { signal } : {}) };
    const outgoing = request(url, options, (incoming) => {
      try {
        resolve(toResponse(incoming, method));
      } catch (error) {
        incoming.destroy();
        reject(error);
      }
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Throws for a status that no response has. */
function toResponse(incoming: IncomingMessage, method: string): Response {
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const bodiless = method === "HEAD" || status === 204 || status === 304;
  const body = bodiless ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
