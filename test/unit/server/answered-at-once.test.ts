import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError } from "bowline/client";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import { LegacyEndpoint, messages } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { onEachHost } from "../../support/plain-http.js";

const me = { name: "s", version: "1.0.0" };
const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function createServer(): McpServer {
  return new McpServer(me, { http: { responseMode: "sse" } })
    .tool("now", {}, () => "é猫🦊")
    .tool("soon", {}, async () => "soon")
    .tool("says", {}, (_, ctx) => {
      ctx.progress(1, 2);
      return "said";
    })
    .tool("throws", {}, () => {
      throw new Error("no");
    });
}

test("an event stream with nothing but its answer is written in one piece, any other as it comes", async (t) => {
  await onEachHost(t, createServer, async (ask) => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me };
    const opened = await ask({ headers: json, body: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
    ok(opened.text.startsWith("data: "), opened.text);
    const session = { ...json, "mcp-session-id": opened.headers["mcp-session-id"] };
    const legacy = (name: string) => ({
      headers: session,
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, _meta: { progressToken: 1 } } },
    });
    const modern = (name: string) => modernRequest("tools/call", { params: { name }, meta: { progressToken: 1 } });
    for (const call of [legacy, modern]) {
      const now = await ask(call("now"));
      equal(now.headers["content-type"], "text/event-stream");
      equal(now.headers["content-length"], String(Buffer.byteLength(now.text)));
      deepEqual(events(now.text), ["é猫🦊"]);
      const failed = await ask(call("throws"));
      equal(failed.headers["content-length"], String(Buffer.byteLength(failed.text)));
      deepEqual(events(failed.text), ["no"]);
      const says = await ask(call("says"));
      equal(says.headers["content-length"], undefined);
      deepEqual(events(says.text), ["notifications/progress", "said"]);
      deepEqual(events((await ask(call("soon"))).text), ["soon"]);
    }
  });
});

test("a client that left before its request was read whole is not answered, and the loss is told", async () => {
  for (const preferJson of [true, false]) {
    const endpoint = new LegacyEndpoint({ responseMode: preferJson ? "prefer-json" : "auto" });
    endpoint.server.tool("now", {}, () => "here");
    const client = await endpoint.open();
    const call = client.call(1, "now");
    call.disconnect();
    await new Promise(setImmediate);
    deepEqual(messages(call), []);
    const [lost] = endpoint.reports;
    ok(lost?.error instanceof ConnectionError, String(lost?.error));
    equal(lost.error.delivery, "answer_lost");
    equal(endpoint.stats.running, 0);
    await endpoint.server.close();
  }
});

test("a server that is closed by a handler in the turn of its call is closed, and the call is over", async () => {
  const endpoint = new LegacyEndpoint();
  let closed: Promise<void> | undefined;
  endpoint.server.tool("close", {}, () => {
    closed = endpoint.server.close();
    return "closed";
  });
  const client = await endpoint.open();
  await client.call(1, "close").done;
  await closed;
  const { body, headers } = modernRequest("tools/call", { params: { name: "close" } });
  const modern = createArrayExchange({ headers, body });
  endpoint.server.handle(modern);
  await modern.done;
  equal(modern.status, 503);
  deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
});

/** What each event is: a notification by its method, an answer by its text. */
function events(text: string): unknown[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => {
    const message = JSON.parse(line.slice(6));
    return message.method ?? message.result?.content[0].text;
  });
}
