import { AuthError } from "../../protocol/auth-error.js";
import { type Authentication, type BoundClient, chooseMethod, type KnownClient } from "../client-auth.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import type { Discovery } from "./discover.js";
import { redirectFor } from "./redirect.js";
import { type RegistrationOptions, register } from "./register.js";
import type { AuthRecords, ClientRecord } from "./store.js";

export interface IdentityOptions extends RegistrationOptions {
  /** Clients that are registered in advance. */
  readonly clients: readonly BoundClient[];
  /** URL of the client's metadata document. It is the client id at servers that support such documents. */
  readonly clientMetadataUrl?: string | undefined;
  /** Key that the metadata document names. */
  readonly clientKey?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion"> | undefined;
  /** True if the client may register itself, which it does only in flows with a user. */
  readonly interactive: boolean;
  /** True if an authorization response shows for certain which issuer sent it. See `namesSender` in redirect.ts. */
  namesSender(discovery: Discovery): boolean;
}

/** Identity of the client at one authorization server. */
export interface Identity extends Authentication {
  /** True if the client registered itself, and so can register again. */
  readonly registered: boolean;
  readonly redirectUris?: readonly string[] | undefined;
  /** Redirect URI for this authorization server, if it is not the common one. */
  readonly redirectUrl?: string | undefined;
}

/**
 * Returns the client's identity: known in advance, or else by its metadata document, or else by a stored or a new
 * registration. With the option `grant`, a client without the first two has no client id.
 */
export async function identify(
  http: OAuthHttp,
  records: AuthRecords,
  discovery: Discovery,
  options: IdentityOptions,
  run: AuthRun,
): Promise<Identity> {
  const work = async () =>
    (await recall(records, discovery, options, run)) ?? (await registerAt(http, records, discovery, options, run));
  // MCP servers with the same issuer share a client. The lock makes concurrent callers register only once.
  return await records.locked(`client ${discovery.issuer}`, work, run.signal);
}

async function registerAt(
  http: OAuthHttp,
  records: AuthRecords,
  discovery: Discovery,
  options: IdentityOptions,
  run: AuthRun,
): Promise<Identity> {
  if (typeof discovery.metadata.registration_endpoint !== "string") {
    const remedy = canDescribe(discovery, options)
      ? "it does not announce iss, so clientMetadataUrl is used only with the option issuer"
      : "set the option client";
    throw new AuthError("registration", `${discovery.issuer} has no registration_endpoint: ${remedy}`, {
      tried: run.tried,
    });
  }
  const redirectUrl = await ownRedirect(discovery, options);
  const record = await register(http, discovery, { ...options, ownRedirectUrl: redirectUrl }, run);
  await records.saveClient(record);
  return toIdentity(record, redirectUrl);
}

/** True if the client has a metadata document and the authorization server supports such documents. */
function canDescribe({ metadata }: Discovery, { clientMetadataUrl }: IdentityOptions): boolean {
  return clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true;
}

/** Returns the redirect URI for this authorization server; undefined if it is the common one. */
async function ownRedirect(discovery: Discovery, options: IdentityOptions): Promise<string | undefined> {
  const { redirectUrl } = options;
  return redirectUrl === undefined || options.namesSender(discovery)
    ? undefined
    : await redirectFor(redirectUrl, discovery);
}

/**
 * Returns the client's identity without registering; undefined if it must register. With `redirects: false`, a stored
 * registration counts even if it has another redirect URI. Tokens that exist already still belong to it, for example in
 * a program that listens on another port each time.
 */
export async function recall(
  records: AuthRecords,
  discovery: Discovery,
  options: IdentityOptions,
  run: AuthRun,
  redirects = true,
): Promise<Identity | undefined> {
  const known = await knownClient(discovery, options, run);
  if (known !== undefined) return known;
  if (canDescribe(discovery, options) && options.namesSender(discovery)) {
    const method = options.clientKey === undefined ? "none" : "private_key_jwt";
    return { clientId: options.clientMetadataUrl, method, signer: options.clientKey, registered: false };
  }
  if (!options.interactive) return { clientId: undefined, method: "none", registered: false };
  const stored = await records.client(discovery.issuer);
  const own = await ownRedirect(discovery, options);
  const redirectUrl = redirects ? (own ?? options.redirectUrl) : undefined;
  return stored !== undefined && isUsable(stored, redirectUrl, run.now()) ? toIdentity(stored, own) : undefined;
}

/** Returns the client that is registered in advance. Throws if it is registered only at other authorization servers. */
async function knownClient(
  discovery: Discovery,
  options: IdentityOptions,
  run: AuthRun,
): Promise<Identity | undefined> {
  const { issuer, metadata } = discovery;
  const { clients, redirectUrl: common } = options;
  if (clients.length === 0) return undefined;
  const known = clients.find((each) => each.issuer === issuer);
  if (known === undefined) {
    const owners = clients.map((each) => each.issuer).join(", ");
    throw new AuthError(
      "issuer",
      `The client is registered at ${owners}, but the MCP server uses ${issuer} (option client)`,
      {
        tried: run.tried,
      },
    );
  }
  const signs = known.key !== undefined || known.assertion !== undefined;
  const listed = metadata.token_endpoint_auth_methods_supported;
  const method = known.method ?? (signs ? "private_key_jwt" : chooseMethod(known.secret !== undefined, listed));
  const redirectUrl = await ownRedirect(discovery, options);
  return {
    clientId: known.id,
    secret: known.secret,
    method,
    signer: signs ? known : undefined,
    registered: false,
    // Only the author knows whether a redirect URI of its own is registered for the client.
    redirectUris: known.redirectUris ?? (redirectUrl === undefined || common === undefined ? undefined : [common]),
    redirectUrl,
  };
}

function isUsable(
  { secretExpiresAt, redirectUris }: ClientRecord,
  redirectUrl: string | undefined,
  now: number,
): boolean {
  if (secretExpiresAt !== undefined && secretExpiresAt !== 0 && secretExpiresAt * 1000 <= now) return false;
  return redirectUris === undefined || redirectUrl === undefined || redirectUris.includes(redirectUrl);
}

function toIdentity(
  { clientId, clientSecret, method, redirectUris }: ClientRecord,
  redirectUrl: string | undefined,
): Identity {
  return { clientId, secret: clientSecret, method, redirectUris, redirectUrl, registered: true };
}
