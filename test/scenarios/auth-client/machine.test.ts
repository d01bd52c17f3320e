import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { clientCredentials, exchangeAtProvider, identityAssertion, workloadIdentity } from "bowline/auth/client";
import { decodeJwt, importSPKI, jwtVerify } from "jose";
import { type AuthWorld, eachEra, failsAt, MockIssuer } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

const client = { id: "machine", secret: "machine-secret" };
const tokens = (world: AuthWorld) => world.to("POST https://as.example/token");
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

function assertNoUser(world: AuthWorld): void {
  equal(world.count("GET https://as.example/authorize"), 0);
  equal(world.count("POST https://as.example/register"), 0);
}

verifies(
  [
    "client-auth:client-credentials",
    "client-auth:client-credentials:no-dcr",
    "client-auth:resource-parameter:all-token-requests",
  ],
  eachEra,
  async (world) => {
    world.challenge = 'Bearer scope="a"';
    const connected = await world.connect(world.oauth({ grant: clientCredentials(), client }));
    await connected.callTool("echo", {});
    equal(tokens(world).length, 1);
    deepEqual(
      ["grant_type", "resource", "scope"].map((name) => tokens(world)[0]?.form.get(name)),
      ["client_credentials", world.mcp, "a"],
    );
    world.as.live.clear();
    world.routes.set("POST https://as.example/token", () => ({ status: 401, json: { error: "invalid_client" } }));
    await rejects(connected.callTool("echo", {}), { error: "invalid_client" });
    equal(tokens(world).length, 2);
    assertNoUser(world);
  },
);

verifies("client-auth:client-credentials:secret-methods", eachEra, async (world) => {
  const call = (more: object) =>
    world.call(world.oauth({ grant: clientCredentials(), client: { ...client, ...more } }));
  await call({});
  await call({ method: "client_secret_post" });
  world.as.metadata = { ...world.as.metadata, token_endpoint_auth_methods_supported: ["client_secret_post"] };
  await call({});
  deepEqual(
    tokens(world).map(({ headers, form }) => [headers.has("authorization"), form.has("client_secret")]),
    [
      [true, false],
      [false, true],
      [false, true],
    ],
  );
});

verifies("client-auth:client-credentials:scope", eachEra, async (world) => {
  await world.call(world.oauth({ grant: clientCredentials(), client }));
  equal(tokens(world).pop()?.form.has("scope"), false);
  world.arrivals.length = 0;
  const call = () => world.call(world.oauth({ grant: clientCredentials(), client, scope: "configured" }));
  await call();
  world.prm = { scopes_supported: ["p"] };
  await call();
  world.challenge = 'Bearer scope="c"';
  await call();
  deepEqual(
    tokens(world).map(({ form }) => form.get("scope")),
    ["configured", "p", "c"],
  );
});

verifies("client-auth:client-credentials:renewal", eachEra, async (world) => {
  world.as.extra = { expires_in: 3600 };
  let at = Date.now();
  const auth = world.oauth({ grant: clientCredentials(), client, now: () => at });
  await world.call(auth);
  at += 7_200_000;
  world.arrivals.length = 0;
  await Promise.all(Array.from({ length: 5 }, () => world.call(auth)));
  equal(tokens(world).length, 1);
  equal(world.arrivals[0], tokens(world)[0]);
});

verifies("client-auth:stepup:client-credentials", eachEra, async (world) => {
  world.challenge = 'Bearer scope="a"';
  const challenge = 'Bearer error="insufficient_scope", scope="b"';
  world.routes.set(`POST ${world.mcp}`, (request) =>
    world.accepts(request) && tokens(world).length < 2
      ? { status: 403, headers: { "www-authenticate": challenge } }
      : undefined,
  );
  await world.call(world.oauth({ grant: clientCredentials(), client }));
  deepEqual(
    tokens(world).map(({ form }) => form.get("scope")),
    ["a", "a b"],
  );
  world.arrivals.length = 0;
  const strict = world.oauth({ grant: clientCredentials(), client, stepUp: "throw" });
  await rejects(world.call(strict), { step: "scope", scope: "b" });
  equal(tokens(world).length, 1);
  assertNoUser(world);
});

