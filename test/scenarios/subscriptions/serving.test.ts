import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type Channel, McpServer, ServerExtension } from "bowline/server";
import { FakeClock, type RecordedMessage } from "bowline/testing";
import { modernChannels, modernWires, type World } from "../../support/each-wire.js";
import { enveloped, type Message, type RawClient, rawClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const ID = "io.modelcontextprotocol/subscriptionId";
const ACK = "notifications/subscriptions/acknowledged";

function harbour(options = {}) {
  return new McpServer(me, options)
    .tool("t", {}, (_, ctx) => {
      ctx.progress(1);
      return "x";
    })
    .prompt("p", {}, () => "say")
    .resource("a:{x}", { name: "r" }, () => "text");
}

const everything = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["a:1", "a:2"],
};

const listen = (id: string | number, notifications: unknown = everything): Message =>
  enveloped(id, "subscriptions/listen", { notifications });

const idOf = ({ params, result }: RecordedMessage) =>
  ((params?._meta ?? result?._meta) as Record<string, unknown> | undefined)?.[ID];
const heardFor = (client: RawClient, id: unknown) => client.heard.filter((message) => idOf(message) === id);
const methodsFor = (client: RawClient, id: unknown) => heardFor(client, id).flatMap(({ method }) => method ?? []);

async function opened(client: RawClient, id: string | number, filter: unknown = everything): Promise<RecordedMessage> {
  client.send(listen(id, filter));
  await client.until(() => methodsFor(client, id).includes(ACK));
  return heardFor(client, id)[0] as RecordedMessage;
}

function publishAll(server: { changes: McpServer["changes"] }): void {
  server.changes.toolsChanged();
  server.changes.promptsChanged();
  server.changes.resourcesChanged();
  for (const uri of ["a:1", "a:2", "a:3", "a:11"]) server.changes.resourceUpdated(uri);
}

verifies("subscriptions:listen:ack-first-stamped", modernWires, async (world: World, t) => {
  const server = harbour();
  const client = await rawClient(world, server, t);
  for (const id of [1, "1", 0, "listen:a"]) {
    const ack = await opened(client, id);
    equal(ack.method, ACK);
    deepEqual(ack.params, { notifications: everything, _meta: { [ID]: id } });
  }
});

verifies(["subscriptions:listen:nothing-before-ack", "subscriptions:listen:stamped"], modernWires, async (world, t) => {
  const server = harbour();
  server.use((call, next) => {
    if (call.method !== "subscriptions/listen") return next(call);
    publishAll(server);
    const answer = next(call);
    publishAll(server);
    return answer;
  });
  const client = await rawClient(world, server, t);
  await opened(client, 7);
  publishAll(server);
  await client.until(() => heardFor(client, 7).length >= 11);
  equal(client.heard[0]?.method, ACK);
  for (const { params } of client.heard) deepEqual(params?._meta, { [ID]: 7 });
  await client.ask(enveloped(8, "tools/call", { name: "t" }, { progressToken: "p" }));
  const progress = client.heard.find(({ method }) => method === "notifications/progress");
  deepEqual(progress?.params, { progressToken: "p", progress: 1 });
});

verifies(
  ["subscriptions:listen:per-stream-filter", "subscriptions:listen:resource-uris"],
  modernWires,
  async (world: World, t) => {
    const server = harbour();
    const client = await rawClient(world, server, t);
    const tools = "notifications/tools/list_changed";
    const filters: readonly [string, object, string[]][] = [
      ["tools", { toolsListChanged: true }, [tools]],
      ["prompts", { promptsListChanged: true }, ["notifications/prompts/list_changed"]],
      ["resources", { resourcesListChanged: true }, ["notifications/resources/list_changed"]],
      ["false", { toolsListChanged: true, promptsListChanged: false }, [tools]],
      ["uri", { resourceSubscriptions: ["a:1", "a:2"] }, Array(2).fill("notifications/resources/updated")],
      ["empty", {}, []],
    ];
    for (const [id, filter] of filters) await opened(client, id, filter);
    publishAll(server);
    await client.until(() => filters.every(([id, , methods]) => heardFor(client, id).length > methods.length));
    await client.settled();
    for (const [id, , methods] of filters) deepEqual(methodsFor(client, id).slice(1), methods, id);
    deepEqual(
      heardFor(client, "uri").flatMap(({ params }) => params?.uri ?? []),
      ["a:1", "a:2"],
    );
  },
);

