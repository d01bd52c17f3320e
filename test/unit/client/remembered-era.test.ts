import { deepEqual, equal, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server/modern";

/** A server that was of the handshake era, and now refuses handshakes with this status. */
function moved(t: TestContext, status: number) {
  const server = new McpServer({ name: "s", version: "1" }).tool("echo", {}, () => "here");
  t.after(() => server.close());
  const asked: string[] = [];
  const fetch = (url: URL, init: RequestInit) => {
    const { method } = JSON.parse(String(init.body)) as { method: string };
    asked.push(method);
    return method === "initialize"
      ? Promise.resolve(new Response(null, { status }))
      : server.fetch(new Request(url, init));
  };
  return { fetch, asked };
}

for (const status of [400, 404, 405, 422, 499]) {
  test(`a remembered server that answers the handshake with ${status} is asked in the other era`, async (t) => {
    const { fetch, asked } = moved(t, status);
    const client = await connect("http://localhost/mcp", { fetch, prior: { era: "legacy" } });
    t.after(() => client.close());
    equal(client.era, "modern");
    equal((await client.callTool("echo")).text, "here");
    deepEqual(asked.slice(0, 2), ["initialize", "server/discover"]);
  });
}

for (const status of [401, 403, 500, 503]) {
  test(`a remembered server that answers the handshake with ${status} has not changed its era`, async (t) => {
    const { fetch, asked } = moved(t, status);
    const connecting = connect("http://localhost/mcp", { fetch, prior: { era: "legacy" } });
    await rejects(connecting, { name: "ConnectionError", status });
    deepEqual(asked, ["initialize"]);
  });
}
