import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError, memoryCluster } from "bowline/cluster";
import { createMemoryState } from "bowline/testing";
import { elapse, FakeClock } from "../../support/fake-clock.js";

const LOG = { keepMs: 60_000, maxEntries: 10, maxBytes: 1_000 };

function refusal(limit: string, failure = "unavailable") {
  return (error: unknown) => {
    ok(error instanceof ClusterError);
    equal(error.failure, failure);
    match(error.message, new RegExp(`raise limits\\.${limit} of memoryCluster`));
    return true;
  };
}

test("each limit refuses or evicts", async (t) => {
  const a = memoryCluster({ limits: { maxRecords: 1, maxLogs: 1 } });
  t.after(() => a.close());
  await a.records.put("k", "1");
  await a.records.put("k", "2");
  await rejects(a.records.put("other", "1"), refusal("maxRecords"));
  await rejects(async () => a.leases.acquire("l", 1_000), refusal("maxRecords"));
  await rejects(async () => a.queue.add("j", ""), refusal("maxRecords"));
  await a.logs.create("l", LOG);
  await a.logs.create("l", LOG);
  await rejects(async () => a.logs.create("other", LOG), refusal("maxLogs"));
  throws(() => memoryCluster({ limits: { maxRecord: 1 } as object }), /maxRecords/);
});

test("records have a maximum of characters together, which ended records leave to others", async (t) => {
  const clock = new FakeClock();
  const a = memoryCluster({ limits: { maxRecordedChars: 20 }, clock });
  t.after(() => a.close());
  const refuses = (key: string, chars: number, failure?: string) =>
    rejects(async () => a.records.put(key, "x".repeat(chars)), refusal("maxRecordedChars", failure));
  await a.records.put("a", "x".repeat(9));
  await a.records.put("b", "x".repeat(9), { ttlMs: 1_000 });
  await refuses("c", 0);
  await refuses("a", 10);
  await refuses("too long", 20, "refused");
  await a.records.put("a", "y".repeat(9));
  await a.records.put("a", "z");
  await a.records.put("c", "x".repeat(7));
  await refuses("d", 0);
  await a.records.delete("c");
  await a.records.put("a", "x".repeat(9));
  clock.advance(1_000);
  await a.records.put("b", "x".repeat(9));
  for (const key of ["a", "b"]) equal((await a.records.get(key))?.value.length, 9);
  await refuses("c", 0);
});

test("the names of at most maxLogs dropped logs are kept from use", async (t) => {
  const a = memoryCluster({ limits: { maxLogs: 2 }, clock: new FakeClock() });
  t.after(() => a.close());
  for (const log of ["first", "second", "third"]) {
    await a.logs.create(log, LOG);
    await a.logs.drop(log);
  }
  await a.logs.create("first", LOG);
  for (const log of ["second", "third"]) await rejects(async () => a.logs.create(log, LOG), /dropped/);
});

test("maxLoggedChars evicts from the log without an entry for the longest time", async (t) => {
  const a = memoryCluster({ limits: { maxLoggedChars: 100 } });
  t.after(() => a.close());
  const data = async (log: string) => (await a.logs.readAfter(log, "s"))?.map(({ data }) => data[0]).join("");
  const open = async (log: string) => {
    await a.logs.create(log, LOG);
    return a.logs.claim(log, "s");
  };
  const [old, fresh] = [await open("old"), await open("new")];
  for (const [seq, text] of ["a", "b"].entries()) await old.append(seq, text.repeat(30));
  for (const [seq, text] of ["c", "d"].entries()) await fresh.append(seq, text.repeat(30));
  deepEqual([await data("old"), await data("new")], ["b", "cd"]);
  await old.append(2, "e".repeat(30));
  deepEqual([await data("old"), await data("new")], ["be", "d"]);
  await fresh.append(2, "f".repeat(200));
  deepEqual([await data("old"), await data("new")], ["", "f"]);
  await a.logs.drop("new");
  await old.append(3, "g".repeat(60));
  await old.append(4, "h".repeat(40));
  deepEqual(await data("old"), "gh");
  await old.append(5, "i".repeat(40));
  deepEqual(await data("old"), "hi");
});

test("the least recently used bucket that will be full first is evicted", async (t) => {
  const a = memoryCluster({ limits: { maxBuckets: 2 }, clock: new FakeClock() });
  t.after(() => a.close());
  const take = async (key: string, refillMs: number) => (await a.buckets.take(key, { burst: 1, refillMs })).ok;
  deepEqual([await take("slow", 1_000), await take("fast", 10), await take("third", 100)], [true, true, true]);
  deepEqual([await take("slow", 1_000), await take("fast", 10)], [false, true]);
});

