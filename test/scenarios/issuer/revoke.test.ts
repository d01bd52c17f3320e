import { deepEqual, equal, ok } from "node:assert/strict";
import { CALLBACK, CLIENT, IssuerWorld } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };

proves("hosting:auth:as:revoke:works", http, "a token that was given back is good no more", async (t) => {
  const world = await IssuerWorld.open(t);
  const { access, refresh } = await world.tokens();
  const response = await world.post("revoke", { client_id: CLIENT, token: access });
  equal(response.status, 200);
  equal(await response.text(), "");
  equal(await world.admits(access), false);
  const renewed = await world.refresh(refresh);
  ok(await world.admits(renewed.json.access_token));
  equal((await world.post("revoke", { client_id: CLIENT, token: String(renewed.json.refresh_token) })).status, 200);
  equal((await world.refresh(String(renewed.json.refresh_token))).json.error, "invalid_grant");
});

proves("hosting:auth:as:revoke:unknown-200", http, "what is not there is gone already", async (t) => {
  const world = await IssuerWorld.open(t);
  const { access } = await world.tokens();
  for (const token of ["made-up", access, access]) {
    equal((await world.post("revoke", { client_id: CLIENT, token })).status, 200);
  }
  world.skippedMs = 3_600_000;
  equal((await world.post("revoke", { client_id: CLIENT, token: access })).status, 200);
  const missing = await world.post("revoke", { client_id: CLIENT });
  equal(missing.status, 400);
  equal(((await missing.json()) as { error: string }).error, "invalid_request");
});

proves("hosting:auth:as:revoke:client-auth", http, "only the client itself gives tokens back", async (t) => {
  const world = await IssuerWorld.open(t, {
    clients: [
      { clientId: CLIENT, redirectUris: [CALLBACK] },
      { clientId: "secret", clientSecret: "s", method: "client_secret_post", redirectUris: [CALLBACK] },
    ],
  });
  const credentials = { client_id: "secret", client_secret: "s" };
  const { json } = await world.redeem(await world.code({ client_id: "secret" }), credentials);
  const token = String(json.access_token);
  for (const fields of [{ ...credentials, client_secret: "wrong" }, { client_id: "secret" }, {}]) {
    const response = await world.post("revoke", { ...fields, token });
    equal(response.status, 401);
    equal(((await response.json()) as { error: string }).error, "invalid_client");
    ok(await world.admits(token));
  }
  equal((await world.post("revoke", { ...credentials, token })).status, 200);
  equal(await world.admits(token), false);
  const open = await world.tokens();
  equal((await world.post("revoke", { client_id: CLIENT, token: open.access })).status, 200);
  equal(await world.admits(open.access), false);
});

proves("hosting:auth:as:revoke:other-client", http, "nobody takes back what another has", async (t) => {
  const world = await IssuerWorld.open(t);
  const { id } = await world.register();
  const { access, refresh } = await world.tokens();
  for (const token of [access, refresh]) {
    const response = await world.post("revoke", { client_id: id, token });
    const unknown = await world.post("revoke", { client_id: id, token: "made-up" });
    equal(response.status, 200);
    deepEqual(
      [response.status, await response.text(), [...response.headers]],
      [unknown.status, await unknown.text(), [...unknown.headers]],
    );
  }
  ok(await world.admits(access));
  equal((await world.refresh(refresh)).status, 200);
});

proves("hosting:auth:as:revoke:hint", http, "a hint may be wrong", async (t) => {
  const world = await IssuerWorld.open(t);
  for (const token_type_hint of ["access_token", "foo", "refresh_token"]) {
    const { access, refresh } = await world.tokens();
    await world.post("revoke", { client_id: CLIENT, token: refresh, token_type_hint });
    equal((await world.refresh(refresh)).json.error, "invalid_grant");
    equal(await world.admits(access), false);
  }
  const { access } = await world.tokens();
  await world.post("revoke", { client_id: CLIENT, token: access, token_type_hint: "refresh_token" });
  equal(await world.admits(access), false);
});

proves(
  "hosting:auth:as:revoke:cascade",
  http,
  "with the refresh token go the access tokens of its grant",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const [one, two] = [await world.tokens(), await world.tokens()];
    const renewed = await world.refresh(one.refresh);
    await world.post("revoke", { client_id: CLIENT, token: String(renewed.json.refresh_token) });
    equal(await world.admits(one.access), false);
    equal(await world.admits(renewed.json.access_token), false);
    ok(await world.admits(two.access));
  },
);
