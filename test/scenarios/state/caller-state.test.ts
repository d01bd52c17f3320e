import { deepEqual, equal, match } from "node:assert/strict";
import { type Client, connect } from "bowline/client";
import type { Cluster } from "bowline/cluster";
import { type Context, McpServer, type ServerOptions } from "bowline/server";
import { defineState } from "bowline/state";
import { createMemoryState } from "bowline/testing";
import * as z from "zod";
import { until } from "../../support/census.js";
import { openState } from "../../support/core-of.js";
import { eachWire, httpWires, legacyHttp, type World } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { gate } from "../../support/gate.js";
import { status } from "../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../support/nodes-world.js";
import { initialize } from "../../support/raw-client.js";
import { proves, verifies, type Wire } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

function shop(options: ServerOptions = {}, cart = defineState("cart", { schema: z.array(z.string()) })) {
  return new McpServer(me, options)
    .tool("add", { input: z.object({ item: z.string() }) }, async ({ item }, ctx) =>
      JSON.stringify(await ctx.state(cart).update((items = []) => [...items, item])),
    )
    .tool("show", {}, async (_, ctx) => JSON.stringify((await ctx.state(cart).get()) ?? null))
    .tool("clear", {}, async (_, ctx) => String(await ctx.state(cart).delete()));
}

/** Options of a server whose gate takes the name of the caller from a header. */
function gated(options: ServerOptions = {}): ServerOptions {
  const gate = async (request: { header(name: string): string | undefined }) => ({
    principal: request.header("x-user"),
  });
  return { ...options, http: { gate: gate as never } };
}

const as = (user: string) => ({ headers: { "x-user": user } });
const show = async (client: Client) => JSON.parse((await client.callTool("show")).text ?? "null");

verifies("state:caller:own", "in each process of the cluster", httpWires, async ({ connect }) => {
  const state = createMemoryState();
  const one = shop(gated({ cluster: state.node(), stateKeys }));
  const other = shop(gated({ cluster: state.node(), stateKeys }));
  const ann = await connect(one, as("ann"));
  await ann.callTool("add", { item: "rope" });
  deepEqual(await show(await connect(other, as("ann"))), ["rope"]);
  deepEqual(await show(await connect(one, as("bob"))), null);
  equal((await ann.callTool("clear")).text, "true");
  equal((await ann.callTool("clear")).text, "false");
  deepEqual(await show(await connect(other, as("ann"))), null);
});

verifies("state:caller:own", "per session", legacyHttp, async ({ connect }) => {
  const server = shop(gated(), defineState("cart", { schema: z.array(z.string()), per: "session" }));
  const first = await connect(server, as("ann"));
  await first.callTool("add", { item: "rope" });
  deepEqual(await show(first), ["rope"]);
  deepEqual(await show(await connect(server, as("ann"))), null);
});

verifies("state:caller:unknown", eachWire, async ({ connect, era, transport }) => {
  const server = shop();
  const [one, other] = [await connect(server), await connect(server)];
  const added = await one.callTool("add", { item: "rope" });
  if (era === "modern" && (transport === "node" || transport === "fetch")) {
    equal(added.isError, true);
    match(added.text ?? "", /the caller is unknown; set http\.gate/);
    return;
  }
  deepEqual(await show(one), ["rope"]);
  deepEqual(await show(other), null);
});

proves("state:update:atomic", {}, "updates of two processes at the same time are all applied", async (t) => {
  const state = createMemoryState();
  const servers = [shop({ cluster: state.node(), stateKeys }), shop({ cluster: state.node(), stateKeys })];
  const counter = defineState<number>("counter");
  const call = { origin: { principal: "ann" } } as never;
  const open = (server: (typeof servers)[number]) => openState(counter, call, server);
  t.after(() => Promise.all(servers.map((server) => server.close())));
  await Promise.all(
    Array.from({ length: 40 }, (_, at) => open(servers[at % 2] as never).update(async (count = 0) => count + 1)),
  );
  equal(await open(servers[0] as never).get(), 40);
});

