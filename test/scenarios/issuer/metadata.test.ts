import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { createIssuer, type IssuerOptions } from "bowline/auth/issuer";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { answerOf, CALLBACK, CLIENT, IssuerWorld, RESOURCE, read } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const PLACE = "/.well-known/oauth-authorization-server";
const MINIMUM = { registration: false, revocation: false, clientDocuments: false } as const;

async function metadataOf(world: IssuerWorld, place = PLACE): Promise<Record<string, unknown>> {
  const { status, json } = await read(await world.fetch(place));
  equal(status, 200);
  return json;
}

proves(
  "hosting:auth:as-router",
  http,
  "what is on has a route and is in the metadata; what is off has neither",
  async (t) => {
    const all = await IssuerWorld.open(t);
    const metadata = await metadataOf(all);
    for (const name of ["authorize", "consent", "token", "register", "revoke", "jwks"]) {
      const { status } = await all.fetch(name, { method: "DELETE" });
      equal(status, 405, name);
      ok(all.issuer.owns(`/${name}`));
    }
    equal(metadata.registration_endpoint, "https://as.example/register");
    equal(metadata.revocation_endpoint, "https://as.example/revoke");

    const least = await IssuerWorld.open(t, MINIMUM);
    const little = await metadataOf(least);
    for (const name of ["register", "revoke", "callback", "anything"]) {
      equal((await least.fetch(name, { method: "POST", body: "{}" })).status, 404, name);
      equal(least.issuer.owns(`/${name}`), false);
    }
    for (const name of ["authorize", "token"]) equal((await least.fetch(name, { method: "DELETE" })).status, 405, name);
    equal("registration_endpoint" in little, false);
    equal("revocation_endpoint" in little, false);
  },
);

proves(
  ["hosting:auth:as:metadata", "hosting:auth:as:metadata:issuer-verbatim", "hosting:auth:as:metadata:pkce"],
  http,
  "the document is where RFC 8414 wants it, with the issuer as it is written",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const response = await world.fetch(PLACE);
    equal(response.status, 200);
    equal(response.headers.get("content-type"), "application/json");
    const { json } = await read(response);
    equal(json.issuer, "https://as.example");
    equal(json.authorization_endpoint, "https://as.example/authorize");
    equal(json.token_endpoint, "https://as.example/token");
    equal(json.jwks_uri, "https://as.example/jwks");
    deepEqual(json.response_types_supported, ["code"]);
    deepEqual(json.grant_types_supported, ["authorization_code", "refresh_token"]);
    deepEqual(json.code_challenge_methods_supported, ["S256"]);
    ok((json.token_endpoint_auth_methods_supported as string[]).includes("none"));
    for (const place of ["/.well-known/openid-configuration", `${PLACE}/`])
      equal((await world.fetch(place)).status, 404);
    const slash = await IssuerWorld.open(t, { issuer: "https://as.example/" });
    equal((await metadataOf(slash)).issuer, "https://as.example/");
    equal((await metadataOf(slash)).token_endpoint, "https://as.example/token");
  },
);

proves(
  "hosting:auth:as:metadata:path-issuer",
  http,
  "an issuer with a path has its metadata and endpoints under it, and another beside it has its own",
  async (t) => {
    const one = await IssuerWorld.open(t, { issuer: "https://h.example/tenant1" });
    const two = await IssuerWorld.open(t, { issuer: "https://h.example/tenant2" });
    const metadata = await metadataOf(one, `${PLACE}/tenant1`);
    equal(metadata.issuer, "https://h.example/tenant1");
    equal(metadata.authorization_endpoint, "https://h.example/tenant1/authorize");
    equal(metadata.token_endpoint, "https://h.example/tenant1/token");
    const addresses = Object.entries(metadata).filter(([name]) => /_endpoint$|_uri$/.test(name));
    ok(addresses.length >= 5, "authorize, token, keys, register, revoke");
    for (const [name, address] of addresses) match(String(address), /^https:\/\/h\.example\/tenant1\/\w+$/, name);
    equal((await one.fetch(PLACE)).status, 404);
    equal((await one.fetch(`${PLACE}/tenant2`)).status, 404);
    equal((await two.fetch("/tenant1/authorize")).status, 404);
    const { json } = await one.redeem(await one.code());
    ok(await one.admits(json.access_token));
    equal(await two.issuer.verify(String(json.access_token)), undefined);
  },
);

