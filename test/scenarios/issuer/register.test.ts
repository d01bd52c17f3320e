import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { createIssuer, memoryIssuerStore, OAuthProblem } from "bowline/auth/issuer";
import { DefinitionError } from "bowline/server";
import { CALLBACK, IssuerWorld, RESOURCE, read } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };

/** A store that tells what was put into it. */
function watched() {
  const keys: string[] = [];
  const store = memoryIssuerStore();
  const put: typeof store.put = async (key, value, expiresAt) => {
    keys.push(key);
    await store.put(key, value, expiresAt);
  };
  return { keys, store: { ...store, put } };
}

proves("hosting:auth:as:redirect-uri-scheme", http, "an address is https, or http on this machine", async (t) => {
  const { keys, store } = watched();
  const world = await IssuerWorld.open(t, { store });
  const bad = [
    "http://app.example/cb",
    "javascript:alert(1)",
    "data:text/html,x",
    "com.example.app:/cb",
    "ftp://localhost/cb",
    "ws://127.0.0.1/cb",
    "javascript://localhost/%0aalert(1)",
    "file:///etc/passwd",
    "https:app.example/cb",
    "https:\\\\app.example\\cb",
    " https://app.example/cb",
    "/cb",
    "",
  ];
  for (const uri of bad) {
    for (const redirect_uris of [[uri], [CALLBACK, uri]]) {
      const { status, json } = await world.register({ redirect_uris });
      equal(status, 400, uri);
      equal(json.error, "invalid_redirect_uri", uri);
    }
  }
  for (const uri of [7, null, {}, { toString: 1 }, [CALLBACK]]) {
    const { status, json } = await world.register({ redirect_uris: [uri] });
    deepEqual([status, json.error], [400, "invalid_redirect_uri"], JSON.stringify(uri));
  }
  deepEqual(keys, []);
  equal((await world.register({ redirect_uris: [CALLBACK, "http://localhost:3000/cb"] })).status, 201);
});

proves(
  "hosting:auth:as:redirect-uri-scheme:loopback-forms",
  http,
  "three names are this machine, and no look-alike",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const good = [
      "http://localhost/cb",
      "http://LOCALHOST:3000/cb",
      "http://127.0.0.1:1/cb",
      "http://[::1]:65535/cb",
      "http://localhost",
    ];
    for (const uri of good) equal((await world.register({ redirect_uris: [uri] })).status, 201, uri);
    const bad = [
      "http://localhost.evil.example/cb",
      "http://127.0.0.1.evil.example/cb",
      "http://0.0.0.0/cb",
      "http://[::ffff:127.0.0.1]/cb",
      "http://127.1/cb",
      "http://2130706433/cb",
      "http://localhost@evil.example/cb",
      "http://localhost./cb",
      "http://app.localhost/cb",
      "http://localhost:99999/cb",
      "http://192.168.0.1/cb",
    ];
    for (const uri of bad) equal((await world.register({ redirect_uris: [uri] })).status, 400, uri);
  },
);

proves("hosting:auth:as:redirect-uri-fragment", http, "an address has no fragment and no user", async (t) => {
  const world = await IssuerWorld.open(t);
  for (const uri of [
    "https://a.example/cb#x",
    "https://a.example/cb#",
    "https://u@a.example/cb",
    "https://u:p@a.example/",
    "https://@a.example/",
  ]) {
    const { status, json } = await world.register({ redirect_uris: [uri] });
    equal(status, 400, uri);
    equal(json.error, "invalid_redirect_uri", uri);
  }
  equal((await world.register({ redirect_uris: ["https://a.example/cb?x=1"] })).status, 201);
});