proves("state:bounds", {}, "a value has a schema, a maximum size and a life", async (t) => {
  const clock = new FakeClock();
  const small = defineState("cart", { schema: z.array(z.string()), maxChars: 60, ttlMs: 1_000 });
  const server = shop({ clock }, small).tool("break", {}, (_, ctx) => ctx.state(small).set("x" as never));
  const client = await connect(server);
  t.after(() => client.close());
  equal((await client.callTool("add", { item: "rope" })).text, '["rope"]');
  match((await client.callTool("add", { item: "x".repeat(60) })).text ?? "", /more than 60 \(maxChars\)/);
  match((await client.callTool("break")).text ?? "", /does not match its schema/);
  clock.advance(999);
  equal((await client.callTool("add", { item: "oar" })).text, '["rope","oar"]');
  clock.advance(999);
  deepEqual(await show(client), ["rope", "oar"], "its time begins again when it is set");
  clock.advance(1);
  deepEqual(await show(client), null);
});

proves("state:bounds", {}, "a value is checked as it will be read", async (t) => {
  const day = defineState("day", { schema: z.date() });
  const any = defineState<unknown>("any", { maxChars: 4 });
  const server = new McpServer(me)
    .tool("day", {}, (_, ctx) => ctx.state(day).set(new Date(0)))
    .tool("read", {}, async (_, ctx) => String(await ctx.state(day).get()))
    .tool("big", {}, (_, ctx) => ctx.state(any).set(1n))
    .tool("none", {}, (_, ctx) => ctx.state(any).set(undefined))
    .tool("map", {}, (_, ctx) => ctx.state(any).set({ ships: new Map() }))
    .tool("four", {}, (_, ctx) => ctx.state(any).set("ab"))
    .tool("five", {}, (_, ctx) => ctx.state(any).set("abc"));
  const client = await connect(server);
  t.after(() => client.close());
  const text = async (tool: string) => (await client.callTool(tool as "day")).text ?? "";
  match(await text("day"), /The new value \(as JSON\) of state "day" does not match its schema/);
  equal(await text("read"), "undefined");
  match(await text("big"), /state "any" cannot be set: the value is not JSON: it is a bigint/);
  match(await text("none"), /state "any" cannot be set: the value is not JSON: use delete to remove it/);
  match(await text("map"), /state "any" cannot be set: the value is not JSON: \/ships is a Map/);
  equal(await text("four"), "");
  match(await text("five"), /it has 5 characters, more than 4 \(maxChars\)/);
});

proves("state:bounds", {}, "a call that ends while the server drains has its state", async () => {
  const count = defineState<number>("count");
  const [begun, end] = [gate(), gate()];
  const add = async (_: unknown, ctx: Context) => String(await ctx.state(count).update((before = 0) => before + 1));
  const server = new McpServer(me).tool("add", {}, add).tool("late", {}, async (_, ctx) => {
    begun.open();
    await end.opened;
    return add(_, ctx);
  });
  await using client = await connect(server);
  await client.callTool("add");
  const late = client.callTool("late");
  await begun.opened;
  const drained = server.drain(10_000);
  end.open();
  equal((await late).text, "2");
  await drained;
});

/** Cluster in memory whose values of state are counted. */
function countedState() {
  const state = createMemoryState();
  const keys = new Set<string>();
  const counted = (cluster: Cluster) => {
    const records = replaceParts(cluster.records, {
      put: (key, ...rest) => {
        if (key.startsWith("state:")) keys.add(key);
        return cluster.records.put(key, ...rest);
      },
      delete: (key, ...rest) => {
        keys.delete(key);
        return cluster.records.delete(key, ...rest);
      },
    });
    return replaceParts(cluster, { records });
  };
  return { node: () => counted(state.node()), counted, keys };
}

/** Wires on which a server has the cluster that its test looks into. Behind nginx, it has that of the engine. */
const ownCluster = (wires: readonly Wire<World>[]) => wires.filter(({ name }) => !name.includes("nginx"));

const perSession = () => defineState("cart", { schema: z.array(z.string()), per: "session" });

verifies("state:bounds", "the values of a connection or session end with it", ownCluster(eachWire), async (world) => {
  if (world.era === "modern" && (world.transport === "node" || world.transport === "fetch")) {
    const client = await world.connect(shop({}, perSession()));
    match((await client.callTool("add", { item: "rope" })).text ?? "", /no sessions/);
    return;
  }
  const { node, keys } = countedState();
  const server = shop({ cluster: node(), stateKeys }, perSession()).tool("name", {}, async (_, ctx) =>
    ctx.state(defineState<string>("name", { per: "session" })).set("ann"),
  );
  const [one, other] = [await world.connect(server), await world.connect(server)];
  for (const client of [one, other]) await client.callTool("add", { item: "rope" });
  await one.callTool("name");
  equal(keys.size, 3);
  await one.close();
  await until("the values of the first are deleted", () => keys.size === 1);
  deepEqual(await show(other), ["rope"]);
});

