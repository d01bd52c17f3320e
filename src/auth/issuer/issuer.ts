import type { Fetch } from "../../http/client/send.js";
import { isLoopback } from "../addresses.js";
import type { VerifiedToken } from "./grants/tokens.js";
import { UpstreamAccess } from "./login/upstream-tokens.js";
import type { IssuerOptions, UpstreamTokens } from "./options.js";
import { endpointsOf, route } from "./router.js";
import { createCore } from "./settings.js";

/** An authorization server. */
export interface Issuer {
  /** Its identifier: what resource metadata lists as authorization server. */
  readonly issuer: string;
  /** Serves a request, from wherever requests come: Deno, Bun, Workers, Hono, `toNodeListener` of `bowline/node`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Whether a path is one of its endpoints, for servers that have others too. */
  readonly owns: (pathname: string) => boolean;
  /**
   * What an access token says; undefined unless it was made here, is still good and was not revoked. It is the verifier of
   * a protected server in the same process, which looks at the audience itself.
   */
  readonly verify: (token: string) => Promise<VerifiedToken | undefined>;
  /** Ends a grant with all its tokens. */
  readonly revokeGrant: (grantId: string) => Promise<void>;
  /**
   * In upstream mode, what this server has at the provider for a grant, for calls that a tool makes there; renewed where
   * it is about to end, undefined once the grant has ended. It must not leave the server.
   */
  readonly upstreamTokens: (grantId: string) => Promise<UpstreamTokens | undefined>;
}

/** Makes an authorization server. `guardedFetch` asks for addresses that strangers name. */
export function createIssuerWith(options: IssuerOptions, guardedFetch: Fetch): Issuer {
  const core = createCore(options, guardedFetch);
  const endpoints = endpointsOf(core);
  // A web page can have its own name point at this machine, and would then share the issuer's origin with it.
  const local = isLoopback(new URL(core.issuer).hostname);
  const isRebound = (hostname: string) => local && !isLoopback(hostname);
  const upstream = options.upstream === undefined ? undefined : new UpstreamAccess(core, options.upstream);
  return {
    issuer: core.issuer,
    owns: (pathname) => endpoints.has(pathname),
    fetch: async (request) => {
      const { hostname, pathname } = new URL(request.url);
      if (isRebound(hostname)) return new Response("Not for this host", { status: 403 });
      const endpoint = endpoints.get(pathname);
      return endpoint === undefined ? new Response("Not found", { status: 404 }) : await route(core, endpoint, request);
    },
    verify: (token) => core.tokens.verify(token),
    revokeGrant: (grantId) => core.endGrant(grantId, core.now() + core.lifetimes.grantMs),
    upstreamTokens: async (grantId) => await upstream?.tokensOf(grantId),
  };
}
