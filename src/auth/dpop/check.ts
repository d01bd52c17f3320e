import { calculateJwkThumbprint, EmbeddedJWK, type JWTPayload, jwtVerify, type ProtectedHeaderParameters } from "jose";
import { AuthError } from "../../protocol/auth-error.js";
import { fromBase64Url, toBase64Url } from "../../protocol/base64.js";
import { DefinitionError } from "../../protocol/errors.js";
import { digestOf, toAlgorithms } from "../crypto.js";

/** What is looked at of a request. */
export interface GatedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  header(name: string): string | undefined;
}

/** Takes tokens that are bound to a key of the client (RFC 9449). */
export interface DpopOptions {
  /** Takes no other tokens. */
  readonly required?: boolean;
  /** How proofs may be signed. ES256, PS256, RS256 and EdDSA unless told otherwise. */
  readonly algorithms?: readonly string[];
  /** Wants a nonce of this server in each proof: servers that share a key take each other's nonces. */
  readonly nonce?: true | { readonly key?: NonceKey; readonly ttlSeconds?: number };
  /**
   * Asked before a proof is taken, with its name and the time of day at which it ends: true for the first use. Servers that
   * share their load remember together by it; without it each remembers by itself.
   */
  readonly acceptProof?: (name: string, untilMs: number) => boolean | Promise<boolean>;
  /** The address that a client sent a request to, where path and resource do not tell. */
  readonly url?: (request: GatedRequest) => string;
}

/** The bounds of proofs. */
export interface ProofLimits {
  /**
   * How far the time of a proof of possession may be from this server's. 300,000 at most.
   * @default 300_000
   */
  readonly proofWindowMs: number;
  /**
   * The length of a proof of possession.
   * @default 8_192
   */
  readonly maxProofBytes: number;
  /**
   * Proofs that are remembered. While more are good, others are answered by 503.
   * @default 100_000
   */
  readonly maxProofs: number;
  /**
   * Proofs by one key that are remembered. While more are good, others by that key are answered by 503.
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

/** A proof that is good and has not been used up. */
export interface ProvedKey {
  /** The thumbprint of the key that was proved. */
  readonly thumbprint: string;
  /** What the proof is remembered by. */
  readonly name: string;
  /** When the proof ends, in milliseconds since 1970. */
  readonly untilMs: number;
}

/** What came of a proof: the key, or the fault for the client, and the nonce that it should use from now on. */
export interface ProofOutcome {
  readonly proved?: ProvedKey;
  readonly error?: "invalid_dpop_proof" | "use_dpop_nonce";
  readonly description?: string;
  readonly nonce?: string | undefined;
}

const MAX_WINDOW_MS = 300_000;
const MAX_JTI = 256;
/** Why a proof is refused that comes again. */
export const USED_BEFORE = "The proof has been used before";
const DEFAULT_ALGORITHMS = ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"];

/** A token that comes along with a proof, and the thumbprint of the key that it is bound to. */
export interface BoundToken {
  readonly token: string;
  readonly thumbprint: unknown;
}

/** Checks that whoever sends a request has a key: the one that the token in it is bound to, if there is a token. */
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
      throw new DefinitionError(`limits.proofWindowMs must be above 0 and at most ${MAX_WINDOW_MS}`);
    }
    if (resource === undefined && options.url === undefined) {
      throw new DefinitionError("dpop needs the resource, or dpop.url: a proof names the address that it is for");
    }
    const { nonce, acceptProof } = options;
    const seen = new ReplayCache(limits);
    const { key, ttlSeconds = MAX_WINDOW_MS / 1000 } = nonce === true || nonce === undefined ? {} : nonce;
    this.algorithms = toAlgorithms("dpop.algorithms", options.algorithms ?? DEFAULT_ALGORITHMS);
    this.required = options.required === true;
    this.#limits = limits;
    this.#nonces = nonce === undefined ? undefined : new NonceMaker(key, ttlSeconds * 1000);
    this.#accept = ({ name, untilMs, thumbprint }) =>
      acceptProof === undefined ? seen.accept(name, untilMs, now(), thumbprint) : acceptProof(name, untilMs);
    const origin = resource === undefined ? "" : new URL(resource).origin;
    this.#urlOf = options.url ?? (({ url }) => `${origin}${url}`);
    this.#now = now;
  }

  /** Checks a proof and uses it up. */
  async check(request: GatedRequest, bound?: BoundToken): Promise<ProofOutcome> {
    const outcome = await this.inspect(request, bound);
    const fresh = outcome.proved === undefined || (await this.#accept(outcome.proved));
    return fresh ? outcome : this.#invalid(USED_BEFORE);
  }

  /** Checks a proof, and leaves it to the caller to use it up. */
  async inspect(request: GatedRequest, bound?: BoundToken): Promise<ProofOutcome> {
    const now = this.#now();
    const read = await this.#read(request.header("dpop"), now);
    if (typeof read === "string") return this.#invalid(read);
    const { payload, jwk } = read;
    const problem = await this.#findProblem(payload, request, bound?.token, now);
    if (problem !== undefined) return this.#invalid(problem);
    const thumbprint = await calculateJwkThumbprint(jwk);
    if (bound !== undefined && thumbprint !== bound.thumbprint)
      return this.#invalid("The proof is by another key than the token is bound to");
    const life = await this.#nonces?.lifeLeft(payload.nonce, now);
    if (this.#nonces !== undefined && life === undefined) return await this.#wantsNonce(now);
    const untilMs = (payload.iat as number) * 1000 + this.#limits.proofWindowMs;
    const proved = { thumbprint, name: `${thumbprint}.${payload.jti}`, untilMs };
    // In the second half of a nonce's life its successor goes along, so that no request is refused for it.
    return { proved, nonce: life !== undefined && life < 0.5 ? await this.#nonces?.make(now) : undefined };
  }

  #invalid(description: string): ProofOutcome {
    return { error: "invalid_dpop_proof", description };
  }

  async #wantsNonce(now: number): Promise<ProofOutcome> {
    const nonce = await this.#nonces?.make(now);
    return { error: "use_dpop_nonce", description: "The proof needs the nonce that comes with this answer", nonce };
  }

  /** The proof's claims and key, or why there are none. Its own times count by this server's clock. */
  async #read(proof: string | undefined, now: number): Promise<Proof | string> {
    if (proof === undefined) return "The DPoP header is missing";
    if (proof.includes(",")) return "There is more than one proof";
    if (proof.length > this.#limits.maxProofBytes) return "The proof is too long";
    try {
      const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
        typ: "dpop+jwt",
        algorithms: this.algorithms,
        currentDate: new Date(now),
        clockTolerance: this.#limits.proofWindowMs / 1000,
      });
      return { payload, jwk: protectedHeader.jwk as NonNullable<ProtectedHeaderParameters["jwk"]> };
    } catch {
      return "The proof is not one that is signed by the public key in it";
    }
  }

  async #findProblem(
    payload: JWTPayload & { readonly htm?: unknown; readonly htu?: unknown; readonly ath?: unknown },
    request: GatedRequest,
    token: string | undefined,
    now: number,
  ): Promise<string | undefined> {
    const { htm, htu, ath, iat, jti } = payload;
    if (htm !== request.method) return "The proof is for another method";
    const target = toTarget(this.#urlOf(request));
    if (target === undefined || toTarget(htu) !== target) return "The proof is for another address";
    if (typeof jti !== "string" || jti === "" || jti.length > MAX_JTI) return "The proof has no usable jti";
    if (typeof iat !== "number" || !(Math.abs(now - iat * 1000) <= this.#limits.proofWindowMs)) {
      return "The proof was made too long ago, or in the future";
    }
    return token === undefined || ath === (await digestOf(token)) ? undefined : "The proof is for another token";
  }
}

interface Proof {
  readonly payload: JWTPayload;
  readonly jwk: NonNullable<ProtectedHeaderParameters["jwk"]>;
}

/** An address as proofs are compared by: scheme, host and port in their normal form, path, and nothing else. */
function toTarget(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, origin, pathname, username, password } = new URL(url);
  const usable = (protocol === "https:" || protocol === "http:") && username === "" && password === "";
  return usable ? `${origin}${pathname}` : undefined;
}

