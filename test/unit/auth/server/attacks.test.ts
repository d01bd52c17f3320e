import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import {
  InvalidTokenError,
  introspectionVerifier,
  jwtVerifier,
  type ProtectOptions,
  protect,
} from "bowline/auth/server";
import { toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { exportSPKI, importJWK } from "jose";
import { DpopClient } from "../../../support/dpop-client.js";
import { ISSUER, type Knock, RESOURCE, toKnock } from "../../../support/guarded.js";
import { modernRequest } from "../../../support/modern-request.js";
import { askPort, listenOn } from "../../../support/plain-http.js";
import { TokenIssuer } from "../../../support/token-issuer.js";

async function setUp(t: TestContext, options: Partial<ProtectOptions> = {}, alg = "ES256") {
  const issuer = await TokenIssuer.create(alg);
  const reached: unknown[] = [];
  const server = new McpServer(
    { name: "target", version: "1" },
    {
      http: {
        allowedHosts: ["mcp.example", "localhost"],
        gate: protect({
          resource: RESOURCE,
          authorizationServers: [ISSUER],
          verify: jwtVerifier(issuer.settings),
          now: () => issuer.now,
          ...options,
        }),
      },
    },
  ).tool("who", {}, (_, ctx) => {
    reached.push(ctx.auth);
    return "reached";
  });
  t.after(() => server.close());
  const attack = async (headers: Record<string, string>): Promise<Knock> => {
    const { headers: usual, body } = modernRequest("tools/call", { params: { name: "who", arguments: {} } });
    const all = { ...(usual as Record<string, string>), ...headers };
    return toKnock(
      await server.fetch(new Request(RESOURCE, { method: "POST", headers: all, body: JSON.stringify(body) })),
    );
  };
  const bearer = (token: string) => attack({ authorization: `Bearer ${token}` });
  return { issuer, server, reached, attack, bearer };
}

const encode = (value: object | string) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

test("tokens for others, and tokens that are no access tokens, open nothing", async (t) => {
  const { issuer, bearer, reached } = await setUp(t);
  equal((await bearer(await issuer.sign())).status, 200);
  reached.splice(0);
  for (const claims of [
    { aud: "https://other.example/mcp" },
    { aud: ["https://other.example/mcp", "client-1"] },
    { aud: "client-1", nonce: "an ID token" },
    { aud: undefined },
    { aud: `${RESOURCE}/../admin` },
    { aud: "https://mcp.example.evil.example/mcp" },
    { aud: { toString: RESOURCE } },
    { aud: [[RESOURCE]] },
    { aud: "*" },
    { iss: "https://evil.example" },
    { exp: 1 },
    { exp: "9999999999" },
    { exp: null },
  ]) {
    const { status, params } = await bearer(await issuer.sign(claims));
    deepEqual([status, params.error], [401, "invalid_token"], JSON.stringify(claims));
  }
  const stranger = await TokenIssuer.create();
  equal((await bearer(await stranger.sign())).status, 401);
  deepEqual(reached, []);
});

test("a signature that the attacker can make is none", async (t) => {
  const { issuer, bearer, reached } = await setUp(t, {}, "RS256");
  const [pair] = issuer.pairs;
  ok(pair !== undefined);
  const claims = { iss: ISSUER, aud: RESOURCE, sub: "eve", exp: issuer.now / 1000 + 60 };
  const spki = await exportSPKI((await importJWK(pair.jwk, "RS256", { extractable: true })) as CryptoKey);
  const forge = (header: object, key: string) => {
    const input = `${encode(header)}.${encode(claims)}`;
    return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
  };
  const stranger = await TokenIssuer.create("RS256");
  const [own] = stranger.pairs;
  ok(own !== undefined);
  const [head, body, signature] = (await issuer.sign()).split(".");
  const forged = [
    `${encode({ alg: "none" })}.${encode(claims)}.`,
    `${encode({ alg: "None", kid: pair.kid })}.${encode(claims)}.`,
    forge({ alg: "HS256", kid: pair.kid }, spki),
    forge({ alg: "HS256", kid: pair.kid }, JSON.stringify(pair.jwk)),
    forge({ alg: "HS256", kid: pair.kid }, pair.jwk.n ?? ""),
    // Keys and addresses of keys that the token itself brings along.
    await stranger.sign({}, { jwk: own.jwk, kid: undefined }),
    await stranger.sign({}, { jku: "https://evil.example/keys" }),
    await stranger.sign({}, { kid: "../../etc/passwd" }),
    await stranger.sign({}, { crit: ["b64"], b64: true }),
    `${head}.${encode({ ...claims, sub: "eve" })}.${signature}`,
    `${head}.${body}.`,
    `${head}.${body}`,
    `${head}..${signature}`,
    `${head}.${body}.${signature}.${signature}.x`,
    encode({ payload: body, protected: head, signature } as object),
  ];
  for (const token of forged) {
    const { status, params } = await bearer(token);
    deepEqual([status, params.error], [401, "invalid_token"], token.slice(0, 60));
  }
  deepEqual(reached, []);
  ok(issuer.asked.every(({ url }) => url.startsWith(ISSUER)));
});

test("a shared secret among the published keys verifies nothing", async (t) => {
  const { issuer, bearer, reached } = await setUp(t);
  const secret = "0123456789abcdef0123456789abcdef";
  const oct = { kty: "oct", k: encode(secret), kid: "shared", alg: "HS256" };
  issuer.routes.set(`${ISSUER}/keys`, () => Response.json({ keys: [...issuer.keys.keys, oct] }));
  const input = `${encode({ alg: "HS256", kid: "shared" })}.${encode({ iss: ISSUER, aud: RESOURCE })}`;
  const { status } = await bearer(`${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`);
  deepEqual([status, reached], [401, []]);
});

test("a stolen token, a stolen proof and both together are of no use", async (t) => {
  const { issuer, attack, bearer, reached } = await setUp(t, { dpop: true });
  const [owner, thief] = [await DpopClient.create(), await DpopClient.create()];
  const token = await issuer.sign({ cnf: { jkt: owner.thumbprint } });
  const other = await issuer.sign({ cnf: { jkt: owner.thumbprint }, jti: "other" });
  const send = (dpop: string, shown = token) => attack({ authorization: `DPoP ${shown}`, dpop });
  const proof = await owner.proof(token);
  equal((await send(proof)).status, 200);
  reached.splice(0);
  const refused = [
    await bearer(token),
    await send(proof),
    await send(proof, other),
    await send(await thief.proof(token)),
    await send(await thief.proof(token, { header: { jwk: owner.jwk } })),
    await send(await owner.proof(token, { url: "https://evil.example/mcp" })),
    await send(await owner.proof(token, { method: "GET" })),
    await attack({ authorization: `DPoP ${token}` }),
    await attack({ authorization: `DPoP ${await issuer.sign()}`, dpop: await thief.proof(await issuer.sign()) }),
  ];
  deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 401),
  );
  deepEqual(reached, []);
});

