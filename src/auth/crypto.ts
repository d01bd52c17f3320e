import { toBase64Url } from "../protocol/base64.js";
import { sha256 } from "../protocol/bytes.js";
import { DefinitionError } from "../protocol/errors.js";

/** Returns 256 random bits as base64url. */
export function randomToken(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/**
 * Returns the SHA-256 digest of a text as base64url. The issuer stores digests in place of the codes, refresh tokens
 * and client secrets that it creates. These have 256 random bits, so an unsalted digest cannot be reversed by search.
 */
export async function digestOf(text: string): Promise<string> {
  return toBase64Url(await sha256(text));
}

/** Compares two texts in a time that does not depend on the position of a difference. */
export function sameText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at % Math.max(1, b.length));
  return difference === 0;
}

/** Supported signature algorithms. All of them use a key pair, so the key that verifies cannot sign. */
export const ASYMMETRIC: readonly string[] = [
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
  "EdDSA",
  "Ed25519",
];

/** Returns the allowed algorithms. Throws for `none`, for algorithms with a shared secret, and for unknown ones. */
export function toAlgorithms(option: string, given: readonly string[]): string[] {
  const wrong = given.find((alg) => !ASYMMETRIC.includes(alg));
  if (wrong !== undefined || given.length === 0) {
    throw new DefinitionError(
      `${option} must list one or more of ${ASYMMETRIC.join(", ")}; got ${JSON.stringify(wrong ?? given)}`,
    );
  }
  return [...given];
}
