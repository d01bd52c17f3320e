import { AuthError } from "../../protocol/auth-error.js";
import { warnByProcess, warnOnce } from "../../protocol/deprecations.js";
import { defined } from "../../protocol/json.js";
import { oneLine, quoted } from "../../protocol/text.js";
import { isLoopback } from "../addresses.js";
import { chooseMethod } from "../client-auth.js";
import { formatOAuthError, readOAuthResponse } from "../errors.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import { type Discovery, endpointOf } from "./discover.js";
import type { ClientRecord } from "./store.js";

const REGISTRATION = {
  code: "deprecated_client_registration",
  message:
    "dynamic client registration is deprecated by MCP (PR 2858): set clientMetadataUrl to a client metadata document",
};

const MAX_BODY_CHARS = 4000;

/** Client metadata for registration (RFC 7591). Missing members get defaults. */
export interface ClientMetadata {
  readonly client_name?: string | undefined;
  readonly client_uri?: string | undefined;
  readonly application_type?: "native" | "web" | undefined;
  readonly redirect_uris?: readonly string[] | undefined;
  readonly grant_types?: readonly string[] | undefined;
  readonly token_endpoint_auth_method?: string | undefined;
  readonly scope?: string | undefined;
  readonly [member: string]: unknown;
}

export interface RegistrationOptions {
  readonly registration?: ClientMetadata | undefined;
  readonly redirectUrl?: string | undefined;
  /** Replaces `redirectUrl` at this authorization server. */
  readonly ownRedirectUrl?: string | undefined;
  /**
   * Warns that dynamic registration is deprecated.
   * @default true
   */
  readonly warnDeprecated?: boolean | undefined;
}

/** Registers the client at an authorization server. */
export async function register(
  http: OAuthHttp,
  discovery: Discovery,
  options: RegistrationOptions,
  run: AuthRun,
): Promise<ClientRecord> {
  if (options.warnDeprecated !== false) warnOnce(REGISTRATION, warnByProcess);
  const { issuer, metadata } = discovery;
  const endpoint = endpointOf(discovery, "registration_endpoint", run);
  const submitted = toRegistration(options, metadata.token_endpoint_auth_methods_supported);
  const init = {
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(submitted),
  };
  const response = await http.post(endpoint, init, run, "registration");
  const { json, error, text } = await readOAuthResponse(response);
  if (error !== undefined || json === undefined) {
    const why = error === undefined ? "the response is not a JSON object" : formatOAuthError(error);
    throw new AuthError("registration", `The registration at ${issuer} failed: ${why}`, {
      ...error,
      tried: run.tried,
      status: response.status,
      submitted,
      // A success response may contain a secret.
      body: response.ok ? undefined : oneLine(text, MAX_BODY_CHARS),
    });
  }
  return readRegistration(json, submitted, issuer, metadata.token_endpoint_auth_methods_supported, run);
}

function readRegistration(
  json: { readonly [member: string]: unknown },
  submitted: ClientMetadata,
  issuer: string,
  listed: unknown,
  run: AuthRun,
): ClientRecord {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const fail = (why: string) =>
    new AuthError("registration", `The registration at ${issuer} failed: the response ${why}`, {
      tried: run.tried,
      submitted,
    });
  const clientId = text(json.client_id);
  if (clientId === undefined) throw fail("has no client_id");
  const clientSecret = text(json.client_secret);
  const method =
    text(json.token_endpoint_auth_method) ??
    (clientSecret === undefined ? "none" : (submittedSecretMethod(submitted) ?? chooseMethod(true, listed)));
  if (!["none", "client_secret_basic", "client_secret_post"].includes(method))
    throw fail(`has the unsupported token_endpoint_auth_method ${quoted(method)}`);
  if (method !== "none" && clientSecret === undefined) throw fail(`has no client_secret for ${method}`);
  const expires = Number(json.client_secret_expires_at ?? 0);
  return {
    issuer,
    clientId,
    clientSecret,
    secretExpiresAt: Number.isFinite(expires) ? expires : 0,
    method,
    redirectUris: submitted.redirect_uris,
  };
}

function submittedSecretMethod({ token_endpoint_auth_method: method }: ClientMetadata): string | undefined {
  return method === "client_secret_basic" || method === "client_secret_post" ? method : undefined;
}

/**
 * Returns the metadata to register: the members from the options, and defaults for the others. `ownRedirectUrl`
 * replaces `redirectUrl` among the redirect URIs.
 */
function toRegistration(
  { registration = {}, redirectUrl, ownRedirectUrl }: RegistrationOptions,
  listed: unknown,
): ClientMetadata {
  const common = registration.redirect_uris ?? (redirectUrl === undefined ? [] : [redirectUrl]);
  const redirects = common.map((each) => (each === redirectUrl ? (ownRedirectUrl ?? each) : each));
  const type = registration.application_type ?? (redirects.some(isNative) || redirects.length === 0 ? "native" : "web");
  const method = preferredMethod(type, listed);
  return {
    client_name: "MCP client",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    ...defined(registration),
    redirect_uris: redirects,
    application_type: type,
  };
}

function isNative(redirect: string): boolean {
  if (!URL.canParse(redirect)) return true;
  const { protocol, hostname } = new URL(redirect);
  return (protocol !== "https:" && protocol !== "http:") || isLoopback(hostname);
}

/**
 * Returns the preferred one of the listed authentication methods. A native program cannot keep a secret; a web
 * application can.
 */
function preferredMethod(type: "native" | "web", listed: unknown): string | undefined {
  if (!Array.isArray(listed)) return undefined;
  const secret = ["client_secret_basic", "client_secret_post"];
  return (type === "native" ? ["none", ...secret] : [...secret, "none"]).find((method) => listed.includes(method));
}