/** The key that makes nonces: servers that share it accept each other's. */
export type NonceKey = Uint8Array<ArrayBuffer> | string;

const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const NONCE = /^([0-9a-z]{1,10})\.([A-Za-z0-9_-]{43})$/;
const MIN_KEY_BYTES = 16;
const encoder = new TextEncoder();

/** Makes nonces that say themselves when they were made, so that nobody has to remember them. */
export class NonceMaker {
  readonly #key: Promise<CryptoKey>;
  readonly #ttlMs: number;

  constructor(key: NonceKey | undefined, ttlMs: number) {
    const bytes = key === undefined ? crypto.getRandomValues(new Uint8Array(32)) : toBytes(key);
    if (bytes.byteLength < MIN_KEY_BYTES)
      throw new TypeError(`dpop.nonce.key must have at least ${MIN_KEY_BYTES} bytes`);
    this.#key = crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign", "verify"]);
    this.#ttlMs = ttlMs;
  }

  async make(nowMs: number): Promise<string> {
    const time = Math.floor(nowMs).toString(36);
    const mark = await crypto.subtle.sign("HMAC", await this.#key, encoder.encode(time));
    return `${time}.${toBase64Url(new Uint8Array(mark))}`;
  }

  /** How much of its life a nonce has left, from 1 to 0; undefined if it is over, or not from here. */
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
 * Names that may be used once, each until its time is over. Bounded, also for each key, and nothing is forgotten before
 * its time: when it is full, no more are taken.
 */
export class ReplayCache {
  readonly #used = new Map<string, { readonly untilMs: number; readonly key: string }>();
  readonly #byKey = new Map<string, number>();
  readonly #limits: Pick<ProofLimits, "maxProofs" | "maxProofsPerKey">;
  /** Nothing ends before this: it is not worth looking for room. */
  #fullUntil = Number.NEGATIVE_INFINITY;

  constructor(limits: Pick<ProofLimits, "maxProofs" | "maxProofsPerKey">) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#used.size;
  }

  /** Whether this is the first use. Times are milliseconds since 1970. Throws when there is no room to remember it. */
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

  /** The oldest come first and mostly end first; only where that is not enough are all looked through. */
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
      `dpop: ${this.#limits[bound]} proofs are good at a time, and no more can be remembered; ` +
        `raise limits.${bound}, shorten limits.proofWindowMs, or remember them elsewhere by dpop.acceptProof`,
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
