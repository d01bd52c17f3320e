import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError, type Lease, type LogEntry, memoryCluster, type Writer } from "bowline/cluster";
import { createMemoryState } from "bowline/testing";
import { FakeClock } from "../../support/fake-clock.js";

const LOG = { keepMs: 60_000, maxEntries: 10, maxBytes: 1_000 };

function refusal(limit: string, failure = "unavailable") {
  return (error: unknown) => {
    ok(error instanceof ClusterError);
    equal(error.failure, failure);
    match(error.message, new RegExp(`raise limits\\.${limit} of memoryCluster`));
    return true;
  };
}

test("methods return values, not promises", async (t) => {
  const a = memoryCluster();
  t.after(() => a.close());
  const lease = a.leases.acquire("l", 1_000) as Lease;
  a.logs.create("l", LOG);
  const writer = a.logs.claim("l", "s") as Writer;
  const leave = a.bus.subscribe("t", () => undefined);
  const values = {
    put: a.records.put("k", "v", { ttlMs: 1_000, index: [{ index: "i", score: 1 }] }),
    get: a.records.get("k"),
    touch: a.records.touch("k", 1_000),
    list: a.records.list("i", { limit: 1 }),
    count: a.records.count("i"),
    delete: a.records.delete("k"),
    append: writer.append(0, "1"),
    find: a.logs.find("l", "1.0"),
    readAfter: a.logs.readAfter("l", "s"),
    publish: a.bus.publish("t", "1"),
    leave: (leave as () => unknown)(),
    release: lease.release(),
    add: a.queue.add("j", ""),
    take: a.buckets.take("k", { burst: 1, refillMs: 1 }),
    drop: a.logs.drop("l"),
  };
  for (const [name, value] of Object.entries(values)) ok(!(value instanceof Promise), name);
});

test("each limit refuses or evicts", (t) => {
  const limits = { maxRecords: 1, maxLogs: 1, maxLeases: 1, maxJobs: 1 };
  const a = memoryCluster({ limits });
  t.after(() => a.close());
  a.records.put("k", "1");
  a.records.put("k", "2");
  throws(() => a.records.put("other", "1"), refusal("maxRecords"));
  a.logs.create("l", LOG);
  a.logs.create("l", LOG);
  throws(() => a.logs.create("other", LOG), refusal("maxLogs"));
  a.leases.acquire("l", 1_000);
  equal(a.leases.acquire("l", 1_000), undefined);
  throws(() => a.leases.acquire("other", 1_000), refusal("maxLeases"));
  a.queue.add("j", "");
  equal(a.queue.add("j", ""), false);
  throws(() => a.queue.add("other", ""), refusal("maxJobs"));
  throws(() => memoryCluster({ limits: { maxRecord: 1 } as object }), /maxRecords/);
});

test("records have a maximum of characters together, which ended records leave to others", (t) => {
  const clock = new FakeClock();
  const a = memoryCluster({ limits: { maxRecordedChars: 20 }, clock });
  t.after(() => a.close());
  a.records.put("a", "x".repeat(9));
  a.records.put("b", "x".repeat(9), { ttlMs: 1_000 });
  throws(() => a.records.put("c", ""), refusal("maxRecordedChars"));
  throws(() => a.records.put("a", "x".repeat(10)), refusal("maxRecordedChars"));
  throws(() => a.records.put("too long", "x".repeat(20)), refusal("maxRecordedChars", "refused"));
  a.records.put("a", "y".repeat(9));
  a.records.put("a", "z");
  a.records.put("c", "x".repeat(7));
  throws(() => a.records.put("d", ""), refusal("maxRecordedChars"));
  a.records.delete("c");
  a.records.put("a", "x".repeat(9));
  clock.advance(1_000);
  a.records.put("b", "x".repeat(9));
  deepEqual(
    ["a", "b"].map((key) => (a.records.get(key) as { readonly value: string }).value.length),
    [9, 9],
  );
  throws(() => a.records.put("c", ""), refusal("maxRecordedChars"));
});

test("the names of at most maxLogs dropped logs are kept from use", (t) => {
  const a = memoryCluster({ limits: { maxLogs: 2 }, clock: new FakeClock() });
  t.after(() => a.close());
  for (const log of ["first", "second", "third"]) {
    a.logs.create(log, LOG);
    a.logs.drop(log);
  }
  a.logs.create("first", LOG);
  for (const log of ["second", "third"]) throws(() => a.logs.create(log, LOG), /dropped/);
});

test("maxLoggedChars evicts from the log without an entry for the longest time", (t) => {
  const a = memoryCluster({ limits: { maxLoggedChars: 100 } });
  t.after(() => a.close());
  const data = (log: string) => (a.logs.readAfter(log, "s") as readonly LogEntry[]).map(({ data }) => data[0]).join("");
  const writers = ["old", "new"].map((log) => {
    a.logs.create(log, LOG);
    return a.logs.claim(log, "s") as Writer;
  });
  const [old, fresh] = writers as [Writer, Writer];
  for (const [seq, text] of ["a", "b"].entries()) old.append(seq, text.repeat(30));
  for (const [seq, text] of ["c", "d"].entries()) fresh.append(seq, text.repeat(30));
  deepEqual([data("old"), data("new")], ["b", "cd"]);
  old.append(2, "e".repeat(30));
  deepEqual([data("old"), data("new")], ["be", "d"]);
  fresh.append(2, "f".repeat(200));
  deepEqual([data("old"), data("new")], ["", "f"]);
  a.logs.drop("new");
  old.append(3, "g".repeat(60));
  old.append(4, "h".repeat(40));
  deepEqual(data("old"), "gh");
  old.append(5, "i".repeat(40));
  deepEqual(data("old"), "hi");
});