test("all lives share one timer, and a closed cluster leaves none", async () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [a, b] = [state.node(), state.node()];
  for (let ms = 100; ms > 0; ms--) await a.records.put(`k${ms}`, "", { ttlMs: 1_000 * ms });
  await a.logs.create("l", LOG);
  await (await a.logs.claim("l", "s")).append(0, "1");
  await a.queue.add("j", "", { delayMs: 500 });
  equal(clock.pending, 1);
  await a.leases.acquire("l", 1_000);
  state.cut(b);
  equal(clock.pending, 3, "a lease has two: its renewal and its end");
  await a.close();
  equal(clock.pending, 1);
  await b.close();
  equal(clock.pending, 0);
});

test("a message of a cut node is not sent, and a gap is told when it is connected again", async (t) => {
  const state = createMemoryState();
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  const heard: string[] = [];
  await b.bus.subscribe("t", (text) => heard.push(text));
  b.bus.onGap(() => heard.push("gap"));
  state.cut(b);
  state.cut(b);
  await a.bus.publish("t", "missed");
  state.mend(b);
  state.mend(b);
  await a.bus.publish("t", "heard");
  deepEqual(heard, ["gap", "heard"]);
});

test("an error of a listener keeps no message from others", async (t) => {
  const a = memoryCluster();
  t.after(() => a.close());
  const heard: string[] = [];
  await a.bus.subscribe("t", () => {
    throw new Error("wrong");
  });
  await a.bus.subscribe("t", (text) => heard.push(text));
  await a.bus.publish("t", "1");
  await a.bus.publish("t", "2");
  deepEqual(heard, ["1", "2"]);
});

test("a follower of a cut node waits, and continues when the node is connected again", async (t) => {
  const state = createMemoryState();
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  await a.logs.create("l", LOG);
  const writer = await a.logs.claim("l", "s");
  const entries = b.logs.follow("l", "s", undefined, new AbortController().signal)[Symbol.asyncIterator]();
  await writer.append(0, "1");
  equal((await entries.next()).value?.data, "1");
  state.cut(b);
  await writer.append(1, "2");
  let isThere = false;
  const next = entries.next().then(({ value }) => {
    isThere = true;
    return value?.data;
  });
  await new Promise((resolve) => setImmediate(resolve));
  equal(isThere, false);
  state.mend(b);
  equal(await next, "2");
});

test("a worker that was cut off for too long cannot end its job", async (t) => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  const { signal } = new AbortController();
  const take = (node: typeof a) => node.queue.take(signal, { leaseMs: 100 })[Symbol.asyncIterator]().next();
  await a.queue.add("j", "");
  const { value: lost } = await take(a);
  state.cut(a);
  await elapse(clock, 88);
  equal(lost.lost.aborted, false);
  await elapse(clock, 3);
  equal(lost.lost.aborted, true);
  equal(lost.lost.reason.failure, "fenced");
  state.mend(a);
  await rejects(lost.done(), { failure: "fenced" });
  const next = take(b);
  await elapse(clock, 10);
  const { value: job } = await next;
  equal(job.attempt, 2);
  await rejects(lost.done(), { failure: "fenced" });
});

test("what is over is not found, although its timer is late", async (t) => {
  let now = 0;
  const clock = { now: () => now, schedule: () => ({}), cancel: () => undefined };
  const state = createMemoryState({ clock });
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  const put = () => a.records.put("k", "", { ttlMs: 10, index: [{ index: "i", score: 1 }] });
  await put();
  await a.logs.create("l", { ...LOG, keepMs: 10 });
  const id = await (await a.logs.claim("l", "s")).append(0, "1");
  ok(await a.leases.acquire("l", 10));
  now = 10;
  ok(await b.leases.acquire("l", 10));
  await put();
  now = 20;
  equal(await b.records.count("i"), 0);
  equal(await b.records.get("k"), undefined);
  equal(await b.logs.find("l", id), undefined);
});

test("a process with too many messages that wait is refused", async (t) => {
  const a = memoryCluster();
  t.after(() => a.close());
  let heard = 0;
  await a.bus.subscribe("many", () => heard++);
  const all = await Promise.allSettled(Array.from({ length: 12_000 }, () => a.bus.publish("many", "")));
  const refused = all.filter(({ status }) => status === "rejected");
  equal(heard, all.length - refused.length);
  ok(refused.length > 1_000);
  const [{ reason }] = refused as [PromiseRejectedResult];
  match(reason.message, /^publish: 10000 messages wait/);
  equal(reason.failure, "unavailable");
});
