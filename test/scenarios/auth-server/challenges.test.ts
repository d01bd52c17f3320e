import { deepEqual, equal, match, ok } from "node:assert/strict";
import { InvalidTokenError, protect } from "bowline/auth/server";
import { guardedEverywhere, guardedLegacy, ISSUER, type Knock, NOW, RESOURCE } from "../../support/guarded.js";
import { verifies } from "../../support/verifies.js";

const PRM = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

function isBare({ status, challenges, params }: Knock): void {
  equal(status, 401);
  deepEqual(
    challenges.map(({ scheme }) => scheme),
    ["bearer"],
  );
  ok(
    Object.keys(params).every((name) => ["scope", "resource_metadata", "realm"].includes(name)),
    JSON.stringify(params),
  );
}

function isInvalid({ status, params, text }: Knock, description?: RegExp): void {
  equal(status, 401);
  equal(params.error, "invalid_token");
  match(params.error_description ?? "", description ?? /./);
  ok(!text.includes("jsonrpc"));
}

verifies("hosting:auth:missing-401", guardedEverywhere, async (world) => {
  const { send, knock } = await world.guard();
  const path = world.transport === "sse" ? "/sse" : "/mcp";
  const bodies = [
    '{"jsonrpc":"2.0","id":1,"method":"server/discover"}',
    '{"jsonrpc":"2.0","method":"x"}',
    "not json",
    "",
  ];
  for (const init of [
    { method: "GET" },
    { method: "DELETE" },
    { method: "PUT", body: "{}" },
    ...bodies.map((body) => ({ method: "POST", body, headers: { "content-type": "application/json" } })),
  ]) {
    const response = await send(path, init);
    equal(response.status, 401, `${init.method}`);
    match(response.headers.get("www-authenticate") ?? "", /^Bearer /);
    await response.body?.cancel();
  }
  isBare(await knock());
});

verifies("hosting:auth:missing-401:bare-challenge", guardedEverywhere, async (world) => {
  const scoped = await world.guard({ protect: { scopes: ["a"] } });
  const bare = await scoped.knock();
  isBare(bare);
  deepEqual(bare.params, { scope: "a", resource_metadata: PRM });
  const plain = await world.guard({ protect: { resource: undefined, authorizationServers: undefined } });
  equal((await plain.knock()).headers.get("www-authenticate"), "Bearer");
  isInvalid(await plain.present("bad"));
});

verifies("hosting:auth:missing-401:unsupported-scheme", guardedEverywhere, async (world) => {
  const { knock, asked } = await world.guard();
  for (const authorization of ["Basic YTpi", 'Digest username="x"', "DPoP good", "Bearerx good", "good", ","]) {
    isBare(await knock({ authorization }));
  }
  deepEqual(asked, []);
});

verifies("hosting:auth:challenge:resource-metadata", guardedEverywhere, async (world) => {
  world.tokens.set("poor", { scopes: [] });
  const { knock, send } = await world.guard({ protect: { scopes: ["a"] }, http: { allowedHosts: "*" } });
  const forged = { "x-forwarded-host": "evil.example", forwarded: "host=evil.example", host: "evil.example" };
  for (const authorization of [undefined, "Bearer bad", "Bearer poor"]) {
    equal((await knock({ authorization, ...forged })).params.resource_metadata, PRM);
  }
  equal((await knock({ authorization: "Bearer poor" })).status, 403);
  const served = await send(new URL(PRM).pathname);
  deepEqual([served.status, ((await served.json()) as { resource: string }).resource], [200, RESOURCE]);
});

verifies("hosting:auth:challenge:scope", guardedEverywhere, async (world) => {
  world.tokens.set("expired", { scopes: ["a", "b"], expiresAt: NOW / 1000 - 1 });
  const { knock } = await world.guard({ protect: { scopes: ["a", "b"] } });
  const refused = [];
  for (const authorization of [undefined, "Bearer bad", "Bearer expired", "Bearer good"]) {
    const { status, params } = await knock({ authorization });
    refused.push([status, params.scope]);
  }
  deepEqual(refused, [
    [401, "a b"],
    [401, "a b"],
    [401, "a b"],
    [403, "a b"],
  ]);
  const open = await world.guard({ protect: { scopes: [] } });
  for (const authorization of [undefined, "Bearer bad"]) ok(!("scope" in (await open.knock({ authorization })).params));
});