proves(
  "hosting:auth:as:metadata:truthful",
  http,
  "each listed method gets a token, and what is not listed does not exist",
  async (t) => {
    const keys = await generateKeyPair("ES256");
    const world = await IssuerWorld.open(t, {
      clients: [
        { clientId: "open", redirectUris: [CALLBACK] },
        { clientId: "basic", clientSecret: "s1", redirectUris: [CALLBACK] },
        { clientId: "post", clientSecret: "s2", method: "client_secret_post", redirectUris: [CALLBACK] },
        {
          clientId: "signing",
          method: "private_key_jwt",
          jwks: { keys: [await exportJWK(keys.publicKey)] },
          redirectUris: [CALLBACK],
        },
      ],
    });
    const metadata = await metadataOf(world);
    deepEqual(metadata.token_endpoint_auth_methods_supported, [
      "none",
      "client_secret_basic",
      "client_secret_post",
      "private_key_jwt",
    ]);
    deepEqual(metadata.scopes_supported, ["notes:read", "notes:write"]);
    const codeFor = (client_id: string) => world.code({ client_id });
    equal((await world.redeem(await codeFor("open"), { client_id: "open" })).status, 200);
    const basic = { authorization: `Basic ${btoa("basic:s1")}` };
    const code = await codeFor("basic");
    const fields = { grant_type: "authorization_code", redirect_uri: CALLBACK };
    equal((await world.token({ ...fields, code: code.code, code_verifier: code.verifier }, basic)).status, 200);
    equal((await world.redeem(await codeFor("post"), { client_id: "post", client_secret: "s2" })).status, 200);
    const signed = async (alg: string, key: CryptoKey | Uint8Array, client: string) => ({
      client_id: client,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: await new SignJWT({ jti: crypto.randomUUID() })
        .setProtectedHeader({ alg })
        .setIssuer(client)
        .setSubject(client)
        .setAudience("https://as.example")
        .setIssuedAt()
        .setExpirationTime("1m")
        .sign(key),
    });
    const byKey = await signed("ES256", keys.privateKey, "signing");
    equal((await world.redeem(await codeFor("signing"), byKey)).status, 200);
    const bySecret = await signed("HS256", new TextEncoder().encode("s1"), "basic");
    equal((await world.redeem(await codeFor("basic"), bySecret)).status, 401);
    equal((await world.register({ token_endpoint_auth_method: "client_secret_jwt" })).status, 400);
    const bare = await IssuerWorld.open(t, { scopes: [] });
    equal("scopes_supported" in (await metadataOf(bare)), false);
    equal((await world.fetch("jwks")).status, 200);
  },
);

const GOOD = ["https://as.example", "http://localhost:3000", "http://127.0.0.1", "http://[::1]:8/path"];
const BAD = [
  "http://as.example",
  "http://127.0.0.1.evil.example",
  "http://localhost.evil.example",
  "https://as.example/?x",
  "https://as.example/#x",
  "https://as.example?",
  "https://user@as.example",
  "ftp://localhost",
  "as.example",
];

proves(
  "hosting:auth:as:issuer-config",
  http,
  "an issuer is https, or http on this machine, and nothing more",
  async (t) => {
    const make = (issuer: string) => createIssuer({ issuer, resources: [RESOURCE], user: () => ({ id: "ada" }) });
    for (const issuer of BAD) throws(() => make(issuer), /must be a normalized URL, https or/, issuer);
    for (const issuer of GOOD) {
      const place = `${PLACE}${new URL(issuer).pathname.replace(/\/$/, "")}`;
      equal((await metadataOf(await IssuerWorld.open(t, { issuer }), place)).issuer, issuer);
    }
  },
);

