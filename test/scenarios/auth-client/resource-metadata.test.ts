import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { parseChallenges } from "#src/auth/client/challenge.js";
import { resourceIdentifier } from "#src/auth/resource.js";
import { type AuthWorld, answerTo, eachEra, everyTransport, failsAt, MockIssuer } from "../../support/auth-world.js";
import { proves, verifies } from "../../support/verifies.js";

const PATH = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
const ROOT = "https://mcp.example/.well-known/oauth-protected-resource";

const scopeAsked = (world: AuthWorld) =>
  world.to("GET https://as.example/authorize").at(-1)?.url.searchParams.get("scope");
/** Where the resource's metadata was looked for. */
const metadataAsked = (world: AuthWorld) =>
  world.to("GET https://mcp.example/").flatMap(({ url }) => (url.href === world.mcp ? [] : url.href));
const document = (world: AuthWorld, resource = world.mcp) => ({
  json: { resource, authorization_servers: [world.as.issuer] },
});

verifies("client-auth:www-authenticate:parse", everyTransport, async (world) => {
  world.routes.set("GET https://mcp.example/here", () => document(world));
  for (const [challenge, place, scope] of [
    ['Bearer resource_metadata="https://mcp.example/here"', "https://mcp.example/here", null],
    ['Bearer scope="a b"', world.metadataAt, "a b"],
    ['Bearer resource_metadata="https://mcp.example/here", scope="a"', "https://mcp.example/here", "a"],
    ['Bearer error="invalid_token", error_description="scope=x"', world.metadataAt, null],
  ] as const) {
    world.arrivals.length = 0;
    world.challenge = challenge;
    await world.visit(world.oauth());
    equal(metadataAsked(world)[0], place);
    equal(scopeAsked(world), scope);
  }
  world.accepts = () => false;
  world.challenge = 'Bearer error="invalid_token", error_description="expired long ago"';
  await rejects(world.visit(world.oauth()), { error: "invalid_token", description: "expired long ago" });
});

verifies("client-auth:www-authenticate:grammar", everyTransport, async (world) => {
  for (const challenge of [
    'Basic realm="x", Bearer scope=a',
    'bearer SCOPE="a"',
    'Bearer error_description="needs scope=admin", scope="a"',
    'Bearer realm="say \\"hi\\", Basic scope=b", scope=a',
  ]) {
    world.challenge = challenge;
    await world.visit(world.oauth());
    equal(scopeAsked(world), "a", challenge);
  }
});

proves("client-auth:www-authenticate:grammar", {}, "challenges by the grammar of HTTP", () => {
  const read = (header: string) =>
    parseChallenges(header).map(({ scheme, params }) => [scheme, Object.fromEntries(params)]);
  deepEqual(read('Basic realm="x", Bearer scope=a'), [
    ["basic", { realm: "x" }],
    ["bearer", { scope: "a" }],
  ]);
  deepEqual(read('bearer SCOPE="a b"'), [["bearer", { scope: "a b" }]]);
  deepEqual(read('Bearer error_description="needs scope=admin", scope="read"'), [
    ["bearer", { error_description: "needs scope=admin", scope: "read" }],
  ]);
  deepEqual(read('Bearer a="say \\"hi\\", Basic b=c", d=e'), [["bearer", { a: 'say "hi", Basic b=c', d: "e" }]]);
  deepEqual(read("Negotiate abc==, DPoP algs = ES256 , error=x"), [
    ["negotiate", {}],
    ["dpop", { algs: "ES256", error: "x" }],
  ]);
  deepEqual(read("Basic, Bearer"), [
    ["basic", {}],
    ["bearer", {}],
  ]);
  deepEqual(read('"stray, Bearer scope=evil", Bearer scope=good, scope=late'), [["bearer", { scope: "good" }]]);
  const lines = new Headers();
  lines.append("www-authenticate", 'Basic realm="x"');
  lines.append("www-authenticate", 'Bearer scope="a"');
  deepEqual(read(lines.get("www-authenticate") ?? ""), [
    ["basic", { realm: "x" }],
    ["bearer", { scope: "a" }],
  ]);
});

verifies("client-auth:www-authenticate:bad-resource-metadata", everyTransport, async (world) => {
  for (const bad of ["not a url", "javascript:alert(1)", "/relative"]) {
    world.arrivals.length = 0;
    world.challenge = `Bearer resource_metadata="${bad}"`;
    await world.visit(world.oauth());
    equal(world.to("GET https://mcp.example/.well-known")[0]?.url.href, world.metadataAt);
  }
});

verifies("client-auth:prm-discovery:fallback-order", eachEra, async (world) => {
  const server = "https://mcp.example/public/mcp?tenant=1";
  world.challenge = "Bearer";
  world.routes.set("POST https://mcp.example/public/mcp", (request) =>
    world.accepts(request) ? { status: 202 } : { status: 401 },
  );
  world.routes.set(`GET ${ROOT}`, () => document(world, "https://mcp.example"));
  equal((await world.call(world.oauth(), {}, server)).status, 202);
  deepEqual(
    world.to("GET https://mcp.example/").map(({ url }) => url.href),
    [`${ROOT}/public/mcp?tenant=1`, ROOT],
  );
});

