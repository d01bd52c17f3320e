import { deepEqual, equal } from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Cluster, IndexPlace } from "#src/cluster/cluster.js";
import { TOUCH } from "#src/redis/record-scripts.js";
import { LOG, openOf, write } from "#src/testing/contract/logs.js";
import { collect, failsWith, LIFE_MS, PAST_LIFE_MS, until, wait } from "#src/testing/contract/world.js";
import { type RedisServer, startRedis } from "../../support/engines/redis.js";
import { stateOf } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

/** Starts a node, whose scripts are recorded. */
async function recorded(t: TestContext) {
  const state = stateOf(t, server);
  const sent: string[] = [];
  const command = ([name]: readonly string[], lua: string) => {
    if (name === "EVALSHA") sent.push(lua);
    return undefined;
  };
  const node = await state.node({ command }, { heartbeatMs: 1_000_000 });
  const countOf = async (work: () => unknown) => {
    sent.length = 0;
    await work();
    return sent.length;
  };
  return { ...state, node, sent, countOf };
}

const THREE = ["a", "b", "c"].map((index) => ({ index, score: 1 }));

test("each operation is one command", async (t) => {
  const { node, countOf } = await recorded(t);
  const { records, leases, queue, logs, bus, buckets } = node;
  const counts: Record<string, number> = {};
  const count = async (name: string, work: () => unknown) => {
    counts[name] = await countOf(work);
  };
  await count("put", () => records.put("k", "v", { index: THREE, ttlMs: 60_000 }));
  for (let at = 0; at < 60; at++) await records.put(`k${at}`, "v", { index: THREE });
  await count("list", async () => equal((await records.list("a", { limit: 50 })).length, 50));
  await count("count", async () => equal(await records.count("a"), 61));
  await count("touch", () => records.touch("k", 1_000));
  await count("delete", () => records.delete("k"));
  let release: (() => unknown) | undefined;
  await count("acquire", async () => {
    const lease = await leases.acquire("l", 60_000);
    release = () => lease?.release();
  });
  await count("release", () => release?.());
  await count("add", () => queue.add("j", ""));
  const jobs = queue.take(new AbortController().signal)[Symbol.asyncIterator]();
  let done: (() => unknown) | undefined;
  await count("take", async () => {
    const { value } = await jobs.next();
    done = () => value.done();
  });
  await count("done", () => done?.());
  await count("create", () => logs.create("l", LOG));
  const writer = await logs.claim("l", "s");
  await count("append", () => writer.append(0, "0"));
  // Those of one turn of the event loop go together.
  await count("append six at once", () =>
    Promise.all(["1", "2", "3", "4", "5", "6"].map((data, at) => writer.append(at + 1, data))),
  );
  await count("read", async () => equal((await logs.readAfter("l", "s"))?.length, 7));
  await count("drop", () => logs.drop("l"));
  await count("publish", () => bus.publish("t", ""));
  await count("take a token", () => buckets.take("b", { burst: 2, refillMs: 10 }));
  const { "append six at once": six, ...others } = counts;
  equal(six, 1);
  deepEqual(others, Object.fromEntries(Object.keys(others).map((name) => [name, 1])));
});

test("a lease is renewed by one command", async (t) => {
  const { node, sent } = await recorded(t);
  await node.leases.acquire("l", LIFE_MS);
  sent.length = 0;
  await until(() => sent.length > 1, "the lease is renewed twice");
  deepEqual(sent.slice(0, 2), [TOUCH.lua, TOUCH.lua]);
});

test("records that have expired leave nothing, in parts, however many they are", async (t) => {
  const { node, countOf, keys, prefix } = await recorded(t);
  const names = Array.from({ length: 1_200 }, (_, at) => `k${at}`);
  await Promise.all(names.map((key) => node.records.put(key, "v", { index: THREE, ttlMs: 100 * LIFE_MS })));
  equal(await node.records.count("a"), names.length);
  await Promise.all(names.map((key) => node.records.touch(key, 1)));
  await until(async () => (await keys("}:r:")).length === 0, "all have expired");
  equal(await countOf(async () => equal(await node.records.count("a"), 0)), 3);
  deepEqual(await keys(), [`${prefix}:format`]);
});

