import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { createIssuer, type IssuerOptions, memoryIssuerStore } from "bowline/auth/issuer";
import * as jose from "jose";
import { CLIENT, ISSUER, IssuerWorld, RESOURCE } from "../../../support/issuer-world.js";

async function createKey(alg: string): Promise<jose.JWK> {
  const { privateKey } = await jose.generateKeyPair(alg, { extractable: true });
  return { ...(await jose.exportJWK(privateKey)), alg };
}

const least: IssuerOptions = { issuer: ISSUER, resources: [RESOURCE], user: () => ({ id: "ada" }) };

test("others verify tokens by the published keys, which hold nothing private", async (t) => {
  for (const alg of ["ES256", "EdDSA", "RS256"]) {
    const world = await IssuerWorld.open(t, { keys: [await createKey(alg)] });
    const { access } = await world.tokens();
    const set = (await (await world.fetch("jwks")).json()) as jose.JSONWebKeySet;
    equal(set.keys.length, 1);
    for (const name of ["d", "p", "q", "dp", "dq", "qi"]) equal(name in (set.keys[0] ?? {}), false, name);
    const { payload, protectedHeader } = await jose.jwtVerify(access, jose.createLocalJWKSet(set), {
      issuer: ISSUER,
      audience: RESOURCE,
      typ: "at+jwt",
    });
    equal(protectedHeader.alg, alg);
    equal(payload.client_id, CLIENT);
    equal(payload.scope, "notes:read");
    equal(payload.sub, "ada");
  }
});

test("keys change hands: the first signs, each verifies", async (t) => {
  const [old, fresh] = [await createKey("ES256"), await createKey("ES256")];
  const store = memoryIssuerStore();
  const before = await IssuerWorld.open(t, { keys: [old], store });
  const after = await IssuerWorld.open(t, { keys: [fresh, old], store });
  const later = await IssuerWorld.open(t, { keys: [fresh], store });
  const [first, second] = [(await before.tokens()).access, (await after.tokens()).access];
  deepEqual(await Promise.all([first, second].map((token) => after.admits(token))), [true, true]);
  deepEqual(await Promise.all([first, second].map((token) => later.admits(token))), [false, true]);
  deepEqual(await Promise.all([first, second].map((token) => before.admits(token))), [true, false]);
});

test("a token of another kind, issuer or maker is none", async (t) => {
  const jwk = await createKey("ES256");
  const world = await IssuerWorld.open(t, { keys: [jwk] });
  const { access } = await world.tokens();
  const claims = jose.decodeJwt(access);
  const key = await jose.importJWK(jwk, "ES256");
  const sign = (changes: jose.JWTPayload, header: Partial<jose.JWTHeaderParameters> = {}) =>
    new jose.SignJWT({ ...claims, ...changes })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", ...header })
      .sign(key);
  ok(await world.admits(await sign({})));
  const secret = new TextEncoder().encode(JSON.stringify(await (await world.fetch("jwks")).json()));
  const forged = {
    type: await sign({}, { typ: "JWT" }),
    issuer: await sign({ iss: "https://evil.example" }),
    expired: await sign({ exp: 1 }),
    "made in the future": await sign({ iat: Math.floor(Date.now() / 1000) + 60 }),
    "no grant": await sign({ grant_id: undefined } as unknown as jose.JWTPayload),
    none: `${btoa('{"alg":"none","typ":"at+jwt"}').replaceAll("=", "")}.${access.split(".")[1]}.`,
    symmetric: await new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "at+jwt" }).sign(secret),
    altered: `${access.slice(0, -4)}AAAA`,
    text: "text",
  };
  for (const [name, token] of Object.entries(forged)) equal(await world.issuer.verify(token), undefined, name);
});

test("what cannot sign is refused", async () => {
  throws(() => createIssuer({ ...least, keys: [] }), /at least one/);
  const { d: _d, ...open } = await createKey("ES256");
  const keys: jose.JWK[] = [
    open,
    { kty: "oct", k: "AAAA", alg: "HS256" },
    { ...(await createKey("ES256")), alg: "RS256" },
  ];
  for (const key of keys) await rejects(createIssuer({ ...least, keys: [key] }).verify("x"), /keys\[0\]/);
});

test("options that contradict each other are refused", () => {
  throws(() => createIssuer({ issuer: ISSUER, resources: [RESOURCE] }), /either user or upstream/);
  throws(() => createIssuer({ ...least, resources: [] }), /resources/);
  throws(() => createIssuer({ ...least, resources: ["mcp"] }), /resources: .* is not a normalized/);
  throws(() => createIssuer({ ...least, defaultResource: "https://other.example" }), /defaultResource/);
  throws(() => createIssuer({ ...least, scopes: ["a b"] }), /is not a valid scope/);
  throws(() => createIssuer({ ...least, clients: [{ clientId: "a", redirectUris: ["ftp://a"] }] }), /redirect URI/);
  throws(
    () => createIssuer({ ...least, clients: [{ clientId: "a" }, { clientId: "a" }] }),
    /clients must not name "a" twice/,
  );
});
