import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server/modern";
import { createArrayExchange } from "bowline/testing";
import type { ArrayExchange } from "#src/testing/array-exchange.js";
import { modernRequest, type RequestInit, sseMessages } from "../../../../support/modern-request.js";

/** What streams and reports is loaded by the first who needs it: the tests of this file are those first, in this order. */
const me = { name: "speaker", version: "1.0.0" };

function call(server: McpServer, name: string, init: RequestInit = {}): ArrayExchange {
  const { headers, body } = modernRequest("tools/call", { ...init, params: { name, ...init.params } });
  const exchange = createArrayExchange({ headers, body });
  server.handle(exchange);
  return exchange;
}

function said(exchange: ArrayExchange): unknown[] {
  return sseMessages(exchange.body()).map((message) => ("method" in message ? message.method : "answer"));
}

test("what the first call says comes before its answer, though its handler does not wait", async () => {
  const server = new McpServer(me).tool("speak", {}, (_, ctx) => {
    void ctx.notify("notifications/one");
    void ctx.notify("notifications/two");
    return "done";
  });
  const exchange = call(server, "speak");
  await exchange.done;
  deepEqual(said(exchange), ["notifications/one", "notifications/two", "answer"]);
});

test("so does what it reports of its progress", async () => {
  const server = new McpServer(me).tool("work", {}, (_, ctx) => {
    void ctx.progress(1);
    void ctx.progress(2);
    return "done";
  });
  const exchange = call(server, "work", { meta: { progressToken: 7 } });
  await exchange.done;
  deepEqual(said(exchange), ["notifications/progress", "notifications/progress", "answer"]);
});

test("a header that does not say what the body says is refused by the first who looks closely", async () => {
  const server = new McpServer(me).tool("work", {}, () => "done");
  const { headers, body } = modernRequest("tools/call", { params: { name: "work" } });
  const exchange = createArrayExchange({ headers: { ...headers, "mcp-name": "other" }, body });
  server.handle(exchange);
  await exchange.done;
  equal(exchange.status, 400);
  match(exchange.body(), /Mcp-Name header is .*other.*, but the body has .*work/);
});

test("a notification is with its handler before it is accepted", async () => {
  const heard: unknown[] = [];
  const server = new McpServer(me).onNotification(({ method }) => void heard.push(method));
  const { headers, body } = modernRequest("notifications/example", {});
  const { id: _, ...notification } = body;
  const exchange = createArrayExchange({ headers, body: notification });
  server.handle(exchange);
  await exchange.done;
  deepEqual([exchange.status, heard], [202, ["notifications/example"]]);
});