test("no text in a challenge breaks out of its header", async (t) => {
  const texts = [
    'x", error="fine',
    "x\r\nSet-Cookie: a=b",
    "x\n\n<html>",
    "\\",
    '\\"',
    "\u0000\u0007\u001b[31m",
    "ünïcödé \u{1f986}\ud800",
    'x", Basic realm="x',
    "y".repeat(100_000),
  ];
  let text = "";
  const { bearer } = await setUp(t, {
    verify: () => {
      throw new InvalidTokenError(text);
    },
  });
  for (text of texts) {
    const { status, headers, challenges, params } = await bearer("any");
    const header = headers.get("www-authenticate") ?? "";
    deepEqual([status, challenges.length, params.error], [401, 1, "invalid_token"], text.slice(0, 20));
    deepEqual(Object.keys(params).sort(), ["error", "error_description", "resource_metadata"]);
    match(header, /^[\x20-\x7e]+$/);
    ok(header.length < 1_000);
    deepEqual([...headers.keys()].sort(), ["cache-control", "content-length", "content-type", "www-authenticate"]);
  }
});

test("headers of any shape are answered, quickly and without a trace", async (t) => {
  const asked: string[] = [];
  const { attack, server } = await setUp(t, {
    verify: (token) => {
      asked.push(token);
      return undefined;
    },
  });
  const long = "x".repeat(1_000_000);
  const odd = [
    "Bearer",
    "Bearer\t",
    "bearer ,",
    "Bearer a b",
    "Bearer a, Bearer b",
    "Bearer a,b",
    "Bearer ü",
    "Bearer a\u00a0b",
    "Bearer =",
    "Bearer ===a",
    `Bearer ${long}`,
    `Bearer ${" ".repeat(100_000)}`,
    `Bearer ${"a ".repeat(50_000)}`,
  ];
  for (const authorization of odd) {
    const { status, params } = await attack({ authorization });
    deepEqual([status, params.error], [401, "invalid_token"], authorization.slice(0, 20));
  }
  for (const authorization of [
    "",
    long,
    `${long} token`,
    "Basic Bearer",
    "Bearer; token",
    ",Bearer token",
    `"Bearer" token`,
  ]) {
    const { status, params } = await attack({ authorization });
    deepEqual([status, params.error], [401, undefined], authorization.slice(0, 20));
  }
  deepEqual(asked, []);
  // Over a socket, where a header may come twice.
  const port = await listenOn(t, toNodeListener(server));
  const twice = { authorization: ["Bearer first", "Bearer second"] as unknown as string };
  equal((await askPort(port, { headers: { host: "mcp.example", ...twice } })).status, 401);
  ok(asked.length <= 1);
});

