import { equal, match, ok } from "node:assert/strict";
import { answerOf, CLIENT, ISSUER, IssuerWorld, RESOURCE } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };

proves(
  ["hosting:auth:as:token:success-shape", "hosting:auth:as:token:public-client"],
  http,
  "a public client gets tokens by code, verifier and id alone",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const { status, headers, json } = await world.redeem(await world.code());
    equal(status, 200);
    match(headers.get("content-type") ?? "", /^application\/json/);
    equal(json.token_type, "Bearer");
    equal(json.expires_in, 900);
    equal(json.scope, "notes:read");
    equal(typeof json.refresh_token, "string");
    const verified = await world.issuer.verify(String(json.access_token));
    equal(verified?.subject, "ada");
    equal(verified?.clientId, CLIENT);
    equal(verified?.issuer, ISSUER);
    ok(verified?.audience.includes(RESOURCE));
    const secret = await world.redeem(await world.code(), { client_secret: "made up" });
    equal(secret.status, 401);
  },
);

proves(
  ["hosting:auth:as:consent:required"],
  http,
  "a user who is logged in is asked all the same, and only an explicit decision of the operator skips that",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const { id } = await world.register();
    const page = await world.browser().authorize({ client_id: id });
    equal(page.status, 200);
    equal(page.headers.get("location"), null);
    match(await page.text(), /Stranger/);
    const lenient = await IssuerWorld.open(t, { approve: ({ client }) => client.id === CLIENT });
    ok(answerOf(await lenient.browser().authorize()).has("code"));
  },
);
