import { DefinitionError } from "../protocol/errors.js";
import { parseWebAddress } from "./web-address.js";

const URI =
  /^([a-z][a-z0-9+.-]*):\/\/([^/?#@[\]:\\\s]+|\[[0-9a-f:.]+\])(?::([0-9]{0,5}))?(\/[^?#\\\s]*)?(\?[^#\s]*)?$/i;
const DOT_SEGMENT = /\/(\.|%2e){1,2}(\/|$)/i;
const DEFAULT_PORTS: { readonly [scheme: string]: string | undefined } = { http: "80", https: "443" };
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
/** Longer ones are no identifiers that anybody gave to a server. */
const MAX_LENGTH = 2048;

/** The `resource` that a client sends for an MCP server: no fragment, no default port, no slash after a bare origin. */
export function resourceIdentifier(server: URL): string {
  const path = server.pathname === "/" && server.search === "" ? "" : server.pathname;
  return `${server.origin}${path}${server.search}`;
}

/**
 * Whether a resource that metadata names is the server or an ancestor of it: the same origin, and a path that ends on a
 * segment boundary of the server's path.
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
 * A resource identifier in the form that is compared: scheme and host in lower case, no default port, no slash at the end. All else
 * stays as it is, since `/mcp` and `/MCP`, or `/mcp` and `/mcp?x=1`, are different resources. Undefined for what is no
 * such identifier: relative, with user, password or fragment, with an impossible port, or not as the URL parser spells it.
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
  const text = `${name}://${place}${path || "/"}${query}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The URL parser has to read the same address: it may write characters as codes, but leave no segment out.
  if (url?.host !== place || DOT_SEGMENT.test(path)) return undefined;
  return `${name}://${place}${path.replace(/\/$/, "")}${query}`;
}

/** Whether one of the audiences that a token states is this resource. What cannot be read matches nothing. */
export function isAudience(audience: unknown, resource: string): boolean {
  const stated: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  return stated.some((one) => normalizeResource(one) === resource);
}

/** Whether a token states any audience at all. */
export function statesAudience(audience: unknown): boolean {
  return (
    audience !== undefined &&
    audience !== null &&
    audience !== "" &&
    !(Array.isArray(audience) && audience.length === 0)
  );
}

/** Where the metadata of a resource is: the well-known segment goes between host and path. */
export function resourceMetadataUrl(resource: string | URL): URL {
  const { origin, pathname, search } = new URL(resource);
  return new URL(`${origin}${WELL_KNOWN}${pathname === "/" ? "" : pathname}${search}`);
}

/** Throws for what cannot identify an MCP server over HTTP. */
export function assertResource(resource: string): string {
  const canonical = normalizeResource(resource);
  if (canonical !== undefined && parseWebAddress(canonical) !== undefined) return canonical;
  throw new DefinitionError(
    `resource: ${JSON.stringify(resource)} is not an absolute http(s) address in its plain form, without user, password and fragment`,
  );
}
