import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { memoryStore } from "bowline/auth/client";
import { type AuthWorld, eachEra, everyTransport, failsAt, MockIssuer } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

/** The server moves to another authorization server; the first one's tokens are no longer good. */
function migrate(world: AuthWorld): MockIssuer {
  const second = new MockIssuer("https://second.example");
  world.issuers.push(second);
  world.listed = [second.issuer];
  world.arrivals.length = 0;
  return second;
}

const text = (world: AuthWorld, origin: string) =>
  world.arrivals
    .filter(({ url }) => url.origin === origin)
    .map(({ url, headers, body }) => `${url.href} ${headers.get("authorization") ?? ""} ${body}`)
    .join("\n");

verifies(
  [
    "client-auth:as-migration:reregister",
    "client-auth:as-migration:no-cred-reuse",
    "client-auth:as-migration:no-token-reuse",
  ],
  everyTransport,
  async (world) => {
    world.as.refreshes = true;
    const store = memoryStore();
    const client = await world.connect(world.oauth({ store }));
    migrate(world);
    await client.callTool("echo", {});
    deepEqual(
      [
        "POST https://second.example/register",
        "GET https://second.example/authorize",
        "POST https://second.example/token",
      ].map((prefix) => world.count(prefix)),
      [1, 1, 1],
    );
    const sent = text(world, "https://second.example");
    equal(/client-as\.example|refresh-as|token-as/.test(sent), false);
    equal(/refresh_token-as|grant_type=refresh_token/.test(sent), false);
    equal(store.get(`tokens ${world.mcp} https://as.example`), undefined);
  },
);

verifies("client-auth:as-migration:no-token-reuse", "a client with the same id at both", eachEra, async (world) => {
  world.as.refreshes = true;
  const client = ["https://as.example", "https://second.example"].map((issuer) => ({ id: "same", issuer }));
  const auth = world.oauth({ client });
  await world.call(auth);
  migrate(world);
  await world.call(auth);
  deepEqual(
    world.to("POST https://second.example/token").map(({ form }) => form.get("grant_type")),
    ["authorization_code"],
  );
});

verifies("client-auth:as-binding", eachEra, async (world) => {
  const store = memoryStore();
  const auth = world.oauth({ store });
  await world.call(auth);
  migrate(world);
  await world.call(auth);
  ok(store.get("client https://as.example"));
  ok(store.get("client https://second.example"));
  // A store with a single slot hands out what belongs to somebody else.
  const foreign = store.get("client https://as.example");
  const single = { ...store, get: (key: string) => (key.startsWith("client ") ? foreign : store.get(key)) };
  world.issuers[1]?.live.clear();
  world.arrivals.length = 0;
  await world.call(world.oauth({ store: single }));
  equal(world.count("POST https://second.example/register"), 1);
  equal(/client-as\.example/.test(text(world, "https://second.example")), false);
});

verifies("client-auth:as-migration:cimd-portable", eachEra, async (world) => {
  const clientMetadataUrl = "https://app.example/c.json";
  world.as.metadata = { ...world.as.metadata, client_id_metadata_document_supported: true };
  const auth = world.oauth({ clientMetadataUrl });
  await world.call(auth);
  const second = migrate(world);
  second.metadata = { ...second.metadata, client_id_metadata_document_supported: true };
  await world.call(auth);
  equal(world.to("GET https://second.example/authorize")[0]?.url.searchParams.get("client_id"), clientMetadataUrl);
  equal(world.count("POST https://second.example/register"), 0);
});

verifies("client-auth:as-migration:url-shaped-dcr-id", eachEra, async (world) => {
  const id = "https://as1.example/clients/1";
  world.routes.set("POST https://as.example/register", () => ({ status: 201, json: { client_id: id } }));
  const auth = world.oauth();
  await world.call(auth);
  equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("client_id"), id);
  migrate(world);
  await world.call(auth);
  equal(world.count("POST https://second.example/register"), 1);
  equal(text(world, "https://second.example").includes("as1.example"), false);
});

verifies("client-auth:as-migration:stale-metadata", eachEra, async (world) => {
  world.as.refreshes = true;
  world.as.extra = { expires_in: 3600 };
  let at = Date.now();
  const auth = world.oauth({ now: () => at });
  await world.call(auth);
  const second = migrate(world);
  second.metadata = {};
  await rejects(world.call(auth), failsAt("server_metadata"));
  at += 7_200_000;
  await rejects(world.call(auth), failsAt("server_metadata"));
  equal(world.arrivals.filter(({ url }) => url.origin === "https://as.example").length, 0);
});
