import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { eachEra, everyTransport, oldTransport } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

verifies(
  "client-transport:http:headers-retry-consistent",
  "headers are made from the body that goes out",
  eachEra.filter(({ name }) => name.startsWith("modern")),
  async (world) => {
    const client = await world.connect(world.oauth());
    const before = world.arrivals.findLast(({ headers }) => headers.has("authorization"));
    world.as.live.clear();
    world.arrivals.length = 0;
    let refusals = 0;
    world.routes.set("POST https://mcp.example/mcp", (request) => {
      if (!world.accepts(request) || refusals++ > 0) return undefined;
      const error = {
        code: -32022,
        message: "Unsupported protocol version",
        data: { supported: ["2026-07-28"], requested: "2026-07-28" },
      };
      return { status: 400, json: { jsonrpc: "2.0", id: JSON.parse(request.body).id, error } };
    });
    equal((await client.callTool("echo", {})).text, "echo");
    const posts = world.to("POST https://mcp.example/mcp");
    equal(posts.length, 3);
    const [first, second, third] = posts.map(({ headers, body }) => {
      const { id, method, params } = JSON.parse(body);
      equal(headers.get("mcp-method"), method);
      equal(headers.get("mcp-name"), params.name);
      equal(headers.get("mcp-protocol-version"), params._meta["io.modelcontextprotocol/protocolVersion"]);
      return { id, authorization: headers.get("authorization") };
    });
    equal(first?.authorization, before?.headers.get("authorization"));
    notEqual(third?.authorization, first?.authorization);
    deepEqual([second?.id, second?.authorization], [first?.id, third?.authorization]);
    notEqual(third?.id, second?.id);
  },
);

verifies(
  "typescript:client-transport:http:custom-fetch",
  "nothing goes out by the global one",
  everyTransport,
  async (world, t) => {
    const used = t.mock.method(globalThis, "fetch", () => Promise.reject(new Error("not this one")));
    const client = await world.connect(world.oauth());
    equal((await client.callTool("echo", {})).text, "echo");
    await client.listTools();
    await client.close();
    equal(used.mock.callCount(), 0);
    for (const part of [
      "POST https://as.example/token",
      "POST https://as.example/register",
      "POST https://mcp.example",
    ]) {
      ok(world.count(part) > 0, part);
    }
  },
);

/** A POST to the address of the stream is refused, as by a server that knows nothing newer. */
const POST = "POST https://mcp.example/sse";
const STREAM = "GET https://mcp.example/sse";
const refused = { status: 401, headers: { "www-authenticate": "Bearer" } };

verifies(
  "client-transport:sse:401-unauthorized-code",
  "the stream and the messages are retried",
  oldTransport,
  async (world) => {
    world.routes.set(POST, () => ({ status: 405 }));
    const client = await world.connect(world.oauth());
    equal(world.count(STREAM), 2);
    equal(world.count("POST https://as.example/token"), 1);
    world.as.live.clear();
    equal((await client.callTool("echo", {})).text, "echo");
    equal(world.count("POST https://as.example/token"), 2);
  },
);

verifies(
  "client-transport:sse:401-unauthorized-code",
  "without authorization the status is told",
  oldTransport,
  async (world) => {
    const failure = { name: "ConnectionError", status: 401 };
    world.routes.set(POST, () => ({ status: 405 }));
    await rejects(world.connect({ fetch: world.fetch }), failure);
    equal(world.count(STREAM), 1);
    const { access_token } = world.as.issue(undefined).json as { access_token: string };
    const client = await world.connect({ fetch: world.fetch, headers: { authorization: `Bearer ${access_token}` } });
    world.routes.set("POST https://mcp.example/messages", () => refused);
    await rejects(client.callTool("echo", {}), failure);
  },
);
