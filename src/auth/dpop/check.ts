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
  /** How far, in seconds, a proof's time may be from this server's. 300 unless told otherwise, and never more. */
  readonly windowSeconds?: number;
  /** Wants a nonce of this server in each proof: servers that share a key take each other's nonces. */
  readonly nonce?: true | { readonly key?: NonceKey; readonly ttlSeconds?: number };
  /**
   * Asked before a proof is taken, with its name and the time of day at which it ends: true for the first use. Servers that
   * share their load remember together by it; without it each remembers by itself.
   */
  readonly acceptProof?: (name: string, untilMs: number) => boolean | Promise<boolean>;
  /** How many proofs are remembered; while more are good no others are taken. 100,000 unless told otherwise. */
  readonly maxProofs?: number;
  /** The address that a client sent a request to, where path and resource do not tell. */
  readonly url?: (request: GatedRequest) => string;
}

/** What came of a proof: the key, or the fault for the client, and the nonce that it should use from now on. */
export interface ProofOutcome {
  /** The thumbprint of the key that was proved. */
  readonly thumbprint?: string;
  readonly error?: "invalid_dpop_proof" | "use_dpop_nonce";
  readonly description?: string;
  readonly nonce?: string | undefined;
}

const MAX_WINDOW = 300;
const MAX_PROOF = 8_192;
const MAX_JTI = 256;
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
  readonly #windowMs: number;
  readonly #nonces: NonceMaker | undefined;
  readonly #accept: (name: string, untilMs: number) => boolean | Promise<boolean>;
  readonly #urlOf: (request: GatedRequest) => string;
  readonly #now: () => number;

  constructor(options: DpopOptions, resource: string | undefined, now: () => number) {
    const { windowSeconds = MAX_WINDOW, maxProofs = 100_000, nonce } = options;
    if (!(windowSeconds > 0 && windowSeconds <= MAX_WINDOW)) {
      throw new DefinitionError(`dpop.windowSeconds must be between 0 and ${MAX_WINDOW}`);
    }
    if (resource === undefined && options.url === undefined) {
      throw new DefinitionError("dpop needs the resource, or dpop.url: a proof names the address that it is for");
    }
    const seen = new ReplayCache(maxProofs);
    const { key, ttlSeconds = MAX_WINDOW } = nonce === true || nonce === undefined ? {} : nonce;
    this.algorithms = toAlgorithms("dpop.algorithms", options.algorithms ?? DEFAULT_ALGORITHMS);
    this.required = options.required === true;
    this.#windowMs = windowSeconds * 1000;
    this.#nonces = nonce === undefined ? undefined : new NonceMaker(key, ttlSeconds * 1000);
    this.#accept = options.acceptProof ?? ((name, untilMs) => seen.accept(name, untilMs, now()));
    const origin = resource === undefined ? "" : new URL(resource).origin;
    this.#urlOf = options.url ?? (({ url }) => `${origin}${url}`);
    this.#now = now;
  }

  async check(request: GatedRequest, bound?: BoundToken): Promise<ProofOutcome> {
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
    const untilMs = (payload.iat as number) * 1000 + this.#windowMs;
    if (!(await this.#accept(`${thumbprint}.${payload.jti}`, untilMs)))
      return this.#invalid("The proof has been used before");
    // In the second half of a nonce's life its successor goes along, so that no request is refused for it.
    return { thumbprint, nonce: life !== undefined && life < 0.5 ? await this.#nonces?.make(now) : undefined };
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
    if (proof.length > MAX_PROOF) return "The proof is too long";
    try {
      const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
        typ: "dpop+jwt",
        algorithms: this.algorithms,
        currentDate: new Date(now),
        clockTolerance: this.#windowMs / 1000,
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
    if (typeof iat !== "number" || !(Math.abs(now - iat * 1000) <= this.#windowMs)) {
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
 * Names that may be used once, each until its time is over. Bounded, and nothing is forgotten before its time: when it is
 * full, no more are taken.
 */
export class ReplayCache {
  readonly #until = new Map<string, number>();
  readonly #max: number;
  /** Nothing ends before this: it is not worth looking for room. */
  #fullUntil = Number.NEGATIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#until.size;
  }

  /** Whether this is the first use. Times are milliseconds since 1970. Throws when there is no room to remember it. */
  accept(name: string, untilMs: number, nowMs: number): boolean {
    const known = this.#until.get(name);
    if (known !== undefined && known >= nowMs) return false;
    this.#until.delete(name);
    this.#makeRoom(nowMs);
    this.#until.set(name, untilMs);
    return true;
  }

  /** The oldest come first and mostly end first; only where that is not enough are all looked through. */
  #makeRoom(nowMs: number): void {
    for (const [name, untilMs] of this.#until) {
      if (untilMs >= nowMs) break;
      this.#until.delete(name);
    }
    if (this.#until.size >= this.#max && nowMs > this.#fullUntil) this.#dropEnded(nowMs);
    if (this.#until.size < this.#max) return;
    throw new AuthError(
      "store",
      `dpop: more than ${this.#max} proofs are good at a time, and no more can be remembered; ` +
        "raise dpop.maxProofs, shorten dpop.windowSeconds, or remember them elsewhere by dpop.acceptProof",
    );
  }

  #dropEnded(nowMs: number): void {
    let first = Number.POSITIVE_INFINITY;
    for (const [name, untilMs] of this.#until) {
      if (untilMs < nowMs) this.#until.delete(name);
      else first = Math.min(first, untilMs);
    }
    this.#fullUntil = this.#until.size < this.#max ? Number.NEGATIVE_INFINITY : first;
  }
}
