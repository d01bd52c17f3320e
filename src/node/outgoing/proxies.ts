import { BlockList, isIP } from "node:net";
import { isLoopback } from "../../auth/addresses.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the proxy that the environment names for a URL, unparsed. Returns undefined for a direct connection. */
export type ProxyFor = (url: URL) => string | undefined;

/**
 * Reads the proxies of the environment from `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, also in capitals.
 * Lower case has precedence. Returns undefined if no proxy is named. In a CGI program `HTTP_PROXY` comes from a request
 * header, so it is ignored there. Connections to this machine are always direct.
 */
export function readProxies(env: Environment): ProxyFor | undefined {
  const isCgi = env.REQUEST_METHOD !== undefined;
  const read = (name: string) =>
    env[name] || (isCgi && name === "http_proxy" ? "" : env[name.toUpperCase()]) || undefined;
  const all = read("all_proxy");
  const named: ReadonlyMap<string, string | undefined> = new Map([
    ["http:", read("http_proxy") ?? all],
    ["https:", read("https_proxy") ?? all],
  ]);
  if ([...named.values()].every((value) => value === undefined)) return undefined;
  const isExcepted = createExceptions(read("no_proxy") ?? "");
  return (url) => {
    const proxy = named.get(url.protocol);
    return proxy === undefined || isLoopback(url.hostname) || isExcepted(url) ? undefined : proxy;
  };
}

/**
 * Parses a proxy. The default scheme is http. Throws for schemes other than http and https. Errors do not contain the
 * value, which may contain a password.
 */
export function parseProxy(value: string): URL {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  const problem = url === undefined ? "is not a valid URL" : `has the unsupported scheme ${url.protocol.slice(0, -1)}`;
  const message = `the proxy of the environment ${problem}; use http or https, or pass the option fetch for other proxies`;
  throw Object.assign(new Error(message), { code: "ERR_PROXY", syscall: "connect" });
}

/**
 * Parses `no_proxy`: host names including their subdomains, addresses and address ranges, each with an optional port,
 * separated by commas or spaces. `*` matches every URL.
 */
function createExceptions(list: string): (url: URL) => boolean {
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "");
  if (entries.includes("*")) return () => true;
  const ranges = new BlockList();
  const names: { readonly name: string; readonly port: string | undefined }[] = [];
  for (const entry of entries) {
    const [, address = "", bits] = /^(.*)\/(\d{1,3})$/.exec(entry) ?? [];
    const family = isIP(address);
    if (family !== 0 && Number(bits) <= (family === 4 ? 32 : 128)) {
      ranges.addSubnet(address, Number(bits), family === 4 ? "ipv4" : "ipv6");
      continue;
    }
    const [, host = "", port] = isIP(entry) === 6 ? [entry, entry] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
    names.push({ name: toHost(host.replace(/^\*?\.|^\[|\]$/g, "")), port });
  }
  return ({ hostname, port, protocol }) => {
    const host = bare(hostname);
    const family = isIP(host);
    if (family !== 0 && ranges.check(host, family === 4 ? "ipv4" : "ipv6")) return true;
    const asked = port || (protocol === "https:" ? "443" : "80");
    const covers = (name: string) => host === name || (family === 0 && host.endsWith(`.${name}`));
    return names.some((each) => covers(each.name) && (each.port === undefined || each.port === asked));
  };
}

/** Normalizes a host as URLs do: names in ASCII, addresses in their shortest form. */
function toHost(name: string): string {
  const text = `http://${isIP(name) === 6 ? `[${name}]` : name}/`;
  return bare(URL.canParse(text) ? new URL(text).hostname : name);
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$|\.$/g, "");
}
