import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { TestContext } from "node:test";
import {
  createIssuer,
  type IssuerIdentityAssertionOptions,
  type IssuerOptions,
  type WorkloadIssuer,
} from "bowline/auth/issuer";
import { exportSPKI, importJWK } from "jose";
import { ISSUER as PROVIDER } from "../../support/guarded.js";
import { ISSUER, IssuerWorld, RESOURCE, read } from "../../support/issuer-world.js";
import { TokenIssuer } from "../../support/token-issuer.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const OTHER = "https://other.example/mcp";
const ID_JAG = { typ: "oauth-id-jag+jwt" };

/** A platform or provider whose clock is the machine's. */
async function createProvider(alg = "RS256"): Promise<TokenIssuer> {
  const provider = await TokenIssuer.create(alg);
  provider.now = Date.now();
  return provider;
}

async function setUp(
  t: TestContext,
  more: Partial<IssuerIdentityAssertionOptions> = {},
  options: Partial<IssuerOptions> = {},
) {
  const provider = await createProvider();
  const asked: unknown[] = [];
  const world = await IssuerWorld.open(t, {
    resources: [RESOURCE, OTHER],
    scopes: ["a", "b", "c", "d"],
    clients: [
      { clientId: "app", clientSecret: "s", grantTypes: [GRANT, "refresh_token"] },
      { clientId: "app-2", clientSecret: "s", grantTypes: [GRANT] },
      { clientId: "public", grantTypes: [GRANT] },
      { clientId: "hollow", method: "client_secret_basic", grantTypes: [GRANT] },
    ],
    identityAssertion: {
      providers: [{ issuer: PROVIDER, fetch: provider.fetch as typeof fetch }],
      subject: (claims) => {
        asked.push(claims.sub);
        return claims.sub;
      },
      ...more,
    },
    limits: { keysCooldownMs: 0 },
    ...options,
  });
  const sign = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, from = provider) =>
    from.sign(
      { aud: ISSUER, client_id: "app", resource: RESOURCE, scope: "a b", jti: crypto.randomUUID(), ...claims },
      { ...ID_JAG, ...header },
    );
  const present = (assertion: string | undefined, fields: Record<string, string> = {}, client = "app") =>
    world.token({ grant_type: GRANT, assertion, ...fields }, { authorization: `Basic ${btoa(`${client}:s`)}` });
  return { provider, world, sign, present, asked };
}

type Answer = Awaited<ReturnType<IssuerWorld["token"]>>;

function isRefused({ status, json }: Answer, error = "invalid_grant", expected = 400): void {
  deepEqual([status, json.error, json.access_token], [expected, error, undefined], JSON.stringify(json));
}

proves("hosting:auth:as:identity-assertion:signature", http, "only the provider's own key counts", async (t) => {
  const { provider, sign, present } = await setUp(t);
  equal((await present(await sign())).status, 200);
  const [pair] = provider.pairs;
  ok(pair !== undefined);
  const [, body = ""] = (await sign()).split(".");
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  isRefused(await present(`${encode({ alg: "none", ...ID_JAG })}.${body}.`));
  const spki = await exportSPKI((await importJWK(pair.jwk, "RS256", { extractable: true })) as CryptoKey);
  const input = `${encode({ alg: "HS256", kid: pair.kid, ...ID_JAG })}.${body}`;
  isRefused(await present(`${input}.${createHmac("sha256", spki).update(input).digest("base64url")}`));
  isRefused(await present(await sign({ iss: "https://evil.example" })));
  isRefused(await present(await sign({}, {}, await createProvider())));
  for (const junk of ["x", "a.b.c", "x".repeat(50_000)]) isRefused(await present(junk));
  await provider.addKey("ES256", "rotated");
  equal((await present(await sign())).status, 200);
});

proves("hosting:auth:as:identity-assertion:claims", http, "each claim is looked at", async (t) => {
  const { provider, sign, present } = await setUp(t);
  const now = Math.floor(provider.now / 1000);
  for (const claims of [
    { aud: "https://other-as.example" },
    { aud: `${ISSUER}/token` },
    { aud: `${ISSUER}/` },
    { aud: [ISSUER, "https://other-as.example"] },
    { aud: undefined },
    { sub: undefined },
    { sub: "" },
    { sub: 7 },
    { exp: now - 20 },
    { exp: undefined },
    { iat: now + 60 },
    { iat: undefined },
    { nbf: now + 60 },
    { exp: now + 2 * 86_400 },
    { jti: undefined },
    { jti: "" },
  ]) {
    isRefused(await present(await sign(claims)));
  }
  // Little skew is forgiven.
  equal((await present(await sign({ exp: now - 2, iat: now + 2 }))).status, 200);
  for (const typ of ["JWT", undefined, "at+jwt"]) isRefused(await present(await sign({}, { typ })));
  // An ID token is no assertion.
  isRefused(await present(await provider.sign({ aud: "app", nonce: "n" }, { typ: "JWT" })));
});

