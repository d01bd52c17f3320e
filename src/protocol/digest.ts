import { sha256, toHex } from "../protocol/bytes.js";

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** True if the text has the form of a digest. */
export function isDigest(text: unknown): text is string {
  return typeof text === "string" && DIGEST.test(text);
}

/** Returns the digest of bytes: `sha256:` and 64 lowercase hexadecimal digits. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  return `sha256:${toHex(await sha256(bytes))}`;
}
