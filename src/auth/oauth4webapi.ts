import type * as library from "oauth4webapi";
import { AuthError } from "../protocol/auth-error.js";

/** Parts of the library that this package uses. */
export type Oauth4webapi = Pick<
  typeof library,
  | "allowInsecureRequests"
  | "calculatePKCECodeChallenge"
  | "customFetch"
  | "DPoP"
  | "generateKeyPair"
  | "generateRandomCodeVerifier"
  | "generateRandomState"
  | "genericTokenEndpointRequest"
  | "PrivateKeyJwt"
  | "protectedResourceRequest"
  | "revocationRequest"
  | "WWWAuthenticateChallengeError"
>;

let loaded: Promise<Oauth4webapi> | undefined;

/**
 * Loads `oauth4webapi`, an optional peer dependency, for `what`. Programs that use tokens of their own, and servers that
 * introspect with a secret, do not need it.
 */
export function loadOauth4webapi(what = "oauth"): Promise<Oauth4webapi> {
  loaded ??= import("oauth4webapi").catch((cause: unknown) => {
    loaded = undefined;
    const message = `${what} needs the package oauth4webapi: npm install oauth4webapi`;
    throw new AuthError("configuration", message, { cause });
  });
  return loaded;
}

/** Uses a copy in place of the peer dependency. The command has one. */
export function provideOauth4webapi(copy: Promise<Oauth4webapi>): void {
  loaded = copy;
}
