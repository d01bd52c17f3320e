import type * as oauth from "oauth4webapi";
import { AuthError } from "../../protocol/auth-error.js";
import type { Known } from "../../protocol/known-options.js";
import { oneLine } from "../../protocol/text.js";
import { loadOauth4webapi } from "../oauth4webapi.js";
import type { Discovery } from "./discover.js";
import type { AuthRecords } from "./store.js";

/** Options of DPoP (RFC 9449), which binds tokens to a key of the client. */
export interface ClientDpopOptions {
  /**
   * Signature algorithm of the proofs.
   * @default "ES256"
   */
  readonly alg?: string | undefined;
  /**
   * Requires bound tokens, even if the authorization server does not announce DPoP.
   * @default false
   */
  readonly required?: boolean | undefined;
}

export const DPOP_OPTIONS: Known<ClientDpopOptions> = { alg: "string", required: "boolean" };

/** Key pair to which tokens are bound, as `oauth4webapi` holds it. */
export interface DpopHandle {
  /** Returns the thumbprint of the public key. */
  calculateThumbprint(): Promise<string>;
}

interface StoredPair {
  readonly privateKey: CryptoKey | JsonWebKey;
  readonly publicKey: CryptoKey | JsonWebKey;
}

/**
 * True if tokens of this authorization server are requested with DPoP. Throws if the algorithm is unsuitable, or if the
 * server lists algorithms without it.
 */
export function wantsDpop({ metadata }: Discovery, options: ClientDpopOptions | undefined): boolean {
  if (options === undefined) return false;
  const { alg = "ES256", required = false } = options;
  if (!/^(ES|PS|RS)(256|384|512)$|^Ed25519$|^EdDSA$/.test(alg)) {
    throw new AuthError(
      "configuration",
      `dpop.alg must be an asymmetric algorithm such as ES256, got ${JSON.stringify(alg)}`,
    );
  }
  const listed: unknown = metadata.dpop_signing_alg_values_supported;
  if (!Array.isArray(listed)) return required;
  if (listed.includes(alg)) return true;
  throw new AuthError(
    "configuration",
    `${metadata.issuer} accepts DPoP proofs signed with ${oneLine(listed.join(", "))}, not with ${alg} (option dpop.alg)`,
  );
}

/** Keys to which tokens are bound: one pair per issuer, stored beside the tokens. */
export class DpopKeys {
  readonly #records: AuthRecords;
  readonly #alg: string;
  readonly #handles = new Map<string, DpopHandle>();

  constructor(records: AuthRecords, { alg = "ES256" }: ClientDpopOptions = {}) {
    this.#records = records;
    this.#alg = alg;
  }

  /**
   * Returns the key pair of an issuer; undefined if there is none. The handle also keeps the nonces that servers send.
   */
  async find(issuer: string): Promise<DpopHandle | undefined> {
    const handle = this.#handles.get(issuer);
    if (handle !== undefined) return handle;
    const stored = await this.#records.read<StoredPair>("dpop", issuer);
    return stored === undefined ? undefined : this.#remember(issuer, await this.#toPair(stored));
  }

  /** Returns the key pair of an issuer, or creates it. Concurrent callers get the same pair. */
  findOrCreate(issuer: string, signal: AbortSignal): Promise<DpopHandle> {
    return this.#records.locked(
      `dpop ${issuer}`,
      async () => (await this.find(issuer)) ?? (await this.#create(issuer)),
      signal,
    );
  }

  async #create(issuer: string): Promise<DpopHandle> {
    const textOnly = this.#records.store.textOnly === true;
    const { generateKeyPair } = await loadOauth4webapi();
    const pair = await generateKeyPair(this.#alg, { extractable: textOnly });
    await this.#records.write("dpop", issuer, textOnly ? await toText(pair) : pair);
    return this.#remember(issuer, pair);
  }

  async #remember(issuer: string, pair: oauth.CryptoKeyPair): Promise<DpopHandle> {
    const { DPoP } = await loadOauth4webapi();
    const handle = this.#handles.get(issuer) ?? DPoP({}, pair);
    this.#handles.set(issuer, handle);
    return handle;
  }

  async #toPair({ privateKey, publicKey }: StoredPair): Promise<oauth.CryptoKeyPair> {
    return { privateKey: await this.#toKey(privateKey, false), publicKey: await this.#toKey(publicKey, true) };
  }

  async #toKey(key: CryptoKey | JsonWebKey, extractable: boolean): Promise<CryptoKey> {
    if (key instanceof CryptoKey) return key;
    const { importJWK } = await import("jose");
    return (await importJWK(key as import("jose").JWK, this.#alg, { extractable })) as CryptoKey;
  }
}

/** Exports a key pair as JWKs, for a store that keeps only JSON. */
async function toText({ privateKey, publicKey }: oauth.CryptoKeyPair): Promise<StoredPair> {
  const { subtle } = crypto;
  return { privateKey: await subtle.exportKey("jwk", privateKey), publicKey: await subtle.exportKey("jwk", publicKey) };
}
