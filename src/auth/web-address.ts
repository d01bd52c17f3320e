const DEFAULT_PORT = /^(https:\/\/.*):443$|^(http:\/\/.*):80$/;

/**
 * Parses an http(s) URL that the URL parser reads exactly as written. Returns undefined for any other text: a missing
 * host, user info, backslashes, dot segments, blanks, or ports and hosts in another form. Only the letter case of
 * scheme and host, a default port, and the slash after a bare origin may differ.
 */
export function parseWebAddress(text: string): URL | undefined {
  const [written] = /^https?:\/\/[^/?#]+/i.exec(text) ?? [];
  if (written === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const origin = written.toLowerCase().replace(DEFAULT_PORT, "$1$2");
  const rest = text.slice(written.length);
  const read = url.href.slice(url.origin.length);
  return origin === url.origin && (read === rest || read === `/${rest}`) ? url : undefined;
}
