/** Copy of the library for the command. The package contains it here, so that no user has to install it. */
export {
  allowInsecureRequests,
  calculatePKCECodeChallenge,
  customFetch,
  DPoP,
  generateKeyPair,
  generateRandomCodeVerifier,
  generateRandomState,
  genericTokenEndpointRequest,
  PrivateKeyJwt,
  protectedResourceRequest,
  revocationRequest,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
