import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { AuthError, clientCredentials, clientDocument, identityAssertion, memoryStore } from "bowline/auth/client";
import { importSPKI, jwtVerify } from "jose";
import { type AuthWorld, CALLBACK, eachEra, failsAt } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

const URL_ID = "https://app.example/oauth/client.json";
const registered = (world: AuthWorld) =>
  JSON.parse(world.to("POST https://as.example/register").at(-1)?.body ?? "null");
const asked = (world: AuthWorld) => world.to("GET https://as.example/authorize").at(-1)?.url.searchParams;
const exchanged = (world: AuthWorld) => world.to("POST https://as.example/token").at(-1);
const supportsUrls = { client_id_metadata_document_supported: true };

verifies("client-auth:registration-priority", eachEra, async (world) => {
  const { registration_endpoint, ...metadata } = world.as.metadata;
  const both = [true, false];
  const cases = both.flatMap((known) =>
    both.flatMap((url) => both.flatMap((urls) => both.map((endpoint) => [known, url, urls, endpoint] as const))),
  );
  for (const [known, url, urls, endpoint] of cases) {
    const name = JSON.stringify({ known, url, urls, endpoint });
    world.arrivals.length = 0;
    world.as.metadata = { ...metadata, ...(urls && supportsUrls), ...(endpoint && { registration_endpoint }) };
    const options = { ...(known && { client: { id: "known" } }), ...(url && { clientMetadataUrl: URL_ID }) };
    const registers = !known && !(url && urls) && endpoint;
    const expected = known ? "known" : url && urls ? URL_ID : endpoint ? "client-as.example" : undefined;
    const call = world.call(world.oauth(options));
    if (expected === undefined) await rejects(call, failsAt("registration", /option client/), name);
    else await call;
    equal(asked(world)?.get("client_id"), expected, name);
    equal(world.count("POST https://as.example/register"), registers ? 1 : 0, name);
    equal(world.count("GET https://app.example"), 0);
  }
});

verifies(
  ["client-auth:pre-registration", "client-auth:token-endpoint-auth-method:basic-encoding"],
  eachEra,
  async (world) => {
    world.as.metadata = {
      ...world.as.metadata,
      registration_endpoint: undefined,
      token_endpoint_auth_methods_supported: ["client_secret_basic"],
    };
    await world.call(world.oauth({ client: { id: "a:b", secret: "p+ %:ü", issuer: "https://as.example" } }));
    const header = exchanged(world)?.headers.get("authorization")?.replace("Basic ", "") ?? "";
    const parts = Buffer.from(header, "base64").toString().split(":");
    deepEqual(
      parts.map((part) => new URLSearchParams(`x=${part}`).get("x")),
      ["a:b", "p+ %:ü"],
    );
    equal(exchanged(world)?.form.has("client_secret"), false);
    equal(world.count("POST https://as.example/register"), 0);
  },
);

verifies("client-auth:pre-registration:issuer-mismatch-error", eachEra, async (world) => {
  const client = { id: "distinct-id", secret: "distinct-secret", issuer: "https://as1.example" };
  await rejects(world.call(world.oauth({ client })), failsAt("issuer", /as1\.example.*as\.example/));
  const store = memoryStore();
  const unnamed = { id: "distinct-id", secret: "distinct-secret" };
  await world.call(world.oauth({ client: unnamed, store }));
  const { as } = world;
  world.arrivals.length = 0;
  world.listed = ["https://as2.example"];
  world.routes.set("GET https://as2.example/.well-known/oauth-authorization-server", () => ({
    json: { ...as.metadata, issuer: "https://as2.example", token_endpoint: "https://as2.example/token" },
  }));
  await rejects(world.call(world.oauth({ client: unnamed, store })), failsAt("issuer"));
  for (const { url, headers, body } of world.arrivals) {
    equal(/distinct/.test(`${url.href} ${body} ${headers.get("authorization") ?? ""}`), false);
  }
  equal(world.count("POST https://as.example/register"), 0);
});

verifies(["client-auth:cimd", "client-auth:cimd:public-client"], eachEra, async (world) => {
  world.as.metadata = {
    ...world.as.metadata,
    ...supportsUrls,
    token_endpoint_auth_methods_supported: ["client_secret_basic", "none"],
  };
  await world.call(world.oauth({ clientMetadataUrl: URL_ID }));
  equal(asked(world)?.get("client_id"), URL_ID);
  equal(exchanged(world)?.form.get("client_id"), URL_ID);
  equal(exchanged(world)?.headers.has("authorization"), false);
  equal(exchanged(world)?.form.has("client_secret"), false);
  equal(world.count("POST https://as.example/register"), 0);
});

