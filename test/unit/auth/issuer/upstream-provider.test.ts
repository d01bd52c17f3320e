import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { memoryIssuerStore } from "bowline/auth/issuer";
import { browseTo } from "../../../support/browse-to.js";
import { answerOf, createPkce, ISSUER, IssuerWorld } from "../../../support/issuer-world.js";
import { ProviderWorld } from "../../../support/provider-world.js";

const client = {
  client_id: "the-issuer",
  client_secret: "a secret of the two",
  redirect_uris: [`${ISSUER}/callback`],
  grant_types: ["authorization_code", "refresh_token"],
};

test("a real OpenID provider without registration is fronted: login there, tokens from here", async (t) => {
  const provider = await ProviderWorld.open(t, {
    path: "",
    configure: () => ({ clients: [client], scopes: ["openid"], issueRefreshToken: () => true }),
  });
  const world = await IssuerWorld.open(t, {
    upstream: {
      issuer: provider.issuer,
      authorizationEndpoint: `${provider.issuer}/auth`,
      tokenEndpoint: `${provider.issuer}/token`,
      clientId: client.client_id,
      clientSecret: client.client_secret,
      scope: "openid",
      user: async ({ accessToken }, { signal }) => {
        const headers = { authorization: `Bearer ${accessToken}` };
        const response = await fetch(`${provider.issuer}/me`, { headers, signal });
        return { id: ((await response.json()) as { sub: string }).sub };
      },
    },
  });
  const browser = world.browser();
  const { id } = await world.register();
  const pkce = createPkce();
  const away = await browser.approve({ client_id: id, code_challenge: pkce.challenge });
  const back = await browseTo(new URL(away.headers.get("location") ?? ""), `${ISSUER}/callback`);
  equal(back.searchParams.get("iss"), provider.issuer);
  const answer = answerOf(await browser.fetch(back));
  deepEqual(world.errors, []);
  const { json } = await world.redeem({ code: answer.get("code") ?? "", verifier: pkce.verifier }, { client_id: id });
  const verified = await world.issuer.verify(String(json.access_token));
  equal(verified?.subject, "user");
  ok(await world.admits(json.access_token));

  const kept = await world.issuer.upstreamTokens(verified?.grantId ?? "");
  notEqual(kept?.accessToken, json.access_token);
  world.skippedMs = 3_599_000;
  const renewed = await world.issuer.upstreamTokens(verified?.grantId ?? "");
  notEqual(renewed?.accessToken, kept?.accessToken);
  equal(provider.count("POST", "/token"), 2);
});

test("no browser is redirected to the provider for a client that cannot be kept", async (t) => {
  const memory = memoryIssuerStore();
  const disk = { isFull: false };
  const put: typeof memory.put = async (key, ...rest) => {
    if (disk.isFull && key.startsWith("client:")) throw new Error("the disk is full");
    await memory.put(key, ...rest);
  };
  const world = await IssuerWorld.open(t, {
    store: { ...memory, put },
    upstream: {
      authorizationEndpoint: "https://idp.example/authorize",
      tokenEndpoint: "https://idp.example/token",
      clientId: client.client_id,
      user: () => ({ id: "user" }),
    },
  });
  const { id } = await world.register();
  disk.isFull = true;
  const refused = await world.browser().approve({ client_id: id });
  deepEqual([refused.status, refused.headers.get("location")], [500, null]);
  deepEqual(
    world.errors.map((error) => (error as Error).message),
    ["the disk is full"],
  );
  disk.isFull = false;
  const away = await world.browser().approve({ client_id: id });
  equal(new URL(away.headers.get("location") ?? "").origin, "https://idp.example");
});
