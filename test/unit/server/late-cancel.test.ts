import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import { modernRequest } from "../../support/modern-request.js";

/** The JSON Schema validator is loaded by the first value that it checks, which is that of this file's first call. */
test("a call that ends while what it needs is loaded does not begin", async () => {
  let begun = 0;
  const server = new McpServer({ name: "late", version: "1.0.0" }).tool("work", { input: { type: "object" } }, () => {
    begun++;
    return "done";
  });
  const { headers, body } = modernRequest("tools/call", { params: { name: "work" }, meta: { progressToken: 7 } });
  const given = createArrayExchange({ headers, body });
  server.handle(given);
  while (server.stats().openRequests === 0) await Promise.resolve();
  given.disconnect();
  equal(server.stats().openRequests, 0);
  const next = createArrayExchange({ headers, body });
  server.handle(next);
  await next.done;
  ok(next.body().includes("done"));
  equal(begun, 1);
});
