import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { type Client, connect, McpError, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, heardBy, legacyWires, type World } from "../../support/each-wire.js";
import { enveloped, initialize, rawClient } from "../../support/raw-client.js";
import { askingServers, MODERN, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };

function toolsOnly() {
  return new McpServer(me, { capabilities: { logging: false } })
    .tool("t", {}, () => "x")
    .method("com.example/own", {}, () => ({ own: true }));
}

const unserved: readonly [string, (client: Client) => Promise<unknown>, string][] = [
  ["resources/list", (client) => client.resources().all(), "resources"],
  ["resources/templates/list", (client) => client.resourceTemplates().all(), "resources"],
  ["resources/read", (client) => client.readResource("a:b"), "resources"],
  ["prompts/list", (client) => client.prompts().all(), "prompts"],
  ["prompts/get", (client) => client.getPrompt("p"), "prompts"],
  [
    "completion/complete",
    (client) => client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" }),
    "completions",
  ],
];

verifies(
  ["lifecycle:capability:server-not-advertised", "lifecycle:capability:strict-mode-throws"],
  eachWire,
  async ({ connect, era }: World) => {
    const client = await connect(toolsOnly(), { strictCapabilities: true });
    const before = client.wire.frames.length;
    const calls = [...unserved];
    if (era === "legacy") calls.push(["logging/setLevel", (given) => given.setLogLevel("info"), "logging"]);
    for (const [method, call, capability] of calls) {
      await rejects(call(client), (error) => {
        ok(error instanceof RpcError, String(error));
        equal(error.local, true);
        equal(error.rpcCode, -32601);
        deepEqual(error.data, { method, capability });
        ok(error.message.includes(method) && error.message.includes(capability));
        return true;
      });
    }
    equal(client.wire.frames.length, before);
    equal((await client.callTool("t")).text, "x");
    equal((await client.request("com.example/own")).own, true);
  },
);

proves(
  "lifecycle:capability:server-not-advertised",
  { wire: "legacy-memory" },
  "a subscription needs its own part of the capability, its end does not",
  async (t) => {
    const script = new ServerScript().legacy(undefined, { resources: {} }).on("resources/unsubscribe", { result: {} });
    const client = await connect({ channel: script.channel }, { era: "legacy", strictCapabilities: true });
    t.after(() => client.close());
    await rejects(client.request("resources/subscribe", { uri: "a:b" }), (error) => {
      return error instanceof RpcError && error.local && error.message.includes("resources.subscribe");
    });
    await client.request("resources/unsubscribe", { uri: "a:b" });
    deepEqual(script.methods.slice(2), ["resources/unsubscribe"]);
  },
);

verifies("lifecycle:capability:lenient-default", eachWire, async ({ connect, era }: World) => {
  const client = await connect(toolsOnly());
  const calls = [...unserved];
  if (era === "legacy") {
    calls.push(["logging/setLevel", (given) => given.setLogLevel("info"), ""]);
    calls.push(["resources/subscribe", (given) => given.request("resources/subscribe", { uri: "a:b" }), ""]);
    calls.push(["resources/unsubscribe", (given) => given.request("resources/unsubscribe", { uri: "a:b" }), ""]);
  }
  for (const [method, call] of calls) {
    await rejects(call(client), (error) => {
      ok(error instanceof RpcError, String(error));
      equal(error.rpcCode, -32601);
      equal(error.local, false);
      return true;
    });
    equal(client.wire.requests(method).length, 1);
  }
});

proves(
  "lifecycle:capability:strict-needs-knowledge",
  { wire: "modern-memory" },
  "strictness without knowledge is refused before anything is opened",
  async (t) => {
    const options = { versions: [MODERN], strictCapabilities: true } as const;
    const script = new ServerScript().modern({ tools: {} });
    await rejects(connect({ channel: script.channel }, options), (error) => {
      return error instanceof McpError && error.code === "strict_needs_knowledge" && /prior/.test(error.message);
    });
    deepEqual(script.received, []);
    const { prior } = await connect({ channel: new ServerScript().modern({ tools: {} }).channel }, { era: "modern" });
    const client = await connect({ channel: script.channel }, { ...options, prior });
    t.after(() => client.close());
    await rejects(client.getPrompt("p"), (error) => error instanceof RpcError && error.local);
    deepEqual(script.received, []);
  },
);

verifies(
  "lifecycle:capability:client-not-declared",
  "roots without listChanged",
  legacyWires,
  async ({ connect }: World) => {
    const client = await connect(toolsOnly(), { roots: [], rootsListChanged: false });
    deepEqual(client.wire.requests("initialize")[0]?.params?.capabilities, { roots: {} });
    await rejects(client.notify("notifications/roots/list_changed"), {
      code: "not_declared",
      message: /roots\.listChanged/,
    });
    await client.callTool("t");
    deepEqual(client.wire.notifications("client", "notifications/roots/list_changed"), []);
  },
);

