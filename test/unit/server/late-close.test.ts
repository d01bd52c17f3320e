import { doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server/modern";
import { createArrayExchange } from "bowline/testing";
import { gate } from "../../support/gate.js";
import { modernRequest } from "../../support/modern-request.js";

for (const speaks of [false, true]) {
  const title = "a server that closes while a call waits to speak ends the call, and says so";
  test(speaks ? `${title}: on the stream that it has begun` : title, async () => {
    const begun = gate();
    const server = new McpServer({ name: "speaker", version: "1.0.0" }).tool("speak", {}, async (_, ctx) => {
      if (speaks) void ctx.notify("notifications/example");
      begun.open();
      await new Promise(() => {});
    });
    const { headers, body } = modernRequest("tools/call", { params: { name: "speak" } });
    const exchange = createArrayExchange({ headers, body });
    server.handle(exchange);
    await begun.opened;
    await server.close();
    await exchange.done;
    equal(exchange.status, speaks ? 200 : 503);
    if (speaks) doesNotMatch(exchange.body(), /"id"/);
    else match(exchange.body(), /shutting down/);
  });
}
