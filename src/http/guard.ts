import { DefinitionError } from "../protocol/errors.js";
import { isTextList } from "../protocol/json.js";
import type { Known } from "../protocol/known-options.js";
import { quoted } from "../protocol/text.js";
import type { HttpExchange } from "./exchange.js";
import { rememberLast } from "./headers.js";

/** Refusal of a request. */
export interface GuardRefusal {
  readonly status: number;
  readonly message: string;
}

/** Options of {@link createGuard}. */
export interface GuardOptions {
  /**
   * Hosts that this endpoint serves: `example.com` (any port), `example.com:8443`, `*.example.com` (subdomains),
   * `[::1]`. `"*"` or false disables the check.
   * @default ["localhost", "*.localhost", "127.0.0.1", "[::1]"]
   */
  readonly allowedHosts?: readonly string[] | "*" | false | undefined;
  /**
   * Web origins that may send requests. `https://app.example.com` is exactly that origin. A host as in `allowedHosts`
   * is that host over http and https, on any port unless it names one. `null` is the opaque origin. Requests without an
   * Origin header do not come from a web page and are accepted. `"*"` or false disables the check.
   * @default ["localhost", "*.localhost", "127.0.0.1", "[::1]"]
   */
  readonly allowedOrigins?: readonly string[] | "*" | false | undefined;
}

export const GUARD_OPTIONS: Known<GuardOptions> = { allowedHosts: "any", allowedOrigins: "any" };

/**
 * Address, or a rule for addresses. In a rule, an undefined port matches each port, and an undefined scheme matches
 * http and https.
 */
interface Address {
  readonly scheme: string | undefined;
  /** The rule applies to the subdomains of `host`, not to `host` itself. */
  readonly subdomains: boolean;
  /** Lower case, without a trailing dot. An IPv6 literal is in its shortest form, in brackets. */
  readonly host: string;
  readonly port: string | undefined;
}

const LOOPBACK = ["localhost", "*.localhost", "127.0.0.1", "[::1]"];
const ADDRESS =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::([0-9]{0,5}))?$/;
/** IPv6 address without brackets. Its `::` tells it apart from a host with a port. */
const BARE_IPV6 = /^(.*:\/\/)?([^[/]*::[^[/]*)$/;
const WEB_PORTS: ReadonlyMap<string | undefined, string> = new Map([
  ["http", "80"],
  ["https", "443"],
]);
/** Maximum length of a header. Longer values are refused unread, since no host name needs more. */
const MAX_LENGTH = 512;

/**
 * Creates a check that prevents web pages of other sites from reaching this endpoint, directly (Origin) or by a name
 * that resolves to this machine (Host; DNS rebinding). It reads headers only.
 * @throws DefinitionError for an entry that can never match.
 */
export function createGuard({
  allowedHosts,
  allowedOrigins,
}: GuardOptions = {}): (exchange: HttpExchange) => GuardRefusal | undefined {
  const hostProblem = createCheck("Host", allowedHosts, "Host header is missing");
  const originProblem = createCheck("Origin", allowedOrigins, undefined);
  return (exchange) => {
    const message = hostProblem(exchange.header("host")) ?? originProblem(exchange.header("origin"));
    return message === undefined ? undefined : { status: 403, message };
  };
}

/** Creates the check of a header. It returns the problem, or `missing` if the header is absent. */
function createCheck(
  name: "Host" | "Origin",
  allowed: readonly string[] | "*" | false = LOOPBACK,
  missing: string | undefined,
): (value: string | undefined) => string | undefined {
  if (allowed === false || allowed === "*") return () => undefined;
  if (!isTextList(allowed)) throw new DefinitionError(`http.allowed${name}s must be an array of strings, "*" or false`);
  if (allowed.includes("*")) return () => undefined;
  const entries = allowed;
  const isOrigin = name === "Origin";
  const isNull = (text: string) => isOrigin && text === "null";
  const rules = entries.filter((entry) => !isNull(entry)).map((entry) => parseRule(entry, name, isOrigin));
  return rememberLast((value) => {
    if (value === undefined) return missing;
    const address = parseAddress(value);
    const isAllowed = isNull(value)
      ? entries.includes(value)
      : address !== undefined &&
        !address.subdomains &&
        (address.scheme !== undefined) === isOrigin &&
        rules.some((rule) => matches(rule, address));
    return isAllowed
      ? undefined
      : `${name} ${quoted(value, 100)} is not allowed: add it to http.allowed${name}s of this server`;
  });
}

function parseRule(entry: string, name: string, isOrigin: boolean): Address {
  const rule = parseAddress(entry.replace(BARE_IPV6, "$1[$2]"));
  if (rule !== undefined && (isOrigin || rule.scheme === undefined)) return rule;
  const kind = isOrigin ? "origin or host, such as https://example.com" : "host, such as example.com";
  throw new DefinitionError(`http.allowed${name}s: ${quoted(entry, 100)} is not a valid ${kind}`);
}

function matches(rule: Address, { scheme, host, port }: Address): boolean {
  const isPort = rule.port === undefined || rule.port === port;
  const isScheme = rule.scheme === undefined ? scheme === undefined || WEB_PORTS.has(scheme) : rule.scheme === scheme;
  return isPort && isScheme && (rule.subdomains ? host.endsWith(`.${rule.host}`) : host === rule.host);
}

function parseAddress(text: string): Address | undefined {
  const match = text.length > MAX_LENGTH ? null : ADDRESS.exec(text.toLowerCase());
  if (match === null) return undefined;
  const [, scheme, wildcard, name = "", digits] = match;
  const host = name.startsWith("[") ? toShortIpv6(name) : name.replace(/\.$/, "");
  if (host === undefined || Number(digits) > 65535) return undefined;
  const port = digits ? String(Number(digits)) : WEB_PORTS.get(scheme);
  return { scheme, subdomains: wildcard !== undefined, host, port };
}

function toShortIpv6(literal: string): string | undefined {
  const url = `http://${literal}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
