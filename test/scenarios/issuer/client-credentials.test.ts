import { deepEqual, equal, ok } from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { ISSUER, IssuerWorld, RESOURCE, read } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const GRANT = "client_credentials";
const OTHER = "https://other.example/mcp";

proves("hosting:auth:as:client-credentials", { wire: "http" }, "for clients that can authenticate", async (t) => {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const grantTypes = [GRANT];
  const world = await IssuerWorld.open(t, {
    clientCredentials: true,
    resources: [RESOURCE, OTHER],
    clients: [
      { clientId: "service", clientSecret: "s", grantTypes, scopes: ["notes:read"] },
      { clientId: "signer", jwks: { keys: [await exportJWK(publicKey)] }, grantTypes },
      { clientId: "public", grantTypes },
      { clientId: "other-grants", clientSecret: "s" },
    ],
  });
  const basic = (id: string) => ({ authorization: `Basic ${btoa(`${id}:s`)}` });
  const ask = (fields: Record<string, string>, headers: Record<string, string> = basic("service")) =>
    world.token({ grant_type: GRANT, resource: OTHER, ...fields }, headers);

  const { status, json } = await ask({});
  deepEqual([status, json.token_type, json.scope, json.refresh_token], [200, "Bearer", "notes:read", undefined]);
  const verified = await world.issuer.verify(String(json.access_token));
  deepEqual([verified?.audience, verified?.subject, verified?.clientId], [[OTHER], "service", "service"]);
  equal(await world.admits(json.access_token, RESOURCE), false);

  const now = Math.floor(Date.now() / 1000);
  const assertion = await new SignJWT({ iss: "signer", sub: "signer", aud: ISSUER, jti: "1", exp: now + 60 })
    .setProtectedHeader({ alg: "ES256" })
    .sign(privateKey);
  const type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  equal((await ask({ client_assertion: assertion, client_assertion_type: type }, {})).status, 200);

  const refused = async (fields: Record<string, string>, headers?: Record<string, string>) => {
    const answer = await ask(fields, headers);
    equal(answer.json.access_token, undefined);
    return [answer.status, answer.json.error];
  };
  deepEqual(await refused({ client_id: "public" }, {}), [400, "unauthorized_client"]);
  deepEqual(await refused({}, basic("other-grants")), [400, "unauthorized_client"]);
  deepEqual(await refused({}, { authorization: `Basic ${btoa("service:wrong")}` }), [401, "invalid_client"]);
  deepEqual(await refused({ scope: "notes:write" }), [400, "invalid_scope"]);
  deepEqual(await refused({ resource: "https://evil.example" }), [400, "invalid_target"]);

  const { json: metadata } = await read(await world.fetch("/.well-known/oauth-authorization-server"));
  ok((metadata.grant_types_supported as string[]).includes(GRANT));
  for (const method of ["client_secret_basic", "private_key_jwt"]) {
    ok((metadata.token_endpoint_auth_methods_supported as string[]).includes(method));
  }
  ok((metadata.token_endpoint_auth_signing_alg_values_supported as string[]).includes("ES256"));

  const off = await IssuerWorld.open(t, { clients: [{ clientId: "service", clientSecret: "s", grantTypes }] });
  const answer = await off.token({ grant_type: GRANT }, basic("service"));
  deepEqual([answer.status, answer.json.error], [400, "unsupported_grant_type"]);
  const { json: without } = await read(await off.fetch("/.well-known/oauth-authorization-server"));
  ok(!(without.grant_types_supported as string[]).includes(GRANT));
});
