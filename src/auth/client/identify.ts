import { AuthError } from "../../protocol/auth-error.js";
import { type Authentication, type BoundClient, chooseMethod, type KnownClient } from "../client-auth.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import type { Discovery } from "./discover.js";
import { redirectFor } from "./redirect.js";
import { type RegistrationOptions, register } from "./register.js";
import type { AuthRecords, ClientRecord } from "./store.js";

export interface IdentityOptions extends RegistrationOptions {
  /** Clients that authorization servers already know. */
  readonly clients: readonly BoundClient[];
  /** The address of this client's metadata document, which is then its id where that is supported. */
  readonly clientMetadataUrl?: string | undefined;
  /** The key that belongs to the metadata document. */
  readonly clientKey?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion"> | undefined;
  /** Whether the client may register itself: only where a user takes part. */
  readonly interactive: boolean;
  /** Whether answers of an authorization server can be told from those of others. */
  namesSender(discovery: Discovery): boolean;
}

/** Who this client is at one authorization server. */
export interface Identity extends Authentication {
  /** True when it registered itself, so that it can do so again. */
  readonly registered: boolean;
  readonly redirectUris?: readonly string[] | undefined;
  /** Its redirect address at this authorization server, where that is not the common one. */
  readonly redirectUrl?: string | undefined;
}

/** Known beforehand, else by its metadata document, else by registration. */
export async function identify(
  http: OAuthHttp,
  records: AuthRecords,
  discovery: Discovery,
  options: IdentityOptions,
  run: AuthRun,
): Promise<Identity> {
  const work = async () =>
    (await recall(records, discovery, options, run)) ?? (await registerAt(http, records, discovery, options, run));
  // Servers with the same issuer share a client: of several who need one at once, one registers.
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
      ? "its answers do not name it (iss), so the metadata document is used only if you name it (option issuer)"
      : "give a client that it knows (option client)";
    throw new AuthError("registration", `There is no way to register at ${discovery.issuer}: ${remedy}`, {
      tried: run.tried,
    });
  }
  const redirectUrl = await ownRedirect(discovery, options);
  const record = await register(http, discovery, { ...options, ownRedirectUrl: redirectUrl }, run);
  await records.saveClient(record);
  return toIdentity(record, redirectUrl);
}

/** Whether the client's metadata document is known there. */
function canDescribe({ metadata }: Discovery, { clientMetadataUrl }: IdentityOptions): boolean {
  return clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true;
}

/** The redirect address of a registered client, where that is not the common one. */
async function ownRedirect(discovery: Discovery, options: IdentityOptions): Promise<string | undefined> {
  const { redirectUrl } = options;
  return redirectUrl === undefined || options.namesSender(discovery)
    ? undefined
    : await redirectFor(redirectUrl, discovery);
}

/**
 * Who this client already is there; undefined when it would have to register. For tokens that it has already got, the
 * redirect address does not matter: a program that listens on another port each time is still the same client.
 */
export async function recall(
  records: AuthRecords,
  discovery: Discovery,
  options: IdentityOptions,
  run: AuthRun,
  redirects = true,
): Promise<Identity | undefined> {
  const known = knownClient(discovery, options, run);
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

/** Throws where another authorization server than this one knows the client. */
function knownClient(
  { issuer, metadata }: Discovery,
  { clients }: IdentityOptions,
  run: AuthRun,
): Identity | undefined {
  if (clients.length === 0) return undefined;
  const known = clients.find((each) => each.issuer === issuer);
  if (known === undefined) {
    const owners = clients.map((each) => each.issuer).join(", ");
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
