import { equal } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { proves } from "../../support/verifies.js";

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  host: "localhost",
};

for (const preferJson of [false, true]) {
  const title = `a cancellation that comes before its request still ends it, json ${preferJson}`;
  proves("hosting:session:cancel-scoped", { wire: "legacy-http" }, title, async () => {
    let runs = 0;
    await using server = new McpServer(
      { name: "late", version: "1.0.0" },
      { http: { responseMode: preferJson ? "prefer-json" : "auto" } },
    );
    server.tool("count", {}, () => `run ${++runs}`);
    const open = () =>
      post({}, 0, "initialize", {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "raw", version: "1" },
      });
    const post = (session: Record<string, string>, id: number | undefined, method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      return server.fetch(
        new Request("http://localhost/mcp", { method: "POST", headers: { ...HEADERS, ...session }, body }),
      );
    };
    const sessionOf = (reply: Response) => ({ "mcp-session-id": reply.headers.get("mcp-session-id") ?? "" });
    const [one, two] = [sessionOf(await open()), sessionOf(await open())];
    equal((await post(one, undefined, "notifications/cancelled", { requestId: 5 })).status, 202);
    const overtaken = await post(one, 5, "tools/call", { name: "count" });
    equal(overtaken.status, preferJson ? 204 : 200);
    equal((await overtaken.text()).includes("result"), false);
    equal(runs, 0);
    // The same id in another session, and the next one in this, are other requests.
    equal((await (await post(two, 5, "tools/call", { name: "count" })).text()).includes("run 1"), true);
    equal((await (await post(one, 6, "tools/call", { name: "count" })).text()).includes("run 2"), true);
  });
}