verifies("client-auth:pkce:non-code-grants-exempt", eachEra, async (world) => {
  world.as.metadata = { ...world.as.metadata, code_challenge_methods_supported: undefined };
  await world.call(world.oauth({ grant: clientCredentials(), client }));
  equal(tokens(world).length, 1);
  await rejects(world.call(world.oauth()), failsAt("authorize"));
});

verifies(
  ["client-auth:client-credentials:capability", "client-auth:identity-assertion:capability"],
  eachEra.filter(({ name }) => name.startsWith("modern")),
  async (world) => {
    for (const [options, extension] of [
      [{ grant: clientCredentials(), client }, "io.modelcontextprotocol/oauth-client-credentials"],
      [{ grant: identityAssertion(() => "jag"), client }, "io.modelcontextprotocol/enterprise-managed-authorization"],
      [{}, undefined],
    ] as const) {
      world.arrivals.length = 0;
      const connected = await world.connect(world.oauth(options));
      await connected.callTool("echo", {});
      const sent = world.to(`POST ${world.mcp}`);
      ok(sent.length > 0);
      for (const { body } of sent) {
        const capabilities = JSON.parse(body).params._meta["io.modelcontextprotocol/clientCapabilities"];
        deepEqual(Object.keys(capabilities.extensions ?? {}), extension === undefined ? [] : [extension]);
      }
    }
  },
);

