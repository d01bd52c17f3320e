import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { context, createTraceState, propagation, type TextMapPropagator, trace } from "@opentelemetry/api";
import type { ProtocolVersion } from "bowline/client";
import { type ClientInterceptor, ConnectionError, retry } from "bowline/client";
import { traceClient, traceServer } from "bowline/otel";
import { McpServer, toolResult } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { BAGGAGE_KEY, TRACEPARENT_KEY, TRACESTATE_KEY } from "#src/otel/trace-context.js";
import { eachWire, modernWires, type RecordedClient, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { registerTracing, W3C } from "../../support/tracing.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const KEYS = ["traceparent", "tracestate", "baggage"];
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACESTATE =
  /^[a-z0-9][\w\-*/@]*=[\x20-\x2b\x2d-\x3c\x3e-\x7e]*(,[a-z0-9][\w\-*/@]*=[\x20-\x2b\x2d-\x3c\x3e-\x7e]*)*$/;
const BAGGAGE =
  /^[\w!#$%&'*+\-.^`|~]+=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*(,[\w!#$%&'*+\-.^`|~]+=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*)*$/;

const greeter = () => new McpServer(me).tool("greet", {}, () => "hello");

type Meta = Record<string, unknown>;

/** The `_meta` of each call of a tool, as it was sent. */
const sent = (client: RecordedClient): Meta[] =>
  client.wire.requests("tools/call").map(({ params }) => (params?._meta ?? {}) as Meta);

/** The part of `_meta` that is about traces. */
const traceOf = (meta: Meta) => Object.fromEntries(KEYS.flatMap((key) => (key in meta ? [[key, meta[key]]] : [])));
const spanIdIn = (meta: Meta | undefined) => String(meta?.traceparent).split("-")[2];

verifies("otel:meta:keys", eachWire, async (world, t) => {
  deepEqual([TRACEPARENT_KEY, TRACESTATE_KEY, BAGGAGE_KEY], KEYS);
  const { within } = registerTracing(t);
  const chatty: TextMapPropagator = {
    inject(active, carrier, setter) {
      W3C.inject(active, carrier, setter);
      setter.set(carrier, "b3", "0-1-1");
      setter.set(carrier, "Traceparent", "00");
    },
    extract: (active) => active,
    fields: () => [...W3C.fields(), "b3"],
  };
  const plain = await world.connect(greeter());
  await plain.callTool("greet");
  const client = await world.connect(greeter(), { interceptors: [traceClient({ propagator: chatty })] });
  const baggage = propagation.createBaggage({ user: { value: "ada" } });
  await context.with(propagation.setBaggage(context.active(), baggage), () =>
    within("app", () => client.callTool("greet")),
  );
  const [meta = {}] = sent(client);
  const [before = {}] = sent(plain);
  deepEqual(
    Object.keys(meta)
      .filter((key) => !(key in before))
      .sort(),
    ["baggage", "traceparent"],
  );
});

verifies("otel:meta:inject", eachWire, async (world, t) => {
  const { spans, within } = registerTracing(t);
  const client = await world.connect(greeter(), { interceptors: [traceClient()] });
  const outer = await within("app", async (spanId) => {
    await client.callTool("greet");
    await client.callTool("greet");
    return spanId;
  });
  const calls = spans("tools/call greet");
  deepEqual(
    sent(client).map(spanIdIn),
    calls.map((span) => span.spanContext().spanId),
  );
  equal(new Set(sent(client).map(spanIdIn)).size, 2);
  for (const span of calls) equal(span.parentSpanContext?.spanId, outer);
});

verifies("otel:meta:inject", "each attempt has a context of its own", eachWire, async (world, t) => {
  const { spans } = registerTracing(t);
  const clock = new FakeClock();
  const lost = gate();
  const loseFirst: ClientInterceptor = async (call, next) => {
    const result = await next(call);
    if (call.method !== "tools/call" || sent(client).length > 1) return result;
    lost.open();
    throw new ConnectionError("lost", { delivery: "not_sent" });
  };
  const client: RecordedClient = await world.connect(greeter(), {
    interceptors: [retry({ clock, delayMs: 50 }), traceClient(), loseFirst],
  });
  const call = client.callTool("greet");
  await lost.opened;
  while (clock.pending === 0) await Promise.resolve();
  clock.advance(50);
  await call;
  const [first, second] = sent(client).map(spanIdIn);
  notEqual(first, second);
  deepEqual(
    [first, second],
    spans("tools/call greet").map((span) => span.spanContext().spanId),
  );
});

verifies("otel:meta:inject", "each round carries the context", modernWires, async (world, t) => {
  const { spans } = registerTracing(t);
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Sure?", { type: "object", properties: { sure: { type: "boolean" } } });
    return answer.action;
  });
  const client = await world.connect(server, {
    interceptors: [traceClient()],
    onElicit: () => ({ action: "accept", content: { sure: true } }),
  });
  equal((await client.callTool("ask")).text, "accept");
  const [span] = spans("tools/call ask");
  deepEqual(sent(client).map(spanIdIn), [span?.spanContext().spanId, span?.spanContext().spanId]);
});