verifies("subscriptions:listen:honored-filter-narrows-to-advertised", modernWires, async (world: World, t) => {
  const server = new McpServer(me).tool("t", {}, () => "x");
  const client = await rawClient(world, server, t);
  const ack = await opened(client, 1, { ...everything, tidesChanged: true });
  deepEqual(ack.params?.notifications, { toolsListChanged: true });
  publishAll(server);
  await client.until(() => heardFor(client, 1).length === 2);
  await client.settled();
  deepEqual(methodsFor(client, 1), [ACK, "notifications/tools/list_changed"]);
  const bare = await rawClient(world, new McpServer(me), t);
  deepEqual((await opened(bare, 2)).params?.notifications, {});
});

verifies(
  "subscriptions:listen:honored-filter-narrows-to-advertised",
  "features whose notifications are disabled",
  modernWires,
  async (world: World, t) => {
    const without: readonly [object, object, string[]][] = [
      [
        { tools: { listChanged: false }, prompts: { listChanged: false }, resources: { listChanged: false } },
        { resourceSubscriptions: ["a:1", "a:2"] },
        Array(2).fill("notifications/resources/updated"),
      ],
      [
        { prompts: { listChanged: false }, resources: { subscribe: false } },
        { toolsListChanged: true, resourcesListChanged: true },
        ["notifications/tools/list_changed", "notifications/resources/list_changed"],
      ],
    ];
    for (const [capabilities, honoured, methods] of without) {
      const server = harbour({ capabilities });
      const client = await rawClient(world, server, t);
      deepEqual((await opened(client, 1)).params?.notifications, honoured);
      publishAll(server);
      await client.until(() => heardFor(client, 1).length >= 3);
      await client.settled();
      deepEqual(methodsFor(client, 1).slice(1), methods);
    }
  },
);

verifies(
  "subscriptions:listen:stamped",
  "a topic of an extension keeps its other metadata",
  modernWires,
  async (world, t) => {
    const tides = new ServerExtension({ id: "com.example/tides", serverOnly: true }).topic("tides", () => ({
      honoured: true,
      start(send) {
        void send("notifications/com.example/tide", {
          level: 3,
          _meta: { "com.example/gauge": "north", [ID]: "forged" },
        });
        return () => {};
      },
    }));
    const client = await rawClient(world, harbour().extend(tides), t);
    await opened(client, 7, { tides: true });
    await client.until((heard) => heard.length === 2);
    deepEqual(client.heard[1]?.params, { level: 3, _meta: { "com.example/gauge": "north", [ID]: 7 } });
  },
);

verifies(
  "subscriptions:listen:honored-filter-narrows-to-advertised",
  "a subscription to nothing is answered and ends",
  modernWires,
  async (world: World, t) => {
    const server = harbour();
    const client = await rawClient(world, server, t);
    const answer = await client.ask(listen(1, {}));
    deepEqual(methodsFor(client, 1).slice(0, 1), [ACK]);
    deepEqual(heardFor(client, 1)[0]?.params?.notifications, {});
    equal(answer.result?.resultType, "complete");
    equal(server.stats().subscriptions, 0);
  },
);

verifies(
  "subscriptions:listen:graceful-close",
  "none gets older than the server allows",
  modernWires,
  async (world: World, t) => {
    const clock = new FakeClock();
    const server = harbour({ clock, limits: { maxSubscriptionMs: 60_000 } });
    const client = await rawClient(world, server, t);
    await opened(client, 1);
    clock.advance(59_999);
    await client.settled();
    equal(server.stats().subscriptions, 2, "each resource that is watched counts");
    server.changes.toolsChanged();
    clock.advance(1);
    await client.until((heard) => heard.some(({ id, result }) => id === 1 && result !== undefined));
    deepEqual(methodsFor(client, 1), [ACK, "notifications/tools/list_changed"]);
    equal(server.stats().subscriptions, 0);
    await opened(client, 2);
  },
);

verifies("subscriptions:listen:filter-required", modernWires, async (world: World, t) => {
  const server = harbour();
  const client = await rawClient(world, server, t);
  equal((await client.ask(enveloped(1, "subscriptions/listen"))).error?.code, -32602);
  for (const filter of [null, [], "x", { resourceSubscriptions: "a:1" }, { toolsListChanged: 1 }]) {
    const { error } = await client.ask(listen(1, filter));
    equal(error?.code, -32602);
  }
  equal(server.stats().subscriptions, 0);
  equal(client.heard.filter(({ method }) => method === ACK).length, 0);
});

verifies("subscriptions:listen:multiple", modernWires, async (world: World, t) => {
  const server = harbour();
  const client = await rawClient(world, server, t);
  await opened(client, "first", { toolsListChanged: true });
  await opened(client, "second", { toolsListChanged: true, promptsListChanged: true });
  server.changes.toolsChanged();
  server.changes.promptsChanged();
  await client.until(() => heardFor(client, "first").length === 2 && heardFor(client, "second").length === 3);
  deepEqual(methodsFor(client, "first").slice(1), ["notifications/tools/list_changed"]);
  deepEqual(methodsFor(client, "second").slice(1), [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
  ]);
});

