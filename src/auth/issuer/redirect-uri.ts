import { parseWebAddress } from "../web-address.js";

/** Exact host names of this machine. Similar names may belong to others. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const PORT = /^(http:\/\/[^/?]*?)(:\d+)?(?=[/?]|$)/i;
/** Parameters of the response. A redirect URI that already has one of them would make the response ambiguous. */
const RESERVED = ["code", "state", "iss", "error", "error_description", "error_uri"];

export function isLoopbackUri(uri: string): boolean {
  return LOOPBACK.includes(parseWebAddress(uri)?.hostname ?? "");
}

/** True for an https URL, and for an http URL of this machine. */
export function isSecureUri(uri: string): boolean {
  return parseWebAddress(uri)?.protocol === "https:" || isLoopbackUri(uri);
}

/** Returns the reason why a text cannot be a redirect URI; undefined if it can. */
export function redirectUriProblem(uri: unknown): string | undefined {
  if (typeof uri !== "string") return "is not a string";
  if (!URL.canParse(uri)) return "is not an absolute URI";
  if (!/^https?:$/.test(new URL(uri).protocol)) return "is neither https nor http";
  if (uri.includes("#")) return "has a fragment";
  const url = parseWebAddress(uri);
  if (url === undefined) return "is not normalized, or has user info";
  if (url.protocol === "http:" && !isLoopbackUri(uri)) return "is http, but not on localhost, 127.0.0.1 or [::1]";
  const taken = RESERVED.find((name) => url.searchParams.has(name));
  return taken === undefined ? undefined : `contains the reserved parameter ${taken}`;
}

/**
 * True if a requested redirect URI equals the registered one. The port of an http loopback URI may differ (RFC 8252).
 */
export function matchesRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const local = isLoopbackUri(registered) && isLoopbackUri(requested) && redirectUriProblem(requested) === undefined;
  return local && /^http:/i.test(requested) && registered.replace(PORT, "$1") === requested.replace(PORT, "$1");
}
