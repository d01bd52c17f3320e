import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { Cluster, LogEntry } from "#src/cluster/cluster.js";
import { Dice } from "./dice.js";
import type { Break } from "./engine/breaks.js";
import { SimEngine } from "./engine/engine.js";
import { connect } from "./engine/store.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";

const LOG = { keepMs: 60_000, maxEntries: 100, maxBytes: 100_000 };

/** Time in which a node connects again. */
const RECONNECT_MS = 2_500;

type Node = ReturnType<typeof stage>["a"];

/** Engine with two nodes. `run` lets virtual time pass until the work is done. */
function stage(broken?: Break, seed = 5) {
  const scheduler = new Scheduler();
  const engine = new SimEngine({ scheduler, dice: new Dice(seed), broken });
  const create = (name: string) => {
    const process = new SimProcess(name, scheduler);
    return { process, cluster: connect(engine, process) };
  };
  const run = async <T>(work: T | Promise<T>): Promise<T> => {
    let isDone = false;
    const end = Promise.resolve(work).finally(() => {
      isDone = true;
    });
    end.catch(() => {});
    await scheduler.runUntil(scheduler.now() + 120_000, () => isDone);
    ok(isDone, "the work ends in time");
    return end;
  };
  return { scheduler, engine, a: create("a"), b: create("b"), run };
}

async function claim(cluster: Cluster) {
  await cluster.logs.create("l", LOG);
  return cluster.logs.claim("l", "s");
}

async function dataOf(cluster: Cluster): Promise<readonly string[] | undefined> {
  return (await cluster.logs.readAfter("l", "s"))?.map(({ data, last }) => (last ? `${data}!` : data));
}

test("an operation without a reply has an unknown outcome, carried out or not", async () => {
  const { engine, scheduler, a, run } = stage();
  await run(a.cluster.ready);
  engine.weather.lostReplies = 100;
  for (let at = 0; at < 20; at++) {
    await rejects(run(a.cluster.records.put(`k${at}`, "")), { failure: "unknown_outcome" });
    await scheduler.runUntil(scheduler.now() + RECONNECT_MS);
    await rejects(run(a.cluster.records.get(`k${at}`)), { failure: "unavailable" });
    await scheduler.runUntil(scheduler.now() + RECONNECT_MS);
  }
  const { length } = engine.records;
  ok(length > 0 && length < 20, `${length} of 20 were carried out`);
});

test("texts of a sender stay in order, and senders overtake each other", async () => {
  const { engine, scheduler, a, b, run } = stage();
  engine.weather.slow = 50;
  engine.weather.slowMs = 300;
  const got: string[] = [];
  await run(a.cluster.bus.subscribe("t", (text) => got.push(text)));
  const numbers = Array.from({ length: 20 }, (_, at) => at);
  await run(
    Promise.all(
      numbers.flatMap((at) => [a, b].map(({ cluster }) => cluster.bus.publish("t", `${cluster.node} ${at}`))),
    ),
  );
  await scheduler.runUntil(scheduler.now() + 2_000);
  const of = ({ cluster }: Node) => got.filter((text) => text.startsWith(cluster.node));
  deepEqual(
    of(a),
    numbers.map((at) => `a ${at}`),
  );
  deepEqual(
    of(b),
    numbers.map((at) => `b ${at}`),
  );
  const apart = [...of(a), ...of(b)];
  ok(
    got.some((text, at) => text !== apart[at]),
    "the senders overtake each other",
  );
});

test("a text is lost for one node, which learns of a gap", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { engine, scheduler, a, b, run } = stage(undefined, seed);
    const got: string[] = [];
    const listen = async ({ process, cluster }: Node) => {
      await cluster.bus.subscribe("t", (text) => got.push(`${process.name} ${text}`));
      cluster.bus.onGap(() => got.push(`${process.name} gap`));
    };
    await run(Promise.all([listen(a), listen(b)]));
    await run(a.cluster.bus.publish("t", "1"));
    await scheduler.runUntil(scheduler.now() + 1_000);
    deepEqual(got.splice(0).sort(), ["a 1", "b 1"]);
    engine.weather.lostTexts = 100;
    await run(a.cluster.bus.publish("t", "2"));
    engine.weather.lostTexts = 0;
    await scheduler.runUntil(scheduler.now() + 10_000);
    deepEqual([...new Set(got)].sort(), ["a gap", "b gap"]);
  }
});

test("a paused process loses its lease, and learns it when it continues", async () => {
  const { scheduler, a, b, run } = stage();
  const lease = await run(a.cluster.leases.acquire("l", 1_000));
  a.process.pause();
  await scheduler.runUntil(scheduler.now() + 2_000);
  equal(lease?.lost.aborted, false);
  ok(await run(b.cluster.leases.acquire("l", 1_000)), "another node has it");
  a.process.resume("timers");
  await scheduler.runUntil(scheduler.now() + 1);
  equal(lease?.lost.aborted, true);
});