verifies(
  "state:bounds",
  "the values of a principal outlive its sessions",
  ownCluster(legacyHttp),
  async ({ connect }) => {
    const { node, keys } = countedState();
    const server = shop(gated({ cluster: node(), stateKeys }));
    const ann = await connect(server, as("ann"));
    await ann.callTool("add", { item: "rope" });
    await ann.close();
    deepEqual(await show(await connect(server, as("ann"))), ["rope"]);
    equal(keys.size, 1);
  },
);

proves(
  "state:bounds",
  { wire: "legacy-http" },
  "values of sessions in memory end, whatever ends the session",
  async (t) => {
    const clock = new FakeClock();
    const [begun, end] = [gate(), gate()];
    const definition = perSession();
    const settled = gate<unknown>();
    const server = shop({ clock, limits: { sessionIdleMs: 60_000 } }, definition).tool("late", {}, async (_, ctx) => {
      begun.open();
      await end.opened;
      settled.open(
        await ctx
          .state(definition)
          .set(["late"])
          .catch((error: unknown) => error),
      );
    });
    t.after(() => server.close());
    const open = async () => {
      const sent = (body: object, session: Record<string, string> = {}) =>
        server.fetch(
          new Request("http://localhost/mcp", {
            method: "POST",
            headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...session },
            body: JSON.stringify({ jsonrpc: "2.0", ...body }),
          }),
        );
      const first = await sent(initialize(0));
      const session = { "mcp-session-id": String(first.headers.get("mcp-session-id")) };
      await first.text();
      await sent({ method: "notifications/initialized" }, session);
      const call = async (name: string, args = {}) =>
        (await sent({ id: name, method: "tools/call", params: { name, arguments: args } }, session)).text();
      const remove = () => server.fetch(new Request("http://localhost/mcp", { method: "DELETE", headers: session }));
      return { id: session["mcp-session-id"], call, remove };
    };
    /** Opens the value of a session that may be gone. */
    const left = (sessionId: string) => {
      const call = { origin: { sessionId, url: "/" }, end: {} } as never;
      return openState(definition, call, server).get();
    };
    const [removed, expired, late] = [await open(), await open(), await open()];
    for (const { id, call } of [removed, expired]) {
      match(await call("add", { item: "rope" }), /rope/);
      deepEqual(await left(id), ["rope"]);
    }
    await removed.remove();
    await until("the value is deleted", async () => (await left(removed.id)) === undefined);
    deepEqual(await left(expired.id), ["rope"]);
    const called = late.call("late");
    await begun.opened;
    clock.advance(60_000);
    await until("the value has ended with its session", async () => (await left(expired.id)) === undefined);
    await late.remove();
    end.open();
    match(String(await settled.opened), /ConnectionError/);
    equal(await left(late.id), undefined, "a call cannot set a value after the end of its session");
    await called;
  },
);

verifies(
  "state:bounds",
  "the process that ends a session of a cluster deletes its values",
  ownCluster(legacyHttp),
  async (world) => {
    const { node, keys } = countedState();
    const options = () => ({ cluster: node(), stateKeys });
    const [one, other] = [shop(options(), perSession()), shop(options(), perSession())];
    const client = await world.connect(one);
    await client.callTool("add", { item: "rope" });
    const elsewhere = await world.connect(other);
    await elsewhere.callTool("add", { item: "oar" });
    equal(keys.size, 2);
    await elsewhere.close();
    await until("its value is deleted", () => keys.size === 1);
    deepEqual(await show(client), ["rope"]);
  },
);

proves(
  "state:bounds",
  { wire: "legacy-http" },
  "a process deletes the values of a session that ends in another one",
  async (t) => {
    const world = new NodesWorld(t);
    const { counted, keys } = countedState();
    const cart = perSession();
    const add = async (_: unknown, ctx: Context) =>
      String(await ctx.state(cart).update((items = []) => [...items, "x"]));
    const one = world.node(({ server }) => server.tool("add", {}, add), counted);
    const other = world.node();
    const client = await one.endpoint.open();
    await status(client.request(1, "tools/call", { name: "add" }), 200);
    equal(keys.size, 1);
    await status(at(other, client).delete(), 200);
    await until("the value is deleted", () => keys.size === 0);
  },
);
