import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { connect, isSafeIcon } from "bowline/client";
import { McpServer } from "bowline/server";

test("a server warns of a page in the clear that only looks local", async (t) => {
  const warnings: unknown[] = [];
  const server = new McpServer(
    { name: "s", version: "1" },
    { logger: { warn: (message, fields) => void warnings.push([message, fields]) } },
  );
  let page = "";
  server.tool("ask", {}, async (_, ctx) => {
    await ctx.elicitUrl("Go there", page);
    return "done";
  });
  const client = await connect(server, { onElicitUrl: () => ({ action: "accept" }) });
  t.after(() => client.close());
  for (page of ["http://127.0.0.1.evil.example/x", "http://127.evil.example/x", "http://localhost.evil.example/"]) {
    await client.callTool("ask", {});
    equal(warnings.length > 0, true, page);
    warnings.length = 0;
  }
  for (page of ["http://127.0.0.1:3/x", "http://localhost/x", "http://[::1]/x"]) await client.callTool("ask", {});
  deepEqual(warnings, []);
});

test("an icon is judged by the address that a browser makes of it", () => {
  for (const src of [
    "https://user:pw@a.example/i.png",
    "http://a.example/i.png",
    "data:text/html,x",
    "//a.example/i",
    "x",
  ])
    equal(isSafeIcon(src), false, src);
  for (const src of ["https://a.example/i.png", "data:image/png;base64,AA=="]) equal(isSafeIcon(src), true, src);
});