verifies("client-auth:cimd:private-key-jwt", eachEra, async (world) => {
  world.as.metadata = { ...world.as.metadata, ...supportsUrls };
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await world.call(world.oauth({ clientMetadataUrl: URL_ID, clientKey: { key } }));
  const assertion = exchanged(world)?.form.get("client_assertion") ?? "";
  const verifier = await importSPKI(publicKey.export({ type: "spki", format: "pem" }).toString(), "ES256");
  const { payload } = await jwtVerify(assertion, verifier, { audience: "https://as.example" });
  deepEqual([payload.iss, payload.sub], [URL_ID, URL_ID]);
});

verifies("client-auth:cimd:url-validation", eachEra, async (world) => {
  for (const bad of [
    "http://app.example/c.json",
    "https://app.example",
    "https://app.example/",
    "https://app.example/c.json#frag",
    "https://u:p@app.example/c.json",
    "https://app.example/a/../c.json",
    "https://app.example/./c.json",
    "https://app.example/%2e%2e/c.json",
    "https:///app.example/c.json",
    "HTTPS://app.example/c.json",
    "https://App.example/c.json",
    "https://app.example\\c.json",
    "nothing",
  ]) {
    throws(() => world.oauth({ clientMetadataUrl: bad }), AuthError, bad);
  }
  world.as.metadata = { ...world.as.metadata, ...supportsUrls };
  const good = "https://app.example:8443/c.json?x=1";
  equal((await world.call(world.oauth({ clientMetadataUrl: good }))).status, 200);
  equal(asked(world)?.get("client_id"), good);
});

verifies("client-auth:cimd:fallback", eachEra, async (world) => {
  for (const flag of [undefined, false, "true"]) {
    world.arrivals.length = 0;
    world.as.metadata = { ...world.as.metadata, client_id_metadata_document_supported: flag };
    await world.call(world.oauth({ clientMetadataUrl: URL_ID }));
    equal(world.count("POST https://as.example/register"), 1);
    equal(asked(world)?.get("client_id"), "client-as.example");
  }
});

verifies("client-auth:cimd:document-builder", eachEra, async (world) => {
  const metadata = { client_name: "App", redirect_uris: [CALLBACK] };
  const document = clientDocument(URL_ID, metadata);
  equal(document.client_id, URL_ID);
  deepEqual([document.client_name, document.redirect_uris], ["App", [CALLBACK]]);
  throws(() => clientDocument(URL_ID, { ...metadata, client_name: "" }), AuthError);
  throws(() => clientDocument(URL_ID, { ...metadata, redirect_uris: [] }), AuthError);
  throws(() => clientDocument(URL_ID, { ...metadata, token_endpoint_auth_method: "client_secret_basic" }), AuthError);
  throws(() => clientDocument(URL_ID, { ...metadata, client_secret: "s" }), AuthError);
  world.as.metadata = { ...world.as.metadata, ...supportsUrls };
  await world.call(world.oauth({ clientMetadataUrl: document.client_id }));
  equal(asked(world)?.get("client_id"), document.client_id);
  equal(asked(world)?.get("redirect_uri"), document.redirect_uris[0]);
});

verifies(["client-auth:dcr", "client-auth:dcr:grant-types-default"], eachEra, async (world) => {
  const store = memoryStore();
  await world.call(world.oauth({ store, clientName: "My program" }));
  const [request] = world.to("POST https://as.example/register");
  equal(request?.headers.get("content-type"), "application/json");
  const body = registered(world);
  deepEqual(body.grant_types, ["authorization_code", "refresh_token"]);
  deepEqual([body.redirect_uris, body.response_types, body.client_name], [[CALLBACK], ["code"], "My program"]);
  equal(asked(world)?.get("client_id"), "client-as.example");
  world.as.live.clear();
  await world.call(world.oauth({ store }));
  equal(world.count("POST https://as.example/register"), 1);
  await world.call(world.oauth({ registration: { grant_types: ["authorization_code"] } }));
  deepEqual(registered(world).grant_types, ["authorization_code"]);
  world.arrivals.length = 0;
  for (const grant of [clientCredentials(), identityAssertion(() => "jag")]) {
    await world.call(world.oauth({ grant }));
  }
  equal(world.count("POST https://as.example/register"), 0);
});

