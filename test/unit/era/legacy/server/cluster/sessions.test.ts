import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { type Cluster, ClusterError, type Records } from "bowline/cluster";
import { withoutRoom } from "../../../../../support/full-cluster.js";
import { aborted, gate } from "../../../../../support/gate.js";
import { blocks, messages, settle, status, until } from "../../../../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../../../../support/nodes-world.js";

const UPDATED = "notifications/resources/updated";
const methods = (exchange: Parameters<typeof messages>[0]) => messages(exchange).map(({ method }) => method);

/** Replaces operations of the records of a node. */
function withRecords(own: (records: Records) => Partial<Records>) {
  return ({ records }: Cluster): Partial<Cluster> => ({ records: replaceParts(records, own(records)) });
}

const unknown = () => new ClusterError("unknown_outcome", "The connection failed");

test("a client that becomes ready while the engine is away is ready for all processes afterwards", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(), world.node()];
  const opened = await status(one.endpoint.initialize(), 200);
  const session = opened.headers["mcp-session-id"];
  world.state.cut(one.cluster);
  const ready = { jsonrpc: "2.0", method: "notifications/initialized" };
  await status(one.endpoint.post(ready, { session }), 503);
  await settle();
  world.state.mend(one.cluster);
  world.clock.advance(2_000);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  await status(one.endpoint.post(ping, { session }), 200);
  await settle();
  const stored = await other.cluster.records.get(`session:${session}`);
  match(stored?.value ?? "", /"ready":true/);
});

test("a handshake whose id is in use in another process does not end the session that has it", async (t) => {
  const ends: string[] = [];
  const world = new NodesWorld(t, { sessions: { createId: () => "same", onEnd: (id) => void ends.push(id) } });
  const [one, other] = [world.node(), world.node()];
  const client = await one.endpoint.open();
  await status(other.endpoint.initialize(), 500);
  world.clock.advance(2_000);
  await status(client.request(1, "ping"), 200);
  deepEqual(ends, []);
});

test("a refused handshake does not reach for a record", async (t) => {
  const world = new NodesWorld(t);
  let deleted = 0;
  const count = withRecords((records) => ({
    delete: (key, version) => {
      deleted++;
      return records.delete(key, version);
    },
  }));
  const one = world.node(undefined, count);
  await status(one.endpoint.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }), 400);
  await settle();
  equal(deleted, 0);
});

test("a subscription survives a read of the record that began before it", async (t) => {
  const world = new NodesWorld(t);
  const one = world.node(({ server }) => server.resource("x:y", { name: "x" }, () => "x"));
  const client = await one.endpoint.open();
  const stream = client.get();
  await settle();
  world.clock.advance(850);
  await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
  one.endpoint.server.changes.resourceUpdated("x:y");
  await until(() => methods(stream).includes(UPDATED), "the update");
});

for (const cold of [false, true]) {
  const title = cold ? "that does not know the session yet" : "that knows the session";
  test(`a change that is announced during a read reaches a process ${title}`, async (t) => {
    const world = new NodesWorld(t);
    const [reading, read] = [gate(), gate()];
    let slow = false;
    const delay = withRecords((records) => ({
      get: async (key) => {
        const stored = await records.get(key);
        if (slow && key.startsWith("session:")) {
          slow = false;
          reading.open();
          await read.opened;
        }
        return stored;
      },
    }));
    const define = ({ server }: typeof one.endpoint) => server.resource("x:y", { name: "x" }, () => "x");
    const one = world.node();
    define(one.endpoint);
    const other = world.node(define, delay);
    await other.endpoint.open();
    const client = await one.endpoint.open();
    if (!cold) await status(at(other, client).request(1, "ping"), 200);
    slow = true;
    world.clock.advance(1_100);
    const stream = at(other, client).get();
    await reading.opened;
    await status(client.request(2, "resources/subscribe", { uri: "x:y" }), 200);
    await settle();
    read.open();
    await until(() => stream.status === 200, "the stream");
    await settle();
    world.clock.advance(10_000);
    one.endpoint.server.changes.resourceUpdated("x:y");
    await until(() => methods(stream).includes(UPDATED), "the update");
  });
}

