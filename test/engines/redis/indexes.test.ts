import { deepEqual, equal, ok } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, type TestContext, test } from "node:test";
import type { IndexEntry, PutOptions } from "#src/cluster/cluster.js";
import { redisCluster } from "#src/redis/cluster.js";
import { until } from "../../contract/world.js";
import { type RedisServer, startRedis, type Tampering, tampered } from "../../support/engines/redis.js";
import { libraries } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

/** Returns a function that starts a node. The nodes of a test share their state, and are closed after it. */
function nodesOf(t: TestContext) {
  const prefix = `test-${randomUUID()}`;
  return async (tampering: Tampering = {}) => {
    const scripts: string[] = [];
    const delay = (lua: string) => {
      if (lua !== "") scripts.push(nameOf(lua));
      return tampering.delay?.(lua);
    };
    const node = redisCluster({ client: tampered(libraries.redis(server.url), { ...tampering, delay }), prefix });
    t.after(() => node.close());
    await node.ready;
    /** Runs an operation, and returns the scripts that it sends. */
    const sentBy = async (work: () => unknown) => {
      scripts.length = 0;
      await work();
      return scripts.filter((name) => name !== "").sort();
    };
    return { records: node.records, sentBy };
  };
}

/** Parts of scripts by which they are known. Scripts of the heartbeat have none. */
const PARTS: readonly (readonly [part: string, name: string])[] = [
  ["'ZADD', members, ARGV[4], key", "entry"],
  ["'HSET', marks", "mark"],
  ["'HSET', KEYS[1], 'v'", "put"],
  ["ZCARD", "count"],
  ["left < 0 and ''", "look"],
];
const nameOf = (lua: string) => PARTS.find(([part]) => lua.includes(part))?.[1] ?? "";

const at = (index: string, score: number): IndexEntry => ({ index, score });
const THREE = [at("a", 1), at("b", 1), at("c", 1)];

test("a change that keeps the index entries of a record is one script", async (t) => {
  const { records, sentBy } = await nodesOf(t)();
  let version: string | undefined;
  const put = (options: PutOptions) => async () => {
    version = await records.put("k", "v", { ifVersion: version ?? null, ...options });
    ok(version);
  };
  const ttlMs = 60_000;
  deepEqual(await sentBy(put({ index: THREE, ttlMs })), ["entry", "entry", "entry", "mark", "mark", "mark", "put"]);
  deepEqual(await sentBy(put({ index: THREE, ttlMs })), ["put"]);
  deepEqual(await sentBy(put({ index: THREE, ttlMs: ttlMs - 10 })), ["put"]);
  deepEqual(await sentBy(put({ index: THREE, ttlMs: ttlMs * 2 })), ["put"]);
  deepEqual(
    await sentBy(put({ index: THREE.slice(0, 1), ttlMs })),
    ["entry", "mark", "put", "put", "entry", "entry"].sort(),
  );
  equal(await records.put("k", "v", { ifVersion: "other", index: THREE }), undefined);
  deepEqual(await Promise.all(["a", "b", "c"].map((index) => records.count(index))), [1, 0, 0]);
});

test("a change that removes index entries writes these alone", async (t) => {
  const { records, sentBy } = await nodesOf(t)();
  const ifVersion = await records.put("k", "v", { index: THREE });
  ok(ifVersion);
  deepEqual(await sentBy(() => records.put("k", "w", { ifVersion, index: [at("b", 1)] })), ["entry", "entry", "put"]);
  deepEqual(await Promise.all(["a", "b", "c"].map((index) => records.count(index))), [0, 1, 0]);
});

test("an index gets the entry of a put that ended before its last step, although it was kept since", async (t) => {
  const node = nodesOf(t);
  const crash: Tampering = {
    command: (_, lua) => (nameOf(lua) === "entry" ? Promise.reject(new Error("crash")) : undefined),
  };
  const [a, b] = [await node(crash), await node()];
  const ifVersion = await a.records.put("k", "v", { index: [at("a", 1)] });
  ok(ifVersion);
  deepEqual(await b.sentBy(() => b.records.put("k", "w", { ifVersion, index: [at("a", 1)] })), ["put"]);
  equal(await b.records.count("a"), 1);
});

test("a count does not look at puts that its process is about to complete", async (t) => {
  const node = nodesOf(t);
  let go: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  t.after(() => go?.());
  let isHeld = false;
  const delay = (lua: string) => {
    if (nameOf(lua) !== "entry") return undefined;
    isHeld = true;
    return held;
  };
  const [a, b] = [await node({ delay }), await node()];
  const put = a.records.put("k", "v", { index: [at("a", 1)] });
  await until(() => isHeld, "the put waits with its last step");
  deepEqual(await a.sentBy(() => a.records.count("a")), ["count"]);
  equal(await b.records.count("a"), 1);
  go?.();
  ok(await put);
  equal(await a.records.count("a"), 1);
});
