import type { Fetch } from "../http/client/send.js";
import { AuthError, type AuthStep } from "../protocol/auth-error.js";
import type { Known } from "../protocol/known-options.js";
import { quoted } from "../protocol/text.js";
import { timeoutSignal } from "./abortable.js";
import { type AuthRun, type Document, OAuthHttp } from "./http.js";
import { parseWebAddress } from "./web-address.js";

/**
 * Metadata of an authorization server (RFC 8414), as far as both sides use it. Not the type of `oauth4webapi`, which a
 * protected server does not need.
 */
export interface ServerMetadata {
  readonly issuer: string;
  readonly jwks_uri?: string;
  readonly introspection_endpoint?: string;
  readonly introspection_endpoint_auth_methods_supported?: readonly string[];
  readonly token_endpoint_auth_signing_alg_values_supported?: readonly string[];
}

export interface ServerMetadataOptions<Metadata extends ServerMetadata> {
  readonly serverMetadata?: Metadata | readonly Metadata[] | undefined;
  readonly allowIssuerMismatch?: { readonly [issuer: string]: string } | undefined;
  /**
   * True if the issuer is only an assumption: the MCP server's origin. Then the metadata may name it with a slash at
   * the end, and it is no error if the metadata cannot be requested.
   */
  readonly isOrigin: boolean;
}

const MAX_ISSUER_CHARS = 2048;

/**
 * True if a value can be an issuer identifier (RFC 8414): a normalized http(s) URL without user, query and fragment.
 */
export function isIssuer(text: unknown): text is string {
  if (typeof text !== "string" || text.length > MAX_ISSUER_CHARS || /[?#]/.test(text)) return false;
  return parseWebAddress(text) !== undefined;
}

/** Throws unless the text is a valid issuer identifier. */
export function assertIssuer(issuer: string): void {
  if (isIssuer(issuer)) return;
  const wanted = "issuer must be a normalized http(s) URL without user, query and fragment";
  throw new AuthError("configuration", `${wanted}, got ${quoted(String(issuer))}`);
}

/** Returns the well-known URLs of an authorization server's metadata, in the order in which they are tried. */
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
 * Returns the metadata of an issuer: from `serverMetadata`, or else from the first well-known URL that has it. Returns
 * undefined if none has it. Throws if the metadata names another issuer. Unless `isOrigin` is true, also throws if none
 * has it and one of the URLs must not be requested or redirects too often.
 */
export async function findServerMetadata<Metadata extends ServerMetadata>(
  http: OAuthHttp,
  issuer: string,
  options: ServerMetadataOptions<Metadata>,
  run: AuthRun,
): Promise<Metadata | undefined> {
  const given = [options.serverMetadata ?? []].flat() as readonly Metadata[];
  const known = given.find((each) => each.issuer === issuer);
  if (known !== undefined) return known;
  let unasked: string | undefined;
  for (const url of metadataCandidates(issuer)) {
    const document = await http.getDocument(url, run, "server_metadata");
    if (document.kind === "absent") {
      if (document.status === undefined) unasked ??= document.why;
    } else if (typeof document.json.issuer === "string") {
      assertStated(document.json.issuer, issuer, options, run);
      return document.json as unknown as Metadata;
    }
  }
  if (unasked === undefined || options.isOrigin) return undefined;
  throw new AuthError("server_metadata", `The metadata of ${issuer} cannot be fetched: ${unasked}`, {
    tried: run.tried,
  });
}

function assertStated(
  stated: string,
  asked: string,
  options: Pick<ServerMetadataOptions<never>, "allowIssuerMismatch" | "isOrigin">,
  run: AuthRun,
): void {
  if (stated === asked || stated === options.allowIssuerMismatch?.[asked]) return;
  if (options.isOrigin && stated === `${asked}/`) return;
  throw new AuthError(
    "issuer",
    `The metadata at ${run.tried.at(-1)} names the issuer ${quoted(stated)}, not ${quoted(asked)}; correct the issuer, or set allowIssuerMismatch of oauth`,
    { tried: run.tried },
  );
}

export interface AuthorizationServerOptions {
  /** Replaces the global `fetch` for requests to the authorization server. */
  readonly fetch?: typeof fetch | undefined;
  /** Allows plain HTTP to other machines, which anybody on the network can alter. For tests only. */
  readonly allowInsecure?: boolean | undefined;
  /** Returns the current time in milliseconds since 1970. For tests. */
  readonly now?: (() => number) | undefined;
}

export const AUTHORIZATION_SERVER_OPTIONS: Known<AuthorizationServerOptions> = {
  fetch: "function",
  allowInsecure: "boolean",
  now: "function",
};

/** Limits of requests to an authorization server. */
export interface RequestLimits {
  /**
   * Milliseconds until a request to an authorization server times out. The requests that find its metadata share this
   * time. A single request never takes longer than 15 seconds.
   * @default 5_000
   */
  readonly requestMs: number;
}

export const REQUEST_LIMITS: RequestLimits = { requestMs: 5_000 };

/** HTTP client for an authorization server. Checks each URL, and limits the size and time of each response. */
export class AuthorizationServerClient {
  readonly now: () => number;
  readonly #http: OAuthHttp;
  readonly #requestMs: number;

  constructor(
    { fetch, allowInsecure = false, now = Date.now }: AuthorizationServerOptions,
    { requestMs }: RequestLimits,
  ) {
    const send: Fetch = (url, init) => (fetch ?? globalThis.fetch)(url, init);
    // The author configures the issuer, so private addresses are allowed.
    this.#http = new OAuthHttp(send, { allowInsecure, allowPrivate: true }, {});
    this.#requestMs = requestMs;
    this.now = now;
  }

  /** Fetches the metadata of an issuer. Rejects if there is none. */
  async metadata(issuer: string): Promise<ServerMetadata> {
    const run = this.#run();
    const found = await findServerMetadata(this.#http, issuer, { isOrigin: false }, run);
    if (found !== undefined) return found;
    throw new AuthError(
      "server_metadata",
      `The authorization server ${issuer} has no metadata at ${run.tried.join(", ")}`,
      { tried: run.tried },
    );
  }

  async get(url: string, step: AuthStep): Promise<{ readonly [member: string]: unknown }> {
    const run = this.#run();
    const document: Document = await this.#http.getDocument(new URL(url), run, step);
    if (document.kind === "found") return document.json;
    throw new AuthError(step, `${url}: no usable response (${document.why})`, { tried: run.tried });
  }

  post(url: string, init: RequestInit, step: AuthStep): Promise<Response> {
    return this.#http.post(new URL(url), init, this.#run(), step);
  }

  /** Starts a run with its own timeout. Several callers may share the result, so no caller's signal ends it. */
  #run(): AuthRun {
    return { signal: timeoutSignal(this.#requestMs), tried: [], now: this.now };
  }
}
