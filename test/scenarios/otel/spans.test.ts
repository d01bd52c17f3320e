import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { traceClient, traceServer } from "bowline/otel";
import { McpServer, RpcError, type ServerInterceptor, ToolError, toolResult, withJsonSchema } from "bowline/server";
import * as v from "valibot";
import { eachWire } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { registerTracing, type Traced } from "../../support/tracing.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

/** A span around each request that is not the SDK's: that of an HTTP framework, say. */
const ambient =
  ({ within }: Traced, ids: string[]): ServerInterceptor =>
  (call, next) =>
    within("ambient", (spanId) => {
      if (call.method === "tools/call") ids.push(spanId);
      return next(call);
    });

verifies("otel:meta:extract", eachWire, async (world, t) => {
  const traced = registerTracing(t);
  const ids: string[] = [];
  const server = new McpServer(me)
    .use(ambient(traced, ids))
    .use(traceServer())
    .tool("greet", {}, () => traced.within("inner", async () => "hello"));
  const client = await world.connect(server);
  await client.callTool("greet", {}, { meta: { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1" } });
  await client.callTool("greet");
  const [remote, local] = traced.spans("tools/call greet") as [ReadableSpan, ReadableSpan];
  equal(remote.parentSpanContext?.spanId, PARENT);
  equal(remote.parentSpanContext?.isRemote, true);
  equal(remote.spanContext().traceId, TRACE);
  equal(remote.spanContext().traceState?.get("vendor"), "1");
  deepEqual(
    remote.links.map((link) => link.context.spanId),
    [ids[0]],
  );
  equal(local.parentSpanContext?.spanId, ids[1]);
  deepEqual(local.links, []);
  deepEqual(
    traced.spans("inner").map((span) => span.parentSpanContext?.spanId),
    [remote.spanContext().spanId, local.spanContext().spanId],
  );
});

verifies("otel:meta:extract", "one trace from the caller to the handler", eachWire, async (world, t) => {
  const { spans, within } = registerTracing(t);
  const server = new McpServer(me).use(traceServer()).tool("greet", {}, () => "hello");
  const client = await world.connect(server, { interceptors: [traceClient()] });
  await within("app", () => client.callTool("greet", {}, { id: "first" }));
  const [served, called] = spans("tools/call greet") as [ReadableSpan, ReadableSpan];
  deepEqual([served.kind, called.kind], [SpanKind.SERVER, SpanKind.CLIENT]);
  equal(served.parentSpanContext?.spanId, called.spanContext().spanId);
  const tool = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "greet",
    "jsonrpc.request.id": "first",
  };
  deepEqual({ ...called.attributes }, tool);
  const { "mcp.session.id": session, ...attributes } = served.attributes;
  const http = world.transport === "node" || world.transport === "fetch";
  equal(typeof session, http && world.era === "legacy" ? "string" : "undefined");
  deepEqual(attributes, {
    ...tool,
    "mcp.protocol.version": client.version,
    ...(http ? { "network.transport": "tcp", "network.protocol.name": "http" } : { "network.transport": "pipe" }),
  });
  for (const span of [served, called]) deepEqual(span.status, { code: SpanStatusCode.UNSET });
});

verifies("otel:meta:malformed-ignored", eachWire, async (world, t) => {
  const { spans } = registerTracing(t);
  const server = new McpServer(me).use(traceServer()).tool("greet", {}, () => "hello");
  const client = await world.connect(server, { interceptors: [traceClient()] });
  const malformed = ["garbage", 5, {}, null, ["00"], `00-${"0".repeat(32)}-${PARENT}-01`];
  for (const traceparent of malformed) {
    const meta = { traceparent, tracestate: 7, baggage: { user: "ada" } };
    equal((await client.callTool("greet", {}, { meta })).text, "hello");
  }
  const served = spans("tools/call greet").filter((span) => span.kind === SpanKind.SERVER);
  equal(served.length, malformed.length);
  for (const span of served) ok(span.parentSpanContext?.isRemote !== true);
});

verifies("otel:meta:malformed-ignored", "a propagator that throws", eachWire, async (world, t) => {
  const { spans } = registerTracing(t);
  const propagator = {
    inject() {},
    extract() {
      throw new Error("cannot read this");
    },
    fields: () => ["traceparent"],
  };
  const server = new McpServer(me).use(traceServer({ propagator })).tool("greet", {}, () => "hello");
  const client = await world.connect(server);
  equal((await client.callTool("greet", {}, { meta: { traceparent: "garbage" } })).text, "hello");
  equal(spans("tools/call greet").length, 1);
});

const SECRET = "hunter2-hunter2";

verifies("otel:span:error-status", eachWire, async (world, t) => {
  const { spans } = registerTracing(t);
  const input = withJsonSchema(v.object({ count: v.number() }), {
    type: "object",
    properties: { count: { type: "number" } },
  });
  const server = new McpServer(me)
    .use(traceServer())
    .tool("count", { input }, () => "counted")
    .tool("flagged", {}, () => toolResult({ isError: true }))
    .tool("deliberate", {}, () => {
      throw new ToolError("no such thing");
    })
    .tool("crash", {}, () => {
      throw new TypeError("out of luck");
    })
    .tool("refuse", {}, () => {
      throw new RpcError(-32050, "not today");
    })
    .prompt("crash", {}, () => {
      throw new RangeError("the disk is full");
    })
    .method("vendor/count", { params: input }, () => ({}));
  const client = await world.connect(server);
  const outcomes = async (work: Promise<unknown>) =>
    work.then(
      () => "result",
      () => "error",
    );
  const failing: [name: string, work: () => Promise<unknown>, outcome: string, type: string, description?: string][] = [
    ["tools/call flagged", () => client.callTool("flagged"), "result", "tool_error"],
    ["tools/call deliberate", () => client.callTool("deliberate"), "result", "tool_error"],
    ["tools/call crash", () => client.callTool("crash"), "result", "tool_error"],
    ["tools/call count", () => client.callTool("count", { count: SECRET }), "result", "tool_error"],
    ["tools/call refuse", () => client.callTool("refuse"), "error", "-32050", "not today"],
    ["prompts/get crash", () => client.getPrompt("crash"), "error", "RangeError", "the disk is full"],
    ["vendor/none", () => client.request("vendor/none"), "error", "-32601", "Method not found: vendor/none"],
    [
      "vendor/count",
      () => client.request("vendor/count", { count: SECRET }),
      "error",
      "-32602",
      "Invalid params for vendor/count: /count must match the schema",
    ],
  ];
  for (const [name, work, outcome, type, description] of failing) {
    equal(await outcomes(work()), outcome, name);
    const span = spans(name).at(-1) as ReadableSpan;
    equal(span.status.code, SpanStatusCode.ERROR, name);
    equal(span.status.message, description, name);
    equal(span.attributes["error.type"], type, name);
    equal(span.events.length, type === "RangeError" ? 1 : 0, name);
    ok(!JSON.stringify([span.name, span.attributes, span.status, span.events]).includes(SECRET), name);
  }
  equal(spans().at(-1)?.attributes["rpc.response.status_code"], "-32602");
});

verifies("otel:span:error-status", "calls that were given up", eachWire, async (world, t) => {
  const { spans } = registerTracing(t);
  const [started, ended] = [gate(), gate()];
  const server = new McpServer(me)
    .use(async (call, next) => next(call).finally(() => call.method === "tools/call" && ended.open()))
    .use(traceServer())
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      throw await aborted(ctx.signal);
    });
  const client = await world.connect(server, { interceptors: [traceClient()] });
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { signal: abort.signal });
  await started.opened;
  abort.abort(new Error("enough"));
  await rejects(call, /enough/);
  await ended.opened;
  deepEqual(
    spans("tools/call wait").map((span) => [span.status.code, span.attributes["error.type"], span.events.length]),
    [
      [SpanStatusCode.ERROR, "cancelled", 0],
      [SpanStatusCode.ERROR, "cancelled", 0],
    ],
  );
});
