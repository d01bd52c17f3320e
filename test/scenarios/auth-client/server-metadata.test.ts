import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { memoryStore } from "bowline/auth/client";
import { type AuthWorld, eachEra, failsAt, MockIssuer } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

const asked = (world: AuthWorld) => world.to("GET https://as.example/.well-known").map(({ url }) => url.pathname);

/** The other authorization server of a test, with a path. */
function tenant(world: AuthWorld, issuer: string): MockIssuer {
  const other = new MockIssuer(issuer);
  world.issuers.unshift(other);
  world.listed = [issuer];
  return other;
}

verifies("client-auth:as-metadata-discovery:priority-order", eachEra, async (world) => {
  for (const issuer of ["https://as.example/tenant1", "https://as.example/tenant1/"]) {
    world.listed = [issuer];
    world.arrivals.length = 0;
    await rejects(world.call(world.oauth()), failsAt("server_metadata"));
    deepEqual(
      world.arrivals.slice(2).map(({ url }) => url.href),
      [
        "https://as.example/.well-known/oauth-authorization-server/tenant1",
        "https://as.example/.well-known/openid-configuration/tenant1",
        "https://as.example/tenant1/.well-known/openid-configuration",
      ],
    );
  }
  world.listed = ["https://as.example"];
  world.routes.set("GET https://as.example/.well-known/oauth-authorization-server", () => ({ status: 404 }));
  world.arrivals.length = 0;
  await rejects(world.call(world.oauth()), failsAt("server_metadata"));
  deepEqual(asked(world), ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]);
  world.routes.clear();
  world.arrivals.length = 0;
  await world.call(world.oauth());
  deepEqual(asked(world), ["/.well-known/oauth-authorization-server"]);
});

verifies("client-auth:as-metadata-discovery:both-formats", eachEra, async (world) => {
  world.routes.set("GET https://as.example/.well-known/oauth-authorization-server", () => ({ status: 404 }));
  const json = {
    ...world.as.metadata,
    jwks_uri: "https://as.example/jwks",
    subject_types_supported: ["public"],
    x_vendor: 1,
  };
  world.routes.set("GET https://as.example/.well-known/openid-configuration", () => ({ json }));
  await world.call(world.oauth());
  equal(world.count("POST https://as.example/token"), 1);
  world.as.sendsIss = false;
  await rejects(world.call(world.oauth()), failsAt("issuer"));
});

verifies("client-auth:as-metadata-discovery:issuer-validation", eachEra, async (world) => {
  for (const issuer of [
    "https://honest.example",
    "https://as.example/tenant2",
    "https://AS.example",
    "https://as.example:443",
    "https://as.example/",
  ]) {
    world.as.metadata = { ...world.as.metadata, issuer };
    await rejects(world.call(world.oauth()), failsAt("issuer"), issuer);
  }
  equal(world.arrivals.filter(({ method, url }) => method === "POST" && url.origin === "https://as.example").length, 0);
  world.as.metadata = { ...world.as.metadata, issuer: "https://as.example" };
  world.listed = ["https://as.example/"];
  await rejects(world.call(world.oauth()), failsAt("issuer"));
  equal(world.count("POST https://as.example/"), 0);
  world.listed = ["https://as.example"];
  await world.call(world.oauth());
  equal(world.count("POST https://as.example/token"), 1);
});

verifies("client-auth:as-metadata-discovery:identifier-verbatim", eachEra, async (world) => {
  const keys: string[] = [];
  const memory = memoryStore();
  const set = (key: string, value: unknown) => {
    keys.push(key);
    return memory.set(key, value);
  };
  const store = { ...memory, set };
  await world.call(world.oauth({ store }));
  ok(keys.includes("client https://as.example"));
  ok(keys.includes(`tokens ${world.mcp} https://as.example`));
});

