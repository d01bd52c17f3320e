import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { type Context, McpServer } from "bowline/server";
import {
  channelWires,
  eachWire,
  legacyChannels,
  legacyWires,
  modernChannels,
  modernWires,
} from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { AskedClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const described = {
  name: "full",
  title: "Full",
  description: "All of it",
  mimeType: "text/plain",
  icons: [{ src: "https://x.test/i.png", mimeType: "image/png", sizes: ["48x48"] }],
  annotations: {
    audience: ["user", "assistant"] as ("user" | "assistant")[],
    priority: 0.5,
    lastModified: "2026-01-02T03:04:05Z",
  },
};

verifies("resources:capability:declared", eachWire, async ({ connect }) => {
  const offered = async (server: McpServer) => (await connect(server)).server.capabilities.resources !== undefined;
  equal(await offered(new McpServer(me).resource("a:b", { name: "r" }, () => "x")), true);
  equal(await offered(new McpServer(me).resource("a:{b}", { name: "r" }, () => "x")), true);
  equal(await offered(new McpServer(me).prompt("p", {}, () => "x")), false);
});

verifies("resources:capability:independent-flags", eachWire, async ({ connect }) => {
  for (const flags of [
    { subscribe: false, listChanged: false },
    { subscribe: true, listChanged: false },
    { subscribe: false, listChanged: true },
    { subscribe: true, listChanged: true },
  ]) {
    const server = new McpServer(me, { capabilities: { resources: flags } }).resource("a:b", { name: "r" }, () => "x");
    deepEqual((await connect(server)).server.capabilities.resources, flags);
  }
});

verifies(
  ["resources:list:basic", "resources:templates:list", "resources:annotations"],
  eachWire,
  async ({ connect }) => {
    const server = new McpServer(me)
      .resource("a:full", { ...described, size: 7, meta: { "x/y": 1 } }, () => "x")
      .resource("a:least", { name: "least" }, () => "x")
      .resource("a:{+path}{?q,r*}", { ...described, meta: { "x/y": 2 } }, () => "x")
      .resource("b:{id}", { name: "least" }, () => "x");
    const client = await connect(server);
    deepEqual(await client.resources().all(), [
      { uri: "a:full", ...described, size: 7, _meta: { "x/y": 1 } },
      { uri: "a:least", name: "least" },
    ]);
    deepEqual(await client.resourceTemplates().all(), [
      { uriTemplate: "a:{+path}{?q,r*}", ...described, _meta: { "x/y": 2 } },
      { uriTemplate: "b:{id}", name: "least" },
    ]);
  },
);

proves("resources:annotations", {}, "a priority is a share of one", () => {
  throws(() => new McpServer(me).resource("a:b", { name: "r", annotations: { priority: 1.5 } }, () => "x"), /priority/);
});

verifies("resources:list:empty", eachWire, async ({ connect }) => {
  const family = await connect(new McpServer(me).resource("a:{b}", { name: "r" }, () => "x"));
  deepEqual((await family.request("resources/list")).resources, []);
  const single = await connect(new McpServer(me).resource("a:b", { name: "r" }, () => "x"));
  deepEqual((await single.request("resources/templates/list")).resourceTemplates, []);
});

verifies(["resources:list:stateless-set", "prompts:list:stateless-set"], modernWires, async ({ connect }) => {
  const sessions: (string | undefined)[] = [];
  const enumerate = (ctx: Context) => {
    sessions.push(ctx.sessionId);
    return [{ uri: "a:c1" }];
  };
  const server = new McpServer(me)
    .resource(
      "a:b",
      { name: "r" },
      async (_, ctx) => (await ctx.elicit("m", { type: "object", properties: {} })).action,
    )
    .resource("a:{c}", { name: "t", list: enumerate }, () => "x")
    .prompt("p", {}, () => "x");
  const worn = await connect(server, { onElicit: () => ({ action: "decline" }) });
  await worn.readResource("a:b");
  await worn.getPrompt("p");
  const fresh = await connect(server);
  for (const method of ["resources/list", "resources/templates/list", "prompts/list"] as const) {
    deepEqual(await worn.request(method), await fresh.request(method));
  }
  deepEqual(sessions, [undefined, undefined]);
});

verifies("resources:list:order", eachWire, async ({ connect }) => {
  const names = ["zeta", "alpha", "mid"];
  const make = () => {
    const server = new McpServer(me);
    for (const name of names) {
      server
        .resource(`r:${name}`, { name }, () => "x")
        .resource(`${name}:{x}`, { name }, () => "x")
        .prompt(name, {}, () => "x");
    }
    return server;
  };
  for (const client of [await connect(make()), await connect(make())]) {
    for (let round = 0; round < 2; round++) {
      deepEqual(
        (await client.resources().all()).map(({ name }) => name),
        names,
      );
      deepEqual(
        (await client.resourceTemplates().all()).map(({ name }) => name),
        names,
      );
      deepEqual(
        (await client.prompts().all()).map(({ name }) => name),
        names,
      );
    }
  }
});

verifies("resources:list-changed", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).resource("a:b", { name: "r" }, () => "x");
  const client = await connect(server);
  const changed = "notifications/resources/list_changed";
  let seen = 0;
  const step = async (change: () => unknown) => {
    change();
    seen++;
    await client.wire.until((wire) => wire.notifications("server", changed).length === seen);
  };
  await step(() => server.resource("a:c", { name: "r" }, () => "x"));
  await step(() => server.resource("t:{c}", { name: "r" }, () => "x"));
  await step(() => server.removeResource("a:c"));
  await step(() => server.removeResource("t:{c}"));
  equal(client.wire.notifications("server", changed).length, 4);
});

