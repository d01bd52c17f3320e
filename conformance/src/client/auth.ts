import * as auth from "bowline/auth/client";

type Member = "client_id" | "client_secret" | "issuer" | "private_key_pem" | "signing_algorithm" | "valid_jwt";
type Context = { readonly [K in Member | "idp_client_id" | "idp_id_token" | "idp_token_endpoint"]: string };

/** Follows the authorization redirect, as the browser of a consenting user does. */
const user: auth.OAuthOptions = {
  redirectUrl: "http://localhost:3000/callback",
  clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  clientName: "bowline-conformance",
  authorize: async (url) => (await fetch(url, { redirect: "manual" })).headers.get("location") ?? "",
};

const known = (c: Context) => ({ id: c.client_id, ...(c.client_secret && { secret: c.client_secret }) });
const signing = (c: Context) => ({ id: c.client_id, key: c.private_key_pem, alg: c.signing_algorithm });
const provider = (c: Context) =>
  auth.exchangeAtProvider({
    tokenEndpoint: c.idp_token_endpoint,
    clientId: c.idp_client_id,
    subjectToken: c.idp_id_token,
  });

/**
 * The suite names no issuer for these scenarios. The client trusts the one that protects the server, like a host that
 * asks the user once.
 */
const pinned = async (server: string, options: Omit<auth.PinnedOAuthOptions, "issuer">): Promise<auth.OAuthOptions> => {
  const { issuer } = await auth.createAuthSteps(server).discover();
  return { ...options, issuer };
};

type Setup = (context: Context, server: string) => auth.OAuthOptions | Promise<auth.OAuthOptions>;

const special: { readonly [scenario: string]: Setup } = {
  "auth/pre-registration": (c) => ({ ...user, client: { ...known(c), issuer: c.issuer } }),
  "auth/client-credentials-basic": (c, at) => pinned(at, { grant: auth.clientCredentials(), client: known(c) }),
  "auth/client-credentials-jwt": (c, at) => pinned(at, { grant: auth.clientCredentials(), client: signing(c) }),
  "auth/enterprise-managed-authorization": (c, at) =>
    pinned(at, { grant: auth.identityAssertion(provider(c)), client: known(c) }),
  "auth/wif-jwt-bearer": (c, at) => pinned(at, { grant: auth.workloadIdentity(() => c.valid_jwt), client: known(c) }),
  "auth/dpop": () => ({ ...user, dpop: true }),
  "auth/dpop-nonce": () => ({ ...user, dpop: true }),
};

/** Returns the authorization of a scenario, set up as in a host. */
export const authFor = async (scenario: string, context: unknown, server: string): Promise<auth.OAuth> =>
  auth.oauth((await special[scenario]?.(context as Context, server)) ?? user);