test("a process that was stopped learns that its lease is over before it gets a reply", async () => {
  const { scheduler, a, run } = stage();
  const lease = await run(a.cluster.leases.acquire("l", 1_000));
  const stored = a.cluster.records.put("k", "v").then(() => lease?.lost.aborted);
  a.process.pause();
  await scheduler.runUntil(scheduler.now() + 2_000);
  a.process.resume("arrivals");
  equal(await run(stored), true);
});

test("a process that was stopped while it took a job does not begin it when its lease is over", async () => {
  const { engine, scheduler, a, b, run } = stage();
  const taken: string[] = [];
  const stop = new AbortController();
  const work = async ({ process, cluster }: Node) => {
    for await (const { attempt } of cluster.queue.take(stop.signal, { leaseMs: 1_000 }))
      taken.push(`${process.name} ${attempt}`);
  };
  await run(Promise.all([a.cluster.ready, b.cluster.ready]));
  await run(b.cluster.queue.add("j", ""));
  const perform = engine.perform.bind(engine);
  engine.perform = (...operation) => {
    if (operation[1] === "takeDue") a.process.pause();
    return perform(...operation);
  };
  const working = work(a);
  await scheduler.runUntil(scheduler.now() + 1_500);
  engine.perform = perform;
  a.process.resume("arrivals");
  await scheduler.runUntil(scheduler.now() + 1_000);
  deepEqual(taken, ["a 2"]);
  stop.abort();
  await run(working);
});

test("a lease that is acquired while its cluster closes is released", async () => {
  const { a, b, run } = stage();
  await run(Promise.all([a.cluster.ready, b.cluster.ready]));
  const acquired = a.cluster.leases.acquire("l", 100_000);
  await run(a.cluster.close());
  equal((await acquired)?.lost.aborted, true);
  ok(await run(b.cluster.leases.acquire("l", 1_000)), "the lease is free");
});

test("a node closes while its engine does not reply", async () => {
  const { engine, scheduler, a, run } = stage();
  ok(await run(a.cluster.leases.acquire("l", 1_000_000)));
  engine.weather.slow = 100;
  engine.weather.slowMs = 1_000_000;
  const start = scheduler.now();
  await run(a.cluster.close());
  ok(scheduler.now() - start <= 1_000, `${scheduler.now() - start} ms`);
});

for (const broken of [undefined, "fence"] as const) {
  test(`an earlier writer is refused unless the fence is off (${broken})`, async () => {
    const { a, b, run } = stage(broken);
    const [old, next] = [await run(claim(a.cluster)), await run(claim(b.cluster))];
    await run(next.append(0, "new"));
    const late = run(old.append(0, "late"));
    if (broken === undefined) await rejects(late, { failure: "fenced" });
    else await late;
    deepEqual(await run(dataOf(a.cluster)), broken === undefined ? ["new"] : ["new", "late"]);
  });
}

test("without ends the last entry is like any other", async () => {
  const { a, run } = stage("end");
  const writer = await run(claim(a.cluster));
  await run(writer.append(0, "bye", { last: true }));
  deepEqual(await run(dataOf(a.cluster)), ["bye"]);
});

test("without gaps a node does not learn that its connection was lost", async () => {
  for (const broken of [undefined, "gap"] as const) {
    const { engine, scheduler, a, run } = stage(broken);
    await run(a.cluster.ready);
    let gaps = 0;
    a.cluster.bus.onGap(() => gaps++);
    engine.cut(a.process);
    engine.mend(a.process);
    await scheduler.runUntil(10_000);
    equal(gaps > 0, broken === undefined);
  }
});

test("without the comparison each version is overwritten", async () => {
  const { a, run } = stage("answer");
  await run(a.cluster.records.put("k", "1"));
  ok(await run(a.cluster.records.put("k", "2", { ifVersion: null })));
});

test("without wakes a follower waits for ever", async () => {
  for (const broken of [undefined, "wake"] as const) {
    const { scheduler, a, b, run } = stage(broken);
    const writer = await run(claim(a.cluster));
    const got: LogEntry[] = [];
    const follow = async () => {
      for await (const entry of b.cluster.logs.follow("l", "s", undefined, new AbortController().signal))
        got.push(entry);
    };
    follow();
    await scheduler.runUntil(scheduler.now() + 1_000);
    await run(writer.append(0, "1"));
    await scheduler.runUntil(scheduler.now() + 10_000);
    equal(got.length, broken === undefined ? 1 : 0);
  }
});

test("without drops a log stays", async () => {
  const { a, run } = stage("drop");
  const writer = await run(claim(a.cluster));
  await run(a.cluster.logs.drop("l"));
  await run(writer.append(0, "1"));
  deepEqual(await run(dataOf(a.cluster)), ["1"]);
});
