import { DefinitionError } from "../protocol/errors.js";

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
