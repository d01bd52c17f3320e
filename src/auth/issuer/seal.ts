import { DefinitionError } from "../../protocol/errors.js";
import { fromBase64Url, toBase64Url } from "../crypto.js";

const IV_BYTES = 12;
const KEY_BYTES = 32;

/**
 * Encrypts and authenticates (AES-256-GCM) what leaves the process and must come back unchanged and unread: cookies, forms,
 * tokens of others at rest. What was sealed for one purpose opens for no other.
 */
export class Seal {
  readonly #ring: readonly Uint8Array[] | undefined;
  readonly #now: () => number;
  #keys: Promise<readonly CryptoKey[]> | undefined;

  /** The first key seals, each opens. Without keys, one is made that lives as long as the process. */
  constructor(ring: readonly Uint8Array[] | undefined, now: () => number) {
    for (const secret of ring ?? []) {
      if (secret.byteLength !== KEY_BYTES) throw new DefinitionError(`secrets: each has to be ${KEY_BYTES} bytes long`);
    }
    if (ring?.length === 0) throw new DefinitionError("secrets: there has to be one at least");
    this.#ring = ring;
    this.#now = now;
  }

  /** `expiresAt` is in milliseconds since 1970. */
  async close(purpose: string, value: unknown, expiresAt: number): Promise<string> {
    const [key] = await this.#imported();
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const plain = encode(JSON.stringify([expiresAt, value]));
    const sealed = await crypto.subtle.encrypt(cipher(iv, purpose), key as CryptoKey, plain);
    return `${toBase64Url(iv)}.${toBase64Url(new Uint8Array(sealed))}`;
  }

  /** What was sealed; undefined if it was altered, is for another purpose, under another key, or expired. */
  async open<T>(purpose: string, text: string | undefined): Promise<T | undefined> {
    const [iv, sealed, ...rest] = (text ?? "").split(".");
    if (iv === undefined || sealed === undefined || rest.length > 0) return undefined;
    for (const key of await this.#imported()) {
      try {
        const plain = await crypto.subtle.decrypt(cipher(fromBase64Url(iv), purpose), key, fromBase64Url(sealed));
        const [expiresAt, value] = JSON.parse(new TextDecoder().decode(plain)) as [number, T];
        return this.#now() < expiresAt ? value : undefined;
      } catch {
        // Another key of the ring may open it.
      }
    }
    return undefined;
  }

  #imported(): Promise<readonly CryptoKey[]> {
    this.#keys ??= Promise.all((this.#ring ?? [crypto.getRandomValues(new Uint8Array(KEY_BYTES))]).map(imported));
    return this.#keys;
  }
}

function imported(secret: Uint8Array): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", Uint8Array.from(secret), "AES-GCM", false, ["encrypt", "decrypt"]);
}

function cipher(iv: Uint8Array<ArrayBuffer>, purpose: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: encode(purpose) };
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
