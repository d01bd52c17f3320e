import { calculateJwkThumbprint, EmbeddedJWK, type JWTPayload, jwtVerify, type ProtectedHeaderParameters } from "jose";
import { AuthError } from "../../protocol/auth-error.js";
import { fromBase64Url, toBase64Url } from "../../protocol/base64.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { Known } from "../../protocol/known-options.js";
import { digestOf, toAlgorithms } from "../crypto.js";

/** Parts of a request that are checked. */
export interface GatedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  header(name: string): string | undefined;
}

/** Options for tokens that are bound to a key of the client (RFC 9449). */
export interface DpopOptions {
  /**
   * Accepts only bound tokens.
   * @default false
   */
  readonly required?: boolean | undefined;
  /**
   * Accepted signature algorithms of proofs.
   * @default ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"]
   */
  readonly algorithms?: readonly string[] | undefined;
  /**
   * Demands a nonce of this server in each proof. Servers that share a key accept each other's nonces. A nonce is valid for
   * `ttlMs`, 300,000 by default.
   */
  readonly nonce?: true | { readonly key?: NonceKey | undefined; readonly ttlMs?: number | undefined } | undefined;
  /**
   * Called with the id of a proof and its expiry in milliseconds since 1970. Returns true for the first use. Servers
   * that share a load use it to detect replays together, and remember a proof for longer than that if their clocks differ;
   * by default each server remembers the proofs in memory.
   */
  readonly acceptProof?: ((name: string, untilMs: number) => boolean | Promise<boolean>) | undefined;
  /**
   * Returns the URL to which the client sent a request. Needed if it does not follow from the path and the resource.
   */
  readonly url?: ((request: GatedRequest) => string) | undefined;
}

export const DPOP_OPTIONS: Known<DpopOptions> = {
  required: "boolean",
  algorithms: [{ array: "string" }],
  nonce: [{ boolean: [true], object: { key: "any", ttlMs: "period" } }],
  acceptProof: "function",
  url: "function",
};

/** Limits of DPoP proofs. */
export interface ProofLimits {
  /**
   * Maximum difference in milliseconds between the time of a proof and this server's clock. At most 300,000.
   * @default 300_000
   */
  readonly proofWindowMs: number;
  /**
   * Maximum length of a proof.
   * @default 8_192
   */
  readonly maxProofBytes: number;
  /**
   * Maximum number of proofs that are remembered to detect replays. Further proofs are answered with 503 until some
   * expire.
   * @default 100_000
   */
  readonly maxProofs: number;
  /**
   * Maximum number of remembered proofs of one key. Further proofs of that key are answered with 503 until some expire.
   * @default 10_000
   */
  readonly maxProofsPerKey: number;
}

export const PROOF_LIMITS: ProofLimits = {
  proofWindowMs: 300_000,
  maxProofBytes: 8_192,
  maxProofs: 100_000,
  maxProofsPerKey: 10_000,
};

/** Valid proof that has not been marked as used. */
export interface ProvedKey {
  /** JWK thumbprint of the proved key. */
  readonly thumbprint: string;
  /** Id under which the proof is remembered. */
  readonly name: string;
  /** Expiry of the proof in milliseconds since 1970. */
  readonly untilMs: number;
}

/** Result of a proof: the key or the error for the client, and the nonce to use from now on. */
export interface ProofOutcome {
  readonly proved?: ProvedKey;
  readonly error?: "invalid_dpop_proof" | "use_dpop_nonce";
  readonly description?: string;
  readonly nonce?: string | undefined;
}

const MAX_WINDOW_MS = 300_000;
const MAX_JTI = 256;
/** Description of the error for a replayed proof. */
export const USED_BEFORE = "The proof has already been used";
const DEFAULT_ALGORITHMS = ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"];

/** Token that a proof accompanies, and the thumbprint of the key to which the token is bound. */
export interface BoundToken {
  readonly token: string;
  readonly thumbprint: unknown;
}

/**
 * Checks that the sender of a request has a key. If the request has a token, it must be the key to which the token is
 * bound.
 */
export class DpopCheck {
  readonly algorithms: string[];
  readonly required: boolean;
  readonly #limits: ProofLimits;
  readonly #nonces: NonceMaker | undefined;
  readonly #accept: (proved: ProvedKey) => boolean | Promise<boolean>;
  readonly #urlOf: (request: GatedRequest) => string;
  readonly #now: () => number;

