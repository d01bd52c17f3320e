import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createOAuth } from "bowline/auth/client";
import { AuthWorld, CALLBACK, failsAt } from "../../support/auth-world.js";

test("a user can be asked only with both the way to ask and the address to come back to", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const { fetch, browse: authorize } = world;
  for (const options of [{ authorize }, { redirectUrl: CALLBACK }, {}]) {
    const auth = createOAuth({ fetch, client: { id: "known", issuer: world.as.issuer }, ...options } as never);
    await rejects(world.call(auth), failsAt("configuration", /authorize and redirectUrl/));
  }
});

test("a token is taken only if it is bound as it was asked for", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.as.metadata = { ...world.as.metadata, dpop_signing_alg_values_supported: ["ES256"] };
  const sent = () => world.to("POST https://as.example/token").length;
  // The servers of this world give bearer tokens, also where a proof came along.
  await world.call(world.oauth());
  await world.call(world.oauth({ dpop: true }));
  equal(sent(), 2);
  await rejects(world.call(world.oauth({ dpop: { required: true } })), failsAt("token", /did not bind the token/));
  world.as.extra = { token_type: "DPoP" };
  await rejects(world.call(world.oauth()), failsAt("token", /a key that was not offered/));
  world.as.extra = { token_type: "mac" };
  await rejects(world.call(world.oauth()), failsAt("token", /token type is unknown/));
});
