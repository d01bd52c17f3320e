import { deepEqual, equal, match } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { ChannelLog } from "../../support/channel-log.js";
import { legacyChannels, legacyWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { initialize, rawClient } from "../../support/raw-client.js";
import { LEGACY_VERSIONS } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;
const everything = { elicitation: {}, sampling: {}, roots: {} };

verifies("lifecycle:pre-initialization-ordering:server", legacyWires, async (world: World, t) => {
  let asking = 0;
  const allAsking = gate();
  const nowAsking = () => ++asking === 3 && allAsking.open();
  const server = new McpServer(me)
    .tool("elicit", {}, async (_, ctx) => {
      nowAsking();
      return (await ctx.elicit("Sure?", sure)).action;
    })
    .tool("sample", {}, async (_, ctx) => {
      nowAsking();
      return (await ctx.sample({ messages: [], maxTokens: 1 })).model;
    })
    .tool("roots", {}, async (_, ctx) => {
      nowAsking();
      return `${(await ctx.listRoots()).length}`;
    });
  const client = await rawClient(world, server, t);
  await client.ask(initialize(1, "2025-11-25", { capabilities: everything }));
  for (const name of ["elicit", "sample", "roots"]) {
    client.send({ id: name, method: "tools/call", params: { name, arguments: {} } });
  }
  await allAsking.opened;
  server.changes.toolsChanged();
  await client.settled();
  deepEqual(
    client.heard.filter(({ method }) => method !== undefined),
    [],
  );
  client.send({ method: "notifications/initialized" });
  await client.until((heard) => heard.filter(({ method }) => method !== undefined).length === 3);
  deepEqual(client.heard.flatMap(({ method }) => method ?? []).sort(), [
    "elicitation/create",
    "roots/list",
    "sampling/createMessage",
  ]);
});

verifies("lifecycle:requests-before-initialized", legacyChannels, async (world: World, t) => {
  let ran = false;
  const server = new McpServer(me).tool("t", {}, () => {
    ran = true;
    return "x";
  });
  const client = await rawClient(world, server, t);
  equal((await client.ask({ id: 1, method: "tools/list" })).error?.code, -32600);
  equal((await client.ask({ id: 2, method: "tools/call", params: { name: "t" } })).error?.code, -32600);
  equal(ran, false);
  equal((await client.ask({ id: 3, method: "com.example/none" })).error?.code, -32601);
  deepEqual((await client.ask({ id: 4, method: "ping" })).result, {});
  equal((await client.ask(initialize(5))).result?.protocolVersion, "2025-11-25");
  equal((await client.ask({ id: 6, method: "tools/call", params: { name: "t" } })).error, undefined);
});

verifies("lifecycle:initialize:repeated-rejected", legacyChannels, async (world: World, t) => {
  const server = new McpServer(me).tool("who", {}, (_, ctx) => ({ structuredContent: { ...ctx.client }, content: [] }));
  const client = await rawClient(world, server, t);
  await client.ask(initialize(1, "2025-06-18", { capabilities: { roots: {} } }));
  client.send({ method: "notifications/initialized" });
  const other = { capabilities: { sampling: {} }, clientInfo: { name: "other", version: "9" } };
  equal((await client.ask(initialize(2, "2025-11-25", other))).error?.code, -32600);
  const { result } = await client.ask({ id: 3, method: "tools/call", params: { name: "who" } });
  deepEqual(result?.structuredContent, {
    version: "2025-06-18",
    capabilities: { roots: {} },
    info: { name: "raw", version: "1" },
  });
});

verifies("lifecycle:initialize:malformed", legacyWires, async (world: World, t) => {
  const client = await rawClient(
    world,
    new McpServer(me).tool("t", {}, () => "x"),
    t,
  );
  equal((await client.ask({ id: 1, method: "initialize" })).error?.code, -32602);
  const numbered = initialize(2, "", { protocolVersion: 5 });
  const refused = await client.ask(numbered);
  equal(refused.error?.code, -32602);
  match(refused.error?.message ?? "", /protocolVersion/);
  equal((await client.ask(initialize(3))).result?.protocolVersion, "2025-11-25");
  client.send({ method: "notifications/initialized" });
  equal((await client.ask({ id: 4, method: "tools/list" })).error, undefined);
});

verifies("lifecycle:version:match", legacyWires, async (world: World, t) => {
  for (const version of LEGACY_VERSIONS) {
    const server = new McpServer(me).tool("v", {}, (_, ctx) => ctx.client.version);
    const client = await rawClient(world, server, t);
    equal((await client.ask(initialize(1, version))).result?.protocolVersion, version);
    client.send({ method: "notifications/initialized" });
    const { result } = await client.ask({ id: 2, method: "tools/call", params: { name: "v" } });
    deepEqual(result?.content, [{ type: "text", text: version }]);
  }
});

verifies(
  ["lifecycle:version:server-fallback-latest", "lifecycle:version:initialize-never-modern"],
  legacyWires,
  async (world: World, t) => {
    for (const asked of ["1999-01-01", "2030-01-01", "2026-07-28"]) {
      const client = await rawClient(world, new McpServer(me), t);
      equal((await client.ask(initialize(1, asked))).result?.protocolVersion, "2025-11-25");
    }
    const older = new McpServer(me, { versions: ["2026-07-28", "2025-06-18", "2024-11-05"] });
    const client = await rawClient(world, older, t);
    equal((await client.ask(initialize(1, "2025-11-25"))).result?.protocolVersion, "2025-06-18");
  },
);

proves(
  ["typescript:server:get-client-capabilities", "typescript:server:get-negotiated-protocol-version"],
  { wire: "legacy-memory" },
  "a served connection tells what the handshake told, from then on",
  async (t) => {
    const [ours, theirs] = createChannelPair();
    const server = new McpServer(me);
    const connection = await server.accept(theirs);
    t.after(() => server.close());
    const log = await ChannelLog.open(ours);
    const send = (message: object) => ours.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    send({ id: 1, method: "ping" });
    await log.received(1);
    const told = () => connection.client;
    equal(told(), undefined);
    send(initialize(2, "2031-01-01", { capabilities: { sampling: {} } }));
    await log.received(2);
    equal(told()?.version, "2025-11-25");
    deepEqual(told()?.capabilities, { sampling: {} });
  },
);
