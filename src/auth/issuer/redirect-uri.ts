/** A loopback address as it has to be spelt: these three hosts, in any letter case, and nothing that resembles them. */
const LOOPBACK = /^(https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(:\d{1,5})?([/?].*)?$/i;
/** What the answer adds: an address that has one of them already could not be read without doubt. */
const RESERVED = ["code", "state", "iss", "error", "error_description", "error_uri"];

export function isLoopbackUri(uri: string): boolean {
  return LOOPBACK.test(uri) && URL.canParse(uri);
}

/** Whether an address is one that nobody on the way can change: https, or http on this machine. */
export function isSecureUri(uri: string): boolean {
  return (/^https:\/\//i.test(uri) && URL.canParse(uri)) || isLoopbackUri(uri);
}

/** Why an address cannot be a redirect URI; undefined if it can. */
export function redirectUriProblem(uri: unknown): string | undefined {
  if (typeof uri !== "string") return "is not a string";
  if (/[^\x21-\x7e]|\\/.test(uri) || !URL.canParse(uri)) return "is not an absolute URI";
  const url = new URL(uri);
  if (url.protocol !== "https:" && url.protocol !== "http:") return "is not https";
  if (!/^https?:\/\//i.test(uri)) return "is not an absolute URI";
  if (url.protocol === "http:" && !isLoopbackUri(uri)) return "is http, and not on this machine";
  if (uri.includes("#")) return "has a fragment";
  if (/^[^/]*\/\/[^/?]*@/.test(uri)) return "has user info";
  const taken = RESERVED.find((name) => url.searchParams.has(name));
  return taken === undefined ? undefined : `has a parameter ${taken} of its own`;
}

/** Whether a requested redirect URI is the registered one: as text, except that the port on loopback is free. */
export function matchesRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const a = LOOPBACK.exec(registered);
  const b = LOOPBACK.exec(requested);
  if (a === null || b === null || redirectUriProblem(requested) !== undefined) return false;
  return /^http:/i.test(requested) && a[1] === b[1] && (a[3] ?? "") === (b[3] ?? "");
}
