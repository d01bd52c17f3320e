import type { AuthorizationServer, ClientAuth } from "oauth4webapi";
import { AuthError } from "../protocol/auth-error.js";
import { oneLine, quoted } from "../protocol/text.js";
import { formEncoded } from "./errors.js";

/** A private key that signs assertions: of Web Crypto, as a JWK, or as PKCS #8 in PEM. The last two need `jose`. */
export type SigningKey = CryptoKey | JsonWebKey | string;

/** Makes the assertion that stands for the client; `audience` is the issuer it is for. */
export type AssertionSource = (context: {
  readonly audience: string;
  readonly signal: AbortSignal;
}) => string | Promise<string>;

/** A client that an authorization server already knows. */
export interface KnownClient {
  readonly id: string;
  readonly secret?: string;
  /** The authorization server that knows it. */
  readonly issuer?: string;
  /** How it authenticates at the token endpoint; by what it has and the server lists, unless told. */
  readonly method?: "client_secret_basic" | "client_secret_post" | "private_key_jwt" | "none";
  readonly key?: SigningKey;
  readonly keyId?: string;
  /** The algorithm of `key`; ES256 unless told otherwise. */
  readonly alg?: string;
  /** Instead of a key: an assertion made elsewhere. */
  readonly assertion?: string | AssertionSource;
  /** The redirect addresses that it is registered with, where that is known. */
  readonly redirectUris?: readonly string[];
}

/** A client with the issuer that knows it. */
export type BoundClient = KnownClient & { readonly issuer: string };

const SECRET_METHODS = ["client_secret_basic", "client_secret_post"];

/** Which method a client uses that was not told: the first that it can and that the server lists. */
export function chooseMethod(hasSecret: boolean, listed: unknown): string {
  if (!hasSecret) return "none";
  const methods = Array.isArray(listed) ? listed : ["client_secret_basic"];
  return [...SECRET_METHODS, "none"].find((method) => methods.includes(method)) ?? "client_secret_basic";
}

export interface Authentication {
  readonly clientId: string | undefined;
  readonly secret?: string | undefined;
  readonly method: string;
  readonly signer?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion"> | undefined;
}

/** How requests to the token endpoint say who sends them. Rejects before anything is sent when that cannot work. */
export async function toClientAuth(
  { clientId, secret, method, signer }: Authentication,
  metadata: AuthorizationServer,
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
      throw new AuthError("configuration", `The client cannot authenticate by ${quoted(method)}`);
  }
}

/** A public client says who it is and proves nothing. */
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

/** Id and secret are form-encoded, but no more than that: many servers compare them without decoding. */
export function basicCredentials(id: string, secret: string): string {
  return `Basic ${btoa(`${formEncoded(id)}:${formEncoded(secret)}`)}`;
}

function needed(secret: string | undefined, method: string): string {
  if (secret !== undefined) return secret;
  throw new AuthError("configuration", `The client has no secret to authenticate by ${method}`);
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
  metadata: AuthorizationServer,
): Promise<ClientAuth> {
  if (key === undefined) throw new AuthError("configuration", "The client has no key to sign its assertion with");
  const listed: unknown = metadata.token_endpoint_auth_signing_alg_values_supported;
  if (Array.isArray(listed) && !listed.includes(alg)) {
    throw new AuthError(
      "configuration",
      `${metadata.issuer} takes assertions signed by ${oneLine(listed.join(", "))}, not ${alg}`,
    );
  }
  // An optional peer: a server that introspects with a secret has no need of it.
  const { PrivateKeyJwt } = await import("oauth4webapi");
  try {
    const imported = await importKey(key, alg);
    return PrivateKeyJwt(keyId === undefined ? imported : { key: imported, kid: keyId });
  } catch {
    // The cause may quote the key.
    throw new AuthError("configuration", `The client's key cannot sign by ${alg}`);
  }
}

async function importKey(key: SigningKey, alg: string): Promise<CryptoKey> {
  if (key instanceof CryptoKey) return key;
  const jose = await import("jose");
  if (typeof key === "string") return await jose.importPKCS8(key, alg);
  const imported = await jose.importJWK(key as import("jose").JWK, alg);
  if (imported instanceof CryptoKey) return imported;
  throw new TypeError("not an asymmetric key");
}
