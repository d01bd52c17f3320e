import * as auth from "bowline/auth/client";

type Member = "client_id" | "client_secret" | "issuer" | "private_key_pem" | "signing_algorithm" | "valid_jwt";
type Context = { readonly [K in Member | "idp_client_id" | "idp_id_token" | "idp_token_endpoint"]: string };

/** Goes where it is sent, as the browser of a consenting user would. */
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

const special: { readonly [scenario: string]: (context: Context) => auth.OAuthOptions } = {
  "auth/pre-registration": (c) => ({ ...user, client: { ...known(c), issuer: c.issuer } }),
  "auth/client-credentials-basic": (c) => ({ grant: auth.clientCredentials(), client: known(c) }),
  "auth/client-credentials-jwt": (c) => ({ grant: auth.clientCredentials(), client: signing(c) }),
  "auth/enterprise-managed-authorization": (c) => ({ grant: auth.identityAssertion(provider(c)), client: known(c) }),
  "auth/wif-jwt-bearer": (c) => ({ grant: auth.workloadIdentity(() => c.valid_jwt), client: known(c) }),
  "auth/dpop": () => ({ ...user, dpop: true }),
  "auth/dpop-nonce": () => ({ ...user, dpop: true }),
};

/** The authorization of a scenario: as a host would set it up. */
export const authFor = (scenario: string, context: unknown): auth.OAuth =>
  auth.createOAuth(special[scenario]?.(context as Context) ?? user);