verifies(
  ["client-auth:dcr:app-type-present", "client-auth:dcr:app-type-heuristic", "client-auth:dcr:app-type-override"],
  eachEra,
  async (world) => {
    const authorize = () => undefined;
    for (const [redirectUrl, type] of [
      ["http://localhost:1/cb", "native"],
      ["http://127.0.0.1/cb", "native"],
      ["http://[::1]/cb", "native"],
      ["com.example.app:/cb", "native"],
      ["https://app.example/cb", "web"],
      ["https://localhost.example/cb", "web"],
    ] as const) {
      await rejects(world.call(world.oauth({ redirectUrl, authorize })), failsAt("redirected"));
      equal(registered(world).application_type, type, redirectUrl);
    }
    await rejects(
      world.call(world.oauth({ authorize, registration: { application_type: "web" } })),
      failsAt("redirected"),
    );
    equal(registered(world).application_type, "web");
    const mixed = { redirect_uris: [CALLBACK, "https://app.example/cb"] };
    await rejects(world.call(world.oauth({ authorize, registration: mixed })), failsAt("redirected"));
    deepEqual(registered(world).redirect_uris, mixed.redirect_uris);
    equal(registered(world).application_type, "native");
    await rejects(world.call(world.oauth({ authorize, registration: { redirect_uris: [] } })), {
      name: "AuthError",
      step: "configuration",
    });
    ok(["native", "web"].includes(registered(world).application_type));
  },
);

verifies(["client-auth:dcr:registration-error-surfaces", "client-auth:dcr:retry-adjusted"], eachEra, async (world) => {
  const store = memoryStore();
  world.routes.set("POST https://as.example/register", ({ body }) =>
    JSON.parse(body).application_type === "web"
      ? undefined
      : { status: 400, json: { error: "invalid_redirect_uri", error_description: "web only" } },
  );
  const failure = await world.call(world.oauth({ store })).catch((error: unknown) => error);
  ok(failure instanceof AuthError && failure.step === "registration");
  deepEqual([failure.status, failure.error, failure.description], [400, "invalid_redirect_uri", "web only"]);
  ok(failure.body?.includes("invalid_redirect_uri"));
  deepEqual(failure.submitted?.redirect_uris, [CALLBACK]);
  equal(world.count("POST https://as.example/register"), 1);
  equal(store.get("client https://as.example"), undefined);
  await world.call(world.oauth({ store, registration: { application_type: "web" } }));
  equal(world.count("POST https://as.example/token"), 1);
});

verifies(["client-auth:dcr:substituted-metadata", "client-auth:dcr:issuer-not-from-wire"], eachEra, async (world) => {
  const store = memoryStore();
  for (const more of [
    { application_type: "robot" },
    { client_secret: null, client_name: "" },
    { grant_types: ["password"], redirect_uris: null },
    { issuer: "https://evil.example" },
  ]) {
    world.routes.set("POST https://as.example/register", () => ({
      status: 200,
      json: { client_id: "given", ...more },
    }));
    await world.call(world.oauth({ store }));
    equal(asked(world)?.get("client_id"), "given");
    equal((store.get("client https://as.example") as { issuer: string }).issuer, "https://as.example");
    store.delete("client https://as.example");
    world.as.live.clear();
  }
  for (const json of [{}, { client_id: "" }, { client_id: 7 }, []]) {
    world.routes.set("POST https://as.example/register", () => ({ status: 201, json }));
    await rejects(world.call(world.oauth()), failsAt("registration"));
  }
});

verifies(
  "client-auth:token-endpoint-auth-method",
  "of a client that is given a secret, and not told how to use it",
  eachEra,
  async (world) => {
    for (const [listed, used] of [
      [["client_secret_post"], "post"],
      [["client_secret_post", "client_secret_basic"], "basic"],
      [undefined, "basic"],
    ] as const) {
      world.as.metadata = { ...world.as.metadata, token_endpoint_auth_methods_supported: listed };
      world.routes.set("POST https://as.example/register", () => ({
        status: 201,
        json: { client_id: "given", client_secret: "s" },
      }));
      await world.call(world.oauth({ registration: { token_endpoint_auth_method: "none" } }));
      equal(exchanged(world)?.headers.has("authorization"), used === "basic");
      equal(exchanged(world)?.form.has("client_secret"), used === "post");
    }
  },
);