proves("hosting:auth:as:identity-assertion:client-binding", http, "for the client that it names", async (t) => {
  const { sign, present } = await setUp(t);
  const assertion = await sign();
  isRefused(await present(assertion, {}, "app-2"));
  isRefused(await present(await sign({ client_id: undefined })));
  equal((await present(assertion)).status, 200);
});

proves("hosting:auth:as:identity-assertion:replay", http, "good once, also when it comes twice at once", async (t) => {
  const { sign, present, world } = await setUp(t);
  const assertion = await sign();
  equal((await present(assertion)).status, 200);
  isRefused(await present(assertion));
  const twice = await sign();
  const answers = await Promise.all([present(twice), present(twice), present(twice)]);
  deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  world.skippedMs = 700_000;
  isRefused(await present(assertion));
});

proves("hosting:auth:as:identity-assertion:audience-binding", http, "for the server that it names", async (t) => {
  const { sign, present, world } = await setUp(t);
  const { json } = await present(await sign());
  deepEqual((await world.issuer.verify(String(json.access_token)))?.audience, [RESOURCE]);
  for (const resource of ["https://evil.example", undefined, 7, `${RESOURCE}/admin`]) {
    isRefused(await present(await sign({ resource })));
  }
  isRefused(await present(await sign(), { resource: OTHER }), "invalid_target");
  equal((await present(await sign(), { resource: RESOURCE })).status, 200);
  const other = await present(await sign({ resource: OTHER }));
  deepEqual((await world.issuer.verify(String(other.json.access_token)))?.audience, [OTHER]);
});

proves("hosting:auth:as:identity-assertion:scope-intersection", http, "what both sides name", async (t) => {
  const { sign, present, world } = await setUp(t);
  const scopesOf = async ({ json }: Answer) => [
    json.scope,
    (await world.issuer.verify(String(json.access_token)))?.scopes.join(" "),
  ];
  deepEqual(await scopesOf(await present(await sign(), { scope: "b c" })), ["b", "b"]);
  deepEqual(await scopesOf(await present(await sign())), ["a b", "a b"]);
  deepEqual(await scopesOf(await present(await sign({ scope: "a unknown" }))), ["a", "a"]);
  isRefused(await present(await sign(), { scope: "c d" }), "invalid_scope");
});

proves("hosting:auth:as:identity-assertion:missing-assertion", http, "nothing is asked about nothing", async (t) => {
  const { present } = await setUp(t);
  isRefused(await present(undefined), "invalid_request");
});

proves("hosting:auth:as:identity-assertion:client-type", http, "only clients that authenticate", async (t) => {
  const { sign, present, world, asked, provider } = await setUp(t);
  const assertion = await sign({ client_id: "public" });
  isRefused(await world.token({ grant_type: GRANT, client_id: "public", assertion }), "unauthorized_client");
  isRefused(await present(await sign({ client_id: "hollow" }), {}, "hollow"), "invalid_client", 401);
  deepEqual([asked, provider.asked], [[], []]);
  equal((await present(await sign())).status, 200);
  deepEqual(asked, ["ada"]);
});

proves("hosting:auth:as:identity-assertion:no-refresh-token", http, "the provider keeps the say", async (t) => {
  const { sign, present } = await setUp(t);
  const { status, json } = await present(await sign());
  deepEqual([status, json.refresh_token, json.token_type], [200, undefined, "Bearer"]);
});

proves("hosting:auth:as:identity-assertion:dcr-refused", http, "not to be had by registration", async (t) => {
  for (const on of [true, false]) {
    const { world } = on ? await setUp(t) : { world: await IssuerWorld.open(t) };
    const grant_types = ["authorization_code", GRANT];
    const { status, json } = await world.register({ grant_types, token_endpoint_auth_method: "client_secret_basic" });
    deepEqual([status, json.error], [400, "invalid_client_metadata"]);
  }
});