test("a session that ends during its first read in a process is not found there", async (t) => {
  const world = new NodesWorld(t);
  const [reading, read] = [gate(), gate()];
  let slow = false;
  const delay = withRecords((records) => ({
    get: async (key) => {
      const stored = await records.get(key);
      if (slow && key.startsWith("session:")) {
        reading.open();
        await read.opened;
      }
      return stored;
    },
  }));
  const [one, other] = [world.node(), world.node(undefined, delay)];
  const client = await one.endpoint.open();
  await other.endpoint.open();
  slow = true;
  const stream = at(other, client).get();
  await reading.opened;
  await status(client.delete(), 200);
  await settle();
  read.open();
  await status(stream, 404);
});

test("a listening session whose end was not announced ends when its life is extended", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(), world.node()];
  const client = await one.endpoint.open();
  const stream = at(other, client).get();
  await until(() => stream.status === 200, "the stream");
  await one.cluster.records.delete(`session:${client.id}`);
  for (let second = 0; second < 70; second += 10) {
    world.clock.advance(10_000);
    await settle();
  }
  await stream.done;
  equal(other.endpoint.stats.sessions, 0);
});

test("handshakes at the same time keep the number of sessions", async (t) => {
  const limits = { maxSessionsPerPrincipal: 3, sessionIdleMs: 100_000 };
  const world = new NodesWorld(t, {}, { limits });
  const one = world.node();
  const from = { principal: "ada" };
  for (let round = 0; round < 3; round++) {
    const opened = Array.from({ length: 10 }, () => one.endpoint.initialize("2025-11-25", from));
    for (const exchange of opened) await exchange.done;
    equal(await one.cluster.records.count("sessions of ada"), 3);
    equal(opened.filter((exchange) => exchange.status === 200).length, 3);
    for (let step = 0; step < 3; step++) {
      world.clock.advance(20_000);
      await settle();
    }
  }
});

test("a session whose deletion has an unknown outcome ends with onEnd and without its log", async (t) => {
  const ends: string[] = [];
  const world = new NodesWorld(t, { resumable: true, sessions: { onEnd: (id) => void ends.push(id) } });
  const fail = withRecords((records) => ({
    delete: async (key, version) => {
      const deleted = await records.delete(key, version);
      if (key.startsWith("session:")) throw unknown();
      return deleted;
    },
  }));
  const one = world.node(undefined, fail);
  const client = await one.endpoint.open();
  const stream = client.get();
  await until(() => blocks(stream).length > 0, "the stream");
  await status(client.delete(), 200);
  await stream.done;
  deepEqual(ends, [client.id]);
  equal(await one.cluster.logs.find(`session:${client.id}`, blocks(stream)[0]?.id ?? ""), undefined);
});

test("a session without an idle limit stays after the time for its setup", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { sessionIdleMs: 0 } });
  const one = world.node();
  const opened = await status(one.endpoint.initialize(), 200);
  const session = opened.headers["mcp-session-id"];
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  await status(one.endpoint.post(ping, { session }), 200);
  for (let second = 0; second < 400; second += 10) {
    world.clock.advance(10_000);
    await settle();
  }
  await status(one.endpoint.post({ ...ping, id: 2 }, { session }), 200);
});

test("a session ends no earlier than its idle time after its last use", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { sessionIdleMs: 8_000 } });
  const one = world.node();
  const client = await one.endpoint.open();
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      world.clock.advance(100);
      await settle();
    }
  };
  await status(client.request(1, "ping"), 200);
  await pass(1_900);
  await status(client.request(2, "ping"), 200);
  await pass(7_500);
  await status(client.request(3, "ping"), 200);
});

test("subscriptions of another process are counted for the principal of the session", async (t) => {
  const limits = { maxSubscriptionsPerPrincipal: 1 };
  const world = new NodesWorld(t, {}, { limits });
  const define = ({ server }: typeof one.endpoint) =>
    server.resource("x:y", { name: "x" }, () => "x").resource("x:z", { name: "z" }, () => "z");
  const one = world.node();
  const other = world.node();
  for (const { endpoint } of [one, other]) define(endpoint);
  const from = { principal: "ada" };
  const client = await one.endpoint.open(undefined, {}, from);
  await status(at(other, client, from).request(1, "resources/subscribe", { uri: "x:y" }), 200);
  await settle();
  await status(client.request(2, "resources/subscribe", { uri: "x:z" }), 429);
});

test("a process keeps a session that a request waits for, although it has no place for it", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { maxSessions: 2 } });
  const define = ({ server }: typeof one.endpoint) =>
    server.tool("wait", {}, async () => {
      await new Promise(() => {});
      return "";
    });
  const one = world.node();
  define(one.endpoint);
  const other = world.node(define);
  const [first, second] = [await one.endpoint.open(), await one.endpoint.open()];
  const calls = [at(other, first).request(1, "ping"), at(other, second).request(1, "ping")];
  for (const call of calls) await status(call, 200);
});

