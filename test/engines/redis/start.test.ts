import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { createClient } from "redis";
import type { ClusterError } from "#src/cluster/error.js";
import { redisCluster } from "#src/redis/cluster.js";
import type { RedisClient } from "#src/redis/connection.js";
import { fromNodeRedis } from "#src/redis/node-redis.js";
import { arrival, listen } from "#src/testing/contract/bus.js";
import { dataOf, LOG, openOf, write } from "#src/testing/contract/logs.js";
import { until } from "#src/testing/contract/world.js";
import { startRedis, tampered } from "../../support/engines/redis.js";
import { libraries, stateOf } from "./world.js";

async function serverOf(t: TestContext, settings?: readonly string[]) {
  const server = await startRedis(settings);
  t.after(() => server.end());
  return server;
}

/** Starts a cluster. Returns it with its warnings and the error of its start. */
async function started(t: TestContext, client: RedisClient) {
  const warnings: string[] = [];
  const cluster = redisCluster({ client, logger: { warn: (message) => warnings.push(message) } });
  t.after(() => cluster.close());
  const error = await cluster.ready.then(
    () => undefined,
    (error: ClusterError) => error,
  );
  return { cluster, warnings, error };
}

for (const [name, library] of Object.entries(libraries)) {
  test(`${name}: a cluster starts before its engine`, async (t) => {
    const server = await serverOf(t);
    await server.kill();
    const { cluster, error } = await started(t, library(server.url));
    equal(error?.failure, "unavailable");
    match(error?.message ?? "", /start: Redis cannot be reached/);
    equal(cluster.available, false);
    await server.start();
    await until(() => cluster.available, "the cluster is available");
    ok(await cluster.records.put("k", "v"));
  });

  test(`${name}: a user without a command is refused at the start`, async (t) => {
    const server = await serverOf(t, ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-zadd"]);
    const { cluster, error } = await started(t, library(server.url));
    equal(error?.failure, "refused");
    match(error?.message ?? "", /ZADD.*docs\/cluster\.md/s);
    const failed = await Promise.resolve(cluster.records.get("k")).catch((error: ClusterError) => error);
    equal((failed as ClusterError).failure, "refused");
  });

  test(`${name}: a user without channels is refused at the start`, async (t) => {
    const server = await serverOf(t, ["--user", "default", "on", "nopass", "~*", "resetchannels", "+@all"]);
    const { error } = await started(t, library(server.url));
    equal(error?.failure, "refused");
    match(error?.message ?? "", /channel/);
  });
}

/** Returns the rights that docs/cluster.md lists, as Redis writes them. */
function statedRights(): readonly string[] {
  const page = readFileSync(new URL("../../../../docs/cluster.md", import.meta.url), "utf8");
  const [, list = ""] = /a user that may run the commands (.*?), on the keys/s.exec(page) ?? [];
  const commands = list.match(/[A-Z]{3,}(?: LOAD)?|@[a-z]+/g) ?? [];
  return commands.map((command) => `+${command.toLowerCase().replace(" ", "|")}`);
}

for (const [name, library] of Object.entries(libraries)) {
  test(`${name}: a user with the rights that the page lists can do everything`, async (t) => {
    const rights = ["--user", "default", "on", "nopass", "~bowline*", "resetchannels", "&bowline*", "-@all"];
    const server = await serverOf(t, [...rights, ...statedRights()]);
    const { cluster, error } = await started(t, library(server.url));
    equal(error, undefined);
    const inbox = await listen(cluster, "t");
    await cluster.bus.publish("t", "m");
    await arrival(inbox, "m");
    ok(await cluster.records.put("k", "v", { index: [{ index: "i", score: 1 }], ttlMs: 60_000 }));
    await cluster.records.put("k", "v", { index: [{ index: "i", score: 1 }] });
    equal(await cluster.records.touch("k", 60_000), true);
    equal((await cluster.records.get("k"))?.value, "v");
    equal((await cluster.records.list("i", { after: { score: 1, key: "a" }, limit: 1 })).length, 1);
    equal(await cluster.records.count("i"), 1);
    equal(await cluster.records.delete("k"), true);
    await cluster.logs.create("l", { ...LOG, maxEntries: 2 });
    const writer = await cluster.logs.claim("l", "s");
    const ids = await write(writer, ["1", "2", "3"]);
    equal(await writer.append(2, "3"), ids[2]);
    equal(await cluster.logs.find("l", ids[2] ?? ""), "s");
    deepEqual(await dataOf(cluster, "l", "s"), ["2", "3"]);
    deepEqual(await openOf(cluster, cluster.node), ["l/s"]);
    await cluster.logs.drop("l");
    await cluster.queue.add("j", "");
    for await (const job of cluster.queue.take(new AbortController().signal)) {
      await job.done();
      break;
    }
    equal((await cluster.buckets.take("b", { burst: 1, refillMs: 1_000 })).ok, true);
  });
}

test("the commands that are tried at the start are those that the scripts use", async (t) => {
  const server = await serverOf(t);
  const [tried, used] = [new Set<string>(), new Set<string>()];
  const recording = tampered(libraries.redis(server.url), {
    command([name, kind = "", lua = ""]) {
      if (name === "SCRIPT") for (const [, each = ""] of lua.matchAll(/redis\.call\('(\w+)'/g)) used.add(each);
      if (name === "EVAL") for (const [, each = ""] of kind.matchAll(/try\('(\w+)'/g)) tried.add(each);
      return undefined;
    },
  });
  equal((await started(t, recording)).error, undefined);
  ok(used.size > 20);
  deepEqual([...tried].sort(), [...used].sort());
});

test("settings that can lose state are told once", async (t) => {
  const server = await serverOf(t, [
    "--appendonly",
    "no",
    "--maxmemory",
    "100mb",
    "--maxmemory-policy",
    "volatile-lru",
  ]);
  const { cluster, warnings, error } = await started(t, libraries.redis(server.url));
  equal(error, undefined);
  equal(warnings.length, 2);
  match(warnings[0] ?? "", /maxmemory-policy volatile-lru.*set maxmemory-policy to noeviction/);
  match(warnings[1] ?? "", /append-only file.*set appendonly to yes/);
  await server.kill();
  await until(() => !cluster.available, "the loss is noticed");
  await server.start();
  await until(() => cluster.available, "the cluster is available");
  equal(warnings.length, 2);
});

test("a server with durable settings gives no warning", async (t) => {
  const server = await serverOf(t);
  deepEqual((await started(t, libraries.redis(server.url))).warnings, []);
});

test("state that an earlier release has stored is refused", async (t) => {
  const server = await serverOf(t);
  const { command, node, prefix } = stateOf(t, server);
  await command("SET", `${prefix}:format`, "1");
  await rejects(node(), ({ failure, message }: ClusterError) => {
    equal(failure, "refused");
    match(message, /has the format 1, and this release reads the format 2; set another prefix, or update all/);
    return true;
  });
});

test("a server that is too old is refused", async (t) => {
  const server = await serverOf(t);
  const old = tampered(libraries.redis(server.url), {
    command: ([name]) => (name === "INFO" ? Promise.resolve("redis_version:6.0.16\r\nrole:master\r\n") : undefined),
  });
  const { error } = await started(t, old);
  equal(error?.failure, "refused");
  match(error?.message ?? "", /version 6\.0\.16; use Redis version 6\.2 or newer/);
});

test("a replica is not used until it becomes the primary", async (t) => {
  const primary = await serverOf(t);
  const { port } = new URL(primary.url);
  const replica = await serverOf(t, ["--replicaof", "127.0.0.1", port]);
  const { cluster, error } = await started(t, libraries.redis(replica.url));
  equal(error?.failure, "unavailable");
  const admin = createClient({ url: replica.url });
  await admin.connect();
  await admin.sendCommand(["REPLICAOF", "NO", "ONE"]);
  admin.destroy();
  await until(() => cluster.available, "the cluster is available");
  ok(await cluster.records.put("k", "v"));
});

test("the settings of the client that change replies and keys have no effect", async (t) => {
  const server = await serverOf(t);
  const client = createClient({ url: server.url, keyPrefix: "other:", RESP: 2, disableOfflineQueue: false });
  const { cluster, error } = await started(t, fromNodeRedis(client));
  equal(error, undefined);
  ok(await cluster.records.put("k", "v"));
  const { cluster: other } = await started(t, libraries.ioredis(server.url));
  equal((await other.records.get("k"))?.value, "v");
  equal(client.isOpen, false);
});
