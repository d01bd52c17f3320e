import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { AuthError, memoryStore } from "bowline/auth/client";
import { type Arrival, type AuthWorld, eachEra, everyTransport, failsAt } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

const asked = (world: AuthWorld) =>
  world.to("GET https://as.example/authorize").map(({ url }) => url.searchParams.get("scope"));
const sorted = (scope: string | null | undefined) => (scope ?? "").split(" ").sort();
const refreshes = (world: AuthWorld) =>
  world.to("POST https://as.example/token").filter(({ form }) => form.get("grant_type") === "refresh_token");

/** The request of `world.call`. */
const OPENING = /"(server\/discover|initialize)"/;

/** Calls of the tool `write`, and of `echo` if told, need more scope than a login brings. */
function demanding(world: AuthWorld, challenge: () => string | undefined, needs = /"write"/) {
  world.routes.set(world.posts, (request: Arrival) => {
    const scope = world.accepts(request) && needs.test(request.body) ? challenge() : undefined;
    return scope === undefined ? undefined : { status: 403, headers: { "www-authenticate": scope } };
  });
}

/** Satisfied once the last login asked for the scope. */
function until(world: AuthWorld, scope: string): () => string | undefined {
  return () =>
    (asked(world).at(-1) ?? "").split(" ").includes(scope)
      ? undefined
      : `Bearer error="insufficient_scope", scope="${scope}", error_description="more is needed", resource_metadata="${world.metadataAt}"`;
}

verifies(
  ["client-auth:scope-selection:priority", "client-auth:scope-selection:no-as-scopes"],
  eachEra,
  async (world) => {
    world.as.metadata = { ...world.as.metadata, scopes_supported: ["x1", "x2"] };
    await world.call(world.oauth());
    world.prm = { scopes_supported: ["p1", "p2"] };
    await world.call(world.oauth());
    world.challenge = 'Bearer scope="c1 c2"';
    await world.call(world.oauth());
    deepEqual(asked(world), [null, "p1 p2", "c1 c2"]);
  },
);

verifies("client-auth:scope-selection:challenge-authoritative", eachEra, async (world) => {
  world.as.metadata = { ...world.as.metadata, scopes_supported: ["x1"] };
  world.prm = { scopes_supported: ["p1"] };
  world.challenge = 'Bearer scope="quite:other"';
  await world.call(world.oauth({ scope: "configured" }));
  deepEqual(asked(world), ["quite:other"]);
});

verifies("client-auth:scope-selection:configured-fallback", eachEra, async (world) => {
  await world.call(world.oauth({ scope: "a b" }));
  world.prm = { scopes_supported: ["p"] };
  await world.call(world.oauth({ scope: "a b" }));
  world.challenge = "Bearer scope=c";
  await world.call(world.oauth({ scope: "a b" }));
  deepEqual(asked(world), ["a b", "p", "c"]);
});

verifies("client-auth:scope-selection:never-empty", eachEra, async (world) => {
  world.challenge = 'Bearer scope=""';
  world.prm = { scopes_supported: [] };
  await world.call(world.oauth());
  deepEqual(asked(world), [null]);
  equal(world.to("POST https://as.example/token")[0]?.form.has("scope"), false);
  equal("scope" in JSON.parse(world.to("POST https://as.example/register")[0]?.body ?? "{}"), false);
});

verifies(
  ["client-auth:scope:offline-access-gate", "client-auth:authorize:offline-access-consent"],
  eachEra,
  async (world) => {
    for (const [listed, grants, base, scope] of [
      [true, undefined, "a", "a offline_access"],
      [true, undefined, "a offline_access", "a offline_access"],
      [true, ["authorization_code"], "a", "a"],
      [true, undefined, "", null],
      [false, undefined, "a", "a"],
    ] as const) {
      world.arrivals.length = 0;
      world.as.metadata = { ...world.as.metadata, scopes_supported: listed ? ["offline_access"] : ["a"] };
      world.challenge = `Bearer scope="${base}"`;
      await world.call(world.oauth(grants === undefined ? {} : { registration: { grant_types: grants } }));
      deepEqual(asked(world), [scope]);
      const prompt = world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("prompt");
      equal(prompt, scope?.includes("offline_access") ? "consent" : null);
    }
  },
);

verifies(["client-auth:403-scope-upgrade", "client-auth:stepup:scope-union"], eachEra, async (world) => {
  world.challenge = 'Bearer scope="a"';
  world.prm = { scopes_supported: ["c"] };
  demanding(world, until(world, "b"));
  const client = await world.connect(world.oauth());
  await client.callTool("echo", {});
  equal(asked(world).length, 1);
  equal((await client.callTool("write", {})).isError, false);
  deepEqual(asked(world).map(sorted), [["a"], ["a", "b"]]);
});

verifies("client-auth:pkce:refuse-if-unsupported", "when more scope is asked for", eachEra, async (world) => {
  world.challenge = 'Bearer scope="a"';
  const auth = world.oauth();
  await world.call(auth);
  world.as.metadata = { ...world.as.metadata, code_challenge_methods_supported: ["plain"] };
  demanding(world, until(world, "b"), OPENING);
  await rejects(world.call(auth), failsAt("authorize"));
  equal(asked(world).length, 1);
});

verifies("client-auth:stepup:scope-union", "a challenge without a scope", eachEra, async (world) => {
  world.challenge = 'Bearer scope="a"';
  let refused = 0;
  demanding(world, () => (refused++ === 0 ? 'Bearer error="insufficient_scope"' : undefined), OPENING);
  await world.call(world.oauth());
  deepEqual(asked(world), ["a", "a"]);
});