for (const failure of ["unavailable", "unknown_outcome"] as const) {
  test(`onEnd is called for a session whose record is not stored (${failure})`, async (t) => {
    const [opened, ends]: string[][] = [[], []];
    const sessions = { onOpen: (id: string) => void opened?.push(id), onEnd: (id: string) => void ends?.push(id) };
    const world = new NodesWorld(t, { resumable: true, sessions });
    let failures = 1;
    const fail = withRecords((records) => ({
      put: async (key, value, options) => {
        if (!key.startsWith("session:") || failures-- <= 0) return records.put(key, value, options);
        if (failure === "unknown_outcome") await records.put(key, value, options);
        world.state.cut(one.cluster);
        throw new ClusterError(failure, "The connection failed");
      },
    }));
    const one = world.node(undefined, fail);
    await status(one.endpoint.initialize(), 503);
    world.state.mend(one.cluster);
    for (let second = 0; second < 10; second++) {
      world.clock.advance(1_000);
      await settle();
    }
    equal(opened?.length, 1);
    deepEqual(ends, opened);
  });
}

test("an id of a session that no client could use is refused", async (t) => {
  const world = new NodesWorld(t, { sessions: { createId: () => "x".repeat(1_025) } });
  const one = world.node();
  await status(one.endpoint.initialize(), 500);
  match(String(one.endpoint.reports[0]?.error), /createId must return at most 1024 characters/);
  equal(await one.cluster.records.count("sessions"), 0);
});

test("a handshake whose id is refused takes no place", async (t) => {
  const ids = ["x".repeat(1_025), "short"];
  const world = new NodesWorld(t, { sessions: { createId: () => ids.shift() ?? "" } }, { limits: { maxSessions: 1 } });
  const one = world.node();
  await status(one.endpoint.initialize(), 500);
  await status(one.endpoint.initialize(), 200);
});

test("the session that is unused longest makes room, however many that are in use were opened before it", async (t) => {
  const inUse = 201;
  const world = new NodesWorld(t, {}, { limits: { maxSessions: inUse + 1, sessionIdleMs: 100_000 } });
  const [one, other] = [world.node(), world.node()];
  const used = [];
  for (let count = 0; count < inUse; count++) {
    used.push(await one.endpoint.open());
    world.clock.advance(1);
  }
  const unused = await one.endpoint.open();
  await status(unused.request(1, "ping"), 200);
  for (let id = 1; id <= 4; id++) {
    world.clock.advance(20_000);
    for (const client of used) await status(client.request(id, "ping"), 200);
  }
  await status(other.endpoint.initialize(), 200);
  await status(unused.request(9, "ping"), 404);
  equal(await one.cluster.records.count("sessions"), inUse + 1);
});

test("a session that is unused makes room, although many have just been opened", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { maxSessions: 30, sessionIdleMs: 100_000, sessionSetupMs: 20_000 } });
  const one = world.node();
  const unused = await one.endpoint.open();
  await status(unused.request(1, "ping"), 200);
  for (let step = 0; step < 6; step++) {
    world.clock.advance(10_000);
    await settle();
  }
  for (let count = 0; count < 29; count++) await status(one.endpoint.initialize(), 200);
  await status(one.endpoint.initialize(), 200);
  await status(unused.request(2, "ping"), 404);
});

test("the sweeper lists sessions that would end soon, and no others", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { sessionSetupMs: 40_000 } });
  let listed = 0;
  const count = withRecords((records) => ({
    list: async (index, options) => {
      const page = await records.list(index, options);
      if (index === "sessions") listed += page.length;
      return page;
    },
  }));
  const one = world.node(undefined, count);
  for (let number = 0; number < 350; number++) {
    const client = await one.endpoint.open();
    if (number > 0) await status(client.request(1, "ping"), 200);
  }
  const late = await status(one.endpoint.initialize(), 200);
  for (let second = 0; second < 65; second += 5) {
    world.clock.advance(5_000);
    await settle();
  }
  ok(listed > 0 && listed <= 2 * 150, `${listed} sessions were listed by two sweeps`);
  equal(await one.cluster.records.get(`session:${late.headers["mcp-session-id"]}`), undefined);
  equal(await one.cluster.records.count("sessions"), 350);
});

