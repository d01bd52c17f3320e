import { AuthError } from "../../schema/auth-error.js";
import { warnByProcess, warnOnce } from "../../schema/deprecated.js";
import { isLoopback } from "../address.js";
import { type Authentication, chooseMethod, type KnownClient } from "./client-auth.js";
import type { Guard } from "./discover.js";
import { quoted, readOAuthError, shown } from "./oauth-error.js";
import type { AuthRun, OAuthHttp } from "./oauth-http.js";
import type { AuthRecords, ClientRecord } from "./store.js";

const REGISTRATION = {
  code: "deprecated_client_registration",
  message: "dynamic client registration is deprecated by PR 2858: use a client metadata document (clientMetadataUrl)",
};

/** What a client says about itself when it registers (RFC 7591). Members that are not given are filled in. */
export interface ClientMetadata {
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly application_type?: "native" | "web";
  readonly redirect_uris?: readonly string[];
  readonly grant_types?: readonly string[];
  readonly token_endpoint_auth_method?: string;
  readonly scope?: string;
  readonly [member: string]: unknown;
}

export interface IdentityOptions {
  /** Clients that authorization servers already know. */
  readonly client?: KnownClient | readonly KnownClient[] | undefined;
  /** The address of this client's metadata document, which is then its id where that is supported. */
  readonly clientMetadataUrl?: string | undefined;
  /** The key that belongs to the metadata document. */
  readonly clientKey?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion"> | undefined;
  readonly registration?: ClientMetadata | undefined;
  readonly redirectUrl?: string | undefined;
  /** Whether the developer hears that registering is deprecated. */
  readonly warnDeprecated?: boolean | undefined;
  /** Whether the client may register itself: only where a user takes part. */
  readonly interactive: boolean;
}

/** Who this client is at one authorization server. */
export interface Identity extends Authentication {
  /** True when it registered itself, so that it can do so again. */
  readonly registered: boolean;
  readonly redirectUris?: readonly string[] | undefined;
}

/** Known beforehand, else by its metadata document, else by registration. */
export async function identify(
  http: OAuthHttp,
  records: AuthRecords,
  guard: Guard,
  options: IdentityOptions,
  run: AuthRun,
): Promise<Identity> {
  const work = async () =>
    (await recall(records, guard, options, run)) ?? (await registerAt(http, records, guard, options, run));
  // Servers with the same guard share a client: of several who need one at once, one registers.
  return await records.locked(`client ${guard.issuer}`, work, run.signal);
}

async function registerAt(
  http: OAuthHttp,
  records: AuthRecords,
  guard: Guard,
  options: IdentityOptions,
  run: AuthRun,
): Promise<Identity> {
  if (typeof guard.metadata.registration_endpoint !== "string") {
    throw new AuthError(
      "registration",
      `There is no way to register at ${guard.issuer}: give a client that it knows (option client)`,
      { tried: run.tried },
    );
  }
  if (options.warnDeprecated !== false) warnOnce(REGISTRATION, warnByProcess);
  const record = await register(http, guard, options, run);
  await records.saveClient(record);
  return toIdentity(record);
}

/**
 * Who this client already is there; undefined when it would have to register. For tokens that it has already got, the
 * redirect address does not matter: a program that listens on another port each time is still the same client.
 */
export async function recall(
  records: AuthRecords,
  guard: Guard,
  options: IdentityOptions,
  run: AuthRun,
  redirects = true,
): Promise<Identity | undefined> {
  const known = await knownClient(records, guard, options, run);
  if (known !== undefined) return known;
  if (options.clientMetadataUrl !== undefined && guard.metadata.client_id_metadata_document_supported === true) {
    const method = options.clientKey === undefined ? "none" : "private_key_jwt";
    return { clientId: options.clientMetadataUrl, method, signer: options.clientKey, registered: false };
  }
  if (!options.interactive) return { clientId: undefined, method: "none", registered: false };
  const stored = await records.client(guard.issuer);
  const redirectUrl = redirects ? options.redirectUrl : undefined;
  return stored !== undefined && isUsable(stored, redirectUrl, run.now()) ? toIdentity(stored) : undefined;
}

