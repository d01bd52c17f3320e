import { deepEqual, equal, match, ok } from "node:assert/strict";
import { connect, McpError } from "bowline/client";
import { McpServer } from "bowline/server";
import { createPipePair, eachWire, heardBy, modernChannels, modernWires, type World } from "../../support/each-wire.js";
import { HttpScript } from "../../support/http-script.js";
import { settled } from "../../support/http-transports.js";
import { enveloped, initialize, rawClient } from "../../support/raw-client.js";
import { MODERN, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;
const never = () => {
  throw new Error("must not run");
};

verifies("typescript:mrtr:push-api:loud-fail-2026", modernWires, async ({ connect }: World) => {
  const told: unknown[] = [];
  const server = new McpServer(me).method("com.example/ask", {}, async (_, ctx) => {
    const asks = [
      () => ctx.elicit("Sure?", sure),
      () => ctx.elicitUrl("Go", "https://example.com"),
      () => ctx.sample({ messages: [], maxTokens: 1 }),
      () => ctx.listRoots(),
      () => ctx.request("ping"),
      () => ctx.request("com.example/own", { a: 1 }),
    ];
    for (const ask of asks) await ask().catch((error: unknown) => told.push(error));
    return {};
  });
  const methods = { "com.example/own": never };
  const client = await connect(server, { onElicit: never, onElicitUrl: never, onSample: never, roots: [], methods });
  await client.request("com.example/ask");
  equal(told.length, 6);
  for (const error of told) {
    ok(error instanceof McpError);
    match(error.message, /input_required/);
  }
  deepEqual(client.wire.serverRequests(), []);
});

const intruders = [
  {
    id: 1,
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties: {} } },
  },
  { id: 2, method: "ping" },
  { id: 3, method: "com.example/own", params: {} },
];
const handlers = { onElicit: never, methods: { "com.example/own": never } };

proves(
  "patterns:client-no-responses",
  { wire: "modern-stdio" },
  "a request of the server stays unanswered",
  async (t) => {
    const script = new ServerScript(createPipePair()).modern();
    script.on("tools/list", { result: { resultType: "complete", tools: [] } });
    const problems: Error[] = [];
    const client = await connect(
      { channel: script.channel },
      { ...handlers, era: "modern", onError: (error) => problems.push(error) },
    );
    t.after(() => client.close());
    for (const request of intruders) script.send(request);
    await client.listTools();
    deepEqual(script.methods, ["server/discover", "tools/list"]);
    equal(problems.length, 3);
    for (const [index, { method }] of intruders.entries()) ok(problems[index]?.message.includes(method));
  },
);

proves("patterns:client-no-responses", { wire: "modern-http" }, "nor on the stream of a call", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received) => {
    const stream = received.stream();
    for (const request of intruders) stream.event({ jsonrpc: "2.0", ...request });
    stream.resultEvent({ resultType: "complete", tools: [] }).end();
  };
  const problems: Error[] = [];
  const client = await connect(script.url, {
    ...handlers,
    versions: [MODERN],
    onError: (error) => problems.push(error),
  });
  t.after(() => client.close());
  await client.listTools();
  await settled();
  equal(script.received.length, 1);
  equal(problems.length, 3);
});

verifies("patterns:server-ignores-responses", modernChannels, async (world: World, t) => {
  const problems: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => problems.push(error) }).tool("t", {}, () => "x");
  const client = await rawClient(world, server, t);
  client.send({ id: 1, result: { action: "accept" } });
  client.send({ id: 2, error: { code: -1, message: "no" } });
  equal((await client.ask(enveloped(3, "tools/call", { name: "t" }))).error, undefined);
  equal(client.heard.length, 1);
  equal(problems.length, 2);
});

verifies("patterns:no-unsolicited-notifications", "silence without a subscription", eachWire, async (world: World) => {
  const server = new McpServer(me)
    .tool("t", {}, () => "x")
    .prompt("p", {}, () => "y")
    .resource("a:b", { name: "r" }, () => "z");
  const client = await world.connect(server);
  await heardBy(client, world);
  server.tool("u", {}, () => "x");
  server.removePrompt("p");
  server.resource("a:c", { name: "s" }, () => "z");
  server.changes.resourceUpdated("a:b");
  await client.callTool("t");
  if (world.era === "legacy") await client.wire.until((seen) => seen.notifications("server").length === 3);
  deepEqual(
    client.wire.notifications("server").map(({ method }) => method),
    world.era === "modern" ? [] : ["tools", "prompts", "resources"].map((kind) => `notifications/${kind}/list_changed`),
  );
});

verifies("patterns:request-scoped-before-response", modernWires, async (world: World, t) => {
  let late: Promise<void> | undefined;
  const server = new McpServer(me).tool("t", {}, (_, ctx) => {
    ctx.progress(1);
    ctx.log("info", "before");
    late = new Promise((resolve) => {
      setImmediate(() => {
        ctx.progress(2);
        ctx.log("info", "after");
        resolve();
      });
    });
    return "x";
  });
  const client = await rawClient(world, server, t);
  const meta = { progressToken: "p", "io.modelcontextprotocol/logLevel": "info" };
  await client.ask(enveloped(1, "tools/call", { name: "t" }, meta));
  await late;
  await client.settled();
  deepEqual(
    client.heard.map(({ method, id }) => method ?? id),
    ["notifications/progress", "notifications/message", 1],
  );
});

verifies(
  "patterns:no-unsolicited-notifications",
  "one server, both kinds of clients",
  modernChannels,
  async (world, t) => {
    const server = new McpServer(me).tool("t", {}, () => "x");
    const modern = await world.connect(server);
    const legacy = await rawClient(world, server, t);
    await legacy.ask(initialize(1));
    legacy.send({ method: "notifications/initialized" });
    await legacy.ask({ id: 2, method: "ping" });
    server.changes.toolsChanged();
    await legacy.until((heard) => heard.some(({ method }) => method === "notifications/tools/list_changed"));
    await modern.callTool("t");
    deepEqual(modern.wire.notifications("server"), []);
  },
);