verifies("client-auth:prm-discovery:header-first", eachEra, async (world) => {
  world.routes.set("GET https://mcp.example/custom/metadata/location.json", () => document(world));
  world.challenge = 'Bearer resource_metadata="https://mcp.example/custom/metadata/location.json"';
  await world.call(world.oauth());
  equal(world.count("GET https://mcp.example/.well-known"), 0);
  equal(world.count("POST https://as.example/token"), 1);
});

verifies("client-auth:prm-discovery:root-server-single-probe", eachEra, async (world) => {
  world.routes.set("POST https://mcp.example/", () => ({ status: 401 }));
  await rejects(world.call(world.oauth(), {}, "https://mcp.example/"), {
    name: "AuthError",
    step: "registration",
    status: 404,
  });
  equal(world.count(`GET ${ROOT}`), 1);
  ok(world.count("GET https://mcp.example/.well-known/oauth-authorization-server") === 1);
});

verifies("client-auth:prm-discovery:unusable-response", eachEra, async (world) => {
  world.challenge = "Bearer";
  world.routes.set(`GET ${ROOT}`, () => document(world));
  for (const reply of [
    { text: "<html>an app</html>", headers: { "content-type": "text/html" } },
    { status: 401 },
    { status: 405 },
    { json: [] },
    { json: { resource: 7, authorization_servers: [world.as.issuer] } },
  ]) {
    world.arrivals.length = 0;
    world.routes.set(`GET ${PATH}`, () => reply);
    await world.call(world.oauth());
    equal(world.count("POST https://as.example/token"), 1);
  }
});

verifies("client-auth:prm-discovery:network-error", eachEra, async (world) => {
  const broken = new TypeError("no route");
  const fetch = (url: URL | string, init?: RequestInit) =>
    String(url) === PATH ? Promise.reject(broken) : world.fetch(url, init);
  await rejects(world.call(world.oauth({ fetch })), (error: Error) => error.cause === broken);
  deepEqual(
    world.arrivals.map(({ url }) => url.href),
    [world.mcp],
  );
});

verifies(
  [
    "client-auth:prm-discovery:no-as-listed",
    "client-auth:legacy-default-endpoints",
    "client-auth:resource-parameter:unconditional",
    "client-auth:pkce:no-metadata-proceeds",
  ],
  eachEra,
  async (world) => {
    world.listed = [];
    world.routes.set(`GET ${ROOT}`, () => ({ json: { resource: world.mcp } }));
    for (const [path, reply] of [
      ["/register", { status: 201, json: { client_id: "old" } }],
      ["/token", { status: 400, json: { error: "invalid_request" } }],
    ] as const) {
      world.routes.set(`POST https://mcp.example${path}`, () => reply);
    }
    const sent: URL[] = [];
    const authorize = (url: URL) => {
      sent.push(url);
      return answerTo(url, { code: "c" });
    };
    await rejects(world.call(world.oauth({ authorize })), failsAt("token"));
    equal(sent[0]?.origin, "https://mcp.example");
    equal(sent[0]?.pathname, "/authorize");
    equal(sent[0]?.searchParams.get("code_challenge_method"), "S256");
    equal(sent[0]?.searchParams.get("resource"), world.mcp);
    equal(world.to("POST https://mcp.example/token")[0]?.form.get("resource"), world.mcp);
    const order = world.arrivals.map(({ url }) => url.pathname);
    ok(order.indexOf("/.well-known/oauth-authorization-server") < order.indexOf("/register"));
    equal(order.at(-1), "/token");
    equal(world.count("GET https://as.example"), 0);
    world.routes.set("POST https://mcp.example/register", () => ({ status: 404 }));
    await rejects(world.call(world.oauth({ authorize })), failsAt("registration"));
  },
);

verifies(
  [
    "client-auth:pkce:no-metadata-proceeds",
    "client-auth:legacy-default-endpoints",
    "client-auth:resource-parameter:unconditional",
  ],
  "such a server is as good as any: the call gets through",
  eachEra,
  async (world) => {
    const old = new MockIssuer("https://mcp.example");
    world.issuers.push(old);
    world.routes.set(`GET ${PATH}`, () => ({ status: 404 }));
    world.routes.set(`GET ${ROOT}`, () => ({ status: 404 }));
    world.routes.set("GET https://mcp.example/.well-known/oauth-authorization-server", () => ({ status: 404 }));
    old.sendsIss = false;
    world.listed = [old.issuer];
    const response = await world.call(world.oauth());
    ok(response.status !== 401);
    const [asked] = world.to("GET https://mcp.example/authorize");
    equal(asked?.url.searchParams.get("code_challenge_method"), "S256");
    const [token] = world.to("POST https://mcp.example/token");
    ok((token?.form.get("code_verifier") ?? "").length >= 43);
    equal(asked?.url.searchParams.get("resource"), world.mcp);
    equal(token?.form.get("resource"), world.mcp);
    equal(world.to(world.posts).at(-1)?.headers.get("authorization"), `Bearer ${[...old.live][0]}`);
  },
);

