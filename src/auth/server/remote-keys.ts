import { createLocalJWKSet, errors, type JSONWebKeySet } from "jose";
import { AuthError } from "../../protocol/auth-error.js";

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