verifies(
  "lifecycle:capability:client-not-declared",
  "a handler does not run for a part of its feature that is not declared",
  askingServers,
  async (server) => {
    let ran = 0;
    const handler = () => {
      ran++;
      return {} as never;
    };
    await server.connect({ onElicit: handler, onSample: handler });
    const tools = [{ name: "t", inputSchema: { type: "object" } }];
    for (const [method, params] of [
      ["elicitation/create", { mode: "url", message: "?", url: "https://x.test", elicitationId: "e" }],
      ["sampling/createMessage", { messages: [], maxTokens: 1, tools }],
      ["sampling/createMessage", { messages: [], maxTokens: 1, toolChoice: { mode: "none" } }],
      ["roots/list", {}],
    ] as const) {
      const { answer, message } = await server.ask(method, params);
      equal(answer, undefined, method);
      match(message ?? "", new RegExp(method));
    }
    equal(ran, 0);
  },
);

proves(
  "lifecycle:capability:client-not-declared",
  { wire: "legacy-memory" },
  "a client neither speaks of nor serves what it did not declare",
  async (t) => {
    const script = new ServerScript().legacy();
    const client = await connect({ channel: script.channel }, { era: "legacy" });
    t.after(() => client.close());
    await rejects(client.notify("notifications/roots/list_changed"), (error) => {
      return error instanceof McpError && /roots/.test(error.message);
    });
    throws(
      () => client.answerWith({ onSample: () => ({}) as never }),
      (error) => {
        return error instanceof McpError && error.code === "not_declared";
      },
    );
    for (const [id, method, params] of [
      [1, "roots/list", undefined],
      [2, "sampling/createMessage", { messages: [], maxTokens: 1 }],
      [3, "elicitation/create", { message: "?", requestedSchema: { type: "object", properties: {} } }],
    ] as const) {
      script.send({ id, method, params });
    }
    const answers = [await script.next(undefined), await script.next(undefined), await script.next(undefined)];
    deepEqual(
      answers.map(({ id, error }) => [id, error?.code]),
      [
        [1, -32601],
        [2, -32601],
        [3, -32602],
      ],
    );
    deepEqual(script.all("notifications/roots/list_changed"), []);
  },
);

verifies("lifecycle:capability:server-own-not-declared", "messages and changes", eachWire, async (world: World, t) => {
  const server = toolsOnly().tool("log", {}, (_, ctx) => {
    ctx.log("error", "adrift");
    return "logged";
  });
  const client = await rawClient(world, server, t);
  const loud = { "io.modelcontextprotocol/logLevel": "debug" };
  if (world.era === "legacy") {
    await client.ask(initialize(1));
    client.send({ method: "notifications/initialized" });
    equal((await client.ask({ id: 2, method: "logging/setLevel", params: { level: "debug" } })).error?.code, -32601);
    equal((await client.ask({ id: 3, method: "tools/call", params: { name: "log" } })).error, undefined);
  } else {
    equal((await client.ask(enveloped(3, "tools/call", { name: "log" }, loud))).error, undefined);
    client.send(enveloped(4, "subscriptions/listen", { notifications: { promptsListChanged: true } }));
    await client.until((heard) => heard.some(({ method }) => method === "notifications/subscriptions/acknowledged"));
  }
  server.changes.promptsChanged();
  server.changes.resourcesChanged();
  await client.settled();
  const said = client.heard.filter(({ method }) => method?.includes("changed") || method?.includes("message"));
  deepEqual(said, []);
});

verifies(
  "lifecycle:capability:server-own-not-declared",
  "a kind without listChanged",
  eachWire,
  async (world: World) => {
    const quiet = { listChanged: false };
    const server = new McpServer(me, { capabilities: { tools: quiet, prompts: quiet, resources: quiet } })
      .tool("t", {}, () => "x")
      .prompt("p", {}, () => "say")
      .resource("a:b", { name: "r" }, () => "text");
    const client = await world.connect(server);
    await heardBy(client, world);
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    await using watch = await client.watch({ ...all, resources: ["a:b"] });
    server.tool("more", {}, () => "x");
    server.removePrompt("p");
    server.changes.toolsChanged();
    server.changes.resourcesChanged();
    await Promise.resolve();
    server.changes.resourceUpdated("a:b");
    // The change that comes last is the only one.
    for await (const change of watch) {
      deepEqual(change, { kind: "resource", uri: "a:b" });
      break;
    }
    deepEqual(
      client.wire.frames.filter(({ message }) => message?.method?.includes("list_changed")),
      [],
    );
  },
);

verifies("lifecycle:capability:server-own-not-declared", "the last of a kind", legacyWires, async (world: World) => {
  const server = toolsOnly();
  const client = await world.connect(server);
  await heardBy(client, world);
  server.removeTool("t");
  await client.wire.until((wire) => wire.notifications("server", "notifications/tools/list_changed").length === 1);
  equal(client.server.capabilities.tools?.listChanged, true);
});