  constructor(options: DpopOptions, resource: string | undefined, limits: ProofLimits, now: () => number) {
    const { proofWindowMs } = limits;
    if (!(proofWindowMs > 0 && proofWindowMs <= MAX_WINDOW_MS)) {
      throw new DefinitionError(
        `limits.proofWindowMs must be above 0 and at most ${MAX_WINDOW_MS}, got ${proofWindowMs}`,
      );
    }
    if (resource === undefined && options.url === undefined) {
      throw new DefinitionError("dpop requires resource or dpop.url: a proof names the URL of its request");
    }
    const { nonce, acceptProof } = options;
    const seen = new ReplayCache(limits);
    const { key, ttlMs = MAX_WINDOW_MS } = nonce === true || nonce === undefined ? {} : nonce;
    this.algorithms = toAlgorithms("dpop.algorithms", options.algorithms ?? DEFAULT_ALGORITHMS);
    this.required = options.required === true;
    this.#limits = limits;
    this.#nonces = nonce === undefined ? undefined : new NonceMaker(key, ttlMs);
    this.#accept = ({ name, untilMs, thumbprint }) =>
      acceptProof === undefined ? seen.accept(name, untilMs, now(), thumbprint) : acceptProof(name, untilMs);
    const origin = resource === undefined ? "" : new URL(resource).origin;
    this.#urlOf = options.url ?? (({ url }) => `${origin}${url}`);
    this.#now = now;
  }

  /** Checks a proof and marks it as used. */
  async check(request: GatedRequest, bound?: BoundToken): Promise<ProofOutcome> {
    const outcome = await this.inspect(request, bound);
    const fresh = outcome.proved === undefined || (await this.#accept(outcome.proved));
    return fresh ? outcome : this.#invalid(USED_BEFORE);
  }

  /** Checks a proof without marking it as used. */
  async inspect(request: GatedRequest, bound?: BoundToken): Promise<ProofOutcome> {
    const now = this.#now();
    const read = await this.#read(request.header("dpop"), now);
    if (typeof read === "string") return this.#invalid(read);
    const { payload, jwk } = read;
    const problem = await this.#findProblem(payload, request, bound?.token, now);
    if (problem !== undefined) return this.#invalid(problem);
    const thumbprint = await calculateJwkThumbprint(jwk);
    if (bound !== undefined && thumbprint !== bound.thumbprint)
      return this.#invalid("The proof is not signed by the key of the access token");
    const life = await this.#nonces?.lifeLeft(payload.nonce, now);
    if (this.#nonces !== undefined && life === undefined) return await this.#wantsNonce(now);
    const untilMs = (payload.iat as number) * 1000 + this.#limits.proofWindowMs;
    const proved = { thumbprint, name: `${thumbprint}.${payload.jti}`, untilMs };
    // In the second half of a nonce's lifetime the next one is sent along, so that no request fails because of an
    // expired nonce.
    return { proved, nonce: life !== undefined && life < 0.5 ? await this.#nonces?.make(now) : undefined };
  }

  #invalid(description: string): ProofOutcome {
    return { error: "invalid_dpop_proof", description };
  }

  async #wantsNonce(now: number): Promise<ProofOutcome> {
    const nonce = await this.#nonces?.make(now);
    return { error: "use_dpop_nonce", description: "The proof needs the nonce of this response", nonce };
  }

  /**
   * Returns the claims and the key of a proof, or the reason why it is invalid. Times in it are compared with this
   * server's clock.
   */
  async #read(proof: string | undefined, now: number): Promise<Proof | string> {
    if (proof === undefined) return "The DPoP header is missing";
    if (proof.includes(",")) return "The request has more than one proof";
    if (proof.length > this.#limits.maxProofBytes)
      return `The proof is longer than ${this.#limits.maxProofBytes} bytes`;
    try {
      const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
        typ: "dpop+jwt",
        algorithms: this.algorithms,
        currentDate: new Date(now),
        clockTolerance: this.#limits.proofWindowMs / 1000,
      });
      return { payload, jwk: protectedHeader.jwk as NonNullable<ProtectedHeaderParameters["jwk"]> };
    } catch {
      return "The proof is not a valid DPoP JWT: check its typ, alg, signature and times";
    }
  }

  async #findProblem(
    payload: JWTPayload & { readonly htm?: unknown; readonly htu?: unknown; readonly ath?: unknown },
    request: GatedRequest,
    token: string | undefined,
    now: number,
  ): Promise<string | undefined> {
    const { htm, htu, ath, iat, jti } = payload;
    if (htm !== request.method) return "The htm of the proof is not the method of the request";
    const target = toTarget(this.#urlOf(request));
    if (target === undefined || toTarget(htu) !== target) return "The htu of the proof is not the URL of the request";
    if (typeof jti !== "string" || jti === "" || jti.length > MAX_JTI)
      return `The proof has no jti of 1 to ${MAX_JTI} characters`;
    if (typeof iat !== "number" || !(Math.abs(now - iat * 1000) <= this.#limits.proofWindowMs)) {
      return "The proof was made too long ago, or in the future";
    }
    return token === undefined || ath === (await digestOf(token))
      ? undefined
      : "The ath of the proof is not the hash of the access token";
  }
}

interface Proof {
  readonly payload: JWTPayload;
  readonly jwk: NonNullable<ProtectedHeaderParameters["jwk"]>;
}

/** Returns the part of a URL that proofs are compared by: normalized scheme, host, port, and path. */
function toTarget(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, origin, pathname, username, password } = new URL(url);
  const usable = (protocol === "https:" || protocol === "http:") && username === "" && password === "";
  return usable ? `${origin}${pathname}` : undefined;
}

