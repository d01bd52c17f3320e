import { AuthError } from "../../protocol/auth-error.js";
import { oneLine, quoted } from "../../protocol/text.js";
import { isLoopback } from "../addresses.js";
import { formatOAuthError } from "../errors.js";
import { loadOauth4webapi } from "../oauth4webapi.js";
import { scopesOf } from "../scopes.js";
import type { Discovery } from "./discover.js";
import type { Identity } from "./identify.js";
import { assertOwnRedirect } from "./redirect.js";
import type { AuthorizationServerMetadata } from "./server-metadata.js";
import type { AuthRecords } from "./store.js";

/** Authorization request that is under way, with everything that the response is checked against. */
export interface Attempt {
  readonly state: string;
  readonly verifier: string;
  /** URL of the MCP server. */
  readonly server: string;
  /** Authorization server to which the user was redirected. The code is sent only there. */
  readonly discovery: Discovery;
  readonly clientId: string;
  readonly redirectUrl: string;
  readonly scope: string | undefined;
  readonly startedAt: number;
}

/** Authorization response: the URL to which the browser was redirected, or all of its parameters. */
export type Callback = string | URL | URLSearchParams | { readonly [name: string]: string | undefined };

/** Creates an attempt and the URL to which the user is redirected. */
export async function startAttempt(
  server: string,
  discovery: Discovery,
  identity: Identity,
  commonRedirectUrl: string,
  scope: string | undefined,
  startedAt: number,
  more: Readonly<Record<string, string>>,
): Promise<{ attempt: Attempt; url: URL }> {
  const { metadata, resource } = discovery;
  assertCodeFlow(metadata, discovery.guessed);
  const url = authorizationUrl(metadata.authorization_endpoint, discovery.issuer);
  const redirectUrl = identity.redirectUrl ?? commonRedirectUrl;
  assertRegistered(redirectUrl, identity, discovery.issuer);
  const { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } = await loadOauth4webapi();
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const clientId = identity.clientId ?? "";
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUrl,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    resource,
    scope,
    prompt: scopesOf(scope).includes("offline_access") ? "consent" : undefined,
  };
  for (const [name, value] of [...Object.entries(more), ...Object.entries(parameters)]) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const attempt = { state, verifier, server, discovery, clientId, redirectUrl, scope, startedAt };
  return { attempt, url };
}

/**
 * Throws if the metadata excludes the response type `code` or does not list PKCE with S256. Guessed metadata is not
 * checked. PKCE proves that the client that redeems a code is the one that requested it.
 */
function assertCodeFlow(metadata: AuthorizationServerMetadata, guessed: boolean): void {
  if (guessed) return;
  const { response_types_supported: types, code_challenge_methods_supported: methods, issuer } = metadata;
  if (Array.isArray(types) && !types.includes("code")) {
    throw new AuthError("authorize", `The metadata of ${issuer} does not list code in response_types_supported`);
  }
  if (!Array.isArray(methods) || !methods.includes("S256")) {
    throw new AuthError(
      "authorize",
      `The metadata of ${issuer} does not list S256 in code_challenge_methods_supported (option serverMetadata)`,
    );
  }
}

function authorizationUrl(endpoint: unknown, issuer: string): URL {
  const url = URL.canParse(String(endpoint)) ? new URL(String(endpoint)) : undefined;
  const safe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url !== undefined && safe) return url;
  throw new AuthError(
    "configuration",
    `The authorization endpoint of ${issuer} must be an https: URL or an http: URL on a loopback host, got ${quoted(String(endpoint))}`,
  );
}

function assertRegistered(
  redirectUrl: string,
  { redirectUris: registered, redirectUrl: own }: Identity,
  issuer: string,
): void {
  if (registered === undefined || registered.some((uri) => isSameRedirect(uri, redirectUrl))) return;
  throw new AuthError(
    "configuration",
    own === undefined
      ? `The client is registered for the redirect URIs ${registered.join(", ")}, not for ${redirectUrl} (option redirectUrl)`
      : `${issuer} does not announce iss, so that it could be sent the code of another authorization server: register ${redirectUrl} there and list it in redirectUris of the client, or set allowMissingIss`,
  );
}

/** True if two redirect URIs are equal. The port of a loopback host does not count (RFC 8252). */
function isSameRedirect(one: string, other: string): boolean {
  return one === other || withoutPort(one) === withoutPort(other);
}

function withoutPort(uri: string): string {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url?.protocol !== "http:" || !isLoopback(url.hostname)) return uri;
  url.port = "";
  return url.href;
}

