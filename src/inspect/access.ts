import type { HttpExchange } from "../http/exchange.js";
import { quoted } from "../protocol/text.js";

/** Refusal of a request. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** Decides which hosts a page may be requested by: exactly these, or all that name this machine. */
export type Hosts = readonly string[] | "this machine";

const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/;

/**
 * Admits the page of one run, and nobody else. The token is in the fragment of the URL, which no server and no log sees. It
 * is exchanged once for a cookie.
 */
export class Access {
  readonly #hosts: () => Hosts;
  readonly #path: string;
  readonly #token = random();
  readonly #secret = random();
  /** Cookies belong to a host, not to a port. So each run has a name of its own. */
  readonly #cookie = `bowline-inspector-${random().slice(0, 12)}`;
  #isUsed = false;

  constructor(hosts: () => Hosts, path: string) {
    this.#hosts = hosts;
    this.#path = path;
  }

  /** Returns the address of the page with the token. */
  link(origin: string): string {
    return `${origin}${this.#path}#token=${this.#token}`;
  }

  /** Refuses names that other machines may resolve to this one (DNS rebinding). */
  refuseHost(exchange: HttpExchange): Refusal | undefined {
    const host = exchange.header("host") ?? "";
    const hosts = this.#hosts();
    const isOurs = hosts === "this machine" ? LOOPBACK.test(host) : hosts.includes(host);
    if (isOurs) return undefined;
    return { status: 403, message: `Host ${quoted(host, 100)} is not allowed: open the address that was printed` };
  }

  /** Refuses requests that the page itself has not sent, by headers that no page can forge. */
  refuseOrigin(exchange: HttpExchange): Refusal | undefined {
    const site = exchange.header("sec-fetch-site");
    if (site !== "same-origin")
      return {
        status: 403,
        message: `Sec-Fetch-Site is ${site === undefined ? "missing" : quoted(site, 40)}: only the page of the inspector may send this request`,
      };
    const origin = exchange.header("origin");
    if (origin === undefined && exchange.method === "GET") return undefined;
    if (origin === `http://${exchange.header("host")}`) return undefined;
    return { status: 403, message: `Origin ${quoted(origin ?? "", 100)} is not allowed` };
  }

  /** Exchanges the token for a cookie. Returns the refusal of a wrong token, or of a second use. */
  enter(token: unknown): { readonly cookie: string } | (Refusal & { readonly again: boolean }) {
    if (typeof token !== "string" || !isEqual(token, this.#token))
      return { status: 401, message: "the token is wrong: open the address that was printed", again: false };
    if (this.#isUsed)
      return { status: 401, message: "the token was used before: start the inspector again", again: true };
    this.#isUsed = true;
    return { cookie: `${this.#cookie}=${this.#secret}; HttpOnly; SameSite=Strict; Path=${this.#path}` };
  }

  /** Refuses requests without the cookie of this run. */
  refuseCookie(exchange: HttpExchange): Refusal | undefined {
    const prefix = `${this.#cookie}=`;
    const given = (exchange.header("cookie") ?? "").split(/[;,] */).find((each) => each.startsWith(prefix));
    if (given !== undefined && isEqual(given.slice(prefix.length), this.#secret)) return undefined;
    return { status: 401, message: "the cookie of this run is missing: open the address that was printed" };
  }
}

/** Returns 256 random bits as text. */
function random(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares in a time that depends on the length of the given text alone. */
function isEqual(given: string, secret: string): boolean {
  let difference = given.length ^ secret.length;
  for (let at = 0; at < given.length; at++) difference |= given.charCodeAt(at) ^ secret.charCodeAt(at % secret.length);
  return difference === 0;
}