/** Key that signs nonces. Servers that share it accept each other's nonces. */
export type NonceKey = Uint8Array<ArrayBuffer> | string;

const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const NONCE = /^([0-9a-z]{1,10})\.([A-Za-z0-9_-]{43})$/;
const MIN_KEY_BYTES = 16;
const encoder = new TextEncoder();

/** Creates and checks nonces. A nonce contains its time and a signature, so nothing has to be stored. */
export class NonceMaker {
  readonly #key: Promise<CryptoKey>;
  readonly #ttlMs: number;

  constructor(key: NonceKey | undefined, ttlMs: number) {
    const bytes = key === undefined ? crypto.getRandomValues(new Uint8Array(32)) : toBytes(key);
    if (bytes.byteLength < MIN_KEY_BYTES)
      throw new DefinitionError(`dpop.nonce.key must have at least ${MIN_KEY_BYTES} bytes, got ${bytes.byteLength}`);
    this.#key = crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign", "verify"]);
    this.#ttlMs = ttlMs;
  }

  async make(nowMs: number): Promise<string> {
    const time = Math.floor(nowMs).toString(36);
    const mark = await crypto.subtle.sign("HMAC", await this.#key, encoder.encode(time));
    return `${time}.${toBase64Url(new Uint8Array(mark))}`;
  }

  /**
   * Returns the remaining fraction of a nonce's lifetime, from 1 to 0; undefined if it has expired or was not created
   * with this key.
   */
  async lifeLeft(nonce: unknown, nowMs: number): Promise<number | undefined> {
    const [, time = "", mark = ""] = NONCE.exec(typeof nonce === "string" ? nonce : "") ?? [];
    if (time === "") return undefined;
    const age = nowMs - Number.parseInt(time, 36);
    if (age < -this.#ttlMs || age > this.#ttlMs) return undefined;
    const genuine = await crypto.subtle.verify("HMAC", await this.#key, fromBase64Url(mark), encoder.encode(time));
    return genuine ? 1 - Math.max(0, age) / this.#ttlMs : undefined;
  }
}

function toBytes(key: NonceKey): Uint8Array<ArrayBuffer> {
  return typeof key === "string" ? encoder.encode(key) : key;
}

/**
 * Remembers the ids of used proofs until they expire. The number is limited, in total and per key. No id is evicted
 * before its expiry: when the cache is full, further proofs are rejected.
 */
export class ReplayCache {
  readonly #used = new Map<string, { readonly untilMs: number; readonly key: string }>();
  readonly #byKey = new Map<string, number>();
  readonly #limits: Pick<ProofLimits, "maxProofs" | "maxProofsPerKey">;
  /** Time before which no entry expires, so a search for expired ones is useless. */
  #fullUntil = Number.NEGATIVE_INFINITY;

  constructor(limits: Pick<ProofLimits, "maxProofs" | "maxProofsPerKey">) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#used.size;
  }

  /** Returns true for the first use. Times are in milliseconds since 1970. Throws if the cache is full. */
  accept(name: string, untilMs: number, nowMs: number, key: string): boolean {
    const known = this.#used.get(name);
    if (known !== undefined && known.untilMs >= nowMs) return false;
    this.#drop(name);
    this.#makeRoom(nowMs, key);
    this.#used.set(name, { untilMs, key });
    this.#byKey.set(key, (this.#byKey.get(key) ?? 0) + 1);
    return true;
  }

  #drop(name: string): void {
    const key = this.#used.get(name)?.key;
    if (key === undefined) return;
    this.#used.delete(name);
    const left = (this.#byKey.get(key) ?? 1) - 1;
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
  }

  /**
   * Evicts expired entries. The oldest come first and usually expire first. All entries are searched only if that is
   * not enough.
   */
  #makeRoom(nowMs: number, key: string): void {
    for (const [name, { untilMs }] of this.#used) {
      if (untilMs >= nowMs) break;
      this.#drop(name);
    }
    if (this.#fullOf(key) !== undefined && nowMs > this.#fullUntil) this.#dropEnded(nowMs, key);
    const bound = this.#fullOf(key);
    if (bound === undefined) return;
    throw new AuthError(
      "store",
      `dpop: ${this.#limits[bound]} proofs are remembered, and none has expired; ` +
        `raise limits.${bound}, lower limits.proofWindowMs, or set dpop.acceptProof`,
    );
  }

  #fullOf(key: string): "maxProofs" | "maxProofsPerKey" | undefined {
    if (this.#used.size >= this.#limits.maxProofs) return "maxProofs";
    return (this.#byKey.get(key) ?? 0) >= this.#limits.maxProofsPerKey ? "maxProofsPerKey" : undefined;
  }

  #dropEnded(nowMs: number, key: string): void {
    let first = Number.POSITIVE_INFINITY;
    for (const [name, { untilMs }] of this.#used) {
      if (untilMs < nowMs) this.#drop(name);
      else first = Math.min(first, untilMs);
    }
    this.#fullUntil = this.#fullOf(key) === undefined ? Number.NEGATIVE_INFINITY : first;
  }
}
