import { fromBase64Url, toBase64Url } from "./base64.js";

/** AES-256-GCM key. `secret` is read when the key is first used. */
export interface RingKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** Text encrypted with a key of the ring. `iv` and `data` are base64url. */
export interface Encrypted {
  readonly keyId: string;
  readonly iv: string;
  readonly data: string;
}

export const KEY_BYTES = 32;
const IV_BYTES = 12;

/**
 * Encrypts and authenticates texts with AES-256-GCM. The first key encrypts; all keys decrypt. A text is bound to a
 * context and cannot be decrypted in another one.
 */
export class KeyRing {
  readonly #keys: readonly RingKey[];
  readonly #imported = new Map<string, Promise<CryptoKey>>();

  /** Creates a ring. Without keys, it generates a key that lasts as long as the process. */
  constructor(keys: readonly RingKey[] = [createProcessKey()]) {
    this.#keys = keys;
  }

  /** Ids of the keys. The first key encrypts. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id);
  }

  async encrypt(plain: string, context: string): Promise<Encrypted> {
    const key = this.#keys[0] as RingKey;
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const data = await crypto.subtle.encrypt(toParams(iv, context), await this.#importKey(key), encode(plain));
    return { keyId: key.id, iv: toBase64Url(iv), data: toBase64Url(new Uint8Array(data)) };
  }

  /**
   * Decrypts a text. Rejects if the text was altered, belongs to another context, or was encrypted with another key
   * than `keyId`.
   */
  async decrypt({ keyId, iv, data }: Encrypted, context: string): Promise<string> {
    const key = this.#keys.find(({ id }) => id === keyId);
    if (key === undefined) throw new Error(`The key ring has no key "${keyId}"`);
    const params = toParams(decode(iv), context);
    return new TextDecoder().decode(await crypto.subtle.decrypt(params, await this.#importKey(key), decode(data)));
  }

  #importKey({ id, secret }: RingKey): Promise<CryptoKey> {
    let key = this.#imported.get(id);
    if (key === undefined) {
      key = crypto.subtle.importKey("raw", Uint8Array.from(secret), "AES-GCM", false, ["encrypt", "decrypt"]);
      this.#imported.set(id, key);
    }
    return key;
  }
}

/**
 * Creates a key whose bytes are generated on first use. Some runtimes provide no random bytes while a module loads,
 * when most servers are created.
 */
function createProcessKey(): RingKey {
  let secret: Uint8Array | undefined;
  return {
    id: "process",
    get secret() {
      secret ??= crypto.getRandomValues(new Uint8Array(KEY_BYTES));
      return secret;
    },
  };
}

function toParams(iv: Uint8Array<ArrayBuffer>, context: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: encode(context) };
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/**
 * Decodes base64url. Throws if the encoder would have written the bytes differently, so that an encrypted text has only
 * one spelling.
 */
function decode(text: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64Url(text);
  if (toBase64Url(bytes) !== text) throw new Error("The text is not canonical base64url");
  return bytes;
}
