import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { memoryStore } from "bowline/auth/client";
import { failsAt, oldTransport } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

verifies(
  ["client-auth:sse:parity", "client-auth:401-triggers-flow", "client-auth:bearer-header:every-request"],
  oldTransport,
  async (world) => {
    const client = await world.connect(world.oauth());
    equal((await client.callTool("echo", {})).isError, false);
    equal(world.count("GET https://as.example/authorize"), 1);
    equal(world.count("POST https://as.example/token"), 1);
    const sent = world.arrivals.slice(world.arrivals.findIndex(({ headers }) => headers.has("authorization")));
    for (const { method, url, headers } of sent) {
      equal(headers.has("authorization"), url.origin === "https://mcp.example", `${method} ${url.href}`);
    }
    ok(sent.some(({ method, url }) => method === "GET" && url.pathname === "/sse"));
    ok(sent.some(({ method, url }) => method === "POST" && url.pathname === "/messages"));
  },
);

verifies(["client-auth:sse:parity", "client-auth:refresh:on-401"], "a refresh", oldTransport, async (world) => {
  world.as.refreshes = true;
  const client = await world.connect(world.oauth());
  world.as.live.clear();
  world.arrivals.length = 0;
  equal((await client.callTool("echo", {})).isError, false);
  deepEqual(
    world.to("POST ").map(({ url }) => url.pathname),
    ["/messages", "/token", "/messages"],
  );
  equal(world.count("GET https://as.example/authorize"), 0);
});

verifies(["client-auth:sse:parity", "client-auth:403-scope-upgrade"], "more scope", oldTransport, async (world) => {
  world.challenge = 'Bearer scope="a"';
  const asked = () => world.to("GET https://as.example/authorize").map(({ url }) => url.searchParams.get("scope"));
  world.routes.set("POST https://mcp.example/messages", ({ body }) =>
    body.includes("write") && asked().at(-1) !== "a b"
      ? { status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="b"' } }
      : undefined,
  );
  const client = await world.connect(world.oauth());
  equal((await client.callTool("write", {})).isError, false);
  deepEqual(asked(), ["a", "a b"]);
});

verifies(
  ["client-auth:sse:parity", "client-auth:redirect-then-finish"],
  "finishing later",
  oldTransport,
  async (world) => {
    const sent: URL[] = [];
    const options = { store: memoryStore(), authorize: (url: URL) => void sent.push(url) };
    await rejects(world.connect(world.oauth(options)), failsAt("redirected"));
    await world.oauth(options).finish(await world.browse(sent[0] as URL));
    const client = await world.connect(world.oauth(options));
    equal((await client.callTool("echo", {})).isError, false);
    equal(sent.length, 1);
  },
);

verifies("client-auth:sse:parity", "without authorization", oldTransport, async (world) => {
  await rejects(world.connect({ fetch: world.fetch }), { name: "ConnectionError", status: 401 });
});