verifies(["resources:listen:list-changed", "prompts:listen:list-changed"], modernWires, async ({ connect }) => {
  const server = new McpServer(me).resource("a:b", { name: "r" }, () => "x").prompt("p", {}, () => "x");
  const client = await connect(server);
  await using resources = await client.watch({ resourcesListChanged: true });
  await using prompts = await client.watch({ promptsListChanged: true });
  server.resource("a:c", { name: "r" }, () => "x");
  server.prompt("q", {}, () => "x");
  const first = async (watch: AsyncIterable<unknown>) => {
    for await (const change of watch) return change;
    return undefined;
  };
  deepEqual(await first(resources), { kind: "resources" });
  deepEqual(await first(prompts), { kind: "prompts" });
  const told = client.wire.notifications("server").filter(({ method }) => method?.endsWith("list_changed"));
  deepEqual(told.map(({ method }) => method).sort(), [
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
  ]);
});

verifies("prompts:list-changed", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).prompt("p", {}, () => "x");
  const client = await connect(server);
  server.prompt("q", {}, () => "x");
  await client.wire.until((wire) => wire.notifications("server", "notifications/prompts/list_changed").length === 1);
  server.removePrompt("q");
  await client.wire.until((wire) => wire.notifications("server", "notifications/prompts/list_changed").length === 2);
  const silent = new McpServer(me, { capabilities: { prompts: { listChanged: false } } }).prompt("p", {}, () => "x");
  const other = await connect(silent);
  silent.prompt("q", {}, () => "x");
  await other.prompts().all();
  equal(other.wire.notifications("server").length, 0);
});

const UPDATED = "notifications/resources/updated";

verifies(
  [
    "resources:subscribe",
    "resources:unsubscribe",
    "resources:subscribe:updated",
    "resources:unsubscribe:stops-updates",
  ],
  legacyChannels,
  async (world) => {
    const watched: string[] = [];
    const server = new McpServer(me, {
      resources: { onSubscribe: (uri) => watched.push(`+${uri}`), onUnsubscribe: (uri) => watched.push(`-${uri}`) },
    }).resource("a:{b}", { name: "r" }, () => "x");
    const one = await AskedClient.open(world, server);
    const two = await AskedClient.open(world, server);
    deepEqual((await one.request("resources/subscribe", { uri: "a:1" })).result, {});
    deepEqual((await two.request("resources/subscribe", { uri: "a:1" })).result, {});
    deepEqual((await two.request("resources/unsubscribe", { uri: "a:never" })).result, {});
    server.changes.resourceUpdated("a:1");
    server.changes.resourceUpdated("a:2");
    await one.until(() => one.notifications(UPDATED).length === 1);
    deepEqual(one.notifications(UPDATED)[0]?.params, { uri: "a:1" });
    deepEqual((await one.request("resources/unsubscribe", { uri: "a:1" })).result, {});
    server.changes.resourceUpdated("a:1");
    await two.until(() => two.notifications(UPDATED).length === 2);
    await one.request("ping");
    equal(one.notifications(UPDATED).length, 1);
    deepEqual(watched, ["+a:1"]);
    const closed = gate();
    server.resource("z:z", { name: "z" }, () => "x");
    await two.close();
    setImmediate(() => closed.open());
    await closed.opened;
    server.changes.resourceUpdated("a:1");
    deepEqual(watched, ["+a:1", "-a:1"]);
  },
);

