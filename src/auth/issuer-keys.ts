import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { AuthError } from "../protocol/auth-error.js";
import { DefinitionError } from "../protocol/errors.js";
import type { Known } from "../protocol/known-options.js";
import {
  AUTHORIZATION_SERVER_OPTIONS,
  AuthorizationServerClient,
  type AuthorizationServerOptions,
  REQUEST_LIMITS,
  type RequestLimits,
} from "./authorization-server.js";
import { ASYMMETRIC, toAlgorithms } from "./crypto.js";

/** Limits of fetching and caching the keys of an issuer, or of a client of `createIssuer`. */
export interface KeyLimits extends RequestLimits {
  /**
   * Milliseconds during which fetched keys are not fetched again, unless a token has an unknown key.
   * @default 600_000
   */
  readonly keysMs: number;
  /**
   * Milliseconds during which fetched keys are still used if the issuer is unreachable.
   * @default 86_400_000
   */
  readonly staleKeysMs: number;
  /**
   * Minimum milliseconds until the keys are fetched again after a failed request, or because of an unknown key.
   * @default 30_000
   */
  readonly keysCooldownMs: number;
  /**
   * Maximum number of keys that an issuer may publish.
   * @default 100
   */
  readonly maxKeys: number;
}

export const KEY_LIMITS: KeyLimits = {
  ...REQUEST_LIMITS,
  keysMs: 600_000,
  staleKeysMs: 86_400_000,
  keysCooldownMs: 30_000,
  maxKeys: 100,
};

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

/** Document with the keys of an issuer or a client, and its URL. */
export interface PublishedKeys {
  readonly uri: string;
  readonly set: JSONWebKeySet;
}

interface KeySet {
  readonly keys: LocalKeys;
  readonly at: number;
}

/**
 * Cached public keys of an issuer or a client. Concurrent callers share one request. Tokens with invented key ids cause
 * at most one request per cooldown.
 */
