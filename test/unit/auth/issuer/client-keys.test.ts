import { equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import * as jose from "jose";
import { IssuerWorld } from "../../../support/issuer-world.js";

const ID = "https://tool.example/client.json";
const KEYS = "https://tool.example/keys";
const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** An app that describes itself and its keys by documents, and how often its keys were fetched. */
async function openWithApp(t: TestContext) {
  const app = { pairs: [] as { kid: string; privateKey: jose.CryptoKey; jwk: jose.JWK }[], fetched: 0, up: true };
  const addKey = async (kid: string) => {
    const { privateKey, publicKey } = await jose.generateKeyPair("ES256", { extractable: true });
    app.pairs = [...app.pairs, { kid, privateKey, jwk: { ...(await jose.exportJWK(publicKey)), alg: "ES256", kid } }];
  };
  const document = {
    client_id: ID,
    client_name: "Tool",
    redirect_uris: ["https://app.example/cb"],
    token_endpoint_auth_method: "private_key_jwt",
    jwks_uri: KEYS,
  };
  const fetch = async (url: URL) => {
    if (url.href !== KEYS) return Response.json(document);
    app.fetched++;
    return app.up ? Response.json({ keys: app.pairs.map(({ jwk }) => jwk) }) : new Response(null, { status: 500 });
  };
  const world = await IssuerWorld.open(t, { clientDocuments: { fetch } });
  const redeem = async (kid: string) => {
    const now = Math.floor((Date.now() + world.skippedMs) / 1000);
    const claims = { iss: ID, sub: ID, aud: "https://as.example", iat: now, exp: now + 60, jti: crypto.randomUUID() };
    const pair = app.pairs.find((one) => one.kid === kid) ?? (await jose.generateKeyPair("ES256"));
    const header = { alg: "ES256", kid };
    const client_assertion = await new jose.SignJWT(claims).setProtectedHeader(header).sign(pair.privateKey);
    const answered = await world.redeem(await world.code({ client_id: ID }), {
      client_id: ID,
      client_assertion,
      client_assertion_type: TYPE,
    });
    return answered.status;
  };
  await addKey("one");
  return { app, world, addKey, redeem };
}

test("the keys of a client are fetched once for many requests, and again for a key that is new", async (t) => {
  const { app, world, addKey, redeem } = await openWithApp(t);
  equal(await redeem("one"), 200);
  equal(await redeem("one"), 200);
  equal(app.fetched, 1);
  for (let round = 0; round < 3; round++) equal(await redeem("made-up"), 401);
  equal(app.fetched, 1);
  await addKey("two");
  world.skippedMs += 31_000;
  equal(await redeem("two"), 200);
  equal(app.fetched, 2);
});

test("keys that cannot be fetched any more are not good for longer", async (t) => {
  const { app, world, redeem } = await openWithApp(t);
  equal(await redeem("one"), 200);
  app.up = false;
  equal(await redeem("one"), 200);
  world.skippedMs += 601_000;
  equal(await redeem("one"), 400);
  equal(await redeem("one"), 400);
  equal(app.fetched, 2);
});
