import {
  clientCredentials,
  createOAuth,
  exchangeAtProvider,
  identityAssertion,
  type OAuthOptions,
  workloadIdentity,
} from "bowline/auth/client";

type Context = Readonly<Record<string, string>>;

/** Follows the authorization as a browser of a consenting user would. */
const user: OAuthOptions = {
  redirectUrl: "http://localhost:3000/callback",
  clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  clientName: "bowline-conformance",
  authorize: async (url) => (await fetch(url, { redirect: "manual" })).headers.get("location") ?? "",
};

const known = (context: Context) => ({
  id: context.client_id ?? "",
  ...(context.client_secret && { secret: context.client_secret }),
});

const special: Readonly<Record<string, (context: Context) => OAuthOptions>> = {
  "auth/pre-registration": (c) => ({ ...user, client: { ...known(c), issuer: c.issuer ?? "" } }),
  "auth/client-credentials-basic": (c) => ({ grant: clientCredentials(), client: known(c) }),
  "auth/client-credentials-jwt": (c) => ({
    grant: clientCredentials(),
    client: { ...known(c), key: c.private_key_pem ?? "", alg: c.signing_algorithm ?? "" },
  }),
  "auth/enterprise-managed-authorization": (c) => ({
    grant: identityAssertion(
      exchangeAtProvider({
        tokenEndpoint: c.idp_token_endpoint ?? "",
        clientId: c.idp_client_id ?? "",
        subjectToken: c.idp_id_token ?? "",
      }),
    ),
    client: known(c),
  }),
  "auth/wif-jwt-bearer": (c) => ({ grant: workloadIdentity(() => c.valid_jwt ?? ""), client: known(c) }),
  "auth/dpop": () => ({ ...user, dpop: true }),
  "auth/dpop-nonce": () => ({ ...user, dpop: true }),
};

/** The authorization of a scenario: as a host would set it up. */
export const authFor = (name: string, context: Context) => createOAuth(special[name]?.(context) ?? user);
