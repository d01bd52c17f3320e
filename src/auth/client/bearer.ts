import { discard, type Fetch } from "../../http/client/send.js";
import { AuthError } from "../../protocol/auth-error.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import type { AuthPlatform } from "./settings.js";

/** Options of requests with a bearer token that the application obtains itself. */
export interface BearerOptions {
  /** Returns the token for the next request; undefined for none. */
  readonly token: () => string | undefined | Promise<string | undefined>;
  /** Called when the server answers with status 401. The request is sent once more afterwards. */
  readonly onUnauthorized?: ((response: Response) => void | Promise<void>) | undefined;
  readonly fetch?: Fetch | undefined;
}

const OPTIONS: Known<BearerOptions> = { token: "any", onUnauthorized: "function", fetch: "function" };

/** Creates a `fetch` that adds the token to each request. */
export function createBearerWith(
  options: BearerOptions,
  platform: Pick<AuthPlatform, "fetch">,
): { readonly fetch: Fetch } {
  if (typeof options?.token !== "function")
    throw new AuthError("configuration", "bearer needs { token }, a function that returns the token");
  assertOptions("bearer", options, OPTIONS);
  const { token, onUnauthorized, fetch = platform.fetch } = options;
  const send: Fetch = async (url, init) => {
    const value = await token();
    if (value === undefined) return await fetch(url, init);
    if (!isHeaderSafe(value))
      throw new AuthError(
        "configuration",
        "The token is empty or contains characters that a header cannot carry (option token)",
      );
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${value}`);
    return await fetch(url, { ...init, headers });
  };
  return {
    async fetch(url, init) {
      const first = await send(url, init);
      if (first.status !== 401) return first;
      if (onUnauthorized === undefined) throw unauthorized(first);
      await onUnauthorized(first);
      discard(first);
      const second = await send(url, init);
      if (second.status === 401) throw unauthorized(second);
      return second;
    },
  };
}

/** True if the token can be sent in a header. `Headers` would show an invalid value, which is secret, in its error. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

function unauthorized(response: Response): AuthError {
  discard(response);
  return new AuthError("unauthorized", "The MCP server rejected the request with status 401 (option token)", {
    status: 401,
  });
}