verifies(["client-auth:private-key-jwt", "client-auth:private-key-jwt:claims"], eachEra, async (world) => {
  const auth = world.oauth({ grant: clientCredentials(), client: { id: "machine", key: pem } });
  await world.call(auth);
  world.as.live.clear();
  await world.call(auth);
  const key = await importSPKI(publicKey.export({ type: "spki", format: "pem" }).toString(), "ES256");
  const ids: unknown[] = [];
  for (const { form, headers } of tokens(world)) {
    equal(form.get("grant_type"), "client_credentials");
    equal(form.get("client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    equal(form.has("client_secret") || headers.has("authorization"), false);
    const { payload } = await jwtVerify(form.get("client_assertion") ?? "", key);
    deepEqual([payload.iss, payload.sub, payload.aud], ["machine", "machine", "https://as.example"]);
    ok((payload.exp ?? 0) - (payload.iat ?? 0) <= 300);
    ids.push(payload.jti);
  }
  equal(new Set(ids).size, 2);
});

verifies("client-auth:private-key-jwt:static-assertion", eachEra, async (world) => {
  await world.call(
    world.oauth({ grant: clientCredentials(), client: { id: "machine", assertion: "made.else.where" } }),
  );
  equal(tokens(world)[0]?.form.get("client_assertion"), "made.else.where");
  const audiences: string[] = [];
  const assertion = ({ audience }: { audience: string }) => `for.${audiences.push(audience)}.me`;
  const auth = world.oauth({ grant: clientCredentials(), client: { id: "machine", assertion } });
  await world.call(auth);
  world.as.live.clear();
  await world.call(auth);
  deepEqual(audiences, ["https://as.example", "https://as.example"]);
  equal(tokens(world).at(-1)?.form.get("client_assertion"), "for.2.me");
});

verifies("client-auth:private-key-jwt:alg", eachEra, async (world) => {
  const call = (more: object) =>
    world.call(world.oauth({ grant: clientCredentials(), client: { id: "machine", ...more } }));
  await rejects(call({ key: pem, alg: "XS999" }), failsAt("configuration"));
  await rejects(call({ key: "-----BEGIN PRIVATE KEY-----\nnothing" }), failsAt("configuration"));
  await rejects(call({ key: pem, alg: "RS256" }), failsAt("configuration"));
  world.as.metadata = { ...world.as.metadata, token_endpoint_auth_signing_alg_values_supported: ["RS256"] };
  await rejects(call({ key: pem }), failsAt("configuration"));
  equal(tokens(world).length, 0);
  world.as.metadata = { ...world.as.metadata, token_endpoint_auth_signing_alg_values_supported: ["ES256"] };
  const key = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  await call({ key: pem });
  await call({ key: key.privateKey });
  await call({ key: await crypto.subtle.exportKey("jwk", key.privateKey) });
  equal(tokens(world).length, 3);
});

verifies(
  [
    "client-auth:identity-assertion",
    "client-auth:identity-assertion:assertion-callback",
    "client-auth:identity-assertion:fresh-assertion",
    "client-auth:identity-assertion:client-authentication",
  ],
  eachEra,
  async (world) => {
    world.challenge = 'Bearer scope="a"';
    const targets: unknown[] = [];
    const grant = identityAssertion(({ issuer, resource, scope }) => `jag-${targets.push([issuer, resource, scope])}`);
    const auth = world.oauth({ grant, client });
    await world.call(auth);
    world.as.live.clear();
    await world.call(auth);
    deepEqual(targets, [
      ["https://as.example", world.mcp, "a"],
      ["https://as.example", world.mcp, "a"],
    ]);
    deepEqual(
      tokens(world).map(({ form }) => form.get("assertion")),
      ["jag-1", "jag-2"],
    );
    equal(tokens(world)[0]?.form.get("grant_type"), JWT_BEARER);
    equal(tokens(world)[0]?.form.get("resource"), world.mcp);
    equal(tokens(world)[0]?.headers.get("authorization"), `Basic ${btoa("machine:machine-secret")}`);
    assertNoUser(world);
    await world.call(world.oauth({ grant, client: { ...client, method: "client_secret_post" } }));
    equal(tokens(world).at(-1)?.form.get("client_secret"), "machine-secret");
    await world.call(world.oauth({ grant, client: { id: "machine", key: pem } }));
    equal(decodeJwt(tokens(world).at(-1)?.form.get("client_assertion") ?? "").sub, "machine");
    world.as.metadata = { ...world.as.metadata, client_id_metadata_document_supported: true };
    await world.call(world.oauth({ grant, clientMetadataUrl: "https://app.example/c.json" }));
    equal(tokens(world).at(-1)?.form.get("client_id"), "https://app.example/c.json");
  },
);

verifies(
  ["client-auth:identity-assertion:issuer-pinning", "client-auth:as-migration:m2m-expected-issuer"],
  eachEra,
  async (world) => {
    world.issuers.push(new MockIssuer("https://evil.example"));
    let made = 0;
    for (const [grant, client] of [
      [identityAssertion(() => `jag-${++made}`), { id: "machine", secret: "machine-secret" }],
      [clientCredentials(), { id: "machine", secret: "machine-secret" }],
      [clientCredentials(), { id: "machine", key: pem }],
    ] as const) {
      const call = () => world.call(world.oauth({ grant, client, issuer: "https://as.example" }));
      await call();
      world.listed = ["https://evil.example"];
      await rejects(call(), failsAt("issuer"));
      world.listed = ["https://as.example"];
      const { metadata } = world.as;
      world.as.metadata = { ...metadata, issuer: "https://evil.example" };
      await rejects(call(), failsAt("issuer"));
      world.as.metadata = { ...metadata, token_endpoint: "https://evil.example/token" };
      if (grant.bound) await rejects(call(), failsAt("configuration"));
      world.as.metadata = metadata;
    }
    equal(made, 1);
    equal(world.count("POST https://evil.example"), 0);
  },
);

verifies(
  [
    "client-auth:identity-assertion:token-exchange",
    "client-auth:identity-assertion:token-exchange-response",
    "client-auth:identity-assertion:not-exposed",
  ],
  eachEra,
  async (world) => {
    let json: unknown = { access_token: "the-jag", issued_token_type: ID_JAG, token_type: "N_A" };
    world.routes.set("POST https://idp.example/token", () => ({ json }));
    const provider = { tokenEndpoint: "https://idp.example/token", subjectToken: "the-id-token" };
    const call = (more: object) =>
      world.call(world.oauth({ grant: identityAssertion(exchangeAtProvider({ ...provider, ...more })), client }));
    await call({ clientId: "at-idp" });
    const [exchange] = world.to("POST https://idp.example/token");
    deepEqual(Object.fromEntries(exchange?.form ?? []), {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: ID_JAG,
      audience: "https://as.example",
      resource: world.mcp,
      subject_token: "the-id-token",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      client_id: "at-idp",
    });
    equal(tokens(world)[0]?.form.get("assertion"), "the-jag");
    json = { access_token: "the-jag", issued_token_type: ID_JAG, token_type: "n_a" };
    const subjectTokenType = "urn:ietf:params:oauth:token-type:refresh_token";
    await call({ subjectTokenType, clientId: "at-idp", clientSecret: "s" });
    equal(world.to("POST https://idp.example/token")[1]?.form.get("subject_token_type"), subjectTokenType);
    for (const { url, headers } of world.arrivals) {
      equal(/the-jag|the-id-token|token-as/.test(url.href), false);
      equal(/the-jag/.test(headers.get("authorization") ?? ""), false);
    }
    const before = tokens(world).length;
    for (const bad of [{ access_token: "x", issued_token_type: "urn:other" }, { issued_token_type: ID_JAG }]) {
      json = bad;
      await rejects(call({}), failsAt("token"));
    }
    await rejects(call({ tokenEndpoint: "http://idp.example/token" }), failsAt("configuration"));
    equal(tokens(world).length, before);
  },
);

verifies("client-auth:identity-assertion:not-exposed", "in logs and errors", eachEra, async (world) => {
  const said: string[] = [];
  const log = (...args: unknown[]) => void said.push(inspect(args, { depth: 9 }));
  const json = { access_token: "the-jag", issued_token_type: ID_JAG, token_type: "N_A" };
  world.routes.set("POST https://idp.example/token", () => ({ json }));
  const provider = { tokenEndpoint: "https://idp.example/token", subjectToken: "the-id-token", clientId: "at-idp" };
  const auth = world.oauth({ grant: identityAssertion(exchangeAtProvider(provider)), client });
  const logger = { debug: log, info: log, warn: log, error: log };
  const connected = await world.connect({ ...auth, logger, onError: log });
  await connected.callTool("echo", {});
  log(connected);
  world.as.live.clear();
  world.routes.set("POST https://as.example/token", () => ({ status: 400, json: { error: "invalid_grant" } }));
  await connected.callTool("echo", {}).catch(log);
  world.routes.set("POST https://idp.example/token", () => ({ status: 400, json: { error: "invalid_request" } }));
  await connected.callTool("echo", {}).catch(log);
  ok(said.length >= 3);
  for (const line of said) equal(/the-jag|the-id-token|token-as|machine-secret/.test(line), false, line);
});

verifies("client-auth:identity-assertion:invalid-assertion", eachEra, async (world) => {
  world.routes.set("POST https://as.example/token", () => ({ status: 400, json: { error: "invalid_grant" } }));
  await rejects(world.call(world.oauth({ grant: identityAssertion(() => "bad"), client })), { error: "invalid_grant" });
  equal(tokens(world).length, 1);
});

verifies("client-auth:identity-assertion:profile-discovery", eachEra, async (world) => {
  let made = 0;
  const grant = identityAssertion(() => `jag-${++made}`, { requireProfile: true });
  await rejects(world.call(world.oauth({ grant, client })), failsAt("configuration"));
  equal(made, 0);
  const profiles = ["urn:ietf:params:oauth:grant-profile:id-jag"];
  world.as.metadata = { ...world.as.metadata, authorization_grant_profiles_supported: profiles };
  await world.call(world.oauth({ grant, client }));
  equal(made, 1);
});

verifies(
  ["client-auth:wif:jwt-bearer", "client-auth:resource-parameter:all-token-requests"],
  eachEra,
  async (world) => {
    await world.call(world.oauth({ grant: workloadIdentity(() => "workload.jwt") }));
    await world.call(world.oauth({ grant: workloadIdentity(() => "workload.jwt"), client: { id: "named" } }));
    const [anonymous, named] = tokens(world);
    deepEqual(Object.fromEntries(anonymous?.form ?? []), {
      grant_type: JWT_BEARER,
      assertion: "workload.jwt",
      resource: world.mcp,
    });
    equal(named?.form.get("client_id"), "named");
    equal(named?.headers.has("authorization"), false);
    assertNoUser(world);
  },
);

verifies(
  ["client-auth:wif:errors-surface", "client-auth:wif:no-retry", "client-auth:wif:no-grant-fallback"],
  eachEra,
  async (world) => {
    for (const error of ["invalid_grant", "invalid_scope", "unauthorized_client"]) {
      world.arrivals.length = 0;
      world.routes.set("POST https://as.example/token", () => ({ status: 400, json: { error } }));
      await rejects(world.call(world.oauth({ grant: workloadIdentity(() => "bad") })), { step: "token", error });
      equal(tokens(world).length, 1);
      notEqual(tokens(world)[0]?.form.get("grant_type"), "client_credentials");
      assertNoUser(world);
    }
  },
);