verifies("client-auth:stepup:union-survives-restart", eachEra, async (world) => {
  const store = memoryStore();
  world.challenge = 'Bearer scope="a"';
  await world.call(world.oauth({ store }));
  demanding(world, until(world, "b"), OPENING);
  await world.call(world.oauth({ store }));
  deepEqual(asked(world).map(sorted), [["a"], ["a", "b"]]);
});

verifies("client-auth:reauth:scope-union", eachEra, async (world) => {
  world.challenge = 'Bearer scope="a b"';
  const auth = world.oauth();
  await world.call(auth);
  world.as.live.clear();
  world.challenge = 'Bearer scope="a"';
  await world.call(auth);
  deepEqual(asked(world).map(sorted), [
    ["a", "b"],
    ["a", "b"],
  ]);
});

verifies(["client-auth:stepup:retry-cap", "client-auth:stepup:failure-memory"], everyTransport, async (world) => {
  world.challenge = 'Bearer scope="a"';
  let count = 0;
  demanding(world, () => `Bearer error="insufficient_scope", scope="s${++count}"`);
  for (const [stepUp, most] of [
    [undefined, 2],
    [2, 3],
    [99, 3],
  ] as const) {
    world.arrivals.length = 0;
    const client = await world.connect(world.oauth(stepUp === undefined ? {} : { stepUp }));
    await rejects(client.callTool("write", {}), failsAt("scope"));
    equal(asked(world).length, most);
    await rejects(client.callTool("write", {}), failsAt("scope"));
    equal(asked(world).length, most);
    await client.callTool("echo", {});
    await client.close();
  }
  demanding(world, () => `Bearer error="insufficient_scope", scope="s${++count}"`, /"write"|"echo"/);
  world.arrivals.length = 0;
  const client = await world.connect(world.oauth());
  await rejects(client.callTool("write", {}), failsAt("scope"));
  await rejects(client.callTool("echo", {}), failsAt("scope"));
  equal(asked(world).length, 3);
});

const capped = ["client-auth:stepup:retry-cap", "client-auth:stepup:failure-memory"];
verifies(capped, "with one scope, until there are new tokens", eachEra, async (world) => {
  world.challenge = 'Bearer scope="a"';
  demanding(world, () => 'Bearer error="insufficient_scope", scope="b"', OPENING);
  const auth = world.oauth();
  await rejects(world.call(auth), failsAt("scope"));
  await rejects(world.call(auth), { step: "scope", scope: "b", error: "insufficient_scope" });
  equal(asked(world).length, 2);
  world.as.live.clear();
  await rejects(world.call(auth), failsAt("scope"));
  equal(asked(world).length, 4);
});

verifies("client-auth:403-scope-upgrade", "what the refusal says of the resource counts", eachEra, async (world) => {
  world.challenge = 'Bearer scope="a"';
  const auth = world.oauth();
  await world.call(auth);
  world.routes.set("GET https://mcp.example/elsewhere", () => ({
    json: { resource: world.mcp, authorization_servers: [world.as.issuer] },
  }));
  const place = 'resource_metadata="https://mcp.example/elsewhere"';
  demanding(
    world,
    () => (asked(world).length > 1 ? undefined : `Bearer error="insufficient_scope", scope="b", ${place}`),
    OPENING,
  );
  await world.call(auth);
  equal(world.count("GET https://mcp.example/elsewhere"), 1);
  deepEqual(asked(world).map(sorted), [["a"], ["a", "b"]]);
});

verifies("client-auth:stepup:throw-mode", everyTransport, async (world) => {
  demanding(world, until(world, "b"));
  const client = await world.connect(world.oauth({ stepUp: "throw" }));
  world.arrivals.length = 0;
  const failure = await client.callTool("write", {}).catch((error: unknown) => error);
  ok(failure instanceof AuthError);
  deepEqual(
    [failure.step, failure.status, failure.error, failure.scope, failure.description],
    ["scope", 403, "insufficient_scope", "b", "more is needed"],
  );
  equal(failure.resourceMetadata, world.metadataAt);
  equal(world.arrivals.length, 1);
});

verifies("client-auth:stepup:refresh-bypass-on-superset", eachEra, async (world) => {
  world.as.refreshes = true;
  world.challenge = 'Bearer scope="a"';
  const auth = world.oauth();
  await world.call(auth);
  demanding(world, until(world, "b"), OPENING);
  await world.call(auth);
  equal(refreshes(world).length, 0);
  deepEqual(asked(world).map(sorted), [["a"], ["a", "b"]]);
  let refused = 0;
  demanding(world, () => (refused++ === 0 ? 'Bearer error="insufficient_scope", scope="a"' : undefined), OPENING);
  await world.call(auth);
  equal(refreshes(world).length, 1);
  equal(asked(world).length, 2);
});

verifies("client-auth:token-response:scope-backfill", eachEra, async (world) => {
  world.as.refreshes = true;
  world.as.extra = { scope: undefined };
  world.challenge = 'Bearer scope="a b"';
  const store = memoryStore();
  const auth = world.oauth({ store });
  const stored = () => (store.get(`tokens ${world.mcp} https://as.example`) as { scope: string }).scope;
  await world.call(auth);
  equal(stored(), "a b");
  world.as.live.clear();
  await world.call(auth);
  equal(refreshes(world).length, 1);
  equal(stored(), "a b");
});