verifies("subscriptions:listen:server-stops-after-cancel", modernWires, async (world: World, t) => {
  const server = harbour();
  const client = await rawClient(world, server, t);
  await opened(client, "mine");
  await opened(client, "other", { toolsListChanged: true });
  equal(server.stats().subscriptions, 3);
  client.abandon("mine");
  while (server.stats().subscriptions === 3) await client.settled();
  publishAll(server);
  await client.until(() => heardFor(client, "other").length === 2);
  await client.settled();
  deepEqual(methodsFor(client, "mine"), [ACK]);
  equal(
    client.heard.some(({ id }) => id === "mine"),
    false,
  );
});

verifies("subscriptions:listen:graceful-close", modernWires, async (world: World, t) => {
  const server = harbour();
  const client = await rawClient(world, server, t);
  const ids = ["a", "b", "c"];
  for (const id of ids) await opened(client, id, { toolsListChanged: true });
  server.changes.toolsChanged();
  await server.close();
  await client.until((heard) => ids.every((id) => heard.some((message) => message.id === id)));
  for (const id of ids) {
    const own = heardFor(client, id);
    deepEqual(
      own.map(({ method }) => method),
      [ACK, "notifications/tools/list_changed", undefined],
    );
    const { _meta, ...rest } = own[2]?.result ?? {};
    deepEqual(rest, { resultType: "complete" });
    equal((_meta as Record<string, unknown>)[ID], id);
  }
});

verifies("subscriptions:listen:no-state-across-connections", modernWires, async (world: World, t) => {
  const server = harbour();
  const first = await rawClient(world, server, t);
  await opened(first, 1);
  equal(server.stats().subscriptions, 2);
  // It goes without a word: the connection is closed, or its streams are.
  await first.close();
  while (server.stats().subscriptions !== 0) await new Promise((resolve) => setImmediate(resolve));
  const second = await rawClient(world, server, t);
  publishAll(server);
  await second.settled();
  deepEqual(second.heard, []);
  await opened(second, 1, { toolsListChanged: true });
  server.changes.toolsChanged();
  await second.until(() => heardFor(second, 1).length === 2);
});

verifies("subscriptions:listen:capacity-guard", modernWires, async (world: World, t) => {
  const server = harbour({ limits: { maxSubscriptions: 1 } });
  const client = await rawClient(world, server, t);
  const tools = { toolsListChanged: true };
  await opened(client, "first", tools);
  const { error } = await client.ask(listen("second", tools));
  equal(error?.code, -32005);
  match(error?.message ?? "", /limits\.maxSubscriptions/);
  deepEqual(methodsFor(client, "second"), []);
  client.abandon("first");
  while (server.stats().subscriptions === 1) await client.settled();
  await opened(client, "third", tools);
});

/** A client's channel whose reader can stop: what the server writes then stays where it is. */
function stallable(inner: Channel): { channel: Channel; stall(): void; resume(): void } {
  let waiting: { promise: Promise<void>; resolve: () => void } | undefined;
  const channel: Channel = {
    open: (events) => inner.open(events),
    send: (text) => {
      const written = inner.send(text);
      return waiting?.promise ?? written;
    },
    close: () => inner.close(),
  };
  return {
    channel,
    stall: () => {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      waiting = { promise, resolve };
    },
    resume: () => {
      waiting?.resolve();
      waiting = undefined;
    },
  };
}

const uris = Array.from({ length: 1100 }, (_, index) => `a:${index}`);