proves(
  ["hosting:auth:as-iss-emission", "hosting:auth:as-iss-emission:advertised"],
  http,
  "each redirect back to a client names the issuer, and the metadata says so",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const { issuer, authorization_response_iss_parameter_supported: flag } = await metadataOf(world);
    equal(flag, true);
    const browser = world.browser();
    const denied = await browser.press(await browser.authorize(), "deny");
    const answers = [denied, await browser.approve(), await browser.authorize({ scope: "nonsense" })].map(answerOf);
    deepEqual(
      answers.map((answer) => answer.getAll("iss")),
      [[issuer], [issuer], [issuer]],
    );
    deepEqual(
      answers.map((answer) => answer.get("error")),
      ["access_denied", null, "invalid_scope"],
    );

    const silent = await IssuerWorld.open(t, { issParameter: false });
    equal("authorization_response_iss_parameter_supported" in (await metadataOf(silent)), false);
    equal(answerOf(await silent.browser().approve()).has("iss"), false);
  },
);

proves("hosting:auth:as:methods", http, "programs post, and read documents", async (t) => {
  const world = await IssuerWorld.open(t);
  for (const name of ["token", "register", "revoke"]) {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
      const response = await world.fetch(name, { method });
      equal(response.status, 405, `${method} ${name}`);
      equal(response.headers.get("allow"), "POST");
    }
  }
  for (const place of [PLACE, "jwks"]) {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await world.fetch(place, { method });
      equal(response.status, 405, `${method} ${place}`);
      equal(response.headers.get("allow"), "GET, HEAD");
    }
    equal((await world.fetch(place)).status, 200);
    const head = await world.fetch(place, { method: "HEAD" });
    equal(head.status, 200);
    equal(await head.text(), "");
  }
  for (const [name, allowed] of [
    ["authorize", "GET, POST"],
    ["consent", "POST"],
  ] as const) {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      if (allowed.includes(method)) continue;
      const response = await world.fetch(name, { method });
      equal(response.status, 405, `${method} ${name}`);
      equal(response.headers.get("allow"), allowed);
    }
  }
});

proves(
  "hosting:auth:as:cors",
  http,
  "web pages may ask what programs ask, and nothing that users are asked",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const origin = { origin: "https://page.example" };
    const allowed = (response: Response) => response.headers.get("access-control-allow-origin");
    const answers = {
      200: await world.fetch(PLACE, { headers: origin }),
      400: await world.post("token", {}, origin),
      401: await world.post("token", { grant_type: "refresh_token", client_id: "nobody", refresh_token: "x" }, origin),
      413: await world.post("token", { grant_type: "x".repeat(70_000) }, origin),
    };
    for (const [status, response] of Object.entries(answers)) {
      equal(response.status, Number(status));
      equal(allowed(response), "*", status);
    }
    for (const name of ["token", "register", "revoke", PLACE, "jwks"]) {
      const headers = { ...origin, "access-control-request-method": "POST" };
      const preflight = await world.fetch(name, { method: "OPTIONS", headers });
      equal(preflight.status, 204, name);
      equal(allowed(preflight), "*");
      match(preflight.headers.get("access-control-allow-headers") ?? "", /content-type/);
    }
    equal(allowed(await world.browser().fetch("authorize", { headers: origin })), null);
    for (const name of ["authorize", "consent"]) {
      const preflight = await world.fetch(name, { method: "OPTIONS", headers: origin });
      equal(preflight.status, 405);
      equal(allowed(preflight), null);
    }
  },
);

proves(
  "hosting:auth:as:rate-limit",
  http,
  "what is limited is answered before credentials are looked at",
  async (t) => {
    const asked: string[] = [];
    const world = await IssuerWorld.open(t, {
      rateLimit: (endpoint) => {
        asked.push(endpoint);
        return 7;
      },
      user: () => {
        throw new Error("asked who it is");
      },
    } satisfies Partial<IssuerOptions>);
    for (const name of ["token", "register", "revoke"]) {
      const { status, headers, json } = await read(await world.post(name, { client_id: CLIENT }));
      equal(status, 429);
      equal(headers.get("retry-after"), "7");
      equal(json.error, "temporarily_unavailable");
    }
    const page = await world.browser().authorize();
    equal(page.status, 429);
    equal(page.headers.get("retry-after"), "7");
    deepEqual(asked, ["token", "register", "revoke", "authorize"]);
    deepEqual(world.errors, []);
  },
);