test("the least recently used bucket that will be full first is evicted", async (t) => {
  const a = memoryCluster({ limits: { maxBuckets: 2 }, clock: new FakeClock() });
  t.after(() => a.close());
  const take = (key: string, refillMs: number) => (a.buckets.take(key, { burst: 1, refillMs }) as { ok: boolean }).ok;
  deepEqual([take("slow", 1_000), take("fast", 10), take("third", 100)], [true, true, true]);
  deepEqual([take("slow", 1_000), take("fast", 10)], [false, true]);
});

test("all lives share one timer, and a closed cluster leaves none", async () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [a, b] = [state.node(), state.node()];
  for (let ms = 100; ms > 0; ms--) a.records.put(`k${ms}`, "", { ttlMs: 1_000 * ms });
  a.logs.create("l", LOG);
  (a.logs.claim("l", "s") as Writer).append(0, "1");
  a.queue.add("j", "", { delayMs: 500 });
  a.leases.acquire("l", 1_000);
  state.cut(a);
  equal(clock.pending, 1);
  await a.close();
  equal(clock.pending, 1);
  await b.close();
  equal(clock.pending, 0);
});

test("a message of a cut node is not sent, and a gap is told when it is connected again", (t) => {
  const state = createMemoryState();
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  const heard: string[] = [];
  b.bus.subscribe("t", (text) => heard.push(text));
  b.bus.onGap(() => heard.push("gap"));
  state.cut(b);
  state.cut(b);
  a.bus.publish("t", "missed");
  state.mend(b);
  state.mend(b);
  a.bus.publish("t", "heard");
  deepEqual(heard, ["gap", "heard"]);
});

test("an error of a listener is reported and keeps no message from others", (t) => {
  const a = memoryCluster();
  t.after(() => a.close());
  const reports: (() => void)[] = [];
  t.mock.method(globalThis, "queueMicrotask", (report: () => void) => reports.push(report));
  const heard: string[] = [];
  a.bus.subscribe("t", () => {
    throw new Error("wrong");
  });
  a.bus.subscribe("t", (text) => heard.push(text));
  a.bus.publish("t", "1");
  a.bus.publish("t", "2");
  deepEqual(heard, ["1", "2"]);
  equal(reports.length, 2);
  throws(() => reports[0]?.(), /wrong/);
});

test("a listener that another one removes during a delivery hears nothing", (t) => {
  const a = memoryCluster();
  t.after(() => a.close());
  const heard: string[] = [];
  let leave: unknown;
  a.bus.subscribe("t", () => (leave as () => void)());
  leave = a.bus.subscribe("t", (text) => heard.push(text));
  a.bus.publish("t", "1");
  deepEqual(heard, []);
});

test("a follower of a cut node waits, and goes on when the node is connected again", async (t) => {
  const state = createMemoryState();
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  a.logs.create("l", LOG);
  const writer = a.logs.claim("l", "s") as Writer;
  const entries = b.logs.follow("l", "s", undefined, new AbortController().signal)[Symbol.asyncIterator]();
  writer.append(0, "1");
  equal((await entries.next()).value?.data, "1");
  state.cut(b);
  writer.append(1, "2");
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
  a.queue.add("j", "");
  const { value: lost } = await take(a);
  state.cut(a);
  clock.advance(99);
  equal(lost.lost.aborted, false);
  clock.advance(1);
  equal(lost.lost.aborted, true);
  state.mend(a);
  throws(() => lost.done(), { failure: "fenced" });
  const { value: job } = await take(b);
  equal(job.attempt, 2);
  throws(() => lost.done(), { failure: "fenced" });
});

test("what is over is not found, although its timer is late", async (t) => {
  let now = 0;
  const clock = { now: () => now, schedule: () => ({}), cancel: () => undefined };
  const state = createMemoryState({ clock });
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  a.records.put("k", "", { ttlMs: 10, index: [{ index: "i", score: 1 }] });
  a.logs.create("l", { ...LOG, keepMs: 10 });
  const id = (a.logs.claim("l", "s") as Writer).append(0, "1") as string;
  const lease = a.leases.acquire("l", 10) as Lease;
  state.cut(a);
  now = 10;
  const next = b.leases.acquire("l", 10) as Lease;
  equal(lease.lost.aborted, true);
  state.mend(a);
  a.records.put("k", "", { ttlMs: 10, index: [{ index: "i", score: 1 }] });
  now = 20;
  equal(b.records.count("i"), 0);
  equal(b.records.get("k"), undefined);
  equal(b.logs.find("l", id), undefined);
  await b.close();
  equal(next.lost.aborted, true);
});

test("too many messages of a listener are lost, and a gap is told to all nodes", (t) => {
  const state = createMemoryState();
  const [a, b] = [state.node(), state.node()];
  t.after(() => Promise.all([a.close(), b.close()]));
  let [heard, gaps] = [0, 0];
  for (const node of [a, b]) node.bus.onGap(() => gaps++);
  b.bus.subscribe("many", () => heard++);
  a.bus.subscribe("t", () => {
    for (let at = 0; at < 20_000; at++) a.bus.publish("many", "");
  });
  a.bus.publish("t", "");
  deepEqual([heard, gaps], [10_000, 2]);
  a.bus.publish("many", "");
  deepEqual([heard, gaps], [10_001, 2]);
});