verifies("otel:meta:inject", "nothing is added where nothing is registered", eachWire, async (world) => {
  const client = await world.connect(greeter().use(traceServer()), { interceptors: [traceClient()] });
  const plain = await world.connect(greeter());
  equal((await client.callTool("greet")).text, "hello");
  await plain.callTool("greet");
  deepEqual(sent(client), sent(plain));
  deepEqual(traceOf(sent(client)[0] as Meta), {});
});

proves("otel:meta:inject", {}, "needs no tracing package", async () => {
  const hooks = `export async function resolve(name, context, next) {
    if (name.startsWith("@opentelemetry/")) throw new Error(name + " is not installed");
    return next(name, context);
  }`;
  const program = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
    const { connect } = await import("bowline/client");
    const { McpServer } = await import("bowline/server");
    const { createChannelPair } = await import("bowline/testing");
    const refused = await import("bowline/otel").catch((error) => error.message);
    const [channel, theirs] = createChannelPair();
    await new McpServer({ name: "a", version: "1" }).tool("greet", {}, () => "hello").accept(theirs);
    const client = await connect({ channel });
    console.log(refused + "; " + (await client.callTool("greet")).text);
    await client.close();
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
  equal(stdout.trim(), "@opentelemetry/api is not installed; hello");
});

verifies("otel:meta:format", eachWire, async (world, t) => {
  registerTracing(t);
  const client = await world.connect(greeter(), { interceptors: [traceClient()] });
  const parent = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    traceFlags: 1,
    traceState: createTraceState("vendor=a:1,other@x=b"),
  };
  const baggage = propagation.createBaggage({ user: { value: "Åsa, ö;=" }, plan: { value: "free" } });
  const active = propagation.setBaggage(trace.setSpanContext(context.active(), parent), baggage);
  await context.with(active, () => client.callTool("greet"));
  const [meta = {}] = sent(client);
  match(String(meta.traceparent), TRACEPARENT);
  equal(String(meta.traceparent).split("-")[1], parent.traceId);
  match(String(meta.tracestate), TRACESTATE);
  equal(meta.tracestate, "vendor=a:1,other@x=b");
  match(String(meta.baggage), BAGGAGE);
  ok(String(meta.baggage).includes(encodeURIComponent("Åsa, ö;=")));
});

verifies("otel:meta:format", "an invalid span context is not sent", eachWire, async (world, t) => {
  // Only propagation is registered: the current context is what there is, and it is none.
  propagation.setGlobalPropagator(W3C);
  t.after(() => propagation.disable());
  const client = await world.connect(greeter(), { interceptors: [traceClient()] });
  await client.callTool("greet");
  deepEqual(sent(client).map(traceOf), [{}]);
});

verifies("otel:meta:caller-wins", eachWire, async (world, t) => {
  const { within } = registerTracing(t);
  const client = await world.connect(greeter(), { interceptors: [traceClient()] });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const all = { traceparent, tracestate: "vendor=1", baggage: "user=ada" };
  const baggage = propagation.createBaggage({ user: { value: "bob" } });
  await context.with(propagation.setBaggage(context.active(), baggage), () =>
    within("app", async () => {
      await client.callTool("greet", {}, { meta: all });
      await client.callTool("greet", {}, { meta: { traceparent } });
      await client.request("tools/call", { name: "greet", _meta: { baggage: "user=ada" } });
    }),
  );
  const [first, second, third] = sent(client).map(traceOf);
  deepEqual(first, all);
  deepEqual(second, { traceparent, baggage: "user=bob" });
  equal(third?.baggage, "user=ada");
  match(String(third?.traceparent), TRACEPARENT);
});

const carried = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tracestate: "vendor=1",
  baggage: "user=%C3%85sa",
};

for (const tracing of [false, true]) {
  const title = tracing ? "with tracing" : "without tracing";
  verifies("otel:meta:passthrough", title, eachWire, async (world, t) => {
    if (tracing) registerTracing(t);
    const versions = world.era === "modern" ? ["2026-07-28"] : ["2024-11-05", "2025-11-25"];
    for (const version of versions) deepEqual(await echo(world, version, tracing), Array(4).fill(carried), version);
  });
}

/** What arrives of the keys: at a handler, in a result, and by notifications to and from the server. */
async function echo(world: World, version: string, tracing: boolean): Promise<Meta[]> {
  const arrived: Meta[] = [];
  const [told, heard] = [gate<Meta>(), gate<Meta>()];
  const server = new McpServer(me)
    .tool("echo", {}, async (_, ctx) => {
      arrived.push(traceOf(ctx.meta as Meta));
      await ctx.notify("vendor/event", { _meta: { ...carried } });
      return toolResult({ content: [], _meta: { ...carried } });
    })
    .onNotification("vendor/told", {}, (params) => told.open(params._meta as Meta));
  if (tracing) server.use(traceServer());
  const client = await world.connect(server, {
    versions: [version as ProtocolVersion],
    interceptors: tracing ? [traceClient()] : [],
    notifications: { "vendor/event": (params) => heard.open(params?._meta as Meta) },
  });
  equal(client.version, version);
  const result = await client.request("tools/call", { name: "echo" }, { meta: carried });
  arrived.push(traceOf(result._meta as Meta));
  arrived.push(traceOf(await heard.opened));
  await client.notify("vendor/told", { _meta: { ...carried } });
  arrived.push(traceOf(await told.opened));
  return arrived;
}