test("an authorization server that is down is 503, and nobody gets in", async (t) => {
  const { issuer, bearer, reached } = await setUp(t);
  const token = await issuer.sign();
  issuer.routes.set(`${ISSUER}/keys`, () => new Response(`secret ${token}`, { status: 500 }));
  const { status, headers, text } = await bearer(token);
  deepEqual([status, headers.get("www-authenticate"), headers.get("retry-after")], [503, null, "5"]);
  ok(!text.includes("secret") && !text.includes(ISSUER), text);
  deepEqual(reached, []);
});

test("rules of scopes that fail let nobody do anything", async (t) => {
  const { issuer, bearer, reached } = await setUp(t, {
    scopesFor: () => {
      throw new TypeError("no rules");
    },
  });
  equal((await bearer(await issuer.sign())).status, 500);
  deepEqual(reached, []);
});

test("a method that lists grants nothing, and members of a family are listed to whoever may read them", async (t) => {
  const { issuer, server } = await setUp(t);
  const requires = { scopes: ["notes"] };
  server
    .method("notes/list", {}, (_, ctx) => ({ may: ctx.grants(["notes"]) }))
    .tool("hidden", { visible: (ctx) => ctx.grants(["notes"]) }, () => "hidden")
    .tool("shown", { requires }, () => "shown")
    .resource(
      "note://{id}",
      { name: "note", requires, list: () => [{ uri: "note://secret", name: "secret" }] },
      () => "note",
    );
  const ask = async (scope: string, method: string): Promise<string> => {
    const { headers, body } = modernRequest(method);
    const authorization = `Bearer ${await issuer.sign({ scope })}`;
    const init = { method: "POST", headers: { ...(headers as Record<string, string>), authorization } };
    return await (await server.fetch(new Request(RESOURCE, { ...init, body: JSON.stringify(body) }))).text();
  };
  match(await ask("notes", "notes/list"), /"may":true/);
  match(await ask("", "notes/list"), /"may":false/);
  match(await ask("notes", "tools/list"), /"hidden"/);
  match(await ask("", "tools/list"), /"shown"/);
  doesNotMatch(await ask("", "tools/list"), /"hidden"/);
  match(await ask("notes", "resources/list"), /note:\/\/secret/);
  match(await ask("", "resources/templates/list"), /note:\/\/\{id\}/);
  doesNotMatch(await ask("", "resources/list"), /note:\/\/secret/);
});

test("whoever may not read a resource may not listen for its changes", async (t) => {
  const { issuer, server } = await setUp(t);
  server.resource("note://{id}", { name: "note", requires: { scopes: ["notes"] } }, () => "note");
  const listen = async (scope: string, resourceSubscriptions: unknown): Promise<number> => {
    const { headers, body } = modernRequest("subscriptions/listen", {
      params: { notifications: { resourceSubscriptions } },
    });
    const authorization = `Bearer ${await issuer.sign({ scope })}`;
    const init = { method: "POST", headers: { ...(headers as Record<string, string>), authorization } };
    const response = await server.fetch(new Request(RESOURCE, { ...init, body: JSON.stringify(body) }));
    await response.body?.cancel();
    return response.status;
  };
  equal(await listen("notes", ["note://1"]), 200);
  equal(await listen("", ["other://1"]), 200);
  equal(await listen("", ["other://1", "note://1"]), 403);
  equal(await listen("", "note://1"), 400);
});

test("a gate that takes tokens for anything says so, unless the verifier answers for that", () => {
  const verify = () => undefined;
  match(protect({ verify }).warnings.join(), /resource/);
  deepEqual(protect({ verify, verifierChecksAudience: true }).warnings, []);
  deepEqual(protect({ verify, resource: RESOURCE, authorizationServers: [ISSUER] }).warnings, []);
});

test("two users of one client are never the same caller, however their authorization server names them", async () => {
  const answers: Record<string, object> = {
    ada: { sub: 1 },
    bob: { sub: 2 },
    eve: { username: "eve" },
    joe: { username: "joe" },
    nobody: {},
  };
  const verify = introspectionVerifier({
    endpoint: "https://login.example/introspect",
    client: { id: "rs", secret: "s" },
    fetch: async (_, init) => {
      const token = new URLSearchParams(String(init?.body)).get("token") ?? "";
      return Response.json({ active: true, client_id: "app", aud: RESOURCE, ...answers[token] });
    },
  });
  const gate = protect({ verify, resource: RESOURCE, authorizationServers: [ISSUER] });
  const callers = new Set<string | undefined>();
  for (const token of Object.keys(answers)) {
    const verdict = await gate.check(new Request(RESOURCE, { headers: { authorization: `Bearer ${token}` } }));
    ok(!(verdict instanceof Response));
    callers.add(verdict.principal);
  }
  equal(callers.size, 5);
});
