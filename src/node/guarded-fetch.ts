import { isLoopback, isPrivate } from "../auth/addresses.js";
import type { Fetch } from "../http/client/send.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import type { LookupAll } from "./outgoing/lookup.js";

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
 * Creates a `fetch` for URLs from untrusted sources. It does not connect to private addresses. The check applies to the
 * address of the connection itself, so that a host name cannot resolve to another address between check and connection.
 * A proxy from the environment resolves host names itself; in this case only the host in the URL is checked. Redirects
 * are not followed.
 */
export function guardedFetch(options: GuardedFetchOptions = {}): Fetch {
  assertOptions({ guardedFetch }, options, OPTIONS);
  const { lookup, allowLoopback = false } = options;
  const isRefused = (host: string) => isPrivate(host) && !(allowLoopback && isLoopback(host));
  return async (url, init) => {
    // Only programs that send such a request load what resolves names and knows proxies.
    const { requestGuarded } = await import("./outgoing/guarded.js");
    return await requestGuarded(url, init, { lookup, isRefused });
  };
}