verifies("hosting:auth:challenge:escaping", guardedEverywhere, async (world) => {
  const hostile = 'a "quoted" \\ word,\r\nSet-Cookie: x=1\u0000\u007f ü 🦆 error="fine", Basic';
  world.tokens.set("hostile", new InvalidTokenError(hostile));
  const { present } = await world.guard({ protect: { scopes: ["a"] } });
  const { headers, challenges, params, ...rest } = await present("hostile");
  isInvalid({ headers, challenges, params, ...rest });
  equal(challenges.length, 1);
  match(params.error_description ?? "", /^a "quoted" \\ word, Set-Cookie: x=1 \? \?+ error="fine", Basic$/);
  equal(params.scope, "a");
  equal(headers.get("set-cookie"), null);
});

verifies("hosting:auth:no-offline-access", guardedEverywhere, async (world) => {
  world.tokens.set("reads", { scopes: ["read"] });
  const { knock, present, send, logs } = await world.guard({
    protect: { scopes: ["read", "offline_access"], scopesSupported: ["offline_access", "read", "more"] },
  });
  equal((await knock()).params.scope, "read");
  equal((await present("bad")).params.scope, "read");
  equal((await present("good")).params.scope, "read");
  const metadata = (await (await send(new URL(PRM).pathname)).json()) as { scopes_supported: string[] };
  deepEqual(metadata.scopes_supported, ["read", "more"]);
  equal((await present("reads")).status, 200);
  equal(logs.filter((line) => line.includes("offline_access")).length, 2);
  const implied = protect({ verify: () => undefined, resource: RESOURCE, authorizationServers: [ISSUER] });
  deepEqual(implied.warnings, []);
});

verifies("hosting:auth:invalid-401", guardedEverywhere, async (world) => {
  world.tokens.set("gone", new InvalidTokenError("The grant was revoked"));
  const { knock, present, asked } = await world.guard();
  isInvalid(await present("unknown"));
  isInvalid(await present("gone"), /The grant was revoked/);
  deepEqual(asked.splice(0), ["unknown", "gone"]);
  for (const authorization of [
    "Bearer",
    "Bearer    ",
    "Bearer good good",
    "Bearer good,",
    'Bearer "good"',
    "Bearer ==",
  ]) {
    isInvalid(await knock({ authorization }));
  }
  deepEqual(asked, []);
  equal((await present("good")).status, 200);
});

verifies("hosting:auth:expired-401", guardedEverywhere, async (world) => {
  world.tokens.set("late", { expiresAt: NOW / 1000 - 1 });
  world.tokens.set("now", { expiresAt: NOW / 1000 });
  world.tokens.set("early", { expiresAt: NOW / 1000 + 1 });
  const { present } = await world.guard();
  isInvalid(await present("late"), /expired/);
  isInvalid(await present("now"), /expired/);
  equal((await present("early")).status, 200);
});

verifies("hosting:auth:expiry-malformed", guardedEverywhere, async (world) => {
  const odd: [string, unknown][] = [
    ["nan", Number.NaN],
    ["text", "123"],
    ["endless", Number.POSITIVE_INFINITY],
    ["null", null],
  ];
  for (const [token, expiresAt] of odd) world.tokens.set(token, { expiresAt: expiresAt as number });
  world.tokens.set("none", { expiresAt: undefined });
  const { present } = await world.guard();
  for (const [token] of odd) isInvalid(await present(token));
  equal((await present("none")).status, 200);
  const strict = await world.guard({ protect: { requireExpiry: true } });
  isInvalid(await strict.present("none"), /has no expiry/);
  equal((await strict.present("good")).status, 200);
});

