import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server/modern";
import { createArrayExchange } from "bowline/testing";
import { gate } from "../support/gate.js";
import { modernRequest } from "../support/modern-request.js";

// The first call of this process that speaks: what streams is not loaded yet.
test("a server that closes while a call waits to speak ends the call, and says so", async () => {
  const spoken = gate();
  const server = new McpServer({ name: "speaker", version: "1.0.0" }).tool("speak", {}, async (_, ctx) => {
    void ctx.notify("notifications/example");
    spoken.open();
    await new Promise(() => {});
  });
  const { headers, body } = modernRequest("tools/call", { params: { name: "speak" } });
  const exchange = createArrayExchange({ headers, body });
  server.handle(exchange);
  await spoken.opened;
  await server.close();
  await exchange.done;
  equal(exchange.status, 503);
  match(exchange.body(), /shutting down/);
});