proves("hosting:auth:as:register-echo", http, "the answer says all that was registered", async (t) => {
  const world = await IssuerWorld.open(t);
  const metadata = {
    redirect_uris: [CALLBACK, "http://127.0.0.1/cb"],
    client_name: "App",
    client_uri: "https://app.example",
    logo_uri: "https://app.example/logo.png",
    policy_uri: "https://app.example/policy",
    tos_uri: "https://app.example/tos",
    contacts: ["a@app.example"],
    software_id: "4711",
    software_version: "1.2",
    application_type: "native",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "client_secret_post",
    scope: "notes:read",
  };
  const { status, headers, json } = await world.register(metadata);
  equal(status, 201);
  equal(headers.get("cache-control"), "no-store");
  const { client_id, client_secret, client_id_issued_at, client_secret_expires_at, ...echoed } = json;
  deepEqual(echoed, metadata);
  const jwks = { keys: [{ kty: "EC", crv: "P-256", x: "a", y: "b" }] };
  for (const keys of [{ jwks }, { jwks_uri: "https://app.example/keys" }]) {
    const sent = {
      ...metadata,
      token_endpoint_auth_method: "private_key_jwt",
      dpop_bound_access_tokens: true,
      ...keys,
    };
    const { client_id: _id, client_id_issued_at: _at, ...signed } = (await world.register(sent)).json;
    deepEqual(signed, sent);
  }
  equal(typeof client_id, "string");
  equal(typeof client_secret, "string");
  ok(Math.abs(Number(client_id_issued_at) - Date.now() / 1000) < 60);
  equal(client_secret_expires_at, 0);
  const { kty, crv, x, y } = await crypto.subtle.exportKey(
    "jwk",
    (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"])).publicKey,
  );
  for (const keys of [{ jwks: { keys: [{ kty, crv, x, y, kid: "1" }] } }, { jwks_uri: "https://app.example/keys" }]) {
    const keyed = {
      ...metadata,
      token_endpoint_auth_method: "private_key_jwt",
      dpop_bound_access_tokens: true,
      ...keys,
    };
    const { status, json } = await world.register(keyed);
    equal(status, 201);
    const { client_id: _, client_id_issued_at: __, ...members } = json;
    deepEqual(members, keyed);
  }
});

proves("hosting:auth:as:register-error-response", http, "each fault is named as RFC 7591 names it", async (t) => {
  const world = await IssuerWorld.open(t, {
    registration: {
      accept: ({ software_statement }) => {
        if (software_statement === undefined) return undefined;
        throw new OAuthProblem("unapproved_software_statement", "nobody knows who signed it");
      },
    },
  });
  const post = async (body: string) => await read(await world.fetch("register", { method: "POST", body }));
  const rows: [answer: Promise<{ status: number; json: Record<string, unknown> }>, error: string][] = [
    [post("not json"), "invalid_client_metadata"],
    [post("[]"), "invalid_client_metadata"],
    [post("null"), "invalid_client_metadata"],
    [post('"text"'), "invalid_client_metadata"],
    [post("{}"), "invalid_redirect_uri"],
    [world.register({ redirect_uris: [] }), "invalid_redirect_uri"],
    [world.register({ redirect_uris: "https://a.example" }), "invalid_redirect_uri"],
    [world.register({ redirect_uris: [4] }), "invalid_redirect_uri"],
    [world.register({ client_name: 4 }), "invalid_client_metadata"],
    [world.register({ grant_types: "authorization_code" }), "invalid_client_metadata"],
    [world.register({ contacts: [1] }), "invalid_client_metadata"],
    [world.register({ scope: ["a"] }), "invalid_client_metadata"],
    [world.register({ software_statement: "abc" }), "unapproved_software_statement"],
  ];
  for (const [answer, error] of rows) {
    const { status, json } = await answer;
    equal(status, 400);
    equal(json.error, error);
    equal(typeof json.error_description, "string");
  }
  equal((await world.register()).status, 201);
});

proves("hosting:auth:as:register:defaults", http, "what is left out is as the RFC has it", async (t) => {
  const world = await IssuerWorld.open(t);
  const body = {
    redirect_uris: [CALLBACK],
    client_name: null,
    policy_uri: "",
    token_endpoint_auth_method: null,
    grant_types: "",
    scope: "",
    vendor_member: { a: 1 },
  };
  for (const sent of [{ redirect_uris: [CALLBACK] }, body]) {
    const { status, json } = await read(await world.fetch("register", { method: "POST", body: JSON.stringify(sent) }));
    equal(status, 201);
    deepEqual(json.grant_types, ["authorization_code"]);
    deepEqual(json.response_types, ["code"]);
    equal(json.token_endpoint_auth_method, "client_secret_basic");
    for (const name of ["client_name", "policy_uri", "scope", "vendor_member"]) equal(name in json, false, name);
  }
});

proves("hosting:auth:as:register:public-client", http, "a client without a secret has none", async (t) => {
  const world = await IssuerWorld.open(t);
  const { json, id } = await world.register({ token_endpoint_auth_method: "none" });
  equal("client_secret" in json, false);
  equal("client_secret_expires_at" in json, false);
  equal((await world.redeem(await world.code({ client_id: id }), { client_id: id })).status, 200);
});

proves(
  ["hosting:auth:as:register:unsupported", "hosting:auth:as:identity-assertion:dcr-refused"],
  http,
  "what cannot be is refused before anything is made",
  async (t) => {
    const { keys, store } = watched();
    const world = await IssuerWorld.open(t, { store, registration: { defaultScopes: ["notes:read"] } });
    const bad = [
      { token_endpoint_auth_method: "private_key_jwt" },
      { token_endpoint_auth_method: "client_secret_jwt" },
      { token_endpoint_auth_method: "tls_client_auth" },
      { response_types: ["token"] },
      { response_types: ["code", "token"] },
      { response_types: [] },
      { grant_types: ["implicit"] },
      { grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"] },
      { scope: "notes:read admin" },
    ];
    for (const metadata of bad) {
      const { status, json } = await world.register(metadata);
      equal(status, 400, JSON.stringify(metadata));
      equal(json.error, "invalid_client_metadata", JSON.stringify(metadata));
    }
    deepEqual(keys, []);
    equal((await world.register()).json.scope, "notes:read");
    const device = "urn:ietf:params:oauth:grant-type:device_code";
    deepEqual((await world.register({ grant_types: ["authorization_code", device] })).json.grant_types, [
      "authorization_code",
    ]);
  },
);

proves("hosting:auth:as:register:no-url-ids", http, "no id is an address", async (t) => {
  const world = await IssuerWorld.open(t);
  for (let count = 0; count < 20; count++) match((await world.register()).id, /^client-[\w-]{43}$/);
  const willing = await IssuerWorld.open(t, {
    registration: { accept: () => ({ clientId: "https://app.example/id" }) },
  });
  equal((await willing.register()).status, 500);
  const [problem] = willing.errors;
  ok(problem instanceof DefinitionError);
  equal(problem.message, 'createIssuer: registration.accept: clientId must not be a URL, got "https://app.example/id"');
  const chosen = await IssuerWorld.open(t, { registration: { accept: () => ({ clientId: "chosen" }) } });
  equal((await chosen.register()).id, "chosen");
  const clients = [{ clientId: "https://app.example/id" }];
  const options = { issuer: "https://as.example", resources: [RESOURCE], user: () => ({ id: "ada" }), clients };
  throws(() => createIssuer(options), /is a URL/);
  createIssuer({ ...options, clientDocuments: false });
});
