import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { AuthError, memoryStore } from "bowline/auth/client";
import { connect } from "bowline/client";
import { type AuthWorld, eachEra, everyTransport, failsAt, type Reply } from "../../support/auth-world.js";
import { gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const refreshes = (world: AuthWorld) =>
  world.to("POST https://as.example/token").filter(({ form }) => form.get("grant_type") === "refresh_token");
const logins = (world: AuthWorld) => world.count("GET https://as.example/authorize");
const HOUR = 3_600_000;

/** A clock that the test moves. */
function watch() {
  const time = { at: Date.now(), now: () => time.at };
  return time;
}

verifies(
  [
    "client-auth:refresh:transparent",
    "client-auth:resource-parameter:all-token-requests",
    "client-auth:refresh:confidential",
  ],
  everyTransport,
  async (world) => {
    world.as.refreshes = true;
    world.as.extra = { expires_in: 3600 };
    const time = watch();
    const store = memoryStore();
    const client = await world.connect(world.oauth({ now: time.now, store }));
    world.arrivals.length = 0;
    time.at += 2 * HOUR;
    await client.callTool("echo", {});
    const { accessToken } = store.get(`tokens ${world.mcp} https://as.example`) as { accessToken: string };
    equal(world.to(world.posts)[0]?.headers.get("authorization"), `Bearer ${accessToken}`);
    const [refresh] = refreshes(world);
    equal(refresh, world.arrivals[0]);
    equal(refresh?.form.get("resource"), world.mcp);
    equal(world.count(world.posts), 1);
    equal(logins(world), 0);
    // A refresh token that is refused leads to a discovery and a login, which say nothing of it either.
    world.as.refresh.clear();
    world.as.live.clear();
    await client.callTool("echo", {});
    equal(logins(world), 1);
    const others = world.arrivals.filter((arrival) => !refreshes(world).includes(arrival));
    ok(others.some(({ url }) => url.pathname.startsWith("/.well-known/")));
    for (const { url, headers, body } of others) {
      equal(/refresh-as/.test(`${url.href} ${body} ${JSON.stringify([...headers])}`), false);
    }
  },
);

verifies("client-auth:refresh:on-401", eachEra, async (world) => {
  world.as.refreshes = true;
  const client = await world.connect(world.oauth());
  world.arrivals.length = 0;
  world.as.live.clear();
  await client.callTool("echo", {});
  equal(refreshes(world).length, 1);
  equal(logins(world), 0);
  equal(world.to(`POST ${world.mcp}`).length, 2);
});

verifies(["client-auth:refresh:single-flight", "client-auth:401-single-flight"], everyTransport, async (world) => {
  world.as.refreshes = true;
  world.as.extra = { expires_in: 3600 };
  const time = watch();
  const client = await world.connect(world.oauth({ now: time.now }));
  world.as.live.clear();
  world.arrivals.length = 0;
  await Promise.all(Array.from({ length: 10 }, () => client.callTool("echo", {})));
  equal(refreshes(world).length, 1);
  time.at += 2 * HOUR;
  await Promise.all(Array.from({ length: 20 }, () => client.callTool("echo", {})));
  equal(refreshes(world).length, 2);
  equal(logins(world), 0);
});

verifies("client-auth:refresh:rotation-handling", eachEra, async (world) => {
  world.as.refreshes = true;
  const auth = world.oauth();
  await world.call(auth);
  for (let round = 0; round < 2; round++) {
    world.as.live.clear();
    await world.call(auth);
  }
  const used = refreshes(world).map(({ form }) => form.get("refresh_token"));
  equal(new Set(used).size, 2);
  // A server that does not rotate: the token is given once and stays good.
  world.routes.set("POST https://as.example/token", ({ form }) => {
    if (form.get("grant_type") === "refresh_token") return world.as.issue(undefined);
    return undefined;
  });
  world.as.refreshes = false;
  for (let round = 0; round < 2; round++) {
    world.as.live.clear();
    await world.call(auth);
  }
  const [first, second] = refreshes(world).slice(-2);
  equal(first?.form.get("refresh_token"), second?.form.get("refresh_token"));
  equal(logins(world), 1);
});

verifies("client-auth:refresh:not-assumed", eachEra, async (world) => {
  world.as.metadata = { ...world.as.metadata, scopes_supported: ["offline_access"] };
  world.as.extra = { expires_in: 3600 };
  world.challenge = 'Bearer scope="a"';
  const time = watch();
  const auth = world.oauth({ now: time.now });
  await world.call(auth);
  ok(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("scope")?.includes("offline_access"));
  time.at += 2 * HOUR;
  world.as.live.clear();
  await world.call(auth);
  equal(logins(world), 2);
  equal(refreshes(world).length, 0);
});

verifies("client-auth:refresh:transient-failure", everyTransport, async (world) => {
  world.as.refreshes = true;
  world.as.extra = { expires_in: 3600 };
  const time = watch();
  let down = false;
  const fetch = (url: URL | string, init?: RequestInit) =>
    down && String(url).endsWith("/token") ? Promise.reject(new TypeError("unreachable")) : world.fetch(url, init);
  const store = memoryStore();
  const client = await world.connect(world.oauth({ now: time.now, fetch, store }));
  const call = () => client.callTool("echo", {});
  const stored = () => store.get(`tokens ${world.mcp} https://as.example`) as { refreshToken?: string };
  const first = stored().refreshToken;
  let failing: Reply | undefined = { status: 503 };
  world.routes.set("POST https://as.example/token", () => failing);
  // Shortly before the end a failure is no harm: the token at hand is still good. It is not tried with each message.
  time.at += HOUR - 10_000;
  await call();
  await call();
  equal(refreshes(world).length, 1);
  time.at += HOUR;
  await rejects(call(), failsAt("refresh"));
  failing = { status: 200, text: "<html>" };
  await rejects(call(), AuthError);
  failing = { status: 500, json: { error: "server_error" } };
  await rejects(call(), failsAt("refresh"));
  down = true;
  await rejects(call(), failsAt("refresh"));
  down = false;
  equal(stored().refreshToken, first);
  failing = undefined;
  await call();
  equal(logins(world), 1);
  const used = new Set(refreshes(world).map(({ form }) => form.get("refresh_token")));
  deepEqual([...used], [first]);
});

verifies("client-auth:refresh:persist-error", everyTransport, async (world) => {
  world.as.refreshes = true;
  const memory = memoryStore();
  const full = new Error("the disk is full");
  let fails = false;
  const set = (key: string, value: unknown) => {
    if (fails && key.startsWith("tokens")) throw full;
    return memory.set(key, value);
  };
  const auth = world.oauth({ store: { ...memory, set } });
  const client = await world.connect(auth);
  world.as.live.clear();
  fails = true;
  await rejects(client.callTool("echo", {}), { name: "AuthError", step: "store", cause: full });
  equal(logins(world), 1);
  fails = false;
  await client.callTool("echo", {});
  equal(refreshes(world).length, 1);
  equal(logins(world), 1);
});

verifies(
  ["client-auth:refresh:endpoint-after-restart", "client-auth:refresh:expiry-survives-restart"],
  eachEra,
  async (world) => {
    world.as.refreshes = true;
    world.as.extra = { expires_in: 3600 };
    const store = memoryStore();
    await world.call(world.oauth({ store }));
    world.arrivals.length = 0;
    await world.call(world.oauth({ store, now: () => Date.now() + 2 * HOUR }));
    equal(world.arrivals[0], refreshes(world)[0]);
    equal(world.arrivals[1]?.url.href, world.mcp);
    equal(world.count("POST https://mcp.example/token"), 0);
  },
);

verifies("client-auth:invalid-grant-clears-tokens", everyTransport, async (world) => {
  world.as.refreshes = true;
  const store = memoryStore();
  const auth = world.oauth({ store });
  const stored = () => store.get(`tokens ${world.mcp} https://as.example`);
  await world.visit(auth);
  ok(stored());
  world.as.live.clear();
  world.as.refresh.clear();
  let between: unknown = "never asked";
  world.routes.set("GET https://as.example/authorize", () => {
    between = stored();
    return undefined;
  });
  await world.visit(auth);
  equal(between, undefined);
  const clients = world.to("GET https://as.example/authorize").map(({ url }) => url.searchParams.get("client_id"));
  equal(new Set(clients).size, 1);
  equal(refreshes(world).length, 1);
  equal(logins(world), 2);
  equal(world.count("POST https://as.example/register"), 1);
});

verifies(["client-auth:invalid-client-clears-all", "client-auth:recovery-bounded"], everyTransport, async (world) => {
  let forgotten = true;
  world.routes.set("POST https://as.example/token", () => {
    const answer = forgotten ? { status: 401, json: { error: "invalid_client" } } : undefined;
    forgotten = false;
    return answer;
  });
  await world.visit(world.oauth());
  equal(world.count("POST https://as.example/register"), 2);
  equal(world.count("POST https://as.example/token"), 2);
  world.arrivals.length = 0;
  world.routes.set("POST https://as.example/token", () => ({ status: 400, json: { error: "invalid_client" } }));
  await rejects(world.visit(world.oauth()), { step: "token", error: "invalid_client" });
  equal(world.count("POST https://as.example/token"), 2);
  world.arrivals.length = 0;
  await rejects(world.visit(world.oauth({ client: { id: "known" } })), { error: "invalid_client" });
  equal(world.count("POST https://as.example/token"), 1);
  world.arrivals.length = 0;
  world.routes.set("POST https://as.example/token", () => ({ status: 400, json: { error: "invalid_grant" } }));
  await rejects(world.visit(world.oauth()), { error: "invalid_grant" });
  ok(world.count("POST https://as.example/token") <= 2);
});

verifies("client-auth:invalid-client-clears-all", "of a refresh", everyTransport, async (world) => {
  world.as.refreshes = true;
  const auth = world.oauth();
  await world.visit(auth);
  world.as.live.clear();
  world.routes.set("POST https://as.example/token", ({ form }) =>
    form.get("grant_type") === "refresh_token" ? { status: 401, json: { error: "invalid_client" } } : undefined,
  );
  await world.visit(auth);
  equal(world.count("POST https://as.example/register"), 2);
  equal(logins(world), 2);
});

verifies("client-auth:abort", everyTransport, async (world) => {
  const store = memoryStore();
  const reached = gate();
  const held = gate();
  world.routes.set("POST https://as.example/token", async () => {
    reached.open();
    await held.opened;
    return undefined;
  });
  const abort = new AbortController();
  let pending: AbortSignal | undefined;
  const fetch = (url: URL | string, init: RequestInit = {}) => {
    if (String(url).endsWith("/token")) pending = init.signal ?? undefined;
    return world.fetch(url, init);
  };
  const call = world.connect({ ...world.oauth({ store, fetch }), signal: abort.signal });
  await reached.opened;
  const reason = new Error("enough");
  abort.abort(reason);
  await rejects(call, reason);
  equal(pending?.aborted, true);
  held.open();
  equal(store.get(`tokens ${world.mcp} https://as.example`), undefined);
});

verifies("client-auth:token-provenance", everyTransport, async (world) => {
  const store = memoryStore();
  await world.visit(world.oauth({ store }));
  world.arrivals.length = 0;
  // Two servers that would serve anybody: what is sent to them is what the client had for them.
  const others = ["https://other.example/mcp", "https://mcp.example/second"];
  for (const url of others) {
    for (const method of ["POST", "GET"]) world.routes.set(`${method} ${url}`, () => ({ status: 405 }));
    await rejects(connect(url, { ...world.oauth({ store }), era: world.era }), /status 405/);
  }
  const reached = new Set(world.arrivals.map(({ method, url }) => `${method} ${url.href}`));
  for (const url of others) {
    ok(reached.has(`POST ${url}`));
    equal(reached.has(`GET ${url}`), world.era === "legacy", "the older transport is tried with its stream");
  }
  for (const { headers } of world.arrivals) equal(headers.has("authorization"), false);
});

verifies("client-auth:revocation", eachEra, async (world) => {
  world.as.refreshes = true;
  const store = memoryStore();
  const auth = world.oauth({ store });
  const key = `tokens ${world.mcp} https://as.example`;
  await world.call(auth);
  const { refreshToken } = store.get(key) as { refreshToken: string };
  await auth.logout(world.mcp);
  const [revoked] = world.to("POST https://as.example/revoke");
  equal(revoked?.form.get("token"), refreshToken);
  equal(revoked?.form.get("client_id"), "client-as.example");
  equal(store.get(key), undefined);
  await world.call(auth);
  world.routes.set("POST https://as.example/revoke", () => ({ status: 503 }));
  await rejects(auth.logout(world.mcp), failsAt("revocation"));
  equal(store.get(key), undefined);
  // Without a refresh token the access token is what can be taken back, by a client that says who it is.
  world.routes.clear();
  world.as.refreshes = false;
  const known = world.oauth({ store, client: { id: "known", secret: "s" } });
  await world.call(known);
  const { accessToken } = store.get(key) as { accessToken: string };
  await known.logout(world.mcp);
  const last = world.to("POST https://as.example/revoke").at(-1);
  equal(last?.form.get("token"), accessToken);
  equal(last?.headers.get("authorization"), `Basic ${btoa("known:s")}`);
  // Where nothing can be taken back, it is at least forgotten here.
  world.as.metadata = { ...world.as.metadata, revocation_endpoint: undefined };
  await world.call(auth);
  ok(store.get(key));
  world.arrivals.length = 0;
  await auth.logout(world.mcp);
  equal(store.get(key), undefined);
  deepEqual(world.to("POST "), []);
});

verifies("client-auth:abort", "the time for an authorization is up", everyTransport, async (world) => {
  const store = memoryStore();
  const authorize = (_url: URL, { signal }: { signal: AbortSignal }) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  const auth = world.oauth({ store, authorize, deadlineMs: 50 });
  await rejects(world.connect(auth), { name: "TimeoutError", kind: "deadline", afterMs: 50 });
  equal(store.get(`tokens ${world.mcp} https://as.example`), undefined);
});