async function knownClient(
  records: AuthRecords,
  { issuer, metadata }: Guard,
  { client }: IdentityOptions,
  run: AuthRun,
): Promise<Identity | undefined> {
  const all = client === undefined ? [] : [client].flat();
  if (all.length === 0) return undefined;
  const known = all.find((each) => each.issuer === issuer) ?? all.find((each) => each.issuer === undefined);
  const bound =
    known === undefined ? undefined : (known.issuer ?? (await boundTo(records, known.id, issuer, run.signal)));
  if (known === undefined || bound !== issuer) {
    const owners = bound ?? all.map((each) => each.issuer).join(", ");
    throw new AuthError("issuer", `The client is known to ${owners}, but the server is guarded by ${issuer}`, {
      tried: run.tried,
    });
  }
  const signs = known.key !== undefined || known.assertion !== undefined;
  const listed = metadata.token_endpoint_auth_methods_supported;
  const method = known.method ?? (signs ? "private_key_jwt" : chooseMethod(known.secret !== undefined, listed));
  return {
    clientId: known.id,
    secret: known.secret,
    method,
    signer: signs ? known : undefined,
    registered: false,
    redirectUris: known.redirectUris,
  };
}

/** A client that names no issuer belongs to the first one that it is used at. */
function boundTo(records: AuthRecords, id: string, issuer: string, signal: AbortSignal): Promise<string> {
  const bind = async () => {
    const bound = await records.read<string>("binding", id);
    if (bound === undefined) await records.write("binding", id, issuer);
    return bound ?? issuer;
  };
  return records.locked(`binding ${id}`, bind, signal);
}

function isUsable(
  { secretExpiresAt, redirectUris }: ClientRecord,
  redirectUrl: string | undefined,
  now: number,
): boolean {
  if (secretExpiresAt !== undefined && secretExpiresAt !== 0 && secretExpiresAt * 1000 <= now) return false;
  return redirectUris === undefined || redirectUrl === undefined || redirectUris.includes(redirectUrl);
}

function toIdentity({ clientId, clientSecret, method, redirectUris }: ClientRecord): Identity {
  return { clientId, secret: clientSecret, method, redirectUris, registered: true };
}

async function register(
  http: OAuthHttp,
  { issuer, metadata }: Guard,
  options: IdentityOptions,
  run: AuthRun,
): Promise<ClientRecord> {
  const submitted = toRegistration(options, metadata.token_endpoint_auth_methods_supported);
  const init = {
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(submitted),
  };
  const response = await http.post(new URL(metadata.registration_endpoint as string), init, run, "registration");
  const { json, error, text } = await readOAuthError(response);
  if (error !== undefined || json === undefined) {
    const why = error ?? { error: "no client was returned" };
    throw new AuthError("registration", `${issuer} refused to register this client: ${shown(why)}`, {
      ...error,
      tried: run.tried,
      status: response.status,
      submitted,
      // What is no refusal may hold a secret.
      body: response.ok ? undefined : text,
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
    new AuthError("registration", `${issuer} registered this client in a way that it cannot use: ${why}`, {
      tried: run.tried,
      submitted,
    });
  const clientId = text(json.client_id);
  if (clientId === undefined) throw fail("there is no client_id");
  const clientSecret = text(json.client_secret);
  const method =
    text(json.token_endpoint_auth_method) ??
    (clientSecret === undefined ? "none" : (submittedSecretMethod(submitted) ?? chooseMethod(true, listed)));
  if (!["none", "client_secret_basic", "client_secret_post"].includes(method))
    throw fail(`it is to use ${quoted(method)}`);
  if (method !== "none" && clientSecret === undefined) throw fail(`it is to use ${method} and has no secret`);
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

/** What is sent to register: the author's members as they are, the others by what fits. */
export function toRegistration({ registration = {}, redirectUrl }: IdentityOptions, listed: unknown): ClientMetadata {
  const redirects = registration.redirect_uris ?? (redirectUrl === undefined ? [] : [redirectUrl]);
  const type = registration.application_type ?? (redirects.some(isNative) || redirects.length === 0 ? "native" : "web");
  const method = preferredMethod(type, listed);
  return {
    client_name: "MCP client",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    ...registration,
    redirect_uris: redirects,
    application_type: type,
  };
}

function isNative(redirect: string): boolean {
  if (!URL.canParse(redirect)) return true;
  const { protocol, hostname } = new URL(redirect);
  return (protocol !== "https:" && protocol !== "http:") || isLoopback(hostname);
}

/** A program on the user's machine can keep no secret; what runs on a server can. */
function preferredMethod(type: "native" | "web", listed: unknown): string | undefined {
  if (!Array.isArray(listed)) return undefined;
  const secret = ["client_secret_basic", "client_secret_post"];
  return (type === "native" ? ["none", ...secret] : [...secret, "none"]).find((method) => listed.includes(method));
}
