import { toBase64Url } from "../protocol/base64.js";
import { DefinitionError } from "../protocol/errors.js";

const encoder = new TextEncoder();

/** A value that nobody can guess: 256 bits of the platform's secure generator. */
export function randomToken(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** What is kept in place of a secret. Secrets made here have 256 random bits, so a plain digest cannot be searched. */
export async function digestOf(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))));
}

/** Whether two texts are the same, in a time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at % Math.max(1, b.length));
  return difference === 0;
}

/** Signatures by key pairs: what verifies them cannot make them. */
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

/** The algorithms that an author allows. Throws for `none`, for shared secrets and for what is not known. */
export function toAlgorithms(option: string, given: readonly string[]): string[] {
  const wrong = given.find((alg) => !ASYMMETRIC.includes(alg));
  if (wrong !== undefined || given.length === 0) {
    throw new DefinitionError(`${option}: ${wrong ?? "none at all"} is not among ${ASYMMETRIC.join(", ")}`);
  }
  return [...given];
}
