import { SecretNames } from "../../recording/secret-names.js";

/** Returns the variables whose names say that their values are secret. A server behind a tap inherits all of them. */
export function secretVariables(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const names = new SecretNames([], []);
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.has(name)));
}
