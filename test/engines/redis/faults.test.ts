import { deepEqual, equal, ok } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, type TestContext, test } from "node:test";
import { createClient } from "redis";
import type { Lease } from "#src/cluster/cluster.js";
import { type RedisClusterOptions, redisCluster } from "#src/redis/cluster.js";
import { arrival, listen } from "../../contract/bus.js";
import { dataOf, LOG, openOf, write } from "../../contract/logs.js";
import { collect, failsWith, failureOf, until, wait } from "../../contract/world.js";
import { cuttable, type RedisServer, startRedis, type Tampering, tampered } from "../../support/engines/redis.js";
import { libraries } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

interface World {
  readonly prefix: string;
  node(tampering?: Tampering, options?: Partial<RedisClusterOptions>): Promise<ReturnType<typeof redisCluster>>;
}

/** State of one test. Its nodes are closed after the test. */
function world(t: TestContext, library: keyof typeof libraries = "redis"): World {
  const prefix = `test-${randomUUID()}`;
  return {
    prefix,
    async node(tampering = {}, options = {}) {
      const client = tampered(libraries[library](server.url), tampering);
      const node = redisCluster({ client, prefix, ...options });
      t.after(() => node.close());
      await node.ready;
      return node;
    },
  };
}

async function admin<T>(run: (command: (...args: string[]) => Promise<unknown>) => Promise<T>): Promise<T> {
  const client = createClient({ url: server.url });
  await client.connect();
  try {
    return await run((...args) => client.sendCommand(args));
  } finally {
    client.destroy();
  }
}

