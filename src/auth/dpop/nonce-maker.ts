import { fromBase64Url, toBase64Url } from "../crypto.js";

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
