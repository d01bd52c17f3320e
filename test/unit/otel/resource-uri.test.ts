import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { traceClient, traceServer } from "bowline/otel";
import { McpServer } from "bowline/server";
import { registerTracing } from "../../support/tracing.js";

test("the spans of both sides name the resource that is read, and no other span does", async (t) => {
  const { spans } = registerTracing(t);
  const server = new McpServer({ name: "s", version: "1" }, { interceptors: [traceServer()] })
    .resource("note:1", { name: "note" }, () => "text")
    .tool("greet", {}, () => "hello");
  const client = await connect(server, { interceptors: [traceClient()] });
  t.after(() => client.close());
  await client.readResource("note:1");
  await client.callTool("greet");
  const uris = (method: string) => spans(method).map(({ attributes }) => attributes["mcp.resource.uri"]);
  equal(uris("resources/read").length, 2);
  for (const uri of uris("resources/read")) equal(uri, "note:1");
  equal(uris("tools/call").length, 2);
  for (const uri of uris("tools/call")) equal(uri, undefined);
});

test("the span of a client has the id of its request where the caller chose one", async (t) => {
  const { spans } = registerTracing(t);
  const server = new McpServer({ name: "s", version: "1" }).tool("greet", {}, () => "hello");
  const client = await connect(server, { interceptors: [traceClient()] });
  t.after(() => client.close());
  await client.request("tools/list", {}, { id: "own" });
  await client.request("tools/list", {});
  const ids = spans("tools/list").map(({ attributes }) => attributes["jsonrpc.request.id"]);
  deepEqual(ids, ["own", undefined]);
});