verifies(
  ["client-auth:prm-discovery:no-prm-fallback", "client-auth:as-metadata-discovery:origin-fallback-slash"],
  eachEra,
  async (world) => {
    world.challenge = "Bearer";
    world.routes.set("GET https://mcp.example/.well-known/oauth-protected-resource/mcp", () => ({ status: 404 }));
    for (const [issuer, accepted] of [
      ["https://mcp.example", true],
      ["https://mcp.example/", true],
      ["https://mcp.example/x", false],
      ["https://other.example", false],
    ] as const) {
      const old = new MockIssuer("https://mcp.example");
      old.metadata = {
        ...old.metadata,
        issuer,
        authorization_endpoint: "https://mcp.example/oauth/authorize",
        token_endpoint: "https://mcp.example/oauth/token",
        registration_endpoint: "https://mcp.example/oauth/register",
      };
      const path = "/.well-known/oauth-authorization-server";
      world.routes.set(`GET https://mcp.example${path}`, () => ({ json: old.metadata }));
      world.routes.set("POST https://mcp.example/oauth/register", () => ({ status: 201, json: { client_id: "c" } }));
      world.routes.set("POST https://mcp.example/oauth/token", () => world.as.issue(undefined));
      world.listed = ["https://as.example"];
      const sent: URL[] = [];
      const authorize = (url: URL) => {
        sent.push(url);
        return { code: "c", state: url.searchParams.get("state") ?? "", iss: issuer };
      };
      world.arrivals.length = 0;
      const call = world.call(world.oauth({ authorize }), {}, `${world.mcp}?x=1`);
      if (accepted) await call;
      else await rejects(call, failsAt("issuer"));
      equal(sent[0]?.pathname, accepted ? "/oauth/authorize" : undefined);
      equal(world.to(`GET https://mcp.example${path}`)[0]?.url.href, `https://mcp.example${path}`);
      equal(world.count("POST https://mcp.example/token"), 0);
    }
  },
);

verifies("client-auth:iss:opt-out", eachEra, async (world) => {
  const allowIssuerMismatch = { "https://as.example": "https://renamed.example" };
  world.as.metadata = { ...world.as.metadata, issuer: "https://renamed.example" };
  const callback = (iss: string) => async (url: URL) => {
    const back = new URL(await world.browse(url));
    back.searchParams.set("iss", iss);
    return back;
  };
  await world.call(world.oauth({ allowIssuerMismatch, authorize: callback("https://renamed.example") }));
  equal(world.count("POST https://as.example/token"), 1);
  world.as.metadata = { ...world.as.metadata, issuer: "https://other.example" };
  const other = world.oauth({ allowIssuerMismatch, authorize: callback("https://other.example") });
  await rejects(world.call(other), failsAt("issuer"));
  world.as.metadata = { ...world.as.metadata, issuer: "https://renamed.example" };
  const wrong = world.oauth({ allowIssuerMismatch, authorize: callback("https://evil.example") });
  await rejects(world.call(wrong), failsAt("issuer"));
  equal(world.count("POST https://as.example/token"), 1);
});

verifies("client-auth:as-metadata-discovery:absent-aborts", eachEra, async (world) => {
  world.listed = ["https://gone.example/x"];
  await rejects(world.call(world.oauth()), (error: unknown) => {
    const { tried } = error as { tried: readonly string[] };
    deepEqual(tried.slice(1), [
      "https://gone.example/.well-known/oauth-authorization-server/x",
      "https://gone.example/.well-known/openid-configuration/x",
      "https://gone.example/x/.well-known/openid-configuration",
    ]);
    return failsAt("server_metadata", /https:\/\/gone\.example\/x/)(error);
  });
  deepEqual(
    world.arrivals.filter(({ method }) => method === "POST").map(({ url }) => url.href),
    [world.mcp],
  );
  equal(world.count("GET https://mcp.example/authorize"), 0);
});

verifies("client-auth:as-selection:multiple", eachEra, async (world) => {
  const second = new MockIssuer("https://second.example");
  world.issuers.push(second);
  world.listed = ["https://as.example", "https://second.example"];
  await world.call(world.oauth());
  equal(world.arrivals.filter(({ url }) => url.origin === "https://second.example").length, 0);
  world.arrivals.length = 0;
  await world.call(world.oauth({ selectIssuer: (issuers) => issuers[1] ?? "" }));
  equal(world.arrivals.filter(({ url }) => url.origin === "https://as.example").length, 0);
  equal(world.count("POST https://second.example/token"), 1);
  await rejects(world.call(world.oauth({ selectIssuer: () => "https://third.example" })), failsAt("issuer"));
});

verifies(["client-auth:as-metadata-discovery:priority-order", "client-auth:iss:match"], eachEra, async (world) => {
  const other = tenant(world, "https://as.example/tenant1");
  await world.call(world.oauth());
  deepEqual(asked(world), ["/.well-known/oauth-authorization-server/tenant1"]);
  equal(other.live.size, 1);
});
