import { equal, match, ok } from "node:assert/strict";
import { CALLBACK, CLIENT, ISSUER, IssuerWorld, type TokenAnswer } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const form = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${form(id)}:${form(secret)}`).toString("base64")}`,
});

const clients = [
  { clientId: CLIENT, redirectUris: [CALLBACK] },
  { clientId: "basic", clientSecret: "s1", redirectUris: [CALLBACK] },
  { clientId: "post", clientSecret: "s2", method: "client_secret_post", redirectUris: [CALLBACK] },
  { clientId: "secretless", method: "client_secret_basic", redirectUris: [CALLBACK] },
] as const;

/** Redeems a fresh code of a client, with whatever the request is to carry. */
async function redeem(
  world: IssuerWorld,
  client_id: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const { code, verifier: code_verifier } = await world.code({ client_id });
  const request = { grant_type: "authorization_code", redirect_uri: CALLBACK, code, code_verifier, ...fields };
  return await world.token(request, headers);
}

proves(
  "hosting:auth:as:token:client-auth-401",
  http,
  "who is not the client is told so, and nothing else",
  async (t) => {
    const world = await IssuerWorld.open(t, { clients });
    const byHeader = [
      await redeem(world, "basic", {}, basic("basic", "wrong")),
      await redeem(world, "basic", {}, basic("nobody", "s1")),
    ];
    const byBody = [
      await redeem(world, "post", { client_id: "post", client_secret: "wrong" }),
      await redeem(world, "post", { client_id: "nobody" }),
      await redeem(world, "post", { client_id: "post" }),
      await redeem(world, "post"),
    ];
    for (const { status, json } of [...byHeader, ...byBody]) {
      equal(status, 401);
      equal(json.error, "invalid_client");
    }
    for (const { headers } of byHeader) match(headers.get("www-authenticate") ?? "", /^Basic realm="/);
    for (const { headers } of byBody) equal(headers.get("www-authenticate"), null);
  },
);

proves("hosting:auth:as:token:basic-decoding", http, "ids and secrets of any letters come through", async (t) => {
  const odd = [
    ["a:b", "c:d"],
    ["100%", "%41"],
    ["a+b", "c d+e"],
    ["ü", "größe 🚀"],
  ] as const;
  const world = await IssuerWorld.open(t, {
    clients: odd.map(([clientId, clientSecret]) => ({ clientId, clientSecret, redirectUris: [CALLBACK] })),
  });
  for (const [id, secret] of odd) equal((await redeem(world, id, {}, basic(id, secret))).status, 200, id);
  const bad = [
    "%%%",
    btoa("nocolon"),
    btoa("a%zz:b"),
    "",
    `${btoa("a:b")} extra`,
    Buffer.from([0xff, 0x3a]).toString("base64"),
  ];
  for (const credentials of bad) {
    const { status, json, headers } = await redeem(world, "ü", {}, { authorization: `Basic ${credentials}` });
    equal(status, 401, credentials);
    equal(json.error, "invalid_client");
    match(headers.get("www-authenticate") ?? "", /^Basic/);
  }
});

proves(
  "hosting:auth:as:token:basic-without-body-id",
  http,
  "the header is enough, and nobody may contradict it",
  async (t) => {
    const world = await IssuerWorld.open(t, { clients });
    equal((await redeem(world, "basic", {}, basic("basic", "s1"))).status, 200);
    equal((await redeem(world, "basic", { client_id: "basic" }, basic("basic", "s1"))).status, 200);
    equal((await redeem(world, "basic", { client_id: "post" }, basic("basic", "s1"))).status, 401);
  },
);

proves("hosting:auth:as:token:registered-method", http, "a client has one way to show who it is", async (t) => {
  const world = await IssuerWorld.open(t, { clients });
  const refused = {
    "post by header": await redeem(world, "post", {}, basic("post", "s2")),
    "basic by body": await redeem(world, "basic", { client_id: "basic", client_secret: "s1" }),
    both: await redeem(world, "basic", { client_id: "basic", client_secret: "s1" }, basic("basic", "s1")),
    "no secret kept": await redeem(world, "secretless", {}, basic("secretless", "")),
    "any secret": await redeem(world, "secretless", {}, basic("secretless", "undefined")),
    "none at all": await redeem(world, "basic", { client_id: "basic" }),
  };
  for (const [name, { status, json }] of Object.entries(refused)) {
    ok(status === 401 || status === 400, name);
    equal("access_token" in json, false, name);
  }
  equal((await redeem(world, "post", { client_id: "post", client_secret: "s2" })).status, 200);
});

proves("hosting:auth:as:token:registered-method", http, "a secret that has expired opens nothing", async (t) => {
  const { memoryIssuerStore } = await import("bowline/auth/issuer");
  const store = memoryIssuerStore();
  const world = await IssuerWorld.open(t, { store });
  const { id, json } = await world.register({ token_endpoint_auth_method: "client_secret_basic" });
  equal(json.client_secret_expires_at, 0);
  const secret = String(json.client_secret);
  equal((await redeem(world, id, {}, basic(id, secret))).status, 200);
  const key = `client:${ISSUER} ${id}`;
  const record = (await store.get(key)) as { client: object; expiresAt: number };
  const expire = (secretExpiresAt: number) =>
    store.put(key, { ...record, client: { ...record.client, secretExpiresAt } }, record.expiresAt);
  await expire(Math.floor(Date.now() / 1000) - 1);
  equal((await redeem(world, id, {}, basic(id, secret))).status, 401);
  await expire(Math.floor(Date.now() / 1000) + 60);
  equal((await redeem(world, id, {}, basic(id, secret))).status, 200);
});
