import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { ClientDocumentOptions, IssuerLimits } from "bowline/auth/issuer";
import { guardedFetch } from "bowline/node";
import * as jose from "jose";
import { answerOf, CALLBACK, IssuerWorld, LOCAL_CALLBACK, read } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const ID = "https://tool.example/client.json";
const DOCUMENT = { client_id: ID, client_name: "Tool", redirect_uris: [CALLBACK] };

type Answer = () => Response | Promise<Response>;

/** An issuer in a web that has these documents alone; `asked` are the requests that went out. */
async function open(
  t: TestContext,
  answer: Answer,
  options: ClientDocumentOptions = {},
  limits: Partial<IssuerLimits> = {},
) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch = async (url: URL, init: RequestInit) => {
    asked.push({ url: url.href, init });
    return await answer();
  };
  const world = await IssuerWorld.open(t, {
    clientDocuments: { fetch, ...options },
    limits: { failedDocumentMs: 0, ...limits },
  });
  return { world, asked };
}

/** The user sees an error, and the browser stays. */
async function refused(world: IssuerWorld, fields: Record<string, string> = {}, why = ""): Promise<string> {
  const response = await world.browser().authorize({ client_id: ID, ...fields });
  equal(response.status, 400, why);
  equal(response.headers.get("location"), null, why);
  return await response.text();
}

proves(
  "hosting:auth:as:cimd:fetch",
  http,
  "a client whose id is an address is what the document there says",
  async (t) => {
    const document = { ...DOCUMENT, grant_types: ["authorization_code", "refresh_token"] };
    const fresh = () => Response.json(document, { headers: { "cache-control": "no-store" } });
    const { world, asked } = await open(t, fresh);
    const { status, json } = await world.redeem(await world.code({ client_id: ID }), { client_id: ID });
    equal(status, 200);
    ok(await world.admits(json.access_token));
    equal((await world.refresh(String(json.refresh_token), { client_id: ID })).status, 200);
    // At authorize, with the answer of the user, and for each of the two token requests.
    deepEqual(
      asked.map(({ url }) => url),
      [ID, ID, ID, ID],
    );
    for (const { init } of asked) {
      deepEqual(Object.fromEntries(new Headers(init.headers)), { accept: "application/json" });
      equal(init.credentials, "omit");
      equal(init.method, "GET");
    }
  },
);

proves("hosting:auth:as:metadata:cimd-flag", http, "the metadata says whether addresses are taken", async (t) => {
  const flag = async (world: IssuerWorld) =>
    (await read(await world.fetch("/.well-known/oauth-authorization-server"))).json
      .client_id_metadata_document_supported;
  const { world } = await open(t, () => Response.json(DOCUMENT));
  equal(await flag(world), true);
  ok(answerOf(await world.browser().approve({ client_id: ID })).has("code"));
  const off = await IssuerWorld.open(t, { clientDocuments: false });
  equal(await flag(off), undefined);
  await refused(off);
});

proves("hosting:auth:as:cimd:url-syntax", http, "an odd address is refused unseen", async (t) => {
  const { world, asked } = await open(t, () => Response.json(DOCUMENT));
  const odd = [
    "http://tool.example/client.json",
    "https://tool.example",
    "https://tool.example/",
    "https://tool.example/client.json#x",
    "https://tool.example/client.json#",
    "https://user@tool.example/client.json",
    "https://user:word@tool.example/client.json",
    "https://tool.example/a/../client.json",
    "https://tool.example/./client.json",
    "https://tool.example/a/%2e%2e/client.json",
    "https://tool.example/%2E/client.json",
    "https://tool.example/a\\..\\client.json",
    "https://tool.example:99999/client.json",
    "https:///client.json",
    "https:tool.example/client.json",
  ];
  for (const client_id of odd) await refused(world, { client_id }, client_id);
  deepEqual(asked, []);
});

proves("hosting:auth:as:cimd:client-id-match", http, "a document speaks for its own address alone", async (t) => {
  let client_id = "";
  const { world } = await open(t, () => Response.json({ ...DOCUMENT, client_id }));
  const others = [
    `${ID}/`,
    "https://tool.example:443/client.json",
    "https://TOOL.example/client.json",
    "https://evil.example/x",
    "",
  ];
  for (client_id of others) await refused(world, {}, client_id);
  client_id = ID;
  equal((await world.browser().authorize({ client_id: ID })).status, 200);
});

