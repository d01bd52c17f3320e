import { equal } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after as afterAll, before, type TestContext, test } from "node:test";
import { createClient } from "redis";
import { redisCluster } from "#src/redis/cluster.js";
import { fullContract } from "../../contract/contract.js";
import { failureOf, until, wait } from "../../contract/world.js";
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

async function open(t: TestContext, library: keyof typeof libraries) {
  const node = redisCluster({ client: libraries[library](server.url), prefix: `test-${randomUUID()}` });
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
  return { node, command, put, after };
}

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