test("a session in use lives on while the engine stores nothing", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { sessionIdleMs: 8_000 } });
  let isFull = false;
  const full = withRecords((records) => ({
    put: async (key, value, options) => {
      if (isFull) throw new ClusterError("unavailable", "the engine is full");
      return records.put(key, value, options);
    },
  }));
  const one = world.node(undefined, full);
  const client = await one.endpoint.open();
  isFull = true;
  for (let id = 1; id <= 200; id++) {
    world.clock.advance(2_000);
    await settle();
    await status(client.request(id, "ping"), 200);
  }
  equal((await one.cluster.records.list("sessions", { limit: 2 })).length, 1);
});

test("a session that two processes use is extended by both, and a change of it stays", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { sessionIdleMs: 8_000 }, capabilities: { logging: true } });
  const [one, other] = [world.node(), world.node()];
  const client = await one.endpoint.open();
  const same = at(other, client);
  await status(same.request(1, "ping"), 200);
  await status(client.request(2, "logging/setLevel", { level: "error" }), 200);
  for (let id = 3; id < 30; id++) {
    world.clock.advance(2_000);
    await settle();
    await status((id % 2 === 0 ? client : same).request(id, "ping"), 200);
  }
  const [stored] = await one.cluster.records.list("sessions", { limit: 2 });
  match(stored?.value ?? "", /"level":"error"/);
});

test("a log level counts in another process before the request that set it is answered", async (t) => {
  const world = new NodesWorld(t, {}, { capabilities: { logging: true } });
  const [publishing, published, read] = [gate(), gate(), gate()];
  t.after(() => read.open());
  let isSet = false;
  const [one, other] = [
    world.node(undefined, ({ bus }) => ({
      bus: replaceParts(bus, {
        publish: async (topic, text) => {
          if (text.includes('"level"')) {
            publishing.open();
            await published.opened;
          }
          return bus.publish(topic, text);
        },
      }),
    })),
    world.node(
      ({ server }) =>
        server.tool("tell", {}, async (_args, ctx) => {
          await ctx.log("info", "small");
          return "told";
        }),
      // Reads of the record take long.
      withRecords((records) => ({
        get: async (key) => {
          if (isSet) await read.opened;
          return records.get(key);
        },
      })),
    ),
  ];
  const client = await one.endpoint.open();
  const elsewhere = at(other, client);
  const before = elsewhere.call(1, "tell");
  await before.done;
  deepEqual(methods(before), ["notifications/message", undefined]);
  isSet = true;
  const set = client.request(2, "logging/setLevel", { level: "error" });
  await publishing.opened;
  await settle();
  deepEqual(messages(set), [], "the response waits until the others are told");
  published.open();
  await status(set, 200);
  const after = elsewhere.call(3, "tell");
  await after.done;
  deepEqual(methods(after), [undefined]);
});

test("a message of another form between processes is reported, and nothing else happens", async (t) => {
  const world = new NodesWorld(t);
  const one = world.node(({ server }) => server.tool("a", {}, () => "a"));
  const client = await one.endpoint.open();
  const stranger = world.state.node();
  t.after(() => stranger.close());
  for (const topic of ["control", "changes"]) {
    const before = one.endpoint.reports.length;
    for (const text of ["null", "no JSON"]) await stranger.bus.publish(topic, text);
    await until(() => one.endpoint.reports.length >= before + 2, `reports of what came on ${topic}`);
  }
  await status(client.call(1, "a"), 200);
});

test("the end of a session reaches a process that began to serve it while the engine was full", async (t) => {
  const world = new NodesWorld(t);
  let isFull = false;
  const [reached, ended] = [gate(), gate()];
  const node = () =>
    world.node(
      ({ server }) => {
        server.tool("wait", {}, async (_args, ctx) => {
          reached.open();
          await aborted(ctx.signal);
          ended.open();
          return "";
        });
      },
      (cluster) => withoutRoom(cluster, () => (isFull ? "unavailable" : undefined)),
    );
  const [one, other] = [node(), node()];
  const client = await one.endpoint.open();
  await settle();
  isFull = true;
  at(other, client).call(1, "wait");
  await reached.opened;
  await settle();
  isFull = false;
  await status(client.delete(), 200);
  let isOver = false;
  ended.opened.then(() => {
    isOver = true;
  });
  await until(() => isOver, "the end of the call");
});
