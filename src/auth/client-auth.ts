import { AuthError } from "../protocol/auth-error.js";
import type { Known } from "../protocol/known-options.js";
import { oneLine, quoted } from "../protocol/text.js";
import type { ServerMetadata } from "./authorization-server.js";
import { formEncoded } from "./errors.js";
import { loadOauth4webapi } from "./oauth4webapi.js";

/** Private key that signs client assertions: a Web Crypto key, a JWK, or PKCS #8 as PEM. The last two need `jose`. */
export type SigningKey = CryptoKey | JsonWebKey | string;

/** Creates a client assertion. `audience` is the issuer that it is meant for. */
export type AssertionSource = (context: {
  readonly audience: string;
  readonly signal: AbortSignal;
}) => string | Promise<string>;

/** Client that is registered at an authorization server in advance. */
export interface KnownClient {
  readonly id: string;
  readonly secret?: string | undefined;
  /** Authorization server at which the client is registered. */
  readonly issuer?: string | undefined;
  /**
   * Authentication method at the token endpoint. By default it follows from the credentials and the methods that the
   * server lists.
   */
  readonly method?: "client_secret_basic" | "client_secret_post" | "private_key_jwt" | "none" | undefined;
  readonly key?: SigningKey | undefined;
  readonly keyId?: string | undefined;
  /**
   * Signature algorithm of `key`.
   * @default "ES256"
   */
  readonly alg?: string | undefined;
  /** Client assertion, or a function that creates one. Used in place of `key`. */
  readonly assertion?: string | AssertionSource | undefined;
  /**
   * Redirect URIs with which the client is registered. Checked before the user is redirected, if given. With clients at
   * several authorization servers, one whose responses do not name it needs a redirect URI of its own here.
   */
  readonly redirectUris?: readonly string[] | undefined;
}

/** Description of the options that sign or contain a client assertion. */
export const CLIENT_CREDENTIALS: Known<Pick<KnownClient, "key" | "keyId" | "alg" | "assertion">> = {
  key: "any",
  keyId: "string",
  alg: "string",
  assertion: [{ string: "any", function: "any" }],
};

export const KNOWN_CLIENT: Known<KnownClient> = {
  ...CLIENT_CREDENTIALS,
  id: [{ string: "any" }, "required"],
  secret: "string",
  issuer: "string",
  method: "string",
  redirectUris: [{ array: "string" }],
};

/** Client with the issuer at which it is registered. */
export type BoundClient = KnownClient & { readonly issuer: string };

const SECRET_METHODS = ["client_secret_basic", "client_secret_post"];

/**
 * Returns the default authentication method of a client. With a secret it is the first of `client_secret_basic`,
 * `client_secret_post` and `none` that the server lists, or else `client_secret_basic`. Without a secret it is `none`.
 */
export function chooseMethod(hasSecret: boolean, listed: unknown): string {
  if (!hasSecret) return "none";
  const methods = Array.isArray(listed) ? listed : ["client_secret_basic"];
  return [...SECRET_METHODS, "none"].find((method) => methods.includes(method)) ?? "client_secret_basic";
}

/** Credentials and authentication method of a client. */
export interface Authentication {
  readonly clientId: string | undefined;
  readonly secret?: string | undefined;
  readonly method: string;
  readonly signer?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion"> | undefined;
}

/** Adds client authentication to a request. */
export type ClientAuth = (
  server: ServerMetadata,
  client: { readonly client_id: string },
  body: URLSearchParams,
  headers: Headers,
) => void | Promise<void>;

/**
 * Returns the function that adds client authentication to a request. Rejects, before anything is sent, if the method is
 * not supported, or if its secret or key is missing or invalid.
 */
export async function toClientAuth(
  { clientId, secret, method, signer }: Authentication,
  metadata: ServerMetadata,
  signal: AbortSignal,
): Promise<ClientAuth> {
  switch (method) {
    case "none":
      return clientId === undefined ? () => {} : identified;
    case "client_secret_basic":
      return basic(needed(secret, method));
    case "client_secret_post":
      return posted(needed(secret, method));
    case "private_key_jwt":
      return signer?.assertion === undefined
        ? await signing(signer ?? {}, metadata)
        : presenting(signer.assertion, metadata.issuer, signal);
    default:
      throw new AuthError("configuration", `The client authentication method ${quoted(method)} is not supported`);
  }
}

/** Authenticates a public client, which has no credentials: sends the client id only. */
const identified: ClientAuth = (_server, client, body) => {
  body.set("client_id", client.client_id);
};

function posted(secret: string): ClientAuth {
  return (_server, client, body) => {
    body.set("client_id", client.client_id);
    body.set("client_secret", secret);
  };
}

function basic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set("authorization", basicCredentials(client.client_id, secret));
  };
}

/**
 * Returns the value of the `Authorization` header. Form-encodes id and secret, as RFC 6749 requires. Encodes no other
 * characters, because many servers compare id and secret without decoding them.
 */
export function basicCredentials(id: string, secret: string): string {
  return `Basic ${btoa(`${formEncoded(id)}:${formEncoded(secret)}`)}`;
}

function needed(secret: string | undefined, method: string): string {
  if (secret !== undefined) return secret;
  throw new AuthError("configuration", `The client needs a secret for ${method} (option client.secret)`);
}

function presenting(source: string | AssertionSource, audience: string, signal: AbortSignal): ClientAuth {
  return async (_server, client, body) => {
    const assertion = typeof source === "string" ? source : await source({ audience, signal });
    body.set("client_id", client.client_id);
    body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    body.set("client_assertion", assertion);
  };
}

async function signing(
  { key, keyId, alg = "ES256" }: NonNullable<Authentication["signer"]>,
  metadata: ServerMetadata,
): Promise<ClientAuth> {
  if (key === undefined)
    throw new AuthError(
      "configuration",
      "The client needs a key for private_key_jwt (option client.key or clientKey.key)",
    );
  const listed: unknown = metadata.token_endpoint_auth_signing_alg_values_supported;
  if (Array.isArray(listed) && !listed.includes(alg)) {
    throw new AuthError(
      "configuration",
      `${metadata.issuer} accepts client assertions signed with ${oneLine(listed.join(", "))}, not with ${alg} (option alg)`,
    );
  }
  const { PrivateKeyJwt } = await loadOauth4webapi("a key of the client (private_key_jwt)");
  try {
    const imported = await importKey(key, alg);
    return PrivateKeyJwt(keyId === undefined ? imported : { key: imported, kid: keyId }) as ClientAuth;
  } catch {
    // The cause is left out because it may quote the key.
    throw new AuthError(
      "configuration",
      `The client's key is not a private key for ${alg} (option alg), or jose is not installed`,
    );
  }
}

async function importKey(key: SigningKey, alg: string): Promise<CryptoKey> {
  if (key instanceof CryptoKey) return key;
  const jose = await import("jose");
  if (typeof key === "string") return await jose.importPKCS8(key, alg);
  const imported = await jose.importJWK(key as import("jose").JWK, alg);
  if (imported instanceof CryptoKey) return imported;
  throw new TypeError("the key is not asymmetric");
}
