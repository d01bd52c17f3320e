/** Challenge of a `WWW-Authenticate` header. Scheme and parameter names are in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly params: ReadonlyMap<string, string>;
}

/** Challenge by which an MCP server demands a token. */
export interface TokenChallenge {
  readonly scheme: "bearer" | "dpop" | undefined;
  readonly resourceMetadata: string | undefined;
  readonly scope: string | undefined;
  readonly error: string | undefined;
  readonly description: string | undefined;
}

/** Stands for a response without a challenge. */
export const NO_CHALLENGE: TokenChallenge = {
  scheme: undefined,
  resourceMetadata: undefined,
  scope: undefined,
  error: undefined,
  description: undefined,
};

const GAP = /[ \t,]*/y;
const TOKEN = /[!#$%&'*+\-.^_`|~\w]+/y;
const EQUALS = /[ \t]*=[ \t]*/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/sy;
const TOKEN68 = /[ \t]+[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
const TO_COMMA = /[^,]*/y;

/**
 * Parses a `WWW-Authenticate` header by RFC 9110, section 11.6.1. A header may hold several challenges. Text that does
 * not match the grammar is skipped up to the next comma. The first of repeated parameters counts.
 */
export function parseChallenges(header: string): Challenge[] {
  const found: { scheme: string; params: Map<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(header);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  for (;;) {
    take(GAP);
    if (at >= header.length) return found;
    const name = take(TOKEN)?.[0].toLowerCase();
    if (name === undefined) {
      // Skips a stray quoted string whole, so that its content is not parsed as a challenge.
      if (take(QUOTED) === null) at++;
      take(TO_COMMA);
      continue;
    }
    const current = found.at(-1);
    if (take(EQUALS) === null) {
      found.push({ scheme: name, params: new Map() });
      take(TOKEN68);
      continue;
    }
    const value = take(QUOTED)?.[1]?.replace(/\\(.)/gs, "$1") ?? take(TOKEN)?.[0];
    if (value === undefined) take(TO_COMMA);
    else if (current !== undefined && !current.params.has(name)) current.params.set(name, value);
  }
}

/**
 * Returns the first Bearer or DPoP challenge of a response, completed with parameters of the other ones; undefined if
 * there is none.
 */
export function tokenChallengeOf(response: Response): TokenChallenge | undefined {
  const header = response.headers.get("www-authenticate");
  if (header === null) return undefined;
  const ours = parseChallenges(header).filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const [first] = ours;
  if (first === undefined) return undefined;
  const get = (name: string) => ours.find(({ params }) => params.has(name))?.params.get(name);
  const scope = get("scope")?.trim();
  return {
    scheme: first.scheme === "dpop" ? "dpop" : "bearer",
    resourceMetadata: get("resource_metadata"),
    scope: scope === "" ? undefined : scope,
    error: get("error"),
    description: get("error_description"),
  };
}