export class RemoteKeys {
  readonly #load: () => Promise<PublishedKeys>;
  readonly #now: () => number;
  readonly #limits: KeyLimits;
  #current: KeySet | undefined;
  #loading: Promise<KeySet> | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(load: () => Promise<PublishedKeys>, now: () => number, limits: KeyLimits) {
    this.#load = load;
    this.#now = now;
    this.#limits = limits;
  }

  /** Returns the cached keys, or fetches them if they are too old. If that fails, uses old ones for `staleKeysMs`. */
  async current(): Promise<LocalKeys> {
    const known = this.#current;
    if (known !== undefined && this.#now() - known.at < this.#limits.keysMs) return known.keys;
    try {
      return (await this.#reload()).keys;
    } catch (error) {
      if (known !== undefined && this.#now() - known.at < this.#limits.staleKeysMs) return known.keys;
      throw error;
    }
  }

  /**
   * Returns newer keys than `keys`, for a token whose key is unknown. Returns undefined during the cooldown, or if the
   * keys cannot be fetched.
   */
  async newerThan(keys: LocalKeys): Promise<LocalKeys | undefined> {
    const known = this.#current;
    if (known === undefined || known.keys !== keys) return known?.keys;
    if (this.#loading === undefined && this.#now() - known.at < this.#limits.keysCooldownMs) return undefined;
    // If the keys cannot be fetched, the token stays rejected for its unknown key.
    return await this.#reload().then(
      (set) => set.keys,
      () => undefined,
    );
  }

  #reload(): Promise<KeySet> {
    const failure = this.#failure;
    if (failure !== undefined && this.#now() - failure.at < this.#limits.keysCooldownMs)
      return Promise.reject(failure.error);
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fetch(): Promise<KeySet> {
    try {
      const keys = createLocalJWKSet(withoutSecrets(await this.#load(), this.#limits));
      this.#failure = undefined;
      this.#current = { keys, at: this.#now() };
      return this.#current;
    } catch (error) {
      this.#failure = { error, at: this.#now() };
      throw error;
    }
  }
}

/**
 * Removes symmetric keys: a published one is not secret, so it must not verify anything. Throws if the set is malformed
 * or too large.
 */
function withoutSecrets({ uri, set: { keys } }: PublishedKeys, { maxKeys }: KeyLimits): JSONWebKeySet {
  const isList = Array.isArray(keys) && keys.every((key) => typeof key === "object" && key !== null);
  if (!isList) throw new AuthError("server_metadata", `The document at ${uri} is not a JWK set`);
  if (keys.length > maxKeys)
    throw new AuthError(
      "server_metadata",
      `The JWK set at ${uri} has ${keys.length} keys; raise limits.maxKeys (${maxKeys})`,
    );
  return { keys: keys.filter(({ kty }) => kty !== "oct") };
}

/** True if an error means that no key of the set matches the token. */
export function isUnknownKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey;
}

/** Issuer and the source of its keys. */
export interface IssuerKeyOptions extends AuthorizationServerOptions {
  /** Expected `iss` of tokens. Unless `jwksUri` or `keys` is given, its metadata must name the URL of its keys. */
  readonly issuer: string;
  /** URL of the keys, for an issuer whose metadata does not name it. */
  readonly jwksUri?: string | undefined;
  /** Keys of the issuer. With this option nothing is fetched. */
  readonly keys?: JSONWebKeySet | undefined;
  /**
   * Accepted signature algorithms. Only algorithms with a key pair are possible.
   * @default all supported algorithms with a key pair
   */
  readonly algorithms?: readonly string[] | undefined;
}

export const ISSUER_KEY_OPTIONS: Known<IssuerKeyOptions> = {
  ...AUTHORIZATION_SERVER_OPTIONS,
  issuer: "string",
  jwksUri: "string",
  keys: [{ object: "any" }],
  algorithms: [{ array: "string" }],
};

/** Source of an issuer's keys. */
interface KeySource {
  current(): Promise<LocalKeys>;
  newerThan(keys: LocalKeys): Promise<LocalKeys | undefined>;
}

/** Verifies JWTs of an issuer. */
export class IssuerKeys {
  readonly issuer: string;
  readonly #algorithms: string[];
  readonly #source: KeySource;
  readonly #server: AuthorizationServerClient;

  constructor(options: IssuerKeyOptions, limits: KeyLimits) {
    const { issuer, keys } = options;
    if (typeof issuer !== "string" || issuer === "")
      throw new DefinitionError("jwtVerifier: issuer is missing or not a string; set it to the iss of the tokens");
    this.issuer = issuer;
    this.#algorithms = toAlgorithms("algorithms", options.algorithms ?? ASYMMETRIC);
    this.#server = new AuthorizationServerClient(options, limits);
    this.#source = keys === undefined ? createRemote(options, this.#server, limits) : createFixed(keys);
  }

  /**
   * Returns the claims of a token. If none of the known keys matches the token, fetches the keys again, once, unless
   * they were fetched within the cooldown. Rejects with an error of `jose` for an invalid token, and with an
   * `AuthError` if no keys can be fetched.
   */
  async verify(token: string, more: JWTVerifyOptions): Promise<JWTVerifyResult> {
    const check: JWTVerifyOptions = {
      issuer: this.issuer,
      algorithms: this.#algorithms,
      currentDate: new Date(this.#server.now()),
      ...more,
    };
    const verified = await this.#verify(token, check);
    assertNotFuture(verified.payload, this.#server.now(), Number(more.clockTolerance ?? 0));
    return verified;
  }

  async #verify(token: string, check: JWTVerifyOptions): Promise<JWTVerifyResult> {
    const keys = await this.#source.current();
    try {
      return await verifiedBy(keys, token, check);
    } catch (error) {
      const newer = isUnknownKey(error) ? await this.#source.newerThan(keys) : undefined;
      if (newer === undefined) throw error;
      return await verifiedBy(newer, token, check);
    }
  }
}

function createFixed(set: JSONWebKeySet): KeySource {
  const keys = createLocalJWKSet(set);
  return { current: async () => keys, newerThan: async () => undefined };
}

function createRemote(options: IssuerKeyOptions, server: AuthorizationServerClient, limits: KeyLimits): KeySource {
  const load = async () => {
    const uri = options.jwksUri ?? (await findKeys(options.issuer, server));
    return { uri, set: (await server.get(uri, "server_metadata")) as unknown as JSONWebKeySet };
  };
  return new RemoteKeys(load, server.now, limits);
}

async function findKeys(issuer: string, server: AuthorizationServerClient): Promise<string> {
  const { jwks_uri } = await server.metadata(issuer);
  if (typeof jwks_uri === "string" && URL.canParse(jwks_uri)) return jwks_uri;
  throw new AuthError("server_metadata", `The metadata of ${issuer} has no valid jwks_uri; set jwksUri or keys`);
}

/** Verifies a token. A token without a key id may be signed by any of the matching keys, so each of them is tried. */
async function verifiedBy(keys: LocalKeys, token: string, check: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys, check);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, check);
      } catch (reason) {
        if (!(reason instanceof errors.JWSSignatureVerificationFailed)) throw reason;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Throws an error of `jose` if `iat` is not a number, or later than now by more than the allowed clock skew. */
export function assertNotFuture(payload: JWTPayload, nowMs: number, skewSeconds: number): void {
  const { iat } = payload;
  if (iat === undefined || (typeof iat === "number" && iat <= nowMs / 1000 + skewSeconds)) return;
  throw new errors.JWTClaimValidationFailed('"iat" is in the future', payload, "iat", "check_failed");
}

/**
 * Returns the `typ` of a JWT header in lower case, without the optional prefix `application/`; empty if there is none.
 */
export function toJwtType(typ: unknown): string {
  return typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : "";
}
