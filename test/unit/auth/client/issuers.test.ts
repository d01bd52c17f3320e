import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import {
  clientCredentials,
  createAuthSteps,
  type Grant,
  identityAssertion,
  type OAuthOptions,
  oauth,
  workloadIdentity,
} from "bowline/auth/client";
import { AuthWorld, failsAt, MockIssuer } from "../../../support/auth-world.js";

const SECRET = "between-us-and-as.example";
const own: Grant = { request: async () => ({ type: "own", parameters: { assertion: SECRET } }) };

/** What only a program without types can write. */
const untyped = (options: object) => oauth(options as OAuthOptions);

test("a grant is refused where nobody names the issuer that it is for", () => {
  for (const grant of [clientCredentials(), workloadIdentity(() => SECRET), identityAssertion(() => SECRET), own]) {
    throws(() => untyped({ grant }), failsAt("configuration", /grant requires the option issuer/));
    throws(
      () => untyped({ grant, client: { id: "c", secret: SECRET, issuer: "https://as.example" } }),
      /option issuer/,
    );
    ok(oauth({ grant, issuer: "https://as.example" }));
  }
  // @ts-expect-error: the types say so too.
  throws(() => oauth({ grant: workloadIdentity(() => SECRET) }), /option issuer/);
  throws(() => createAuthSteps("https://mcp.example/mcp", { grant: own } as unknown as OAuthOptions), /option issuer/);
});

test("a known client is refused where nobody names the issuer that knows it", () => {
  for (const more of [{ secret: SECRET }, { key: {} }, { assertion: SECRET }, {}]) {
    throws(
      () => untyped({ client: { id: "known", ...more } }),
      failsAt("configuration", /client "known" requires the option issuer/),
    );
    const bound = { id: "known", ...more, issuer: "https://as.example" };
    throws(() => untyped({ client: [bound, { id: "other", ...more }] }), /"other"/);
    ok(oauth({ client: bound }));
    ok(oauth({ issuer: "https://as.example", client: { id: "known", ...more } }));
  }
  // @ts-expect-error: the types say so too.
  throws(() => oauth({ client: { id: "known", secret: SECRET } }), /option issuer/);
  throws(() => untyped({ clientKey: { assertion: SECRET } }), /clientKey\.assertion requires the option issuer/);
  ok(oauth({ clientKey: { key: "made when asked" } }));
});

test("no credential reaches another authorization server than the one named, in any process", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.issuers.push(new MockIssuer("https://evil.example"));
  world.listed = ["https://evil.example"];
  const issuer = "https://as.example";
  const client = { id: "known", secret: SECRET };
  for (const options of [
    { issuer, grant: workloadIdentity(() => SECRET) },
    { issuer, grant: identityAssertion(() => SECRET), client },
    { issuer, grant: clientCredentials(), client },
    { issuer, client },
    { client: { ...client, issuer } },
  ]) {
    await rejects(world.call(world.oauth(options)), failsAt("issuer", /evil\.example/));
  }
  equal(world.count("POST https://evil.example"), 0);
  deepEqual(
    world.arrivals.filter(({ headers, body }) => `${headers.get("authorization")} ${body}`.includes(SECRET)),
    [],
  );
});

const NO_ISSUERS = [
  "mailto:as@example.com",
  "data:text/plain,as",
  "as.example",
  "https:///user:pw@evil.example",
  "https:///evil.example",
  "https:/evil.example",
  "https://as.example\\@evil.example",
  "https://user@as.example",
  "https://as.example/a/../b",
  "https://as.example/?tenant=1",
  "https://as.example/#a",
  "https://as.example:0443",
];

test("an issuer that is no plain address is an AuthError wherever it comes from", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  for (const issuer of NO_ISSUERS) {
    throws(() => oauth({ issuer }), failsAt("configuration", /issuer must be a normalized .*, got "/), issuer);
    throws(
      () => oauth({ client: { id: "c", issuer } }),
      failsAt("configuration", /issuer must be a normalized/),
      issuer,
    );
    world.arrivals.length = 0;
    world.listed = [issuer];
    await rejects(world.call(world.oauth()), failsAt("issuer", /has no valid issuer/), issuer);
    deepEqual([...new Set(world.arrivals.map(({ url }) => url.origin))], ["https://mcp.example"]);
    // One that can be used is used.
    world.listed = [issuer, "https://as.example"];
    await world.call(world.oauth());
  }
  for (const issuer of ["https://as.example", "https://as.example/", "https://as.example/tenant", "http://127.0.0.1:1"])
    ok(oauth({ issuer }));
});

test("a challenge and a resource that the URL parser reads differently lead nowhere", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.challenge = 'Bearer resource_metadata="https:///evil.example/x"';
  await world.call(world.oauth());
  equal(world.count("GET https://evil.example"), 0);
  for (const resource of ["https:///mcp.example/mcp", "https://mcp.example/x/../mcp", "https://mcp.example\\mcp"]) {
    world.prm = { resource };
    await rejects(
      world.call(world.oauth()),
      failsAt("resource_metadata", /resource metadata is for .*, not for/),
      resource,
    );
  }
});

