import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { AuthError } from "../protocol/auth-error.js";
import { DefinitionError } from "../protocol/errors.js";
import { AuthorizationServerClient, type AuthorizationServerOptions } from "./authorization-server.js";
import { ASYMMETRIC, toAlgorithms } from "./crypto.js";

export interface RemoteKeyOptions {
  /** How long keys are good without asking again. 10 minutes unless told otherwise. */
  readonly maxAgeMs?: number;
  /** How long they are used when asking fails. A day unless told otherwise. */
  readonly maxStaleMs?: number;
  /** For a key that is not known, or after a failure, the issuer is asked again at most this often. 30 s unless told. */
  readonly cooldownMs?: number;
}

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

interface KeySet {
  readonly keys: LocalKeys;
  readonly at: number;
}

const MAX_KEYS = 100;

/**
 * The public keys of an issuer, kept for a while. However many requests want a key, one question is under way at a time,
 * and tokens with made-up key ids cause no more of them than the cooldown lets through.
 */
export class RemoteKeys {
  readonly #load: () => Promise<JSONWebKeySet>;
  readonly #now: () => number;
  readonly #limits: Required<RemoteKeyOptions>;
  #current: KeySet | undefined;
  #loading: Promise<KeySet> | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(load: () => Promise<JSONWebKeySet>, now: () => number, options: RemoteKeyOptions) {
    const { maxAgeMs = 600_000, maxStaleMs = 86_400_000, cooldownMs = 30_000 } = options;
    this.#load = load;
    this.#now = now;
    this.#limits = { maxAgeMs, maxStaleMs, cooldownMs };
  }

  /** The keys to try. */
  async current(): Promise<LocalKeys> {
    const known = this.#current;
    if (known !== undefined && this.#now() - known.at < this.#limits.maxAgeMs) return known.keys;
    try {
      return (await this.#reload()).keys;
    } catch (error) {
      if (known !== undefined && this.#now() - known.at < this.#limits.maxStaleMs) return known.keys;
      throw error;
    }
  }

  /** Newer keys than these, for a token whose key is not among them; undefined where it is too early to ask. */
  async newerThan(keys: LocalKeys): Promise<LocalKeys | undefined> {
    const known = this.#current;
    if (known === undefined || known.keys !== keys) return known?.keys;
    if (this.#loading === undefined && this.#now() - known.at < this.#limits.cooldownMs) return undefined;
    // That nobody can be asked does not make the token good, nor anything else wrong.
    return await this.#reload().then(
      (set) => set.keys,
      () => undefined,
    );
  }

  #reload(): Promise<KeySet> {
    const failure = this.#failure;
    if (failure !== undefined && this.#now() - failure.at < this.#limits.cooldownMs)
      return Promise.reject(failure.error);
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fetch(): Promise<KeySet> {
    try {
      const keys = createLocalJWKSet(withoutSecrets(await this.#load()));
      this.#failure = undefined;
      this.#current = { keys, at: this.#now() };
      return this.#current;
    } catch (error) {
      this.#failure = { error, at: this.#now() };
      throw error;
    }
  }
}

/** Shared secrets have no place among public keys. */
function withoutSecrets(set: JSONWebKeySet): JSONWebKeySet {
  const { keys } = set;
  const isList = Array.isArray(keys) && keys.every((key) => typeof key === "object" && key !== null);
  if (!isList) throw new AuthError("server_metadata", "The document at the jwks_uri has no keys");
  if (keys.length > MAX_KEYS)
    throw new AuthError("server_metadata", `The document at the jwks_uri has over ${MAX_KEYS} keys`);
  return { keys: keys.filter(({ kty }) => kty !== "oct") };
}

/** Whether the keys are fine and none of them is the token's. */
export function isUnknownKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey;
}

export interface IssuerKeyOptions extends AuthorizationServerOptions, RemoteKeyOptions {
  /** Who signs, exactly as `iss` says; where its keys are is looked up in its metadata. */
  readonly issuer: string;
  /** Where its keys are, where no metadata says so. */
  readonly jwksUri?: string;
  /** Its keys themselves: nothing is fetched. */
  readonly keys?: JSONWebKeySet;
  /** How it may sign: by key pairs only. All that are known unless given. */
  readonly algorithms?: readonly string[];
}

/** Where keys come from. */
interface KeySource {
  current(): Promise<LocalKeys>;
  newerThan(keys: LocalKeys): Promise<LocalKeys | undefined>;
}

/** Verifies what an issuer has signed. */
export class IssuerKeys {
  readonly issuer: string;
  readonly #algorithms: string[];
  readonly #source: KeySource;
  readonly #server: AuthorizationServerClient;

  constructor(options: IssuerKeyOptions) {
    const { issuer, keys } = options;
    if (typeof issuer !== "string" || issuer === "") throw new DefinitionError("issuer is missing");
    this.issuer = issuer;
    this.#algorithms = toAlgorithms("algorithms", options.algorithms ?? ASYMMETRIC);
    this.#server = new AuthorizationServerClient(options);
    this.#source = keys === undefined ? createRemote(options, this.#server) : createFixed(keys);
  }

  /**
   * The claims of a token. The issuer's newer keys are asked for once, when none of the known ones is the token's. Rejects
   * with an error of `jose` for a token that is not good, and with an `AuthError` where nobody can tell.
   */
  async verify(token: string, more: JWTVerifyOptions): Promise<JWTVerifyResult> {
    const check: JWTVerifyOptions = {
      issuer: this.issuer,
      algorithms: this.#algorithms,
      currentDate: new Date(this.#server.now()),
      ...more,
    };
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

function createRemote(options: IssuerKeyOptions, server: AuthorizationServerClient): KeySource {
  const load = async () => {
    const uri = options.jwksUri ?? (await findKeys(options.issuer, server));
    return (await server.get(uri, "server_metadata")) as unknown as JSONWebKeySet;
  };
  return new RemoteKeys(load, server.now, options);
}

async function findKeys(issuer: string, server: AuthorizationServerClient): Promise<string> {
  const { jwks_uri } = await server.metadata(issuer);
  if (typeof jwks_uri === "string" && URL.canParse(jwks_uri)) return jwks_uri;
  throw new AuthError("server_metadata", `The metadata of ${issuer} names no jwks_uri`);
}

/** A token without a key id may be by any of the keys that fit. */
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

/** The type of a JWT, by its header, in lower case and without what may be left out; empty where it says none. */
export function toJwtType(typ: unknown): string {
  return typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : "";
}
