import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { ProtocolVersion } from "bowline/client";
import { connect, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, legacyWires, modernChannels, modernHttp, modernWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { settled } from "../../support/http-transports.js";
import { enveloped, initialize, rawClient } from "../../support/raw-client.js";
import { LEGACY_VERSIONS, MODERN, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const INFO = "io.modelcontextprotocol/serverInfo";

function harbour() {
  return new McpServer(me)
    .tool("who", {}, (_, ctx) => {
      return { structuredContent: { ...ctx.client }, content: [{ type: "text", text: ctx.client.version }] };
    })
    .prompt("p", {}, () => "say")
    .resource("a:b", { name: "r" }, () => "text");
}

const plain = (id: number, name = "who") => ({ id, method: "tools/call", params: { name } });

verifies("lifecycle:era:server-by-opening", eachWire, async (world: World) => {
  const client = await world.connect(harbour());
  const { structured } = await client.callTool("who");
  const { version } = structured as { version: string };
  const answer = client.wire.responsesTo("tools/call")[0]?.result;
  if (world.era === "modern") {
    equal(version, MODERN);
    equal(answer?.resultType, "complete");
    deepEqual((answer?._meta as Record<string, unknown> | undefined)?.[INFO], me);
  } else {
    equal(version, "2025-11-25");
    equal(answer !== undefined && "resultType" in answer, false);
    equal(answer?._meta, undefined);
  }
});

verifies(
  ["lifecycle:era:legacy-client-served", "lifecycle:stateless:unpinned-legacy-wire"],
  legacyWires,
  async ({ connect }: World) => {
    for (const version of LEGACY_VERSIONS) {
      const client = await connect(harbour(), { era: "legacy", versions: [version] });
      const { text } = await client.callTool("who", {}, { onProgress: () => {} });
      equal(text, version);
      for await (const tool of client.tools()) equal(tool.name, "who");
      equal((await client.getPrompt("p")).messages.length, 1);
      equal((await client.readResource("a:b")).contents.length, 1);
      await client.setLogLevel("info");
      await (await client.watch({ resources: ["a:b"] })).close();
      assertNoModernWords(client.wire.frames.map(({ text }) => text).join("\n"));
      for (const { header } of client.wire.exchanges) {
        equal(header("mcp-method"), undefined);
        equal(header("mcp-name"), undefined);
        ok(header("mcp-protocol-version") !== MODERN);
      }
    }
  },
);

proves("lifecycle:era:legacy-client-served", {}, "beside clients of the newer era, by one definition", async (t) => {
  const server = harbour();
  const clients = await Promise.all(
    [MODERN, ...LEGACY_VERSIONS].map(async (version) => {
      const client = await connect(
        server,
        version === MODERN ? { era: "modern" } : { era: "legacy", versions: [version as ProtocolVersion] },
      );
      t.after(() => client.close());
      return { client, version };
    }),
  );
  const served = clients.map(async ({ client, version }) => {
    equal(client.version, version);
    equal((await client.callTool("who")).text, version);
    equal((await client.listTools()).tools.length, 1);
    equal((await client.getPrompt("p")).messages.length, 1);
    equal((await client.readResource("a:b")).contents.length, 1);
    await (await client.watch({ resources: ["a:b"] })).close();
  });
  await Promise.all(served);
});

verifies(
  "lifecycle:stateless:unpinned-legacy-wire",
  "a client of both eras at a server of the older one",
  legacyWires,
  async ({ connect, transport }: World) => {
    const server = new McpServer(me, { versions: LEGACY_VERSIONS })
      .tool("who", {}, (_, ctx) => {
        ctx.progress(1);
        return ctx.client.version;
      })
      .resource("a:b", { name: "r" }, () => "text");
    const client = await connect(server, { era: "auto", onElicit: () => ({ action: "decline" }) });
    equal(client.era, "legacy");
    await client.callTool("who", {}, { onProgress: () => {} });
    await client.readResource("a:b");
    await client.setLogLevel("info");
    await (await client.watch({ resources: ["a:b"] })).close();
    const [first] = client.wire.frames;
    equal(first?.message?.method, "server/discover");
    const ours = client.wire.frames.slice(1).filter(({ message }) => message?.id !== first?.message?.id);
    assertNoModernWords(ours.map(({ text }) => text).join("\n"));
    if (transport === "memory" || transport === "stdio") return;
    const [probed, ...rest] = client.wire.exchanges;
    equal(probed?.header("mcp-method"), "server/discover");
    ok(rest.length > 5);
    for (const { header } of rest) {
      equal(header("mcp-method"), undefined);
      equal(header("mcp-name"), undefined);
      ok(header("mcp-protocol-version") !== MODERN);
    }
  },
);

proves(
  "lifecycle:stateless:unpinned-legacy-wire",
  { wire: "legacy-memory" },
  "a client that probed writes nothing of the newer era afterwards",
  async (t) => {
    const script = new ServerScript()
      .legacy()
      .on("tools/list", { result: { tools: [] } })
      .on("tools/call", { result: { content: [] } });
    const client = await connect({ channel: script.channel });
    t.after(() => client.close());
    await client.listTools();
    await client.callTool("t");
    equal(script.methods[0], "server/discover");
    assertNoModernWords(JSON.stringify(script.received.slice(1)));
  },
);

function assertNoModernWords(text: string): void {
  const words =
    /io\.modelcontextprotocol\/|"resultType"|"ttlMs"|"cacheScope"|server\/discover|subscriptions\/listen|2026-07-28/;
  equal(words.exec(text)?.[0], undefined);
}

verifies("lifecycle:era:claim-is-version-key", legacyWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  await client.ask(initialize(1));
  client.send({ method: "notifications/initialized" });
  for (const meta of [
    { progressToken: 5 },
    { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    { "io.modelcontextprotocol/clientInfo": { name: "stray", version: "1" } },
  ]) {
    const answer = await client.ask({ id: 2, method: "tools/call", params: { name: "who", _meta: meta } });
    const told = answer.result?.structuredContent as { version: string; info: { name: string } };
    equal(told.version, "2025-11-25");
    equal(told.info.name, "raw");
    equal("resultType" in (answer.result ?? {}), false);
  }
});
proves(
  "lifecycle:era:claim-is-version-key",
  { wire: "modern-memory" },
  "the key alone makes a call modern",
  async (t) => {
    const world = modernChannels[0] as (typeof modernChannels)[number];
    const client = await rawClient(await world.open(t), harbour(), t);
    const bare = {
      "io.modelcontextprotocol/protocolVersion": MODERN,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const answer = await client.ask({ id: 1, method: "tools/call", params: { name: "who", _meta: bare } });
    equal(answer.result?.resultType, "complete");
  },
);

verifies("lifecycle:era:enveloped-initialize", modernChannels, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  const { params } = initialize(1) as { params: Record<string, unknown> };
  equal((await client.ask(enveloped(1, "initialize", params))).error?.code, -32601);
  equal((await client.ask(plain(2))).error?.code, -32600);
});

verifies("lifecycle:era:notification-never-decides", modernChannels, async (world: World, t) => {
  for (const opening of ["modern", "legacy"]) {
    const client = await rawClient(world, harbour(), t);
    client.send({ method: "notifications/initialized" });
    client.send({ method: "notifications/cancelled", params: { requestId: 9 } });
    for (let count = 0; count < 2000; count++) client.send({ method: "com.example/unknown", params: { count } });
    if (opening === "modern") equal((await client.ask(enveloped(1, "tools/call", { name: "who" }))).error, undefined);
    else {
      equal((await client.ask(initialize(1))).result?.protocolVersion, "2025-11-25");
      equal((await client.ask(plain(2))).error, undefined);
    }
    equal(client.heard.length, opening === "modern" ? 1 : 2);
  }
});

verifies("lifecycle:era:stdio-per-message", modernChannels, async (world: World, t) => {
  const server = harbour().tool("log", {}, (_, ctx) => {
    ctx.log("info", ctx.client.version);
    return "logged";
  });
  const client = await rawClient(world, server, t);
  await client.ask(initialize(1, "2025-06-18", { capabilities: { roots: {} } }));
  client.send({ method: "notifications/initialized" });
  await client.ask({ id: 2, method: "logging/setLevel", params: { level: "debug" } });
  const loud = { "io.modelcontextprotocol/logLevel": "error" };
  for (let round = 0; round < 2; round++) {
    const old = await client.ask(plain(10 + round));
    deepEqual(old.result?.structuredContent, {
      version: "2025-06-18",
      capabilities: { roots: {} },
      info: { name: "raw", version: "1" },
    });
    equal("resultType" in (old.result ?? {}), false);
    const fresh = await client.ask(enveloped(20 + round, "tools/call", { name: "who" }, loud));
    deepEqual(fresh.result?.structuredContent, { version: MODERN, capabilities: {}, logLevel: "error" });
    equal(fresh.result?.resultType, "complete");
  }
  await client.ask(plain(30, "log"));
  await client.ask(enveloped(31, "tools/call", { name: "log" }, loud));
  const said = client.heard.filter(({ method }) => method === "notifications/message");
  deepEqual(
    said.map(({ params }) => params?.data),
    ["2025-06-18"],
  );
});

verifies("lifecycle:era:late-initialize-opens-session", modernChannels, async (world: World, t) => {
  const started = gate();
  const release = gate();
  const server = harbour().tool("wait", {}, async () => {
    started.open();
    await release.opened;
    return "waited";
  });
  const client = await rawClient(world, server, t);
  client.send(enveloped(1, "tools/call", { name: "wait" }));
  await started.opened;
  equal((await client.ask(initialize(2))).result?.protocolVersion, "2025-11-25");
  client.send({ method: "notifications/initialized" });
  equal("resultType" in ((await client.ask(plain(3))).result ?? {}), false);
  release.open();
  await client.until((heard) => heard.some(({ id }) => id === 1));
  equal(client.heard.find(({ id }) => id === 1)?.result?.resultType, "complete");
});

verifies("transport:stdio:probe-does-not-pin", modernChannels, async (world: World, t) => {
  for (const cancelled of [false, true]) {
    const client = await rawClient(world, harbour(), t);
    client.send(enveloped("probe", "server/discover"));
    if (cancelled) client.send({ method: "notifications/cancelled", params: { requestId: "probe" } });
    client.send(initialize("open", "2025-06-18"));
    await client.until((heard) => heard.some(({ id }) => id === "open"));
    equal(client.heard.find(({ id }) => id === "open")?.result?.protocolVersion, "2025-06-18");
    if (!cancelled) ok(client.heard.some(({ id, result }) => id === "probe" && result?.supportedVersions));
    client.send({ method: "notifications/initialized" });
    equal((await client.ask({ id: 3, method: "tools/list" })).error, undefined);
  }
});

verifies("lifecycle:era:concurrent-http", modernHttp, async (world: World, t) => {
  const server = harbour();
  const modern = await world.connect(server);
  const legacy = await rawClient(world, server, t);
  await legacy.ask(initialize(1));
  legacy.send({ method: "notifications/initialized" });
  for (let round = 0; round < 3; round++) {
    const [fresh, old] = await Promise.all([modern.callTool("who"), legacy.ask(plain(10 + round))]);
    equal((fresh.structured as { version: string }).version, MODERN);
    equal((old.result?.structuredContent as { version: string } | undefined)?.version, "2025-11-25");
  }
  for (const { headers } of modern.wire.exchanges) equal(headers?.["mcp-session-id"], undefined);
  server.changes.toolsChanged();
  await modern.callTool("who");
  deepEqual(modern.wire.notifications("server"), []);
});

verifies("lifecycle:era:modern-only-initialize-error", modernWires, async (world: World, t) => {
  const client = await rawClient(world, new McpServer(me, { versions: [MODERN] }), t);
  equal((await client.ask(enveloped("discover", "server/discover", {}))).error, undefined);
  const { error } = await client.ask(initialize(1));
  match(error?.message ?? "", /2026-07-28/);
  deepEqual((error?.data as { supported: string[] } | undefined)?.supported, [MODERN]);
});

verifies("lifecycle:removed:methods-32601", modernWires, async (world: World, t) => {
  const server = harbour();
  for (const method of ["ping", "logging/setLevel"]) server.method(method, {}, () => ({ ran: true }));
  const client = await rawClient(world, server, t);
  for (const [method, params] of [
    ["initialize", (initialize(1) as { params: Record<string, unknown> }).params],
    ["ping", {}],
    ["logging/setLevel", { level: "info" }],
    ["resources/subscribe", { uri: "a:b" }],
    ["resources/unsubscribe", { uri: "a:b" }],
  ] as const) {
    equal((await client.ask(enveloped(method, method, params))).error?.code, -32601, method);
  }
});

verifies("lifecycle:removed:not-sent", modernWires, async ({ connect }: World) => {
  const client = await connect(harbour(), { roots: [] });
  const before = client.wire.frames.length;
  const refused = (pattern: RegExp) => (error: unknown) =>
    error instanceof RpcError && error.local && pattern.test(error.message);
  await rejects(client.request("ping"), refused(/server\/discover/));
  await rejects(client.request("logging/setLevel", { level: "info" }), refused(/setLogLevel/));
  await rejects(client.request("resources/subscribe", { uri: "a:b" }), refused(/watch/));
  await rejects(client.request("resources/unsubscribe", { uri: "a:b" }), refused(/watch/));
  await rejects(client.notify("notifications/roots/list_changed"), refused(/roots/));
  await client.setLogLevel("info");
  await settled();
  equal(client.wire.frames.length, before);
});

proves(
  "lifecycle:removed:notifications-dropped",
  {},
  "what the version in effect does not have is dropped",
  async (t) => {
    const dropped = {
      modern: ["notifications/elicitation/complete", "notifications/roots/list_changed"],
      legacy: ["notifications/subscriptions/acknowledged"],
    };
    for (const era of ["modern", "legacy"] as const) {
      const heard: string[] = [];
      const script = era === "modern" ? new ServerScript().modern() : new ServerScript().legacy();
      const client = await connect(
        { channel: script.channel },
        { era, onNotification: ({ method }) => void heard.push(method) },
      );
      t.after(() => client.close());
      for (const method of dropped[era]) script.notify(method, { elicitationId: "e", notifications: {} });
      script.notify("com.example/own", {});
      script.on("tools/list", { result: { tools: [] } });
      await client.listTools();
      deepEqual(heard, ["com.example/own"]);
    }
  },
);
verifies("lifecycle:removed:notifications-dropped", "by a server", eachWire, async (world: World, t) => {
  const heard: string[] = [];
  const server = harbour();
  const unknown =
    world.era === "modern" ? "notifications/roots/list_changed" : "notifications/subscriptions/acknowledged";
  const names = [unknown, "com.example/own"];
  for (const name of names) server.onNotification(name, {}, () => void heard.push(name));
  const client = await rawClient(world, server, t);
  if (world.era === "legacy") {
    await client.ask(initialize(1));
    client.send({ method: "notifications/initialized" });
    await client.settled();
  }
  const meta = world.era === "modern" ? { "io.modelcontextprotocol/protocolVersion": MODERN } : undefined;
  for (const method of names) client.send({ method, params: { notifications: {}, _meta: meta } });
  await client.settled();
  deepEqual(heard, ["com.example/own"]);
});

verifies("lifecycle:added:not-on-legacy", legacyWires, async (world: World, t) => {
  const client = await world.connect(harbour());
  const before = client.wire.frames.length;
  for (const method of ["server/discover", "subscriptions/listen"]) {
    await rejects(client.request(method), (error) => error instanceof RpcError && error.local);
  }
  await settled();
  equal(client.wire.frames.length, before);
  const raw = await rawClient(world, harbour(), t);
  const early = await raw.ask({ id: 1, method: "server/discover" });
  equal(early.result, undefined);
  if (world.transport === "memory" || world.transport === "stdio") equal(early.error?.code, -32601);
  await raw.ask(initialize(2));
  raw.send({ method: "notifications/initialized" });
  for (const method of ["server/discover", "subscriptions/listen"]) {
    equal((await raw.ask({ id: method, method, params: { notifications: {} } })).error?.code, -32601);
  }
});
