import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { AuthError, InvalidTokenError, jwtVerifier } from "bowline/auth/server";
import { ISSUER, NOW, RESOURCE } from "../../../support/guarded.js";
import { TokenIssuer } from "../../../support/token-issuer.js";

const invalid = (error: unknown) => error instanceof InvalidTokenError;
const unavailable = (error: unknown) => error instanceof AuthError;

test("a token's claims become what handlers see", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier(issuer.settings);
  const token = await issuer.sign({ tenant: "t1", cnf: { jkt: "x" } });
  const info = await verify(token);
  ok(info !== undefined);
  const { claims, ...rest } = info;
  deepEqual(rest, {
    token,
    clientId: "client-1",
    scopes: ["read", "write"],
    expiresAt: NOW / 1000 + 600,
    audience: RESOURCE,
    subject: "ada",
    issuer: ISSUER,
    confirmation: { jkt: "x" },
  });
  equal(claims?.tenant, "t1");
  const listed = await verify(
    await issuer.sign({ scope: undefined, scp: ["a", 7, "b"], client_id: undefined, azp: "app" }),
  );
  deepEqual([listed?.scopes, listed?.clientId], [["a", "b"], "app"]);
  const bare = await verify(await issuer.sign({ scope: undefined }));
  deepEqual(bare?.scopes, []);
});

test("every asymmetric algorithm verifies, by key id and without one", async () => {
  const issuer = await TokenIssuer.create("ES256", "RS256", "PS256", "EdDSA", "ES256");
  const verify = jwtVerifier(issuer.settings);
  for (const pair of issuer.pairs) {
    equal((await verify(await issuer.sign({}, {}, pair)))?.subject, "ada", pair.alg);
    equal((await verify(await issuer.sign({}, { kid: undefined }, pair)))?.subject, "ada", pair.alg);
  }
  equal(issuer.count("/keys"), 1);
});

test("wrong issuers, times and types are refused; skew is not", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier(issuer.settings);
  const seconds = NOW / 1000;
  for (const claims of [
    { iss: "https://evil.example" },
    { iss: `${ISSUER}/` },
    { iss: undefined },
    { exp: seconds - 6 },
    { nbf: seconds + 6 },
    { iat: seconds + 6 },
    { iat: seconds + 3_600 * 24 * 365 * 10 },
    { iat: "now" },
    { iat: null },
    { exp: "soon" },
  ]) {
    await rejects(async () => verify(await issuer.sign(claims)), invalid, JSON.stringify(claims));
  }
  for (const typ of ["dpop+jwt", "oauth-id-jag+jwt", "logout+jwt"]) {
    await rejects(async () => verify(await issuer.sign({}, { typ })), invalid, typ);
  }
  for (const typ of ["JWT", undefined, "AT+JWT", "application/at+jwt"])
    ok(await verify(await issuer.sign({}, { typ })));
  ok(await verify(await issuer.sign({ exp: seconds - 4 })));
  ok(await verify(await issuer.sign({ nbf: seconds + 4 })));
  ok(await verify(await issuer.sign({ iat: seconds + 4 })));
  ok(await verify(await issuer.sign({ iat: undefined })));
  const strict = jwtVerifier({
    ...issuer.settings,
    types: ["at+jwt"],
    limits: { clockSkewMs: 0 },
    algorithms: ["ES256"],
  });
  await rejects(async () => strict(await issuer.sign({}, { typ: "JWT" })), invalid);
  await rejects(async () => strict(await issuer.sign({ exp: seconds - 1 })), invalid);
  ok(await strict(await issuer.sign()));
});

