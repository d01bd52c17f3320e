import type * as library from "oauth4webapi";
import { AuthError } from "../protocol/auth-error.js";

let loaded: Promise<typeof library> | undefined;

/**
 * Loads `oauth4webapi`, an optional peer dependency, for `what`. Programs that use tokens of their own, and servers that
 * introspect with a secret, do not need it.
 */
export function loadOauth4webapi(what = "oauth"): Promise<typeof library> {
  loaded ??= import("oauth4webapi").catch((cause: unknown) => {
    loaded = undefined;
    const message = `${what} needs the package oauth4webapi: npm install oauth4webapi`;
    throw new AuthError("configuration", message, { cause });
  });
  return loaded;
}
