/** Parameters of a challenge; those that are undefined are left out. */
export type ChallengeParams = { readonly [name: string]: string | undefined };

const MAX_LENGTH = 1024;

/** One challenge of a `WWW-Authenticate` header. Values may be anything: what a header cannot carry is replaced. */
export function formatChallenge(scheme: string, params: ChallengeParams): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(params)) if (value !== undefined) parts.push(`${name}=${quote(value)}`);
  return parts.length === 0 ? scheme : `${scheme} ${parts.join(", ")}`;
}

/** A quoted string of RFC 9110, in printable ASCII alone. */
function quote(value: string): string {
  const printable = toPrintable(value.slice(0, MAX_LENGTH));
  return `"${printable.replace(/["\\]/g, "\\$&")}"`;
}

/** Text that headers and logs can carry as it is. */
export function toPrintable(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, "?");
}
