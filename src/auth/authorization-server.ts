import type { AuthorizationServer } from "oauth4webapi";
import type { Fetch } from "../http/client/send.js";
import { AuthError, type AuthStep } from "../protocol/auth-error.js";
import { oneLine, quoted } from "../protocol/text.js";
import { type AuthRun, type Document, OAuthHttp } from "./http.js";
import { parseWebAddress } from "./web-address.js";

export interface ServerMetadataOptions {
  readonly serverMetadata?: AuthorizationServer | readonly AuthorizationServer[] | undefined;
  readonly allowIssuerMismatch?: boolean | undefined;
  /** The identifier is the MCP server's origin, made up by this client: a slash at its end does not matter. */
  readonly isOrigin: boolean;
}

const MAX_ISSUER_CHARS = 2048;

/** Whether a text can be an issuer (RFC 8414): the address of a web server, without user, query and fragment. */
export function isIssuer(text: unknown): text is string {
  if (typeof text !== "string" || text.length > MAX_ISSUER_CHARS || /[?#]/.test(text)) return false;
  return parseWebAddress(text) !== undefined;
}

/** Throws for a text that is no issuer. */
export function assertIssuer(issuer: string): void {
  if (isIssuer(issuer)) return;
  const wanted = "is not the plain http(s) address of an authorization server, without user, query and fragment";
  throw new AuthError("configuration", `issuer: ${quoted(String(issuer))} ${wanted}`);
}

/** The places of an authorization server's metadata, in the order in which they are asked. */
export function metadataCandidates(issuer: string): URL[] {
  assertIssuer(issuer);
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  if (path !== "") places.push(`${origin}${path}/.well-known/openid-configuration`);
  return places.map((place) => new URL(place));
}

/**
 * Gets the metadata of an issuer; undefined when no place has any. Throws for metadata of another issuer, and for an issuer
 * that others name and that may not be asked.
 */
export async function findServerMetadata(
  http: OAuthHttp,
  issuer: string,
  options: ServerMetadataOptions,
  run: AuthRun,
): Promise<AuthorizationServer | undefined> {
  const known = [options.serverMetadata ?? []].flat().find((each) => each.issuer === issuer);
  if (known !== undefined) return known;
  let unasked: string | undefined;
  for (const url of metadataCandidates(issuer)) {
    const document = await http.getDocument(url, run, "server_metadata");
    if (document.kind === "absent" && document.status === undefined) unasked ??= document.why;
    const stated = document.kind === "absent" ? undefined : document.json.issuer;
    if (document.kind === "absent" || typeof stated !== "string") continue;
    assertStated(stated, issuer, options, run);
    return document.json as unknown as AuthorizationServer;
  }
  if (unasked === undefined || options.isOrigin) return undefined;
  throw new AuthError("server_metadata", `${issuer} has no metadata: ${unasked}`, { tried: run.tried });
}

function assertStated(stated: string, asked: string, options: ServerMetadataOptions, run: AuthRun): void {
  if (stated === asked || (options.allowIssuerMismatch === true && stated === oneLine(stated, MAX_ISSUER_CHARS)))
    return;
  if (options.isOrigin && stated === `${asked}/`) return;
  throw new AuthError(
    "issuer",
    `The metadata at ${run.tried.at(-1)} is of the issuer ${quoted(stated)}, not of ${quoted(asked)}`,
    { tried: run.tried },
  );
}

export interface AuthorizationServerOptions {
  /** Takes the place of the global `fetch` in requests to the authorization server. */
  readonly fetch?: typeof fetch;
  /** Plain HTTP to other machines, which anybody on the way can change. For tests alone. */
  readonly allowInsecure?: boolean;
  /** The time, in milliseconds since 1970; for tests. */
  readonly now?: () => number;
}

/** The bounds of requests to an authorization server. */
export interface RequestLimits {
  /**
   * How long one request to an authorization server may take.
   * @default 5_000
   */
  readonly requestMs: number;
}

export const REQUEST_LIMITS: RequestLimits = { requestMs: 5_000 };

/** The way to an authorization server: addresses are checked, answers are bounded in size and time. */
export class AuthorizationServerClient {
  readonly now: () => number;
  readonly #http: OAuthHttp;
  readonly #requestMs: number;

  constructor(
    { fetch, allowInsecure = false, now = Date.now }: AuthorizationServerOptions,
    { requestMs }: RequestLimits,
  ) {
    const send: Fetch = (url, init) => (fetch ?? globalThis.fetch)(url, init);
    // The author names these addresses, so that private ones are as good as others.
    this.#http = new OAuthHttp(send, { allowInsecure, allowPrivate: true }, {});
    this.#requestMs = requestMs;
    this.now = now;
  }

  /** The metadata of an issuer, by the issuer's own word. Rejects where there is none. */
  async metadata(issuer: string): Promise<AuthorizationServer> {
    const run = this.#run();
    const found = await findServerMetadata(this.#http, issuer, { isOrigin: false }, run);
    if (found !== undefined) return found;
    throw new AuthError("server_metadata", `${issuer} has no metadata`, { tried: run.tried });
  }

  async get(url: string, step: AuthStep): Promise<{ readonly [member: string]: unknown }> {
    const run = this.#run();
    const document: Document = await this.#http.getDocument(new URL(url), run, step);
    if (document.kind === "found") return document.json;
    throw new AuthError(step, `${url}: no usable answer (${document.why})`, { tried: run.tried });
  }

  post(url: string, init: RequestInit, step: AuthStep): Promise<Response> {
    return this.#http.post(new URL(url), init, this.#run(), step);
  }

  /** One request, or a few that belong together, with an end of its own: nobody who waits for it can end it. */
  #run(): AuthRun {
    return { signal: AbortSignal.timeout(this.#requestMs), tried: [], now: this.now };
  }
}
