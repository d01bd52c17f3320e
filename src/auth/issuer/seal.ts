import { DefinitionError } from "../../protocol/errors.js";
import { KEY_BYTES, KeyRing } from "../../protocol/key-ring.js";

/**
 * Encrypts and authenticates data that leaves the process and comes back: cookies, forms, and stored upstream tokens.
 * Data sealed for one purpose cannot be opened for another.
 */
export class Seal {
  readonly #ring: KeyRing;
  readonly #now: () => number;

  /** The first secret encrypts, all decrypt. The default is a random secret, which is lost when the process ends. */
  constructor(secrets: readonly Uint8Array[] | undefined, now: () => number) {
    for (const secret of secrets ?? []) {
      if (secret.byteLength !== KEY_BYTES)
        throw new DefinitionError(`createIssuer: each secret must have ${KEY_BYTES} bytes, not ${secret.byteLength}`);
    }
    if (secrets?.length === 0) throw new DefinitionError("createIssuer: secrets must contain at least one secret");
    this.#ring = new KeyRing(secrets?.map((secret, index) => ({ id: String(index), secret })));
    this.#now = now;
  }

  /** Encrypts a value. `expiresAt` is in milliseconds since 1970. */
  async close(purpose: string, value: unknown, expiresAt: number): Promise<string> {
    const { iv, data } = await this.#ring.encrypt(JSON.stringify([expiresAt, value]), purpose);
    return `${iv}.${data}`;
  }

  /** Decrypts a value; undefined if it is altered, expired, or sealed for another purpose or with another key. */
  async open<T>(purpose: string, text: string | undefined): Promise<T | undefined> {
    const [iv, data, ...rest] = (text ?? "").split(".");
    if (iv === undefined || data === undefined || rest.length > 0) return undefined;
    for (const keyId of this.#ring.ids) {
      try {
        const plain = await this.#ring.decrypt({ keyId, iv, data }, purpose);
        const [expiresAt, value] = JSON.parse(plain) as [number, T];
        return this.#now() < expiresAt ? value : undefined;
      } catch {
        // Another key of the ring may decrypt it.
      }
    }
    return undefined;
  }
}