for (const library of ["redis", "ioredis"] as const) {
  test(`${library}: operations fail when the engine does not answer, then at once, and work again`, async (t) => {
    const node = await world(t, library).node({}, { timeoutMs: 400, heartbeatMs: 100 });
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

test("state of another format is refused", async (t) => {
  const { prefix, node } = world(t);
  await admin((command) => command("SET", `${prefix}:format`, "2"));
  await failsWith("refused", () => node());
});

test("a follower reads again when a message of the engine was lost", async (t) => {
  const { node } = world(t);
  const a = await node();
  const b = await node({ loses: (_, text) => text === "+s" || text.endsWith("lost") }, { heartbeatMs: 50 });
  await listen(b, "t");
  await a.logs.create("l", LOG);
  const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
  const writer = await a.logs.claim("l", "s");
  await a.bus.publish("t", "not");
  await write(writer, ["1"]);
  await a.bus.publish("t", "lost");
  await followed.reaches(1);
});

for (const library of ["redis", "ioredis"] as const) {
  test(`${library}: a topic that is left and subscribed at once is heard`, async (t) => {
    const node = await world(t, library).node();
    let inbox = await listen(node, "t");
    for (let round = 0; round < 20; round++) {
      void inbox.leave();
      inbox = await listen(node, "t");
      if (round % 2 === 0) {
        await node.bus.publish("t", `${round}`);
        await arrival(inbox, `${round}`);
      }
    }
  });
}

test("a late release does not end the lease of another holder", async (t) => {
  const { prefix, node } = world(t);
  const [a, b] = [await node(), await node()];
  const lost = await a.leases.acquire("l", 60_000);
  await admin(async (command) => {
    for (const key of (await command("KEYS", `${prefix}:lease*`)) as string[]) await command("DEL", key);
  });
  const next = await b.leases.acquire("l", 60_000);
  await lost?.release();
  equal(await a.leases.acquire("l", 60_000), undefined);
  equal(next?.lost.aborted, false);
});

test("a job that a worker could not give back goes to another one", async (t) => {
  const { node } = world(t);
  const isReturn = (lua: string) => lua.includes("'HDEL', owners, ARGV[1]") && lua.includes("'PUBLISH'");
  const refused = (_: readonly string[], lua: string) =>
    isReturn(lua) ? Promise.reject(new Error("the connection was lost")) : undefined;
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
  return { losesReply: (lua) => lua.includes("'NX', 'PX'") && left-- > 0 };
}

test("a lease whose acquisition has an unknown outcome is taken by the next attempt of its node", async (t) => {
  const { node } = world(t);
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
  const { node } = world(t);
  const [a, b] = [await node(losesAcquisitions(1)), await node()];
  await failsWith("unknown_outcome", () => a.leases.acquire("l", 600_000));
  await until(async () => (await b.leases.acquire("l", 600_000)) !== undefined, "another node has the lease");
  equal(await a.leases.acquire("l", 600_000), undefined);
});

test("scripts that the engine has forgotten are sent again", async (t) => {
  const node = await world(t).node();
  await admin((command) => command("SCRIPT", "FLUSH"));
  ok(await node.records.put("k", "v"));
  equal((await node.records.get("k"))?.value, "v");
});

test("a message that is lost on the way is a gap when the next one comes", async (t) => {
  const { node } = world(t);
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
  const { node } = world(t);
  const a = await node();
  const b = await node({ loses: (_, text) => text.endsWith("lost") }, { heartbeatMs: 50 });
  let gaps = 0;
  b.bus.onGap(() => gaps++);
  await listen(b, "t");
  await a.bus.publish("t", "lost");
  await until(() => gaps > 0, "the gap is told");
  equal(gaps, 1);
});

test("a connection that delivers nothing is replaced, and it is a gap", async (t) => {
  const { node } = world(t);
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

/** True for the script that writes the entry of a record to an index. */
const writesEntries = (lua: string) => lua.includes("'ZADD', members, ARGV[4], key");

/** Makes a node fail before it writes index entries, as a crash at that point does. */
const crashBeforeIndexing: Tampering = {
  command: (_, lua) => (writesEntries(lua) ? Promise.reject(new Error("crash")) : undefined),
};

test("an index gets the entry of a put that ended before its last step", async (t) => {
  const { node } = world(t);
  const [a, b] = [await node(crashBeforeIndexing), await node()];
  ok(await a.records.put("k", "v", { index: [{ index: "i", score: 1 }] }));
  equal(await b.records.count("i"), 1);
  deepEqual(
    (await b.records.list("i", { limit: 10 })).map(({ key, score }) => [key, score]),
    [["k", 1]],
  );
});

test("an index loses the entry of a deletion that ended before its last step", async (t) => {
  const { node } = world(t);
  const [a, b] = [await node(crashBeforeIndexing), await node()];
  await b.records.put("k", "v", { index: [{ index: "i", score: 1 }] });
  await b.records.put("l", "v", { index: [{ index: "i", score: 2 }] });
  equal(await a.records.delete("k"), true);
  deepEqual(
    (await b.records.list("i", { limit: 1 })).map(({ key }) => key),
    ["l"],
  );
  equal(await b.records.count("i"), 1);
});

test("an index shows the record when steps of two puts overlap", async (t) => {
  const { node } = world(t);
  let hold: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  let isHeld = false;
  const slow = await node({
    delay: (lua) => {
      if (isHeld || !writesEntries(lua)) return undefined;
      isHeld = true;
      return held;
    },
  });
  const b = await node();
  await b.records.put("other", "v", { index: [{ index: "i", score: 3 }] });
  const first = Promise.resolve(slow.records.put("k", "old", { index: [{ index: "i", score: 5 }] }));
  await until(() => isHeld, "the first put waits with its last step");
  await b.records.put("k", "new", { index: [{ index: "i", score: 1 }] });
  hold?.();
  await first;
  const [found] = await b.records.list("i", { limit: 1 });
  deepEqual([found?.value, found?.score, await b.records.count("i")], ["new", 1, 2]);
});

test("streams of a node that is lost are found and ended by another one", async (t) => {
  const { prefix, node } = world(t);
  const client = cuttable(libraries.redis(server.url));
  const lost = redisCluster({ client, prefix });
  t.after(() => lost.close());
  const b = await node();
  await lost.logs.create("l", LOG);
  const writer = await lost.logs.claim("l", "s");
  await write(writer, ["1"]);
  client.cut();
  deepEqual(await openOf(b, lost.node), ["l/s"]);
  await (await b.logs.claim("l", "s")).append(0, "lost", { last: true });
  deepEqual(await openOf(b, lost.node), []);
  deepEqual(await dataOf(b, "l", "s"), ["1", "lost"]);
});

test("finished work leaves no keys that stay", async (t) => {
  const { prefix, node } = world(t);
  const a = await node();
  await a.records.put("k", "v", { index: [{ index: "i", score: 1 }], ttlMs: 60_000 });
  await a.records.delete("k");
  await a.logs.create("l", LOG);
  await (await a.logs.claim("l", "s")).append(0, "1", { last: true });
  await a.logs.drop("l");
  await (await a.leases.acquire("l", 1_000))?.release();
  await a.queue.add("j", "");
  for await (const job of a.queue.take(new AbortController().signal)) {
    await job.done();
    break;
  }
  await a.bus.publish("t", "");
  await a.buckets.take("k", { burst: 2, refillMs: 10 });
  const stay = await admin(async (command) => {
    const keys = (await command("KEYS", `${prefix}*`)) as string[];
    const lives = await Promise.all(keys.map((key) => command("PTTL", key)));
    return keys.filter((_, at) => Number(lives[at]) === -1);
  });
  deepEqual(stay, [`${prefix}:format`]);
});

test("a log forgets streams that have ended and are not kept", async (t) => {
  const { prefix, node } = world(t);
  const a = await node();
  await a.logs.create("l", { ...LOG, maxEntries: 10 });
  for (let at = 0; at < 50; at++) await (await a.logs.claim("l", `s${at}`)).append(0, "1", { last: true });
  const sizes = await admin(async (command) => {
    const keys = (await command("KEYS", `${prefix}:log*`)) as string[];
    const lengths = keys.map(async (key) => {
      const type = String(await command("TYPE", key));
      return [key.split(":")[1], await command(type === "zset" ? "ZCARD" : "HLEN", key)];
    });
    return Object.fromEntries(await Promise.all(lengths)) as Record<string, number>;
  });
  deepEqual([sizes.logstreams, sizes.logentries, sizes.logorder], [10, 10, 10]);
});
