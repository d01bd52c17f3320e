import { deepEqual, equal, ok } from "node:assert/strict";
import { CALLBACK, CLIENT, IssuerWorld, RESOURCE, slowStore } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const OTHER = "https://other.example/mcp";

proves("hosting:auth:as:refresh:rotation", http, "each refresh token is good once", async (t) => {
  const world = await IssuerWorld.open(t);
  const { refresh } = await world.tokens();
  const first = await world.refresh(refresh);
  equal(first.status, 200);
  ok(first.json.refresh_token !== refresh);
  ok(await world.admits(first.json.access_token));
  const again = await world.refresh(refresh);
  equal(again.status, 400);
  equal(again.json.error, "invalid_grant");
});

proves("hosting:auth:as:refresh:reuse-detection", http, "a refresh token in two hands ends the grant", async (t) => {
  const world = await IssuerWorld.open(t);
  const { access, refresh } = await world.tokens();
  const stolen = await world.refresh(refresh);
  const newest = await world.refresh(String(stolen.json.refresh_token));
  // However late the thief comes.
  world.skippedMs = 3_600_000;
  equal((await world.refresh(refresh)).json.error, "invalid_grant");
  world.skippedMs = 0;
  equal((await world.refresh(String(newest.json.refresh_token))).json.error, "invalid_grant");
  for (const token of [access, stolen.json.access_token, newest.json.access_token]) {
    equal(await world.admits(token), false);
  }
  ok(await world.admits((await world.tokens()).access));
});

proves("hosting:auth:as:refresh:reuse-detection", http, "two at once are as good as two in turn", async (t) => {
  const world = await IssuerWorld.open(t, { store: slowStore() });
  const { access, refresh } = await world.tokens();
  const answers = await Promise.all([world.refresh(refresh), world.refresh(refresh), world.refresh(refresh)]);
  deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  equal(await world.admits(access), false);
});

proves("hosting:auth:as:refresh:audience-kept", http, "the audience stays what the user approved", async (t) => {
  const world = await IssuerWorld.open(t, { resources: [RESOURCE, OTHER] });
  const { refresh } = await world.tokens();
  const first = await world.refresh(refresh);
  const second = await world.refresh(String(first.json.refresh_token));
  ok(await world.admits(second.json.access_token));
  deepEqual((await world.issuer.verify(String(second.json.access_token)))?.audience, [RESOURCE]);
  const switched = await world.refresh(String(second.json.refresh_token), { resource: OTHER });
  equal(switched.status, 400);
  equal(switched.json.error, "invalid_target");
  const same = await world.refresh(String(second.json.refresh_token), { resource: RESOURCE });
  ok(await world.admits(same.json.access_token));
  const both = await world.redeem(await world.code({ resource: [RESOURCE, OTHER] }));
  const narrowed = await world.refresh(String(both.json.refresh_token), { resource: OTHER });
  deepEqual((await world.issuer.verify(String(narrowed.json.access_token)))?.audience, [OTHER]);
  const wide = await world.refresh(String(narrowed.json.refresh_token));
  deepEqual((await world.issuer.verify(String(wide.json.access_token)))?.audience, [RESOURCE, OTHER]);
});

proves("hosting:auth:as:refresh:scope-subset", http, "less for one token, never more than was approved", async (t) => {
  const world = await IssuerWorld.open(t);
  const { json } = await world.redeem(await world.code({ scope: "notes:read notes:write" }));
  const subset = await world.refresh(String(json.refresh_token), { scope: "notes:read" });
  equal(subset.json.scope, "notes:read");
  deepEqual((await world.issuer.verify(String(subset.json.access_token)))?.scopes, ["notes:read"]);
  const absent = await world.refresh(String(subset.json.refresh_token));
  equal(absent.json.scope, "notes:read notes:write");
  const narrow = await world.redeem(await world.code({ scope: "notes:read" }));
  const superset = await world.refresh(String(narrow.json.refresh_token), { scope: "notes:read notes:write" });
  equal(superset.status, 400);
  equal(superset.json.error, "invalid_scope");
  equal((await world.refresh(String(narrow.json.refresh_token))).json.scope, "notes:read");
});

proves(
  "hosting:auth:as:refresh:client-binding",
  http,
  "a refresh token is good for its client while the grant is",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const { id } = await world.register();
    const { refresh } = await world.tokens();
    const revoked = await world.tokens();
    await world.post("revoke", { client_id: CLIENT, token: revoked.refresh });
    for (const answer of [
      await world.refresh(refresh, { client_id: id }),
      await world.refresh("unknown"),
      await world.refresh(revoked.refresh),
    ]) {
      equal(answer.status, 400);
      equal(answer.json.error, "invalid_grant");
    }
    const renewed = await world.refresh(refresh);
    equal(renewed.status, 200);
    world.skippedMs = 31 * 86_400_000;
    equal((await world.refresh(String(renewed.json.refresh_token))).json.error, "invalid_grant");
  },
);

proves("hosting:auth:as:refresh:issuance", http, "only a client that refreshes gets the means to", async (t) => {
  const world = await IssuerWorld.open(t, {
    clients: [{ clientId: CLIENT, redirectUris: [CALLBACK], grantTypes: ["authorization_code"] }],
  });
  const configured = await world.redeem(await world.code());
  equal(configured.status, 200);
  equal("refresh_token" in configured.json, false);
  const { id } = await world.register({ grant_types: ["authorization_code"] });
  const registered = await world.redeem(await world.code({ client_id: id }), { client_id: id });
  equal("refresh_token" in registered.json, false);
});