verifies("hosting:auth:verifier-error-500", guardedEverywhere, async (world) => {
  world.tokens.set("broken", new TypeError("db password=x"));
  const { present, logs } = await world.guard();
  const { status, headers, text } = await present("broken");
  deepEqual([status, headers.get("www-authenticate")], [500, null]);
  ok(!text.includes("password"), text);
  equal(logs.filter((line) => line.includes("db password=x")).length, 1);
});

verifies("hosting:auth:scheme-case", guardedEverywhere, async (world) => {
  const { knock, asked } = await world.guard();
  for (const scheme of ["bearer", "BEARER", "bEaReR", "Bearer  ", "Bearer\t"]) {
    equal((await knock({ authorization: `${scheme} good` })).status, 200);
  }
  deepEqual(new Set(asked), new Set(["good"]));
});

verifies("hosting:auth:query-token-ignored", guardedEverywhere, async (world) => {
  const { knock, send, asked } = await world.guard();
  isBare(await knock({ cookie: "access_token=good" }, "?access_token=good"));
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const posted = await send("/mcp", { method: "POST", headers: form, body: "access_token=good" });
  equal(posted.status, 401);
  deepEqual(asked, []);
});

verifies("hosting:auth:no-secrets-in-logs", guardedEverywhere, async (world) => {
  const secret = "s3cr3t-token-0123456789";
  world.tokens.set(`${secret}-echo`, new InvalidTokenError(`no such token: ${secret}-echo`));
  world.tokens.set(secret, { scopes: [] });
  world.tokens.set(`${secret}-late`, { expiresAt: 1 });
  world.tokens.set(`${secret}-other`, { audience: "https://other.example" });
  const { present, knock, client, logs } = await world.guard();
  const texts: string[] = [];
  for (const more of ["-echo", "-late", "-other", "-unknown", " with blanks"]) {
    const { text, headers } = await present(`${secret}${more}`);
    texts.push(text, JSON.stringify([...headers]));
  }
  await knock({ authorization: `Basic ${secret}` });
  const connected = await client(() => `Bearer ${secret}`);
  await connected.callTool("write").catch(() => {});
  await connected.callTool("nonexistent").catch(() => {});
  ok(logs.length > 5, "the refusals are logged");
  deepEqual(
    [...logs, ...texts].filter((line) => line.includes("s3cr3t")),
    [],
  );
});

verifies("hosting:auth:scope-403:after-validity", guardedEverywhere, async (world) => {
  world.tokens.set("late", { expiresAt: 1 });
  world.tokens.set("foreign", { audience: "https://other.example/mcp" });
  const { present } = await world.guard({ protect: { scopes: ["a"] } });
  isInvalid(await present("late"));
  isInvalid(await present("foreign"));
  isInvalid(await present("unknown"));
  equal((await present("good")).status, 403);
});

verifies("hosting:auth:session-principal", "over POST, GET and DELETE", guardedLegacy, async (world) => {
  const other = { subject: "bert" };
  world.tokens.set("other", other);
  world.tokens.set("refreshed", {});
  world.tokens.set("other-client", { clientId: "client-2" });
  world.tokens.set("other-issuer", { issuer: "https://else.example" });
  const { send, knock } = await world.guard();
  const opened = await knock({ authorization: "Bearer good" });
  const id = opened.headers.get("mcp-session-id") ?? "";
  ok(id !== "");
  const use = async (method: string, token: string, session = id) => {
    const headers = {
      authorization: `Bearer ${token}`,
      "mcp-session-id": session,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const body = method === "POST" ? { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' } : {};
    const response = await send("/mcp", { method, headers, ...body });
    const text = response.status === 200 ? "" : await response.text();
    if (response.status === 200) await response.body?.cancel();
    return [response.status, text];
  };
  for (const method of ["POST", "GET", "DELETE"]) {
    const unknown = await use(method, "good", "00000000-0000-4000-8000-000000000000");
    equal(unknown[0], 404);
    for (const token of ["other", "other-client", "other-issuer"]) deepEqual(await use(method, token), unknown);
    equal((await use("POST", "good"))[0], 200);
  }
  equal((await use("POST", "refreshed"))[0], 200);
  equal((await use("DELETE", "refreshed"))[0], 200);
  equal((await use("POST", "good"))[0], 404);
});