proves("hosting:auth:as:cimd:structure", http, "a document is whole, and holds nothing secret", async (t) => {
  let json: unknown;
  const { world } = await open(t, () => Response.json(json));
  const { d: _d, ...open_ } = { kty: "EC", crv: "P-256", x: "a", y: "b", d: "c" };
  const bad: unknown[] = [
    [],
    "text",
    null,
    { ...DOCUMENT, client_id: undefined },
    { ...DOCUMENT, client_name: undefined },
    { ...DOCUMENT, client_name: 5 },
    { ...DOCUMENT, redirect_uris: undefined },
    { ...DOCUMENT, redirect_uris: CALLBACK },
    { ...DOCUMENT, redirect_uris: [5] },
    { ...DOCUMENT, redirect_uris: [CALLBACK, "http://app.example/cb"] },
    { ...DOCUMENT, redirect_uris: [CALLBACK, "javascript:alert(1)"] },
    { ...DOCUMENT, token_endpoint_auth_method: "client_secret_basic" },
    { ...DOCUMENT, token_endpoint_auth_method: "client_secret_post" },
    { ...DOCUMENT, client_secret: "s" },
    { ...DOCUMENT, token_endpoint_auth_method: "private_key_jwt" },
    { ...DOCUMENT, token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ ...open_, d: "c" }] } },
    { ...DOCUMENT, jwks: { keys: [{ kty: "oct", k: "x" }] } },
  ];
  for (json of bad) match(await refused(world, {}, JSON.stringify(json)), /invalid_client/);
  equal((await world.token({ grant_type: "refresh_token", client_id: ID, refresh_token: "x" })).status, 401);
});

proves("hosting:auth:as:cimd:redirect-uri", http, "the browser goes where the document says", async (t) => {
  const { world } = await open(t, () => Response.json({ ...DOCUMENT, redirect_uris: [CALLBACK, LOCAL_CALLBACK] }));
  for (const redirect_uri of ["https://evil.example/cb", `${CALLBACK}/x`, "http://localhost:9/cb"]) {
    await refused(world, { redirect_uri }, redirect_uri);
  }
  const port = await world.browser().authorize({ client_id: ID, redirect_uri: "http://127.0.0.1:4711/cb" });
  equal(port.status, 200);
});

proves("hosting:auth:as:cimd:no-redirects", http, "a document is a 200 with JSON, there and then", async (t) => {
  const text = JSON.stringify(DOCUMENT);
  const type = { "content-type": "application/json" };
  let answer: Answer = () => new Response(null);
  const { world, asked } = await open(t, () => answer());
  const bad: Answer[] = [
    () => new Response(null, { status: 302, headers: { location: "https://tool.example/other.json" } }),
    () => new Response(text, { status: 201, headers: type }),
    () => new Response(text, { status: 404, headers: type }),
    () => new Response(text, { headers: { "content-type": "text/html" } }),
    () => new Response(text, { headers: { "content-type": "text/plain" } }),
    () => new Response("{", { headers: type }),
  ];
  for (answer of bad) await refused(world);
  equal(asked.length, bad.length);
  ok(asked.every(({ init }) => init.redirect === "manual"));
  answer = () => new Response(text, { headers: { "content-type": "application/json; charset=utf-8" } });
  equal((await world.browser().authorize({ client_id: ID })).status, 200);
});

proves("hosting:auth:as:cimd:limits", http, "a document is small and comes soon", async (t) => {
  let sent = 0;
  let stopped = false;
  const endless = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 1024;
          controller.enqueue(new Uint8Array(1024).fill(32));
        },
        cancel() {
          stopped = true;
        },
      }),
      { headers: { "content-type": "application/json" } },
    );
  const { world } = await open(t, endless);
  await refused(world);
  ok(sent <= 8 * 1024, `${sent}`);
  ok(stopped);
  const padded = JSON.stringify({
    ...DOCUMENT,
    client_name: "x".repeat(1_900),
    client_uri: `https://a.example/${"x".repeat(1_900)}`,
  });
  const type = { "content-type": "application/json" };
  const small = await open(t, () => new Response(padded, { headers: type }));
  equal((await small.world.browser().authorize({ client_id: ID })).status, 200);
  const tight = await open(t, () => new Response(padded, { headers: type }), {}, { maxDocumentBytes: 1_000 });
  await refused(tight.world);
  const stuck = new Response(new ReadableStream(), { headers: type });
  await refused((await open(t, () => stuck, {}, { documentMs: 20 })).world);
  await refused((await open(t, () => new Promise<Response>(() => {}), {}, { documentMs: 20 })).world);
  const unlimited = await open(t, () => Response.json(DOCUMENT), {}, { documentMs: Number.POSITIVE_INFINITY });
  equal((await unlimited.world.browser().authorize({ client_id: ID })).status, 200);
});