verifies("client-auth:prm-resource-mismatch", eachEra, async (world) => {
  for (const resource of [
    "https://evil.example/mcp",
    "https://mcp.example:8443/mcp",
    "http://mcp.example/mcp",
    "https://mcp.example/mcp2",
    "https://mcp.example/mcp/admin",
    "https://mcp.example/mc",
    "https://mcp.example/mcp#part",
  ]) {
    world.prm = { resource };
    await rejects(world.call(world.oauth()), failsAt("resource_metadata"), resource);
  }
  equal(world.arrivals.filter(({ url }) => url.origin === world.as.issuer).length, 0);
});

verifies(
  ["client-auth:prm-resource-mismatch:parent-accepted", "client-auth:resource-parameter:prm-value"],
  eachEra,
  async (world) => {
    for (const resource of [
      "https://MCP.example:443",
      "https://mcp.example/",
      "https://mcp.example/mcp/",
      "https://mcp.example",
    ]) {
      world.prm = { resource };
      world.arrivals.length = 0;
      await world.call(world.oauth());
      equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("resource"), resource);
      equal(world.to("POST https://as.example/token")[0]?.form.get("resource"), resource);
    }
  },
);

verifies("client-auth:prm-resource-mismatch:custom-validator", eachEra, async (world) => {
  world.prm = { resource: "https://elsewhere.example" };
  await world.call(world.oauth({ validateResource: () => "https://chosen.example" }));
  equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("resource"), "https://chosen.example");
  equal(world.to("POST https://as.example/token")[0]?.form.get("resource"), "https://chosen.example");
  world.arrivals.length = 0;
  await world.call(world.oauth({ validateResource: () => undefined }));
  equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.has("resource"), false);
  equal(world.to("POST https://as.example/token")[0]?.form.has("resource"), false);
  const refuse = new Error("no");
  const validateResource = () => {
    throw refuse;
  };
  await rejects(world.call(world.oauth({ validateResource })), refuse);
});

verifies(["client-auth:resource-parameter", "client-auth:resource-parameter:unconditional"], eachEra, async (world) => {
  await world.call(world.oauth());
  const asked = world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("resource");
  equal(asked, world.mcp);
  equal(world.to("POST https://as.example/token")[0]?.form.get("resource"), asked);
});

verifies(
  "client-auth:resource-parameter:canonical-form",
  "the server's address as a resource",
  eachEra,
  async (world) => {
    for (const [address, resource] of [
      ["HTTPS://MCP.Example.com:443/Server/mcp#x", "https://mcp.example.com/Server/mcp"],
      ["https://mcp.example.com/", "https://mcp.example.com"],
      ["https://mcp.example.com/a/", "https://mcp.example.com/a/"],
      ["https://mcp.example.com:8443", "https://mcp.example.com:8443"],
    ]) {
      equal(resourceIdentifier(new URL(address as string)), resource);
    }
    await world.call(world.oauth(), {}, "HTTPS://MCP.Example:443/mcp#x");
    const [asked] = world.to("GET https://as.example/authorize");
    equal(asked?.url.searchParams.get("resource"), "https://mcp.example/mcp");
    equal(world.to("POST https://as.example/token")[0]?.form.get("resource"), "https://mcp.example/mcp");
  },
);

verifies("client-auth:discovery:protocol-version-header", eachEra, async (world) => {
  await world.call(world.oauth());
  const asked = world.arrivals.filter(({ url }) => url.pathname.startsWith("/.well-known/"));
  equal(asked.length, 2);
  for (const { headers } of asked) ok(/^20\d\d-\d\d-\d\d$/.test(headers.get("mcp-protocol-version") ?? ""));
});

verifies("client-auth:discovery:cors-retry", eachEra, async (world, t) => {
  const fetch = (url: URL | string, init: RequestInit = {}) =>
    new Headers(init.headers).has("mcp-protocol-version") && new URL(url).pathname.startsWith("/.well-known/")
      ? Promise.reject(new TypeError("Failed to fetch"))
      : world.fetch(url, init);
  await rejects(world.call(world.oauth({ fetch })), failsAt("resource_metadata"));
  equal(world.count(`GET ${PATH}`), 0);
  Object.assign(globalThis, { document: {} });
  t.after(() => Reflect.deleteProperty(globalThis, "document"));
  await world.call(world.oauth({ fetch }));
  equal(world.count(`GET ${PATH}`), 1);
});
