import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Lease } from "#src/cluster/cluster.js";
import { redisCluster } from "#src/redis/cluster.js";
import { PUT } from "#src/redis/record-scripts.js";
import { arrival, listen } from "#src/testing/contract/bus.js";
import { dataOf, LOG, openOf, write } from "#src/testing/contract/logs.js";
import { collect, failsWith, failureOf, until, wait } from "#src/testing/contract/world.js";
import { cuttable, type RedisServer, startRedis, type Tampering } from "../../support/engines/redis.js";
import { libraries, stateOf } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

for (const library of ["redis", "ioredis"] as const) {
  test(`${library}: operations fail when the engine does not answer, then at once, and work again`, async (t) => {
    const node = await stateOf(t, server, library).node({}, { timeoutMs: 400, heartbeatMs: 100 });
    let gaps = 0;
    node.bus.onGap(() => gaps++);
    server.freeze();
    t.after(() => server.thaw());
    const start = performance.now();
    await Promise.all([
      failsWith("unknown_outcome", () => node.records.put("k", "v")),
      failsWith("unavailable", () => node.records.get("k")),
    ]);
    ok(performance.now() - start < 10_000);
    equal(node.available, false);
    await failsWith("unavailable", () => node.records.put("k", "v"));
    server.thaw();
    await until(() => node.available && gaps > 0, "the node is back");
    ok(await node.records.put("k", "v"));
  });
}

test("scripts that the engine has forgotten are sent again", async (t) => {
  const { command, node } = stateOf(t, server);
  const a = await node();
  await command("SCRIPT", "FLUSH");
  ok(await a.records.put("k", "v"));
  equal((await a.records.get("k"))?.value, "v");
});

test("a follower reads again when a notice of the engine was lost", async (t) => {
  const { node } = stateOf(t, server);
  const a = await node();
  const b = await node({ loses: (_, text) => text === "l l" || text.endsWith("lost") });
  await listen(b, "t");
  await a.logs.create("l", LOG);
  const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
  await a.bus.publish("t", "1");
  await write(await a.logs.claim("l", "s"), ["1"]);
  await a.bus.publish("t", "lost");
  await a.bus.publish("t", "3");
  await followed.reaches(1);
});

test("a message that is lost on the way is a gap when the next one comes", async (t) => {
  const { node } = stateOf(t, server);
  const a = await node();
  const b = await node({ loses: (_, text) => text.endsWith("lost") }, { heartbeatMs: 1_000_000 });
  let gaps = 0;
  b.bus.onGap(() => gaps++);
  const inbox = await listen(b, "t");
  await a.bus.publish("t", "1");
  await a.bus.publish("t", "lost");
  await arrival(inbox, "1");
  equal(gaps, 0);
  await a.bus.publish("t", "2");
  await arrival(inbox, "2");
  equal(gaps, 1);
});

test("a first message that is lost, with none after it, is a gap by the heartbeat", async (t) => {
  const { node } = stateOf(t, server);
  const heard: string[] = [];
  const loses = (_: string, text: string) => {
    heard.push(text);
    return text.endsWith("lost");
  };
  const b = await node({ loses }, { heartbeatMs: 1_000_000 });
  const a = await node({}, { heartbeatMs: 50 });
  let gaps = 0;
  b.bus.onGap(() => gaps++);
  await until(() => heard.some((text) => text.includes(a.node)), "the sender is known");
  await a.bus.publish("t", "lost");
  await until(() => gaps > 0, "the gap is told");
  equal(gaps, 1);
});

test("a connection that delivers nothing is replaced, and it is a gap", async (t) => {
  const { node } = stateOf(t, server);
  const a = await node();
  let isDeaf = true;
  const b = await node({ loses: () => isDeaf }, { heartbeatMs: 50 });
  let gaps = 0;
  b.bus.onGap(() => {
    gaps++;
    isDeaf = false;
  });
  const inbox = await listen(b, "t");
  await a.bus.publish("t", "1");
  await until(() => gaps > 0, "the gap is told");
  // On a busy machine the connection may be replaced once more.
  await until(async () => {
    await a.bus.publish("t", "2");
    return inbox.texts.includes("2");
  }, "messages arrive again");
});