proves("hosting:auth:as:cimd:ssrf", http, "addresses inside are not asked, whatever name they go by", async (t) => {
  const resolve = async (host: string) =>
    host === "inside.example" ? ["93.184.216.34", "169.254.169.254"] : ["93.184.216.34"];
  const { world, asked } = await open(t, () => Response.json(DOCUMENT), { resolve });
  const inside = [
    "https://localhost/x",
    "https://127.0.0.1/x",
    "https://10.0.0.1/x",
    "https://192.168.1.1/x",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/x",
    "https://[fd00::1]/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://0x7f.1/x",
    "https://2130706433/x",
    "https://metadata.internal/x",
    "https://inside.example/x",
  ];
  for (const client_id of inside) await refused(world, { client_id }, client_id);
  deepEqual(asked, []);
  const local = await open(t, () => Response.json({ ...DOCUMENT, client_id: "https://localhost/x" }), {
    allowLoopback: true,
  });
  equal((await local.world.browser().authorize({ client_id: "https://localhost/x" })).status, 200);
  await refused(local.world, { client_id: "https://10.0.0.1/x" });
});

proves(
  "hosting:auth:as:cimd:ssrf",
  http,
  "the address that was looked at is the one that is connected to",
  async (t) => {
    let connections = 0;
    const target = createServer((_request, response) => response.end("{}")).on("connection", () => connections++);
    target.listen(0, "127.0.0.1");
    await once(target, "listening");
    t.after(() => target.close());
    const { port } = target.address() as AddressInfo;
    // A name that is public for whoever asks first, and inside for whoever connects.
    const answers: LookupAddress[][] = [[{ address: "127.0.0.1", family: 4 }]];
    const asked: string[] = [];
    const fetch = guardedFetch({
      lookup: (hostname, _options, done) => {
        asked.push(hostname);
        done(null, answers[0] ?? []);
      },
    });
    const resolve = async () => ["93.184.216.34"];
    const world = await IssuerWorld.open(t, { clientDocuments: { fetch, resolve } });
    await refused(world, { client_id: `https://rebinding.example:${port}/client.json` });
    deepEqual(asked, ["rebinding.example"]);
    equal(connections, 0);
  },
);

proves("hosting:auth:as:cimd:cache", http, "a good document is reused as long as it allows", async (t) => {
  let headers: Record<string, string> = { "cache-control": "max-age=60" };
  let status = 200;
  let client_name: unknown = "Tool";
  const { world, asked } = await open(
    t,
    () => Response.json({ ...DOCUMENT, client_name }, { status, headers }),
    {},
    { documentAgeMs: 100_000, failedDocumentMs: 30_000 },
  );
  const ask = async () => (await world.browser().authorize({ client_id: ID })).status;
  for (const expected of [200, 200, 200]) equal(await ask(), expected);
  equal(asked.length, 1);
  world.skippedMs += 61_000;
  headers = { "cache-control": "no-store" };
  for (const expected of [200, 200]) equal(await ask(), expected);
  equal(asked.length, 3);
  status = 500;
  headers = { "cache-control": "max-age=600" };
  equal(await ask(), 400);
  status = 200;
  headers = { "cache-control": "no-store" };
  equal(await ask(), 200, "a failure is not cached");
  equal(asked.length, 5);
  client_name = 5;
  headers = { "cache-control": "max-age=600" };
  world.skippedMs += 30_000;
  for (const expected of [400, 400, 400, 400]) equal(await ask(), expected);
  equal(asked.length, 7, "a document that fails twice is left alone for a while");
  client_name = "Tool";
  world.skippedMs += 30_000;
  equal(await ask(), 200);
  equal(asked.length, 8);
  // No longer than the operator wants, whatever the document says.
  world.skippedMs += 101_000;
  equal(await ask(), 200);
  equal(asked.length, 9);
});