/** Returns the parameters of a callback. Throws if the callback is a URL other than `redirectUrl`. */
export function parseCallback(callback: Callback, redirectUrl?: string): URLSearchParams {
  if (callback instanceof URLSearchParams) return callback;
  if (typeof callback !== "string" && !(callback instanceof URL)) {
    const given = Object.entries(callback).filter((pair): pair is [string, string] => pair[1] !== undefined);
    return new URLSearchParams(given);
  }
  const text = String(callback);
  const isAddress = URL.canParse(text) || /^\/|^[^=&?]*\?/.test(text);
  if (!isAddress || redirectUrl === undefined) return new URLSearchParams(text.replace(/^[^?]*\?/, ""));
  // The request that a server receives names only the path and query, so it is resolved against the redirect URI.
  const url = URL.canParse(text, redirectUrl) ? new URL(text, redirectUrl) : undefined;
  if (url === undefined || !isSamePlace(url, new URL(redirectUrl))) {
    throw new AuthError(
      "callback",
      `The authorization response arrived at ${url?.href.replace(/[?#].*/s, "") ?? "an invalid URL"}, not at ${redirectUrl}`,
    );
  }
  return url.searchParams;
}

function isSamePlace(a: URL, b: URL): boolean {
  return a.protocol === b.protocol && a.host === b.host && a.pathname === b.pathname;
}

/**
 * Checks an authorization response and returns its code. State, redirect URI and issuer are checked first. The code and
 * the texts of an error response are not used before they match.
 */
export function readCallback(params: URLSearchParams, attempt: Attempt): string {
  for (const name of ["state", "iss", "code", "error"]) {
    if (params.getAll(name).length > 1)
      throw new AuthError("callback", `The authorization response repeats the parameter ${name}`);
  }
  if (params.get("state") !== attempt.state) {
    throw new AuthError("callback", "The state of the authorization response does not match the request");
  }
  assertOwnRedirect(params, attempt.redirectUrl, attempt.discovery.issuer);
  assertIss(params.get("iss"), attempt.discovery);
  const error = params.get("error");
  if (error !== null) throw refused(error, params);
  const code = params.get("code");
  if (code === null || code === "")
    throw new AuthError("callback", "The authorization response has neither a code nor an error");
  return code;
}

/**
 * Throws unless `iss` equals the issuer, without normalization. It may be absent only if the server does not announce
 * it.
 */
function assertIss(iss: string | null, { metadata, guessed }: Discovery): void {
  if (iss === null) {
    if (metadata.authorization_response_iss_parameter_supported !== true) return;
    throw new AuthError("issuer", `The authorization response has no iss, which ${metadata.issuer} announces`);
  }
  if (guessed)
    throw new AuthError(
      "issuer",
      "The authorization response has an iss, but the authorization server has no metadata to compare it with",
    );
  if (iss !== metadata.issuer)
    throw new AuthError("issuer", `The authorization response has the iss ${quoted(iss)}, expected ${metadata.issuer}`);
}

function refused(error: string, params: URLSearchParams): AuthError {
  const line = (value: string | null) => (value === null ? undefined : oneLine(value));
  const said = {
    error: oneLine(error),
    description: line(params.get("error_description")),
    uri: line(params.get("error_uri")),
  };
  return new AuthError("authorize", `The authorization failed: ${formatOAuthError(said)}`, said);
}

/** Milliseconds after which an attempt expires. */
const ATTEMPT_MS = 3_600_000;
/** Maximum number of open attempts for one MCP server. */
const MAX_OPEN = 32;

type Open = readonly Pick<Attempt, "state" | "startedAt">[];

/**
 * Stores open attempts by the state that the response carries. Each new attempt deletes the expired ones, and the
 * oldest above `MAX_OPEN`.
 */
export class AttemptStore {
  readonly #records: AuthRecords;
  readonly #now: () => number;

  constructor(records: AuthRecords, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  async save(attempt: Attempt): Promise<void> {
    const { state, startedAt, server } = attempt;
    await this.#records.write("attempt", state, attempt);
    const before = await this.#open(server);
    const open = before.filter((each) => !this.#isVoid(each)).slice(1 - MAX_OPEN);
    await this.#records.write("attempts", server, [...open, { state, startedAt }]);
    for (const each of before) if (!open.includes(each)) await this.#records.drop("attempt", each.state);
  }

  async drop({ state, server }: Attempt): Promise<void> {
    await this.#records.drop("attempt", state);
    const rest = (await this.#open(server)).filter((each) => each.state !== state);
    if (rest.length === 0) await this.#records.drop("attempts", server);
    else await this.#records.write("attempts", server, rest);
  }

  /** Returns the attempt that a response belongs to. Throws if there is none. */
  async find(params: URLSearchParams): Promise<Attempt> {
    const state = params.get("state");
    const attempt = state === null ? undefined : await this.#records.read<Attempt>("attempt", state);
    if (attempt !== undefined && !this.#isVoid(attempt)) return attempt;
    if (attempt !== undefined) await this.drop(attempt);
    throw new AuthError(
      "callback",
      "The state of the authorization response is missing, unknown or expired; authorize again",
    );
  }

  async #open(server: string): Promise<Open> {
    return (await this.#records.read<Open>("attempts", server)) ?? [];
  }

  #isVoid({ startedAt }: Pick<Attempt, "startedAt">): boolean {
    return this.#now() - startedAt >= ATTEMPT_MS;
  }
}