verifies("resources:subscribe:capability-required", legacyWires, async ({ connect }) => {
  const make = () =>
    new McpServer(me, { capabilities: { resources: { subscribe: false } } }).resource("a:b", { name: "r" }, () => "x");
  const strict = await connect(make(), { strictCapabilities: true });
  await rejects(strict.request("resources/subscribe", { uri: "a:b" }), { rpcCode: -32601, local: true });
  equal(strict.wire.requests("resources/subscribe").length, 0);
  deepEqual(await strict.request("resources/unsubscribe", { uri: "a:b" }), {});
  const lenient = await connect(make());
  await rejects(lenient.request("resources/subscribe", { uri: "a:b" }), { rpcCode: -32601, local: false });
});

verifies("resources:updated-notification", eachWire, async ({ connect }) => {
  const heard = gate<unknown>();
  const server = new McpServer(me).resource("a:{b}", { name: "r" }, () => "x");
  const client = await connect(server, {
    onNotification: ({ method, params }) => {
      if (method === UPDATED) heard.open(params?.uri);
    },
  });
  await using _watch = await client.watch({ resources: ["a:1"] });
  server.changes.resourceUpdated("a:1");
  equal(await heard.opened, "a:1");
});

verifies("resources:listen:updated", modernWires, async (world) => {
  const watched: string[] = [];
  const server = new McpServer(me, {
    resources: { onSubscribe: (uri) => watched.push(`+${uri}`), onUnsubscribe: (uri) => watched.push(`-${uri}`) },
  }).resource("a:{b}", { name: "r" }, () => "x");
  const client = await world.connect(server);
  const one = await client.watch({ resources: ["a:1"] });
  const two = await client.watch({ resources: ["a:2"] });
  server.changes.resourceUpdated("a:2");
  server.changes.resourceUpdated("a:1");
  await client.wire.until((wire) => wire.notifications("server", UPDATED).length === 2);
  const ids = client.wire.requests("subscriptions/listen").map(({ id }) => id);
  // The streams are two, so their order is not fixed.
  const told = client.wire.notifications("server", UPDATED).map(({ params }) => params);
  deepEqual(
    told.toSorted((a, b) => String(a?.uri).localeCompare(String(b?.uri))),
    [
      { uri: "a:1", _meta: { "io.modelcontextprotocol/subscriptionId": ids[0] } },
      { uri: "a:2", _meta: { "io.modelcontextprotocol/subscriptionId": ids[1] } },
    ],
  );
  for (const [watch, left] of [
    [one, ["+a:1", "+a:2", "-a:1"]],
    [two, ["+a:1", "+a:2", "-a:1", "-a:2"]],
  ] as const) {
    await watch.close();
    while (watched.length < left.length) await new Promise(setImmediate);
    deepEqual(watched, left);
  }
});

verifies("resources:subscribe:removed-modern", modernChannels, async (world) => {
  const server = new McpServer(me).resource("a:b", { name: "r" }, () => "x");
  const raw = await AskedClient.open(world, server);
  const client = await world.connect(server);
  const frames = client.wire.frames.length;
  for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
    equal((await raw.request(method, { uri: "a:b" })).error?.code, -32601);
    await rejects(client.request(method, { uri: "a:b" }), { rpcCode: -32601, local: true, message: /watch|listen/ });
  }
  equal(client.wire.frames.length, frames);
});

verifies(
  ["resources:list:pagination", "resources:templates:pagination", "prompts:list:pagination"],
  channelWires,
  async (world) => {
    const kinds = [
      ["resources/list", "resources", { uri: "a:1", name: "1" }, { uri: "a:2", name: "2" }],
      [
        "resources/templates/list",
        "resourceTemplates",
        { uriTemplate: "a:{x}", name: "1" },
        { uriTemplate: "b:{x}", name: "2" },
      ],
      ["prompts/list", "prompts", { name: "1" }, { name: "2" }],
    ] as const;
    const server = new McpServer(me);
    for (const [method, member, first, second] of kinds) {
      server.method(method, {}, ({ cursor }) =>
        cursor === "next" ? { [member]: [second] } : { [member]: [first], nextCursor: "next" },
      );
    }
    const client = await world.connect(server);
    deepEqual(await client.resources().all(), kinds[0].slice(2));
    deepEqual(await client.resourceTemplates().all(), kinds[1].slice(2));
    deepEqual(await client.prompts().all(), kinds[2].slice(2));
    for (const [method] of kinds)
      deepEqual(
        client.wire.requests(method).map(({ params }) => params?.cursor),
        [undefined, "next"],
      );
  },
);