proves("hosting:auth:as:cimd:cache", http, "a failure need not hold at all", async (t) => {
  let status = 500;
  const fails = () => Response.json(DOCUMENT, { status, headers: { "cache-control": "max-age=600" } });
  const { world, asked } = await open(t, fails, {}, { failedDocumentMs: 0 });
  const ask = async () => (await world.browser().authorize({ client_id: ID })).status;
  equal(await ask(), 400);
  status = 200;
  equal(await ask(), 200);
  equal(asked.length, 2);
});

proves(
  "hosting:auth:as:cimd:fetch-failure",
  http,
  "what cannot be had is an error, and tells nothing more",
  async (t) => {
    const { world } = await open(t, () => {
      throw new Error("connect ECONNREFUSED 10.1.2.3:443 secret");
    });
    doesNotMatch(await refused(world), /10\.1\.2\.3|ECONN|secret/);
    const html = await open(t, () => new Response("internal dashboard", { status: 403 }));
    doesNotMatch(await refused(html.world), /dashboard|403/);
    const { status, json } = await html.world.token({ grant_type: "refresh_token", client_id: ID, refresh_token: "x" });
    equal(status, 401);
    doesNotMatch(JSON.stringify(json), /dashboard|403/);
  },
);

proves(
  "hosting:auth:as:cimd:trust-policy",
  http,
  "the operator says which addresses and documents are welcome",
  async (t) => {
    const { world, asked } = await open(t, () => Response.json(DOCUMENT), {
      allow: ({ host }) => host === "tool.example",
      accept: ({ redirectUris }) => redirectUris.every((uri) => uri === CALLBACK),
    });
    await refused(world, { client_id: "https://other.example/client.json" });
    deepEqual(asked, []);
    equal((await world.browser().authorize({ client_id: ID })).status, 200);
    const picky = await open(t, () => Response.json(DOCUMENT), { accept: ({ name }) => name !== "Tool" });
    await refused(picky.world);
  },
);

proves("hosting:auth:as:cimd:private-key-jwt", http, "a client with a key has to show it", async (t) => {
  const { privateKey, publicKey } = await jose.generateKeyPair("ES256");
  const other = await jose.generateKeyPair("ES256");
  const jwks = { keys: [{ ...(await jose.exportJWK(publicKey)), alg: "ES256" }] };
  let keys: object = { jwks };
  const fetch = async (url: URL) =>
    url.pathname === "/keys"
      ? Response.json(jwks)
      : Response.json({ ...DOCUMENT, token_endpoint_auth_method: "private_key_jwt", ...keys });
  const world = await IssuerWorld.open(t, {
    clientDocuments: { fetch },
    limits: { documentAgeMs: 0, failedDocumentMs: 0 },
  });
  const sign = (key: jose.CryptoKey, claims: Record<string, unknown> = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const base = { iss: ID, sub: ID, aud: "https://as.example", iat: now, exp: now + 60, jti: crypto.randomUUID() };
    return new jose.SignJWT({ ...base, ...claims }).setProtectedHeader({ alg: "ES256" }).sign(key);
  };
  const redeem = async (client_assertion: string | undefined) =>
    await world.redeem(await world.code({ client_id: ID }), {
      client_id: ID,
      client_assertion,
      client_assertion_type: client_assertion && "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    });
  const good = await sign(privateKey);
  equal((await redeem(good)).status, 200);
  const soon = Math.floor(Date.now() / 1000);
  const bad = {
    none: undefined,
    replayed: good,
    "another key": await sign(other.privateKey),
    "another audience": await sign(privateKey, { aud: "https://evil.example" }),
    "for another server too": await sign(privateKey, { aud: ["https://as.example", "https://evil.example"] }),
    "another client": await sign(privateKey, { sub: "https://evil.example/x" }),
    expired: await sign(privateKey, { exp: soon - 60 }),
    "good for years": await sign(privateKey, { exp: soon + 86_400 }),
    "made in the future": await sign(privateKey, { iat: soon + 60 }),
    "no jti": await sign(privateKey, { jti: undefined }),
    garbage: "a.b.c",
  };
  for (const [name, assertion] of Object.entries(bad)) {
    const { status, json } = await redeem(assertion);
    equal(status, 401, name);
    equal(json.error, "invalid_client", name);
  }
  keys = { jwks_uri: "https://tool.example/keys" };
  equal((await redeem(await sign(privateKey, { aud: "https://as.example/token" }))).status, 200);
});