test("endpoints that are no addresses are an AuthError at their step", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const { metadata } = world.as;
  for (const endpoint of ["not an address", "//as.example/x", "", "mailto:as@example.com"]) {
    for (const name of ["registration_endpoint", "token_endpoint", "authorization_endpoint"]) {
      world.as.metadata = { ...metadata, [name]: endpoint };
      await rejects(world.call(world.oauth()), failsAt("configuration"), `${name} ${endpoint}`);
    }
  }
  world.as.metadata = { ...metadata, revocation_endpoint: "not an address" };
  const auth = world.oauth();
  await world.call(auth);
  await rejects(auth.logout(world.mcp), failsAt("configuration", /revocation_endpoint/));
});

test("a callback is an address at the redirect address, the path of one, or its parameters", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const visit = (form: (back: URL) => string) =>
    world.call(world.oauth({ authorize: async (url) => form(new URL(await world.browse(url))) }));
  for (const form of [
    (back: URL) => back.href,
    (back: URL) => `${back.pathname}${back.search}`,
    (back: URL) => back.search,
    (back: URL) => back.search.slice(1),
  ])
    await visit(form);
  equal(world.count("POST https://as.example/token"), 4);
  for (const form of [
    (back: URL) => `//evil.example${back.pathname}${back.search}`,
    (back: URL) => `\\\\evil.example${back.pathname}${back.search}`,
    (back: URL) => `/other${back.search}`,
    (back: URL) => `https://evil.example${back.pathname}${back.search}`,
  ])
    await rejects(visit(form), failsAt("callback", /The authorization response arrived at/));
});

test("a server without metadata speaks for its own origin, whatever issuer it may state", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const evil = new MockIssuer("https://mcp.example");
  world.routes.set(world.metadataAt.replace("https", "GET https"), () => ({ status: 404 }));
  world.routes.set("GET https://mcp.example/.well-known/oauth-protected-resource", () => ({ status: 404 }));
  const metadata = { ...evil.metadata, issuer: "https://as.example" };
  world.routes.set("GET https://mcp.example/.well-known/oauth-authorization-server", () => ({ json: metadata }));
  const client = { id: "known", secret: SECRET, issuer: "https://as.example" };
  const allowIssuerMismatch = { "https://mcp.example": "https://as.example" };
  const auth = world.oauth({ client, allowIssuerMismatch });
  await rejects(world.call(auth), failsAt("issuer", /the MCP server uses https:\/\/mcp\.example/));
  equal(world.count("POST https://mcp.example/token"), 0);
});

test("an issuer may state another name only where that very name is allowed to it", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const { metadata } = world.as;
  const allowIssuerMismatch = {
    "https://as.example": "https://renamed.example",
    "https://x.example": "https://y.example",
  };
  for (const stated of ["https://evil.example", "https://y.example", "https://renamed.example/"]) {
    world.as.metadata = { ...metadata, issuer: stated };
    await rejects(world.call(world.oauth({ allowIssuerMismatch })), failsAt("issuer", /allowIssuerMismatch/), stated);
  }
  for (const stated of ["https://as.example", "https://renamed.example"]) {
    world.as.metadata = { ...metadata, issuer: stated };
    const authorize = async (url: URL) => {
      const back = new URL(await world.browse(url));
      back.searchParams.set("iss", stated);
      return back;
    };
    await world.call(world.oauth({ allowIssuerMismatch, authorize }));
  }
  equal(world.count("POST https://as.example/token"), 2);
});

test("step by step, tokens of one authorization server go to no other", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const evil = new MockIssuer("https://evil.example");
  evil.metadata = { ...evil.metadata, revocation_endpoint: "https://evil.example/revoke" };
  world.issuers.push(evil);
  world.listed = [evil.issuer];
  const { fetch } = world;
  const steps = createAuthSteps(world.mcp, { fetch, redirectUrl: "http://127.0.0.1:9/callback" });
  const discovery = await steps.discover();
  const identity = await steps.identify(discovery);
  const made = { accessToken: "a", type: "bearer", refreshToken: SECRET, obtainedAt: 0 } as const;
  const tokens = { ...made, issuer: "https://as.example", clientId: identity.clientId };
  const why = failsAt("issuer", /tokens were issued by https:\/\/as\.example/);
  await rejects(steps.refresh(discovery, identity, tokens), why);
  await rejects(steps.revoke(discovery, tokens), why);
  equal(world.to("POST https://evil.example").filter(({ body }) => body.includes(SECRET)).length, 0);
});
