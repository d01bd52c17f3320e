import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { memoryStore, oauth } from "bowline/auth/client";
import { AuthWorld, CALLBACK, failsAt } from "../../../support/auth-world.js";

test("a user can be asked only with both the way to ask and the address to come back to", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const { fetch, browse: authorize } = world;
  for (const options of [{ authorize }, { redirectUrl: CALLBACK }, {}]) {
    const auth = oauth({ fetch, client: { id: "known", issuer: world.as.issuer }, ...options } as never);
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
  await rejects(world.call(world.oauth({ dpop: { required: true } })), failsAt("token", /not bound to the DPoP key/));
  world.as.extra = { token_type: "DPoP" };
  await rejects(world.call(world.oauth()), failsAt("token", /key/));
  world.as.extra = { token_type: "mac" };
  await rejects(world.call(world.oauth()), failsAt("token", /token_type|token type/));
});

test("members of a registration that are undefined have their defaults", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  await world.call(world.oauth({ registration: { client_name: undefined, grant_types: undefined, scope: undefined } }));
  const registered = JSON.parse(world.to("POST https://as.example/register").at(-1)?.body ?? "null");
  equal(registered.client_name, "MCP client");
  deepEqual(registered.grant_types, ["authorization_code", "refresh_token"]);
});

test("a client that is registered for one address to come back to is registered again for another", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const store = memoryStore();
  const registered = () => world.count("POST https://as.example/register");
  const visit = async (redirectUrl: string) => {
    world.as.live.clear();
    await world.call(world.oauth({ store, redirectUrl }));
    return registered();
  };
  equal(await visit(CALLBACK), 1);
  equal(await visit(CALLBACK), 1);
  equal(await visit("http://127.0.0.1:10/callback"), 2);
});

test("a fetch that must not be a method of another object, as that of a browser, is called alone", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const fetch = function (this: unknown, ...given: Parameters<AuthWorld["fetch"]>) {
    if (this !== undefined) throw new TypeError("Illegal invocation");
    return world.fetch(...given);
  };
  await world.visit(world.oauth({ fetch }));
});