test("a put removes entries of expired records, so that they do not accumulate where nobody lists them", async (t) => {
  const { command, keys, node } = stateOf(t, server);
  const { records } = await node();
  for (let at = 0; at < 4; at++) await records.put(`short${at}`, "v", { index: THREE, ttlMs: LIFE_MS });
  await wait(PAST_LIFE_MS);
  for (let at = 0; at < 2; at++) await records.put(`long${at}`, "v", { index: THREE, ttlMs: 100 * LIFE_MS });
  const [ends = ""] = await keys("}:x");
  deepEqual(await command("ZRANGE", ends, "0", "-1"), ["long0", "long1"]);
});

test("a listing continues by bytes where many records have one score, and needs no room", async (t) => {
  const { command, node } = stateOf(t, server);
  const { records } = await node();
  const names = ["a", "aa", "ab", "b", "Z", "é", "z", "ü🙂", "\u{1F600}", "\uFFFD", "a b", "", "0"];
  for (const name of names) await records.put(name, "v", { index: [{ index: "i", score: 5 }] });
  await records.put("before", "v", { index: [{ index: "i", score: 4.5 }] });
  await records.put("after", "v", { index: [{ index: "i", score: 5.5 }] });
  const sorted = names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  t.after(() => command("CONFIG", "SET", "maxmemory", "0"));
  await command("CONFIG", "SET", "maxmemory", "1");
  const seen: string[] = [];
  for (let after: IndexPlace | undefined; ; ) {
    const page = await records.list("i", { limit: 2, ...(after && { after }) });
    seen.push(...page.map(({ key }) => key));
    after = page.at(-1);
    if (after === undefined) break;
    // The place of a record that is gone is still known.
    await records.delete(after.key);
  }
  deepEqual(seen, ["before", ...sorted, "after"]);
});

test("records that the server has evicted are left out of a listing", async (t) => {
  const { command, keys, node } = stateOf(t, server);
  const { records } = await node();
  for (const key of ["1", "2", "3", "4"]) await records.put(key, "v", { index: [{ index: "i", score: Number(key) }] });
  await command("DEL", ...(await keys("r:1")), ...(await keys("r:3")));
  const list = async () => (await records.list("i", { limit: 2 })).map(({ key }) => key);
  deepEqual(await list(), ["2", "4"]);
  equal(await records.count("i"), 2);
});

test("texts that are not well-formed are different names, and are kept", async (t) => {
  const { node } = stateOf(t, server);
  const { records, logs } = await node();
  const [one, other] = ["\uD800", "\uD801"];
  for (const name of [one, other, "\0", "\u0001"]) await records.put(name, name, { index: [{ index: one, score: 1 }] });
  for (const name of [one, other, "\0", "\u0001"]) equal((await records.get(name))?.value, name);
  equal(await records.count(one), 4);
  equal(await records.count(other), 0);
  await logs.create(one, LOG);
  const writer = await logs.claim(one, "a\0b");
  await write(writer, [one]);
  await write(await logs.claim(one, "a"), ["other"]);
  deepEqual(
    (await logs.readAfter(one, "a\0b"))?.map(({ data }) => data),
    [one],
  );
  deepEqual(
    (await logs.readAfter(one, "a"))?.map(({ data }) => data),
    ["other"],
  );
});

test("finished work leaves no keys that stay", async (t) => {
  const { command, keys, node, prefix } = stateOf(t, server);
  const a = await node();
  await a.records.put("k", "v", { index: [{ index: "i", score: 1 }], ttlMs: 60_000 });
  await a.records.delete("k");
  await a.logs.create("l", LOG);
  await (await a.logs.claim("l", "s")).append(0, "1", { last: true });
  await a.logs.claim("l", "open");
  await a.logs.drop("l");
  await (await a.leases.acquire("l", 1_000))?.release();
  await a.queue.add("j", "");
  for await (const job of a.queue.take(new AbortController().signal)) {
    await job.done();
    break;
  }
  await a.bus.publish("t", "");
  await a.buckets.take("k", { burst: 2, refillMs: 10 });
  const found = await keys();
  const lives = await Promise.all(found.map((key) => command("PTTL", key)));
  deepEqual(
    found.filter((_, at) => Number(lives[at]) === -1),
    [`${prefix}:format`],
  );
});

