import type { HttpExchange } from "./exchange.js";

/** Why a request is not served. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export interface GuardOptions {
  /**
   * The hosts this endpoint answers for: `example.com` (any port), `example.com:8443`, `*.example.com` (subdomains),
   * `[::1]`. Names of this machine unless given: `localhost`, `*.localhost`, `127.0.0.1`, `[::1]`.
   * `"*"` or false switches the check off.
   */
  readonly allowedHosts?: readonly string[] | "*" | false;
  /**
   * The web origins that may call: `https://app.example.com` is that origin exactly, a host as in `allowedHosts` is
   * that host over http and https on any port, `null` is the opaque origin. The same names of this machine unless given.
   * Requests without an Origin header do not come from a web page and pass. `"*"` or false switches the check off.
   */
  readonly allowedOrigins?: readonly string[] | "*" | false;
}

interface Authority {
  /** Lower case, without a trailing dot; an IPv6 literal in its shortest form, in brackets. */
  readonly host: string;
  readonly port: string | undefined;
}

interface Rule extends Authority {
  /** The rule is for the subdomains of `host`, not for `host` itself. */
  readonly subdomains: boolean;
  /** Undefined stands for http and https. */
  readonly scheme: string | undefined;
}

type Check = (value: string) => boolean;

const LOOPBACK = ["localhost", "*.localhost", "127.0.0.1", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::([0-9]{0,5}))?$/i;
const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(.+)$/i;
const DEFAULT_PORTS: { readonly [scheme: string]: string | undefined } = { http: "80", https: "443" };
/** Longer values are refused unread: no host name needs more. */
const MAX_LENGTH = 512;

/**
 * Makes the check that keeps web pages of other sites from reaching this endpoint, directly (Origin) or by a name that
 * they point at this machine (Host; DNS rebinding). It reads headers only and runs before anything else.
 * Throws a TypeError for an entry that could never match.
 */
export function createGuard(options: GuardOptions = {}): (exchange: HttpExchange) => Refusal | undefined {
  const allowsHost = createHostCheck(options.allowedHosts ?? LOOPBACK);
  const allowsOrigin = createOriginCheck(options.allowedOrigins ?? LOOPBACK);
  return (exchange) => {
    if (allowsHost !== undefined) {
      const host = exchange.header("host");
      if (host === undefined) return refusal("Host header is missing");
      if (!allowsHost(host)) return refusal(`Host ${quote(host)} is not allowed here`);
    }
    if (allowsOrigin !== undefined) {
      const origin = exchange.header("origin");
      if (origin !== undefined && !allowsOrigin(origin)) return refusal(`Origin ${quote(origin)} is not allowed here`);
    }
    return undefined;
  };
}

function refusal(message: string): Refusal {
  return { status: 403, message };
}

function quote(value: string): string {
  return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}...` : value);
}

function isOff(allowed: readonly string[] | "*" | false): allowed is "*" | false {
  return allowed === "*" || allowed === false || allowed.includes("*");
}

function createHostCheck(allowed: readonly string[] | "*" | false): Check | undefined {
  if (isOff(allowed)) return undefined;
  const rules = allowed.map((entry) => parseRule("allowedHosts", entry, undefined, entry));
  return rememberLast((value) => {
    const authority = parseAuthority(value);
    return authority !== undefined && rules.some((rule) => matches(rule, authority));
  });
}

function createOriginCheck(allowed: readonly string[] | "*" | false): Check | undefined {
  if (isOff(allowed)) return undefined;
  const allowsNull = allowed.includes("null");
  const rules = allowed.filter((entry) => entry !== "null").map(parseOriginRule);
  return rememberLast((value) => {
    if (value === "null") return allowsNull;
    const [, scheme, rest] = splitOrigin(value);
    const authority = rest === undefined ? undefined : parseAuthority(rest);
    if (scheme === undefined || authority === undefined) return false;
    const port = authority.port ?? DEFAULT_PORTS[scheme];
    return rules.some((rule) => matchesScheme(rule, scheme) && matches(rule, { host: authority.host, port }));
  });
}

function parseOriginRule(entry: string): Rule {
  const [, scheme, rest] = splitOrigin(entry);
  if (scheme === undefined || rest === undefined) return parseRule("allowedOrigins", entry, undefined, entry);
  const rule = parseRule("allowedOrigins", rest, scheme, entry);
  return { ...rule, port: rule.port ?? DEFAULT_PORTS[scheme] };
}

function parseRule(option: string, text: string, scheme: string | undefined, entry: string): Rule {
  const subdomains = text.startsWith("*.");
  const bare = subdomains ? text.slice(2) : text;
  // An IPv6 address is unmistakable without its brackets too.
  const authority = parseAuthority(bare) ?? (bare.includes("::") ? parseAuthority(`[${bare}]`) : undefined);
  if (authority === undefined) throw new TypeError(`${option}: ${quote(entry)} names no host`);
  return { ...authority, subdomains, scheme };
}

function matches(rule: Rule, authority: Authority): boolean {
  if (rule.port !== undefined && rule.port !== authority.port) return false;
  return rule.subdomains ? authority.host.endsWith(`.${rule.host}`) : authority.host === rule.host;
}

function matchesScheme(rule: Rule, scheme: string): boolean {
  return rule.scheme === undefined ? scheme === "http" || scheme === "https" : rule.scheme === scheme;
}

function splitOrigin(value: string): [string, string | undefined, string | undefined] {
  const match = value.length > MAX_LENGTH ? null : ORIGIN.exec(value);
  return [value, match?.[1]?.toLowerCase(), match?.[2]];
}

function parseAuthority(value: string): Authority | undefined {
  const match = value.length > MAX_LENGTH ? null : AUTHORITY.exec(value);
  const name = match?.[1]?.toLowerCase();
  if (match === null || name === undefined) return undefined;
  const host = name.startsWith("[") ? toShortIpv6(name) : name.endsWith(".") ? name.slice(0, -1) : name;
  const port = match[2] ? Number(match[2]) : undefined;
  if (host === undefined || (port !== undefined && port > 65535)) return undefined;
  return { host, port: port === undefined ? undefined : String(port) };
}

function toShortIpv6(literal: string): string | undefined {
  if (literal === "[::1]") return literal;
  const url = `http://${literal}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** Most requests of an endpoint carry the same value; the one allowed last is not parsed again. */
function rememberLast(check: Check): Check {
  let last: string | undefined;
  return (value) => {
    if (value === last) return true;
    if (!check(value)) return false;
    last = value;
    return true;
  };
}