verifies(
  [
    "subscriptions:listen:backlog-bounded",
    "subscriptions:listen:teardown-cancelled",
    "subscriptions:listen:publisher-isolated",
  ],
  "a channel whose client does not read",
  modernChannels,
  async (world: World, t) => {
    const clock = new FakeClock();
    const server = harbour({ clock, limits: { maxSubscriptionsPerPrincipal: uris.length + 1 } });
    const stalled = await rawClient(stalling(world), server, t);
    const healthy = await rawClient(world, server, t);
    await opened(stalled, "slow", { toolsListChanged: true, resourceSubscriptions: uris });
    await opened(stalled, "small", { promptsListChanged: true });
    await opened(healthy, "well", { toolsListChanged: true });
    stall?.stall();
    for (let count = 0; count < 5000; count++) server.changes.toolsChanged();
    for (let count = 0; count < 50; count++) server.changes.promptsChanged();
    equal(methodsFor(stalled, "slow").filter((method) => method !== ACK).length <= 1, true);
    await healthy.until(() => heardFor(healthy, "well").length === 5001);
    stall?.resume();
    // One had gone out before the pipe was seen to be full; all others count as one.
    await stalled.until(() => methodsFor(stalled, "slow").length === 3 && methodsFor(stalled, "small").length === 3);

    stall?.stall();
    for (const uri of uris) server.changes.resourceUpdated(uri);
    clock.advance(999);
    equal(server.stats().subscriptions, uris.length + 2);
    clock.advance(1);
    equal(server.stats().subscriptions, 2);
    stall?.resume();
    await stalled.until((heard) => heard.some(({ method }) => method === "notifications/cancelled"));
    server.changes.toolsChanged();
    server.changes.promptsChanged();
    await stalled.until(() => methodsFor(stalled, "small").length === 4);
    const cancelled = stalled.heard.filter(({ method }) => method === "notifications/cancelled");
    deepEqual(
      cancelled.map(({ params }) => params),
      [{ requestId: "slow" }],
    );
    equal(
      stalled.heard.some(({ id }) => id === "slow"),
      false,
    );
    ok(methodsFor(stalled, "slow").length < 10);
  },
);

let stall: ReturnType<typeof stallable> | undefined;

/** The same wire, but the server's side of it can be stalled. */
function stalling(world: World): World {
  return {
    ...world,
    channel: (server) =>
      world.channel({
        accept: (channel: Channel) => {
          stall = stallable(channel);
          return server.accept(stall.channel);
        },
        close: () => server.close(),
      } as unknown as typeof server),
  };
}

proves(
  "subscriptions:listen:publisher-isolated",
  { wire: "modern-memory" },
  "a broken subscriber concerns nobody else",
  async (t) => {
    const problems: unknown[] = [];
    const server = harbour({ onError: (error: unknown) => problems.push(error) });
    const world = await (modernChannels[0] as (typeof modernChannels)[number]).open(t);
    const breaking: World = {
      ...world,
      channel: (given) =>
        world.channel({
          accept: (channel: Channel) => given.accept({ ...bound(channel), send: breakAfterFirst(channel) }),
          close: () => given.close(),
        } as unknown as typeof given),
    };
    const broken = await rawClient(breaking, server, t);
    const healthy = await rawClient(world, server, t);
    await opened(broken, 1);
    await opened(healthy, 2, { toolsListChanged: true });
    server.changes.toolsChanged();
    server.changes.toolsChanged();
    await healthy.until(() => heardFor(healthy, 2).length === 3);
    equal(problems.length, 2);
  },
);

function bound(channel: Channel): Channel {
  return { open: (events) => channel.open(events), send: (text) => channel.send(text), close: () => channel.close() };
}

function breakAfterFirst(channel: Channel): Channel["send"] {
  let sent = 0;
  return (text) => {
    if (sent++ > 0) throw new Error("broken pipe");
    return channel.send(text);
  };
}

verifies("subscriptions:listen:stamped", "beside the _meta of an extension", modernWires, async (world: World, t) => {
  const topic = (wanted: unknown) => ({
    honoured: wanted,
    start: (send: (method: string, params: object) => void) => {
      send("com.example/moved", { berth: 3, _meta: { "com.example/by": "pilot", [ID]: "forged" } });
      return () => {};
    },
  });
  const server = harbour().extend(
    new ServerExtension({ id: "com.example/berths", serverOnly: true }).topic("berths", topic),
  );
  const client = await rawClient(world, server, t);
  await opened(client, 7, { berths: true });
  await client.until(() => heardFor(client, 7).length === 2);
  const _meta = { "com.example/by": "pilot", [ID]: 7 };
  deepEqual(heardFor(client, 7)[1]?.params, { berth: 3, _meta });
});

verifies(
  "subscriptions:listen:nothing-before-ack",
  "while the acknowledgment cannot be written",
  modernChannels,
  async (world: World, t) => {
    const server = harbour();
    const client = await rawClient(stalling(world), server, t);
    await client.ask(enveloped("before", "server/discover"));
    stall?.stall();
    // Two writes fill the pipe; the acknowledgment and what follows it wait behind them.
    for (const id of ["one", "two"]) client.send(enveloped(id, "server/discover"));
    client.send(listen("sub", { toolsListChanged: true, promptsListChanged: true }));
    while (server.stats().subscriptions === 0) await new Promise((resolve) => setImmediate(resolve));
    publishAll(server);
    publishAll(server);
    stall?.resume();
    await client.until(() => methodsFor(client, "sub").length >= 3);
    equal(methodsFor(client, "sub")[0], ACK);
    equal(methodsFor(client, "sub").filter((method) => method === ACK).length, 1);
  },
);