proves(
  ["client-auth:identity-assertion:metadata-advertised", "client-auth:identity-assertion:disabled-rejected"],
  http,
  "what is on is said, and what is off is refused",
  async (t) => {
    const { world, sign } = await setUp(t);
    const metadataOf = async (from: IssuerWorld) =>
      (await read(await from.fetch("/.well-known/oauth-authorization-server"))).json;
    const on = await metadataOf(world);
    ok((on.grant_types_supported as string[]).includes(GRANT));
    deepEqual(on.authorization_grant_profiles_supported, ["urn:ietf:params:oauth:grant-profile:id-jag"]);
    const off = await IssuerWorld.open(t, { clients: [{ clientId: "app", clientSecret: "s", grantTypes: [GRANT] }] });
    const without = await metadataOf(off);
    ok(!(without.grant_types_supported as string[]).includes(GRANT));
    equal(without.authorization_grant_profiles_supported, undefined);
    const headers = { authorization: `Basic ${btoa("app:s")}` };
    isRefused(await off.token({ grant_type: GRANT, assertion: await sign() }, headers), "unsupported_grant_type");
    const build = (providers: IssuerIdentityAssertionOptions["providers"]) => () =>
      createIssuer({
        issuer: ISSUER,
        resources: [RESOURCE],
        user: () => ({ id: "a" }),
        identityAssertion: { providers },
      });
    throws(build([]), /providers/);
    throws(build([{ issuer: "http://idp.example" }]), /https/);
    throws(build([{ issuer: "" }]), /an empty issuer/);
    throws(build([{ issuer: PROVIDER }, { issuer: PROVIDER }]), /"https:\/\/login.example" twice/);
  },
);

proves("hosting:auth:as:wif:trust", http, "workloads that a rule allows, by the word of their platform", async (t) => {
  const platform = await createProvider("ES256");
  const allow: WorkloadIssuer["allow"] = (claims) =>
    claims.sub === "spiffe://example/billing" ? { clientId: "billing", scopes: ["a"] } : claims.sub === "plain";
  const world = await IssuerWorld.open(t, {
    resources: [RESOURCE, OTHER],
    scopes: ["a", "b"],
    workloadIdentity: { issuers: [{ issuer: PROVIDER, fetch: platform.fetch as typeof fetch, allow }] },
  });
  const sign = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, from = platform) =>
    from.sign(
      { aud: ISSUER, sub: "spiffe://example/billing", jti: crypto.randomUUID(), client_id: undefined, ...claims },
      { typ: "JWT", ...header },
    );
  const present = (assertion: string, fields: Record<string, string> = {}) =>
    world.token({ grant_type: GRANT, assertion, resource: OTHER, ...fields });

  const { status, json } = await present(await sign());
  deepEqual([status, json.scope, json.refresh_token], [200, "a", undefined]);
  const verified = await world.issuer.verify(String(json.access_token));
  deepEqual(
    [verified?.audience, verified?.clientId, verified?.subject],
    [[OTHER], "billing", "spiffe://example/billing"],
  );
  equal((await present(await sign({ aud: `${ISSUER}/token`, sub: "plain" }))).status, 200);

  const now = Math.floor(platform.now / 1000);
  const used = await sign();
  equal((await present(used)).status, 200);
  const [, body = ""] = used.split(".");
  const bad = [
    used,
    await sign({ iss: "https://evil.example" }),
    await sign({}, {}, await createProvider("ES256")),
    await sign({ aud: "https://other-as.example" }),
    await sign({ aud: RESOURCE }),
    await sign({ exp: now - 60 }),
    await sign({ exp: undefined }),
    await sign({ jti: undefined }),
    await sign({ sub: undefined }),
    await sign({ sub: "spiffe://example/stranger" }),
    await sign({}, ID_JAG),
    await sign({}, { typ: "at+jwt" }),
    `${Buffer.from('{"alg":"none"}').toString("base64url")}.${body}.`,
    "x",
  ];
  for (const assertion of bad) isRefused(await present(assertion));
  isRefused(await present(await sign(), { scope: "b" }), "invalid_scope");
  isRefused(await present(await sign(), { resource: "https://evil.example" }), "invalid_target");
  isRefused(await world.token({ grant_type: GRANT, resource: OTHER }), "invalid_request");

  const { json: metadata } = await read(await world.fetch("/.well-known/oauth-authorization-server"));
  ok((metadata.grant_types_supported as string[]).includes(GRANT));
  equal(metadata.authorization_grant_profiles_supported, undefined);
  const plain = () =>
    createIssuer({
      issuer: ISSUER,
      resources: [RESOURCE],
      user: () => ({ id: "a" }),
      workloadIdentity: { issuers: [{ issuer: PROVIDER, jwksUri: "http://login.example/keys", allow }] },
    });
  throws(plain, /https/);
});

proves("hosting:auth:as:wif:trust", http, "beside identity assertions, each by its own rules", async (t) => {
  const platform = await createProvider("ES256");
  const fetch_ = platform.fetch as typeof fetch;
  const { world, sign, present } = await setUp(
    t,
    {},
    {
      workloadIdentity: { issuers: [{ issuer: PROVIDER, fetch: fetch_, allow: () => true }] },
    },
  );
  equal((await present(await sign())).status, 200);
  const workload = await platform.sign({ aud: ISSUER, sub: "w", jti: "w1" }, { typ: undefined });
  equal((await world.token({ grant_type: GRANT, assertion: workload, resource: OTHER })).status, 200);
  // A user's assertion needs a client that authenticates all the same.
  isRefused(await world.token({ grant_type: GRANT, assertion: await sign() }), "unauthorized_client");
});
