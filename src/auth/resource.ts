import { DefinitionError } from "../protocol/errors.js";
import { parseWebAddress } from "./web-address.js";

const URI =
  /^([a-z][a-z0-9+.-]*):\/\/([^/?#@[\]:\\\s]+|\[[0-9a-f:.]+\])(?::([0-9]{0,5}))?(\/[^?#\\\s]*)?(\?[^#\s]*)?$/i;
const DOT_SEGMENT = /\/(\.|%2e){1,2}(\/|$)/i;
const DEFAULT_PORTS: { readonly [scheme: string]: string | undefined } = { http: "80", https: "443" };
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
/** Maximum length of a resource identifier. Bounds the work on identifiers that come from a peer. */
const MAX_LENGTH = 2048;

/** Returns the `resource` parameter for an MCP server: no fragment, no default port, no slash after a bare origin. */
export function resourceIdentifier(server: URL): string {
  const path = server.pathname === "/" && server.search === "" ? "" : server.pathname;
  return `${server.origin}${path}${server.search}`;
}

/**
 * True if a resource from metadata is the server's URL or a parent of it: the same origin, a path that is a prefix of
 * the server's path in whole segments, and no query or the server's query.
 */
export function coversServer(resource: string, server: URL): boolean {
  const plain = normalizeResource(resource);
  const named = plain === undefined ? undefined : new URL(plain);
  if (named?.origin !== server.origin) return false;
  if (named.search !== "" && named.search !== server.search) return false;
  const path = named.pathname.replace(/\/$/, "");
  return server.pathname === path || server.pathname.startsWith(`${path}/`);
}

/**
 * Normalizes a resource identifier for comparison: scheme and host in lower case, no default port, no trailing slash.
 * The rest is unchanged, because `/mcp` and `/MCP`, or `/mcp` and `/mcp?x=1`, are different resources. Returns
 * undefined for a relative URL, for one with user, password, fragment or an impossible port, for one that the URL
 * parser reads differently, and for one that is too long.
 */
export function normalizeResource(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_LENGTH) return undefined;
  const match = URI.exec(value);
  if (match === null) return undefined;
  const [, scheme = "", host = "", port = "", path = "", query = ""] = match;
  const name = scheme.toLowerCase();
  const number = port === "" ? "" : String(Number(port));
  const authority = number === "" || number === DEFAULT_PORTS[name] ? "" : `:${number}`;
  const place = `${host.toLowerCase()}${authority}`;
  const origin = `${name}://${place}`;
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  // The URL parser must read the same address. It may percent-encode characters, but must not remove segments.
  if (url?.host !== place || DOT_SEGMENT.test(path)) return undefined;
  return `${origin}${path.replace(/\/$/, "")}${query}`;
}

/** True if one of the token's audiences is this normalized resource. Invalid audiences match nothing. */
export function isAudience(audience: unknown, resource: string): boolean {
  const stated: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  return stated.some((one) => normalizeResource(one) === resource);
}

/** True if a token has any audience. */
export function statesAudience(audience: unknown): boolean {
  return (
    audience !== undefined &&
    audience !== null &&
    audience !== "" &&
    !(Array.isArray(audience) && audience.length === 0)
  );
}

/** Returns the URL of a resource's metadata. The well-known segment goes between host and path. */
export function resourceMetadataUrl(resource: string | URL): URL {
  const { origin, pathname, search } = new URL(resource);
  return new URL(`${origin}${WELL_KNOWN}${pathname === "/" ? "" : pathname}${search}`);
}

/** Returns the normalized resource. Throws if it cannot identify an MCP server over HTTP. */
export function assertResource(resource: string): string {
  const canonical = normalizeResource(resource);
  if (canonical !== undefined && parseWebAddress(canonical) !== undefined) return canonical;
  throw new DefinitionError(
    `protect: resource must be a normalized http(s) URL without user, password and fragment, got ${JSON.stringify(resource)}`,
  );
}