test("ID tokens are no access tokens, though their audience fits; access tokens of providers are", async () => {
  const issuer = await TokenIssuer.create();
  const audience = "app";
  const verify = jwtVerifier({ ...issuer.settings, audience });
  const none = { scope: undefined, client_id: undefined, aud: audience };
  const user = { email: "ada@example.com", name: "Ada", sid: "s" };
  const idTokens: Record<string, Record<string, unknown>> = {
    "OpenID, with a nonce": { ...none, ...user, nonce: "n", auth_time: 1 },
    "OpenID, with the hash of a token": { ...none, ...user, at_hash: "h" },
    "OpenID, with the hash of a code": { ...none, c_hash: "h" },
    "OpenID, for the client": { ...none, ...user, azp: audience },
    "OpenID, for several": { ...none, ...user, azp: audience, aud: [audience, "other"] },
    Keycloak: { ...none, typ: "ID", azp: "web", acr: "1", sid: "s" },
    Cognito: { ...none, token_use: "id", "cognito:username": "ada", auth_time: 1 },
    Google: { ...none, azp: audience, at_hash: "h", email: "a@b.example" },
    "Entra ID": { ...none, nonce: "n", ver: "2.0", tid: "t", oid: "o", roles: ["admin"] },
    "OpenID, logout": { ...none, sid: "s", events: { "http://schemas.openid.net/event/backchannel-logout": {} } },
    Okta: { ...none, ver: 1, jti: "ID.1", amr: ["pwd"], idp: "i", nonce: "n", auth_time: 1 },
  };
  for (const typ of ["JWT", undefined]) {
    for (const [name, claims] of Object.entries(idTokens)) {
      await rejects(async () => verify(await issuer.sign(claims, { typ })), /not an access token/, `${name} ${typ}`);
    }
  }
  const willing = jwtVerifier({ ...issuer.settings, audience, allowIdTokens: true });
  for (const claims of Object.values(idTokens)) ok(await willing(await issuer.sign(claims, { typ: "JWT" })));
  const accessTokens: Record<string, Record<string, unknown>> = {
    Auth0: { ...none, scope: "read", azp: "web", gty: "password", aud: [audience, "https://t.example/userinfo"] },
    "Entra ID": { ...none, scp: "read", azp: audience, azpacr: "1", ver: "2.0", tid: "t", aio: "a" },
    "Entra ID, without a user": { ...none, roles: ["reader"], azp: audience, azpacr: "1", idtyp: "app" },
    Keycloak: { ...none, typ: "Bearer", azp: "web", scope: "openid", nonce: "n", auth_time: 1, session_state: "s" },
    "Keycloak, for itself": { ...none, typ: "Bearer", azp: audience },
    "Entra ID, for itself": { ...none, azp: audience, azpacr: "1", idtyp: "app", ver: "2.0" },
    Okta: { ...none, cid: "web", scp: ["read"], uid: "u", auth_time: 1, ver: 1 },
    Cognito: { ...none, token_use: "access", client_id: "web", scope: "read", auth_time: 1 },
    Zitadel: { ...none, client_id: audience, aud: [audience, "project"], jti: "j" },
    Supabase: { ...none, ...user, role: "authenticated", aal: "aal1", amr: [], session_id: "s" },
    "AD FS": { ...none, scp: "read", appid: "web", apptype: "Public", auth_time: 1 },
    "a platform's workload": { ...none, azp: "1234", email: "w@p.example" },
  };
  for (const typ of ["JWT", undefined]) {
    for (const [name, claims] of Object.entries(accessTokens)) {
      ok(await verify(await issuer.sign(claims, { typ })), `${name} ${typ}`);
    }
  }
  ok(await verify(await issuer.sign({ ...none, nonce: "n" }, { typ: "at+jwt" })), "one that says so is one");
});

test("an audience of the issuer's own is checked here and not stated", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier({ ...issuer.settings, audience: "api://guid" });
  equal((await verify(await issuer.sign({ aud: "api://guid" })))?.audience, undefined);
  await rejects(async () => verify(await issuer.sign()), invalid);
});

test("keys are fetched once for all, kept, and fetched again when they are old", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier(issuer.settings);
  const token = await issuer.sign();
  await Promise.all(Array.from({ length: 20 }, () => verify(token)));
  deepEqual([issuer.count("/.well-known/oauth-authorization-server"), issuer.count("/keys")], [1, 1]);
  issuer.now += 599_000;
  await verify(await issuer.sign());
  equal(issuer.count("/keys"), 1);
  issuer.now += 1_000;
  await verify(await issuer.sign());
  equal(issuer.count("/keys"), 2);
});

test("a new key is found at once, and made-up key ids cause no flood", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier({ ...issuer.settings, jwksUri: `${ISSUER}/keys` });
  await verify(await issuer.sign());
  issuer.now += 30_000;
  await issuer.addKey();
  const rotated = await Promise.all([issuer.sign(), issuer.sign()]);
  deepEqual((await Promise.all(rotated.map((token) => verify(token)))).length, 2);
  equal(issuer.count("/keys"), 2);
  for (let tries = 0; tries < 20; tries++) {
    await rejects(async () => verify(await issuer.sign({}, { kid: `made-up-${tries}` })), invalid);
  }
  equal(issuer.count("/keys"), 2);
  issuer.now += 30_000;
  await rejects(async () => verify(await issuer.sign({}, { kid: "made-up" })), invalid);
  equal(issuer.count("/keys"), 3);
  equal(issuer.count("/.well-known/oauth-authorization-server"), 0);
});