verifies("client-auth:dcr:unusable-credentials", eachEra, async (world) => {
  const store = memoryStore();
  for (const more of [
    { token_endpoint_auth_method: "tls_client_auth" },
    { token_endpoint_auth_method: "private_key_jwt" },
    { token_endpoint_auth_method: "client_secret_post" },
  ]) {
    world.routes.set("POST https://as.example/register", () => ({
      status: 201,
      json: { client_id: "given", ...more },
    }));
    await rejects(world.call(world.oauth({ store })), failsAt("registration"));
  }
  equal(store.get("client https://as.example"), undefined);
  equal(world.count("GET https://as.example/authorize"), 0);
});

verifies("client-auth:dcr:no-endpoint", eachEra, async (world) => {
  world.as.metadata = { ...world.as.metadata, registration_endpoint: undefined };
  await rejects(world.call(world.oauth()), failsAt("registration"));
  deepEqual(
    world.to("POST ").map(({ url }) => url.href),
    [world.mcp],
  );
});

verifies("client-auth:dcr:expired-secret", eachEra, async (world) => {
  const store = memoryStore();
  const stored = { issuer: "https://as.example", clientId: "old", clientSecret: "s", method: "client_secret_post" };
  store.set("client https://as.example", { ...stored, secretExpiresAt: 0 });
  await world.call(world.oauth({ store }));
  equal(asked(world)?.get("client_id"), "old");
  world.as.live.clear();
  const now = Date.now();
  const secretExpiresAt = Math.ceil(now / 1000);
  store.set("client https://as.example", { ...stored, secretExpiresAt });
  await world.call(world.oauth({ store, now: () => secretExpiresAt * 1000 - 1 }));
  equal(asked(world)?.get("client_id"), "old");
  world.as.live.clear();
  await world.call(world.oauth({ store, now: () => secretExpiresAt * 1000 }));
  equal(asked(world)?.get("client_id"), "client-as.example");
});

verifies(
  [
    "client-auth:token-endpoint-auth-method",
    "client-auth:token-endpoint-auth-method:default",
    "client-auth:token-endpoint-auth-method:single",
  ],
  eachEra,
  async (world) => {
    const all = ["none", "client_secret_post", "client_secret_basic"];
    for (const [secret, listed, used] of [
      ["s", all, "basic"],
      ["s", ["client_secret_post", "none"], "post"],
      ["s", undefined, "basic"],
      [undefined, all, "none"],
      [undefined, undefined, "none"],
    ] as const) {
      world.as.metadata = { ...world.as.metadata, token_endpoint_auth_methods_supported: listed };
      await world.call(world.oauth({ client: { id: "known", ...(secret && { secret }) } }));
      const request = exchanged(world);
      equal(request?.headers.has("authorization"), used === "basic");
      equal(request?.form.has("client_secret"), used === "post");
      equal(request?.form.has("client_id"), used !== "basic");
    }
    const method = "client_secret_post";
    world.arrivals.length = 0;
    await rejects(world.call(world.oauth({ client: { id: "known", method } })), failsAt("configuration"));
    const unknown = { id: "known", secret: "s", method: "tls_client_auth" as never };
    await rejects(world.call(world.oauth({ client: unknown })), failsAt("configuration"));
    world.routes.set("POST https://as.example/register", () => ({
      status: 201,
      json: { client_id: "given", client_secret: "s", token_endpoint_auth_method: "tls_client_auth" },
    }));
    await rejects(world.call(world.oauth()), failsAt("registration", /tls_client_auth/));
    equal(world.count("POST https://as.example/token"), 0);
  },
);

verifies(
  ["client-auth:token-endpoint-auth-method", "client-auth:token-endpoint-auth-method:single"],
  "of a refresh and of a revocation too",
  eachEra,
  async (world) => {
    world.as.refreshes = true;
    for (const method of ["client_secret_basic", "client_secret_post", "none"] as const) {
      world.arrivals.length = 0;
      const auth = world.oauth({ client: { id: "known", method, ...(method !== "none" && { secret: "s" }) } });
      await world.call(auth);
      world.as.live.clear();
      await world.call(auth);
      await auth.logout(world.mcp);
      const sent = [...world.to("POST https://as.example/token"), ...world.to("POST https://as.example/revoke")];
      deepEqual(
        sent.map(({ form }) => form.get("grant_type")),
        ["authorization_code", "refresh_token", null],
      );
      for (const { headers, form } of sent) {
        equal(headers.has("authorization"), method === "client_secret_basic");
        equal(form.has("client_secret"), method === "client_secret_post");
        equal(form.has("client_id"), method !== "client_secret_basic");
      }
    }
  },
);
