import type { Fetch } from "../../http/client/send.js";
import { isLoopback } from "../addresses.js";
import type { VerifiedToken } from "./grants/tokens.js";
import { UpstreamAccess } from "./login/upstream-tokens.js";
import type { IssuerOptions, UpstreamTokens } from "./options.js";
import { endpointsOf, route } from "./router.js";
import { createCore } from "./settings.js";

/** OAuth authorization server. */
export interface Issuer {
  /** Issuer identifier, which resource metadata lists as authorization server. */
  readonly issuer: string;
  /**
   * Handles a request. Works on any platform with web requests: Deno, Bun, Workers, Hono, or Node with `toNodeListener`
   * of `bowline/node`.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /** True if a path belongs to this issuer, for HTTP servers with other routes. */
  readonly owns: (pathname: string) => boolean;
  /**
   * Verifies an access token. Returns undefined unless it comes from this issuer, has not expired and is not revoked.
   * Use it as the verifier of a protected server in the same process, which checks the audience itself.
   */
  readonly verify: (token: string) => Promise<VerifiedToken | undefined>;
  /** Ends a grant and all its tokens. */
  readonly revokeGrant: (grantId: string) => Promise<void>;
  /**
   * Returns the tokens that the upstream provider issued for a grant, so that tools can call the provider. Renews them
   * if they are about to expire. Returns undefined if the grant has ended, or without the option `upstream`. Do not
   * send them to clients.
   */
  readonly upstreamTokens: (grantId: string) => Promise<UpstreamTokens | undefined>;
}

/** Creates an authorization server. `guardedFetch` fetches URLs that clients name. */
export function createIssuerWith(options: IssuerOptions, guardedFetch: Fetch): Issuer {
  const core = createCore(options, guardedFetch);
  const endpoints = endpointsOf(core);
  // Rejects DNS rebinding: a web page can let its own host name point at this machine, and could then read the issuer's
  // responses.
  const local = isLoopback(new URL(core.issuer).hostname);
  const isRebound = (hostname: string) => local && !isLoopback(hostname);
  const upstream = options.upstream === undefined ? undefined : new UpstreamAccess(core, options.upstream);
  return {
    issuer: core.issuer,
    owns: (pathname) => endpoints.has(pathname),
    fetch: async (request) => {
      const { hostname, pathname } = new URL(request.url);
      if (isRebound(hostname)) return new Response("Host not allowed", { status: 403 });
      const endpoint = endpoints.get(pathname);
      return endpoint === undefined ? new Response("Not found", { status: 404 }) : await route(core, endpoint, request);
    },
    verify: (token) => core.tokens.verify(token),
    revokeGrant: (grantId) => core.endGrant(grantId, core.now() + core.lifetimes.grantMs),
    upstreamTokens: async (grantId) => await upstream?.tokensOf(grantId),
  };
}
