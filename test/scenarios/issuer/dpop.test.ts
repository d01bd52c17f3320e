import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { createIssuer } from "bowline/auth/issuer";
import { decodeJwt } from "jose";
import { DpopClient } from "../../support/dpop-client.js";
import { CLIENT, ISSUER, IssuerWorld, RESOURCE, read } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const TOKEN = `${ISSUER}/token`;

/** A proof for the token endpoint. */
function proofOf(client: DpopClient, world: IssuerWorld, claims: Record<string, unknown> = {}): Promise<string> {
  const iat = Math.floor((Date.now() + world.skippedMs) / 1000);
  return client.proof("", { url: TOKEN, claims: { iat, ath: undefined, ...claims } });
}

async function redeem(world: IssuerWorld, dpop: string | undefined, clientId = CLIENT) {
  const { code, verifier } = await world.code({ client_id: clientId });
  return world.token(
    {
      grant_type: "authorization_code",
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: "https://app.example/cb",
    },
    dpop === undefined ? {} : { dpop },
  );
}

proves("hosting:auth:as:dpop:metadata", http, "the algorithms are listed where there are any", async (t) => {
  const listed = async (dpop?: boolean | { algorithms: string[] }) => {
    const world = await IssuerWorld.open(t, dpop === undefined ? {} : { dpop });
    const { json } = await read(await world.fetch("/.well-known/oauth-authorization-server"));
    return json.dpop_signing_alg_values_supported;
  };
  const usual = (await listed(true)) as string[];
  ok(usual.length > 0 && usual.every((alg) => /^(ES|PS|RS|Ed)/.test(alg)), String(usual));
  deepEqual(await listed({ algorithms: ["ES256"] }), ["ES256"]);
  equal(await listed(), undefined);
  equal(await listed(false), undefined);
  for (const algorithms of [["none"], ["HS256"], []]) {
    const build = () =>
      createIssuer({ issuer: ISSUER, resources: [RESOURCE], user: () => ({ id: "a" }), dpop: { algorithms } });
    throws(build, /algorithms/);
  }
});

proves("hosting:auth:as:dpop:binding", http, "a proof binds the token, and a bad one yields none", async (t) => {
  const world = await IssuerWorld.open(t, { dpop: true });
  const [client, thief] = [await DpopClient.create(), await DpopClient.create()];
  const { status, json } = await redeem(world, await proofOf(client, world));
  deepEqual([status, json.token_type], [200, "DPoP"]);
  deepEqual(decodeJwt(String(json.access_token)).cnf, { jkt: client.thumbprint });
  deepEqual((await world.issuer.verify(String(json.access_token)))?.confirmation, { jkt: client.thumbprint });
  const plain = await redeem(world, undefined);
  deepEqual([plain.json.token_type, decodeJwt(String(plain.json.access_token)).cnf], ["Bearer", undefined]);

  const now = Math.floor(Date.now() / 1000);
  const used = await proofOf(client, world);
  equal((await redeem(world, used)).status, 200);
  const bad = [
    "",
    "x",
    used,
    await proofOf(client, world, { htu: `${ISSUER}/authorize` }),
    await proofOf(client, world, { htm: "GET" }),
    await proofOf(client, world, { iat: now - 400 }),
    await client.proof("", { url: TOKEN, claims: { iat: now }, header: { jwk: thief.jwk } }),
    `${await proofOf(client, world)}, ${await proofOf(client, world)}`,
  ];
  for (const dpop of bad) {
    const refused = await redeem(world, dpop);
    deepEqual([refused.status, refused.json.error, refused.json.access_token], [400, "invalid_dpop_proof", undefined]);
  }

  // A public client's refresh token is bound too.
  const refresh = async (proof: string | undefined, token = String(json.refresh_token)) =>
    world.token(
      { grant_type: "refresh_token", client_id: CLIENT, refresh_token: token },
      proof === undefined ? {} : { dpop: proof },
    );
  for (const proof of [undefined, await proofOf(thief, world)]) {
    const { status, json } = await refresh(proof);
    deepEqual([status, json.error], [400, "invalid_grant"]);
  }
  const renewed = await refresh(await proofOf(client, world));
  deepEqual([renewed.status, renewed.json.token_type], [200, "DPoP"]);
  deepEqual(decodeJwt(String(renewed.json.access_token)).cnf, { jkt: client.thumbprint });
});

proves(
  "hosting:auth:as:dpop:binding",
  http,
  "a code is not spent by a bad proof, and nonces can be asked for",
  async (t) => {
    const world = await IssuerWorld.open(t, { dpop: { nonce: { key: "a key of the server's own" } } });
    const client = await DpopClient.create();
    const code = await world.code();
    const form = {
      grant_type: "authorization_code",
      client_id: CLIENT,
      code: code.code,
      code_verifier: code.verifier,
      redirect_uri: "https://app.example/cb",
    };
    const challenged = await world.token(form, { dpop: await proofOf(client, world) });
    deepEqual([challenged.status, challenged.json.error], [400, "use_dpop_nonce"]);
    const nonce = challenged.headers.get("dpop-nonce") ?? "";
    match(nonce, /./);
    const { status, json } = await world.token(form, { dpop: await proofOf(client, world, { nonce }) });
    deepEqual([status, json.token_type], [200, "DPoP"]);
  },
);

proves("hosting:auth:as:dpop:bound-enforcement", http, "a client that wants bound tokens gets no others", async (t) => {
  const world = await IssuerWorld.open(t, { dpop: true });
  const client = await DpopClient.create();
  const { id, json } = await world.register({ dpop_bound_access_tokens: true });
  equal(json.dpop_bound_access_tokens, true);
  const refused = await redeem(world, undefined, id);
  deepEqual([refused.status, refused.json.error], [400, "invalid_dpop_proof"]);
  const granted = await redeem(world, await proofOf(client, world), id);
  deepEqual([granted.status, granted.json.token_type], [200, "DPoP"]);
});
