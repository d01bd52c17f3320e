import { deepEqual, equal } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after as afterAll, before, test } from "node:test";
import { createClient } from "redis";
import type { Job } from "#src/cluster/cluster.js";
import { redisCluster } from "#src/redis/cluster.js";
import { arrival, listen } from "#src/testing/contract/bus.js";
import { dataOf, LOG, write } from "#src/testing/contract/logs.js";
import { failureOf, LIFE_MS, type Scope, until, wait } from "#src/testing/contract/world.js";
import { fullContract } from "../../contract/contract.js";
import { fullServers } from "../../support/engines/full-servers.js";
import { type RedisServer, startRedis } from "../../support/engines/redis.js";
import { libraries, openOn } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
afterAll(() => server.end());

for (const [name, library] of Object.entries(libraries)) fullContract(name, freed(openOn(() => server, library)));
fullServers("Redis", freed(openOn(() => server, libraries.redis)));

/** Gives the server room again after each test. */
function freed(open: ReturnType<typeof openOn>): typeof open {
  return async (t) => {
    const world = await open(t);
    t.after(() => world.engine?.free?.());
    return world;
  };
}

async function open(t: Scope, library: keyof typeof libraries) {
  const prefix = `test-${randomUUID()}`;
  const node = redisCluster({ client: libraries[library](server.url), prefix });
  t.after(() => node.close());
  await node.ready;
  const admin = createClient({ url: server.url });
  await admin.connect();
  const command = (text: string) => admin.sendCommand(text.split(" "));
  const put = () => failureOf(() => node.records.put("k", "v"));
  /** Lets the server be as it was after the test. */
  const after = (text: string) =>
    t.after(async () => {
      await command(text);
      admin.destroy();
    });
  return { prefix, node, command, put, after };
}

test("a node connects to a full server, reads, sends, and ends what it has", async (t) => {
  const { prefix, node, command, after } = await open(t, "redis");
  await node.records.put("k", "v", { index: [{ index: "i", score: 1 }] });
  await node.logs.create("l", LOG);
  await write(await node.logs.claim("l", "s"), ["1"]);
  after("CONFIG SET maxmemory 0");
  await command("CONFIG SET maxmemory 1");
  const late = redisCluster({ client: libraries.redis(server.url), prefix });
  t.after(() => late.close());
  await late.ready;
  const inbox = await listen(late, "t");
  await late.bus.publish("t", "m");
  await arrival(inbox, "m");
  deepEqual(
    (await late.records.list("i", { limit: 1 })).map(({ key }) => key),
    ["k"],
  );
  deepEqual(await dataOf(late, "l", "s"), ["1"]);
  equal(await late.records.touch("k", 60_000), true);
  equal(late.available, true);
  equal(await failureOf(() => late.records.put("k", "w")), "unavailable");
  equal(late.available, false);
  equal(await late.records.delete("k"), true);
  await late.logs.drop("l");
  equal(await late.records.count("i"), 0);
  equal(await failureOf(() => late.logs.create("l", LOG)), "dropped");
});

test("a worker keeps its job, and a node its lease, while the server is full for longer than they live", async (t) => {
  const { node, command, after, put } = await open(t, "redis");
  const jobs = node.queue.take(new AbortController().signal, { leaseMs: LIFE_MS })[Symbol.asyncIterator]();
  await node.queue.add("j", "");
  const job = (await jobs.next()).value as Job;
  const lease = await node.leases.acquire("l", LIFE_MS);
  after("CONFIG SET maxmemory 0");
  await command("CONFIG SET maxmemory 1");
  equal(await put(), "unavailable");
  await wait(2 * LIFE_MS);
  deepEqual([job.lost.aborted, lease?.lost.aborted], [false, false]);
  await job.done();
});

for (const [what, begin, end] of [
  ["misses its replicas", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"],
  ["is a replica", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"],
] as const) {
  test(`a server that ${what} for a while refuses for now`, async (t) => {
    const { node, command, put, after } = await open(t, "redis");
    after(end);
    await command(begin);
    for (let times = 0; times < 3; times++) equal(await put(), "unavailable");
    equal(node.available, false);
    await command(end);
    await until(() => node.available, "the node knows that it can write");
    await until(async () => (await put()) === undefined, "it can write");
  });
}

for (const library of ["redis", "ioredis"] as const) {
  test(`${library}: a server that has too many clients for a while refuses for now`, async (t) => {
    const { node, command, put, after } = await open(t, library);
    after("CONFIG SET maxclients 10000");
    await command("CONFIG SET maxclients 1");
    await command("CLIENT KILL TYPE normal SKIPME yes");
    await until(() => !node.available, "the connection is lost");
    for (let times = 0; times < 20; times++) {
      equal(await put(), "unavailable");
      await wait(20);
    }
    await command("CONFIG SET maxclients 10000");
    await until(() => node.available, "the node is back");
    equal(await put(), undefined);
  });
}