test("an issuer that is down is no fault of the token, and is not asked over and over", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier(issuer.settings);
  const token = await issuer.sign();
  issuer.routes.set(`${ISSUER}/keys`, () => new Response("down", { status: 500 }));
  for (let tries = 0; tries < 5; tries++) await rejects(async () => verify(token), unavailable);
  equal(issuer.count("/keys"), 1);
  issuer.now += 30_000;
  issuer.routes.clear();
  ok(await verify(token));
  // Known keys are good for a while longer.
  issuer.routes.set(`${ISSUER}/keys`, () => Promise.reject(new TypeError("fetch failed")));
  issuer.now += 3_600_000;
  ok(await verify(await issuer.sign()));
  ok(await verify(await issuer.sign()));
  equal(issuer.count("/keys"), 3);
  issuer.now += 86_400_000;
  await rejects(async () => verify(await issuer.sign()), unavailable);
});

test("what is not a set of keys of this issuer is not used", async () => {
  const answers: (() => Response)[] = [
    () => new Response("x".repeat(300_000)),
    () => new Response("not json"),
    () => Response.json({ keys: "x" }),
    () => Response.json({ keys: [null] }),
    () => Response.json({ keys: ["x"] }),
    () => Response.json({}),
    () => Response.json({ keys: Array.from({ length: 101 }, () => ({ kty: "RSA" })) }),
    () => new Response(null, { status: 302, headers: { location: "http://evil.example/keys" } }),
  ];
  for (const answer of answers) {
    const issuer = await TokenIssuer.create();
    issuer.routes.set(`${ISSUER}/keys`, answer);
    await rejects(async () => jwtVerifier(issuer.settings)(await issuer.sign()), unavailable);
  }
  const other = await TokenIssuer.create();
  other.metadata = { ...other.metadata, issuer: "https://evil.example" };
  await rejects(async () => jwtVerifier(other.settings)(await other.sign()), unavailable);
  for (const jwks_uri of ["http://login.example/keys", "file:///etc/passwd", undefined, 7]) {
    const issuer = await TokenIssuer.create();
    issuer.metadata = { ...issuer.metadata, jwks_uri };
    await rejects(async () => jwtVerifier(issuer.settings)(await issuer.sign()), unavailable);
    equal(issuer.asked.length, 1);
  }
});

test("a token is verified once a minute at most, and never beyond its end", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier(issuer.settings);
  const [long, short] = [await issuer.sign(), await issuer.sign({ exp: NOW / 1000 + 30 })];
  const [first, brief] = [await verify(long), await verify(short)];
  issuer.now += 29_000;
  deepEqual([(await verify(long)) === first, (await verify(short)) === brief], [true, true]);
  issuer.now += 6_000;
  await rejects(async () => verify(short), invalid);
  issuer.now += 25_000;
  ok((await verify(long)) !== first);
  // Nothing is kept of what is not good.
  const forged = `${long.slice(0, -4)}AAAA`;
  for (let tries = 0; tries < 3; tries++) await rejects(async () => verify(forged), invalid);
});

test("settings that cannot work are refused where they are written", () => {
  throws(() => jwtVerifier({ issuer: "" }), /issuer/);
  for (const algorithms of [["none"], ["HS256"], ["ES256", "hs512"], []]) {
    throws(() => jwtVerifier({ issuer: ISSUER, algorithms }), /algorithms/);
  }
});

test("keys that are given are all there is", async () => {
  const issuer = await TokenIssuer.create();
  const verify = jwtVerifier({ ...issuer.settings, keys: issuer.keys });
  ok(await verify(await issuer.sign()));
  await issuer.addKey();
  await rejects(async () => verify(await issuer.sign()), invalid);
  deepEqual(issuer.asked, []);
});

test("a token that does not say when it expires is refused, unless such tokens are allowed", async () => {
  const issuer = await TokenIssuer.create();
  const endless = await issuer.sign({ exp: undefined });
  await rejects(
    async () => jwtVerifier(issuer.settings)(endless),
    (error) => error instanceof InvalidTokenError && /has no expiry/.test(error.message),
  );
  const info = await jwtVerifier({ ...issuer.settings, allowNoExpiry: true })(endless);
  deepEqual([info?.subject, info?.expiresAt], ["ada", undefined]);
});

test("metadata that names no address of keys is told as such", async () => {
  for (const jwks_uri of [undefined, 7, "not an address"]) {
    const issuer = await TokenIssuer.create();
    const token = await issuer.sign({});
    const fetch = async () => Response.json({ issuer: ISSUER, jwks_uri });
    const verify = jwtVerifier({ ...issuer.settings, fetch });
    await rejects(async () => verify(token), { name: "AuthError", message: /has no valid jwks_uri/ });
  }
});
