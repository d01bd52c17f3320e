/** True if a host, as `URL` normalizes it, is a loopback address, `localhost` or a name below `localhost`. */
export function isLoopback(hostname: string): boolean {
  const host = bare(hostname);
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  const v6 = ipv6(host);
  const v4 = ipv4(host) ?? (isMapped(v6) ? embeddedIpv4(v6) : []);
  return host === "::1" || v4?.[0] === 127;
}

/**
 * True if a host is an address that is not publicly routable (private, loopback, link-local, multicast, reserved), or a
 * name reserved for private networks. Does not resolve names.
 */
export function isPrivate(hostname: string): boolean {
  const host = bare(hostname);
  if (isLoopback(host) || /\.(local|internal|home\.arpa)$/.test(host)) return true;
  const v6 = ipv6(host);
  const v4 = ipv4(host) ?? embeddedIpv4(v6);
  return v4 === undefined ? v6 !== undefined && isPrivateV6(v6) : isPrivateV4(v4);
}

function bare(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[|\]$|\.$/g, "");
}

/**
 * Parses a dotted IPv4 address. `URL` has already converted decimal, octal, hexadecimal and short forms to this form.
 */
function ipv4(host: string): number[] | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(host)) return undefined;
  const parts = host.split(".").map(Number);
  return parts.every((part) => part < 256) ? parts : undefined;
}

function isPrivateV4([a = 0, b = 0, c = 0]: readonly number[]): boolean {
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113)
  );
}

function ipv6(host: string): number[] | undefined {
  if (!host.includes(":")) return undefined;
  const dotted = host.match(/^(.*:)(\d+\.\d+\.\d+\.\d+)$/);
  const tail = dotted === null ? undefined : ipv4(dotted[2] ?? "");
  const text = tail === undefined ? host : `${dotted?.[1]}${hex(tail[0], tail[1])}:${hex(tail[2], tail[3])}`;
  const [head = "", rest] = text.replace(/%.*$/, "").split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const left = groups(head);
  if (rest === undefined) return left.length === 8 ? left : undefined;
  const right = groups(rest);
  return [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
}

const hex = (high = 0, low = 0) => ((high << 8) | low).toString(16);

/** True for addresses outside 2000::/3, the only range of public unicast addresses. */
function isPrivateV6([first = 0]: readonly number[]): boolean {
  return first < 0x2000 || first > 0x3fff;
}

/** True for an IPv4-mapped address (::ffff:0:0/96). The operating system connects to the IPv4 address inside. */
function isMapped(groups: readonly number[] = []): boolean {
  return groups.slice(0, 6).join() === "0,0,0,0,0,65535";
}

/**
 * Returns the IPv4 address inside a mapped, translated (64:ff9b::/96) or 6to4 (2002::/16) address. Routers forward the
 * last two kinds to that IPv4 address.
 */
function embeddedIpv4(groups: readonly number[] = []): number[] | undefined {
  const [a, b, c] = groups;
  const split = (high = 0, low = 0) => [high >> 8, high & 255, low >> 8, low & 255];
  if (a === 0x2002) return split(b, c);
  const translated = a === 0x64 && b === 0xff9b && c === 0;
  return isMapped(groups) || translated ? split(groups[6], groups[7]) : undefined;
}

/** Code of the error for a host name that resolves to a private address. */
export const PRIVATE_ADDRESS = "ERR_PRIVATE_ADDRESS";

/** Rules for URLs that come from a peer, such as those in metadata. */
export interface AddressPolicy {
  /** Allows plain HTTP to other machines. */
  readonly allowInsecure: boolean;
  /** Allows private addresses. */
  readonly allowPrivate: boolean;
  /** Allows loopback addresses, but no other private addresses. */
  readonly allowLoopback?: boolean;
  /** Origins that the program chose: the MCP server and the configured issuer. They may have private addresses. */
  readonly named?: readonly string[];
  /** Resolves a host name. If given, the addresses behind the name are checked too. */
  readonly resolve?: ((hostname: string) => Promise<readonly string[]>) | undefined;
}

/** Returns the reason why a URL must not be requested; undefined if it may be. */
export async function addressProblem(url: URL, policy: AddressPolicy): Promise<string | undefined> {
  const { allowInsecure, allowLoopback = false, named = [], resolve } = policy;
  const allowPrivate = policy.allowPrivate || named.includes(url.origin);
  if (!/^https?:$/.test(url.protocol)) return `${url.protocol} is not HTTP`;
  const secure = url.protocol === "https:" || isLoopback(url.hostname) || allowInsecure;
  if (!secure) return "it is not https";
  if (url.username !== "" || url.password !== "") return "it contains credentials";
  const refused = (host: string) => !allowPrivate && isPrivate(host) && !(allowLoopback && isLoopback(host));
  if (refused(url.hostname)) return "it is a private address";
  const addresses = allowPrivate ? [] : ((await resolve?.(url.hostname)) ?? []);
  return addresses.some(refused) ? "its host name resolves to a private address" : undefined;
}