/** Returns the number of members of each of the keys whose names contain a text. */
async function sizesOf({ command, keys }: ReturnType<typeof stateOf>, part: string) {
  const sizes = (await keys(part)).map(async (key) => {
    const type = String(await command("TYPE", key));
    return Number(await command(type === "zset" ? "ZCARD" : "HLEN", key));
  });
  return Promise.all(sizes);
}

test("a log forgets streams that have ended and are not kept", async (t) => {
  const state = stateOf(t, server);
  const a = await state.node();
  await a.logs.create("log", { ...LOG, maxEntries: 10 });
  for (let at = 0; at < 50; at++) await (await a.logs.claim("log", `s${at}`)).append(0, "1", { last: true });
  for (const part of ["}:s:log", "}:e:log", "}:o:log"]) deepEqual(await sizesOf(state, part), [10], part);
});

test("a log whose entries have expired forgets its ended streams, keeps its open ones, and can be read without room", async (t) => {
  const state = stateOf(t, server);
  const a = await state.node();
  await a.logs.create("log", { ...LOG, keepMs: LIFE_MS });
  const open = await a.logs.claim("log", "open");
  await write(open, ["1", "2"]);
  for (let at = 0; at < 5; at++) await (await a.logs.claim("log", `s${at}`)).append(0, "1", { last: true });
  await a.logs.create("other", { ...LOG, keepMs: LIFE_MS });
  await write(await a.logs.claim("other", "open"), ["1"]);
  await wait(PAST_LIFE_MS);
  t.after(() => state.command("CONFIG", "SET", "maxmemory", "0"));
  await state.command("CONFIG", "SET", "maxmemory", "1");
  for (const log of ["log", "other"]) deepEqual(await a.logs.readAfter(log, "open"), []);
  deepEqual([await sizesOf(state, "}:e:log"), await sizesOf(state, "}:s:log")], [[], [1]]);
  await state.command("CONFIG", "SET", "maxmemory", "0");
  await open.append(2, "3");
  deepEqual(
    (await a.logs.readAfter("log", "open"))?.map(({ data }) => data),
    ["3"],
  );
});

/** Claims streams of some logs, and ends some of them. */
async function work(node: Cluster, logs: readonly string[]) {
  for (const log of logs) {
    await node.logs.create(log, LOG);
    for (const stream of ["ended", "open"]) await node.logs.claim(log, stream);
    await (await node.logs.claim(log, "ended")).append(0, "", { last: true });
  }
}

test("no note of a stream stays after its end, whoever ended it", async (t) => {
  const { keys, node } = stateOf(t, server);
  const [a, b] = [await node(), await node()];
  await work(a, ["one", "two", "three"]);
  deepEqual(await openOf(b, a.node), ["one/open", "three/open", "two/open"]);
  // Taken over and ended by another node, taken over and dropped, and dropped by another node.
  await (await b.logs.claim("one", "open")).append(0, "", { last: true });
  await b.logs.claim("two", "open");
  deepEqual(await openOf(b, a.node), ["three/open"]);
  await a.logs.drop("two");
  await b.logs.drop("three");
  deepEqual([await keys(a.node), await keys(b.node)], [[], []]);
});

test("more open streams than a page has are all found", async (t) => {
  const { node } = stateOf(t, server);
  const a = await node();
  const streams = Array.from({ length: 1_100 }, (_, at) => `s${at}`);
  for (const log of ["l", "m"]) {
    await a.logs.create(log, LOG);
    await Promise.all(streams.map((stream) => a.logs.claim(log, stream)));
  }
  const found = await openOf(a, a.node);
  deepEqual(found, ["l", "m"].flatMap((log) => streams.map((stream) => `${log}/${stream}`)).sort());
});

test("a follower continues after the entries that it has have expired, and fails after others", async (t) => {
  const { node } = stateOf(t, server);
  const a = await node();
  await a.logs.create("l", { ...LOG, keepMs: LIFE_MS });
  const writer = await a.logs.claim("l", "s");
  const [first = ""] = await write(writer, ["1", "2"]);
  const followed = collect(a.logs.follow("l", "s", undefined, new AbortController().signal));
  await followed.reaches(2);
  await wait(PAST_LIFE_MS);
  await write(writer, ["3"], 2);
  await followed.reaches(3);
  equal(await a.logs.readAfter("l", "s", first), undefined);
  await failsWith("missed", () => collect(a.logs.follow("l", "s", first, new AbortController().signal)).end);
});