for (const library of ["redis", "ioredis"] as const) {
  test(`${library}: a node without the connection that receives is not available, sends nothing, and tells a gap when it has it`, async (t) => {
    const { node, prefix } = stateOf(t, server, library);
    const client = libraries[library](server.url);
    let isRefused = true;
    let opened = 0;
    const b = redisCluster({
      prefix,
      client: {
        // The first of the two connections receives texts.
        open: async (events, signal) => {
          const isReceiver = opened++ === 0 || opened > 2;
          if (isReceiver && isRefused) throw new Error("the connection was refused");
          return client.open(events, signal);
        },
      },
    });
    t.after(() => b.close());
    await b.ready.catch(() => {});
    await until(async () => (await failureOf(() => b.records.put("k", "v"))) === undefined, "commands are sent");
    equal(b.available, false);
    await failsWith("unavailable", () => b.bus.publish("t", "1"));
    await failsWith("unavailable", () => b.bus.subscribe("t", () => {}));
    const a = await node();
    await a.logs.create("l", LOG);
    const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
    await write(await a.logs.claim("l", "s"), ["1"]);
    let gaps = 0;
    b.bus.onGap(() => gaps++);
    isRefused = false;
    await until(() => b.available, "the node is available");
    equal(gaps, 1);
    await followed.reaches(1);
  });

  test(`${library}: a node that starts tells no gap`, async (t) => {
    const { prefix } = stateOf(t, server, library);
    const node = redisCluster({ client: libraries[library](server.url), prefix });
    t.after(() => node.close());
    let gaps = 0;
    node.bus.onGap(() => gaps++);
    await node.ready;
    const inbox = await listen(node, "t");
    await node.bus.publish("t", "1");
    await arrival(inbox, "1");
    equal(gaps, 0);
  });
}

test("a late release does not end the lease of another holder", async (t) => {
  const { command, keys, node } = stateOf(t, server);
  const [a, b] = [await node(), await node()];
  const lost = await a.leases.acquire("l", 60_000);
  const found = await keys("lease/l");
  equal(found.length, 1);
  await command("DEL", ...found);
  const next = await b.leases.acquire("l", 60_000);
  await lost?.release();
  equal(await a.leases.acquire("l", 60_000), undefined);
  equal(next?.lost.aborted, false);
});

test("a job that a worker could not give back goes to another one", async (t) => {
  const { node } = stateOf(t, server);
  const refused = (args: readonly string[], lua: string) =>
    lua === PUT.lua && args.includes("version") && args.at(-1) === "q"
      ? Promise.reject(new Error("the connection was lost"))
      : undefined;
  const [a, b] = [await node({ command: refused }), await node()];
  for (const id of ["1", "2", "3"]) await b.queue.add(id, "");
  const { signal } = new AbortController();
  for await (const { id } of a.queue.take(signal, { leaseMs: 1_000, most: () => 8 })) if (id === "2") break;
  const { items } = collect(b.queue.take(signal, { leaseMs: 1_000, most: () => 8 }));
  await until(() => items.some(({ id }) => id === "3"), "the job comes to the other worker");
});

/** Loses the replies of so many acquisitions. */
function losesAcquisitions(count: number): Tampering {
  let left = count;
  return { losesReply: (lua, args) => lua === PUT.lua && args.includes("lease/l") && left-- > 0 };
}

test("a lease whose acquisition has an unknown outcome is taken by the next attempt of its node", async (t) => {
  const { node } = stateOf(t, server);
  const [a, b] = [await node(losesAcquisitions(1)), await node()];
  await failsWith("unknown_outcome", () => a.leases.acquire("l", 600_000));
  let lease: Lease | undefined;
  await until(async () => {
    const failure = await failureOf(async () => {
      lease = await a.leases.acquire("l", 600_000);
    });
    return failure === undefined;
  }, "the node is connected again");
  ok(lease);
  await wait(1_000);
  equal(await b.leases.acquire("l", 600_000), undefined);
  equal(lease.lost.aborted, false);
});

test("a lease whose acquisition has an unknown outcome does not stay blocked", async (t) => {
  const { node } = stateOf(t, server);
  const [a, b] = [await node(losesAcquisitions(1)), await node()];
  await failsWith("unknown_outcome", () => a.leases.acquire("l", 600_000));
  await until(async () => (await b.leases.acquire("l", 600_000)) !== undefined, "another node has the lease");
  equal(await a.leases.acquire("l", 600_000), undefined);
});

test("streams of a node that is lost are found and ended by another one, and nothing of it is left", async (t) => {
  const { keys, node, prefix } = stateOf(t, server);
  const client = cuttable(libraries.redis(server.url));
  const lost = redisCluster({ client, prefix });
  t.after(() => lost.close());
  const b = await node();
  for (const log of ["kept", "dropped"]) {
    await lost.logs.create(log, LOG);
    await write(await lost.logs.claim(log, "s"), ["1"]);
  }
  client.cut();
  deepEqual(await openOf(b, lost.node), ["dropped/s", "kept/s"]);
  equal((await keys(lost.node)).length, 1);
  await (await b.logs.claim("kept", "s")).append(0, "lost", { last: true });
  await b.logs.drop("dropped");
  deepEqual(await openOf(b, lost.node), []);
  deepEqual(await dataOf(b, "kept", "s"), ["1", "lost"]);
  deepEqual([await keys(lost.node), await keys(b.node)], [[], []]);
});
