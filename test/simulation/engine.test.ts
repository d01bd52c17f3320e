import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { Cluster, LogEntry } from "#src/cluster/cluster.js";
import { Dice } from "./dice.js";
import type { SimCluster } from "./engine/cluster.js";
import { SimEngine } from "./engine/engine.js";
import type { Break } from "./engine/state.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";

const LOG = { keepMs: 60_000, maxEntries: 100, maxBytes: 100_000 };

/** Engine with two nodes. `run` lets virtual time pass until the work is done. */
function stage(broken?: Break) {
  const scheduler = new Scheduler();
  const engine = new SimEngine({ scheduler, dice: new Dice(5), broken });
  const create = (name: string) => {
    const process = new SimProcess(name, scheduler);
    return { process, cluster: engine.connect(process) };
  };
  const run = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false;
    const end = work.finally(() => {
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
  const { engine, a, run } = stage();
  engine.state.weather.lostReplies = 100;
  for (let at = 0; at < 20; at++) {
    await rejects(run(Promise.resolve(a.cluster.records.put(`k${at}`, ""))), { failure: "unknown_outcome" });
    await rejects(run(Promise.resolve(a.cluster.records.get(`k${at}`))), { failure: "unavailable" });
  }
  const { size } = engine.state.tables.records.rows;
  ok(size > 0 && size < 20, `${size} of 20 were carried out`);
});

test("a message is lost for one node, which learns of a gap", async () => {
  const { engine, scheduler, a, b, run } = stage();
  const got: string[] = [];
  const listen = async ({ process, cluster }: { process: SimProcess; cluster: SimCluster }) => {
    await cluster.bus.subscribe("t", (text) => got.push(`${process.name} ${text}`));
    cluster.bus.onGap(() => got.push(`${process.name} gap`));
  };
  await run(Promise.all([listen(a), listen(b)]));
  await run(a.cluster.bus.publish("t", "1"));
  await scheduler.runUntil(scheduler.now() + 1_000);
  deepEqual(got.splice(0).sort(), ["a 1", "b 1"]);
  engine.state.weather.lostMessages = 100;
  await run(a.cluster.bus.publish("t", "2"));
  await scheduler.runUntil(scheduler.now() + 10_000);
  deepEqual(got.sort(), ["a gap", "b gap"]);
});

test("a paused process loses its lease, and learns it when it continues", async () => {
  const { scheduler, a, b, run } = stage();
  const lease = await run(Promise.resolve(a.cluster.leases.acquire("l", 1_000)));
  a.process.pause();
  a.cluster.pause();
  await scheduler.runUntil(scheduler.now() + 2_000);
  equal(lease?.lost.aborted, false);
  ok(await run(Promise.resolve(b.cluster.leases.acquire("l", 1_000))), "another node has it");
  a.cluster.resume();
  a.process.resume();
  await scheduler.runUntil(scheduler.now() + 1);
  equal(lease?.lost.aborted, true);
});

test("a lease whose holder did not learn of it becomes free after its life", async () => {
  const { engine, scheduler, a, b, run } = stage();
  engine.state.weather.lostReplies = 100;
  for (let at = 0; at < 5; at++) await run(Promise.resolve(a.cluster.leases.acquire(`l${at}`, 1_000)).catch(() => {}));
  engine.state.weather.lostReplies = 0;
  await scheduler.runUntil(scheduler.now() + 1_100);
  for (let at = 0; at < 5; at++)
    ok(await run(Promise.resolve(b.cluster.leases.acquire(`l${at}`, 1_000))), "the lease is free");
});

for (const broken of [undefined, "fence"] as const) {
  test(`an earlier writer is refused unless the fence is off (${broken})`, async () => {
    const { a, b, run } = stage(broken);
    const [old, next] = [await run(claim(a.cluster)), await run(claim(b.cluster))];
    await run(Promise.resolve(next.append(0, "new")));
    const late = run(Promise.resolve(old.append(0, "late")));
    if (broken === undefined) await rejects(late, { failure: "fenced" });
    else await late;
    deepEqual(await run(dataOf(a.cluster)), broken === undefined ? ["new"] : ["new", "late"]);
  });
}

test("without ends the last entry is like any other", async () => {
  const { a, run } = stage("end");
  const writer = await run(claim(a.cluster));
  await run(Promise.resolve(writer.append(0, "bye", { last: true })));
  deepEqual(await run(dataOf(a.cluster)), ["bye"]);
});

test("without gaps a node does not learn that its connection was lost", async () => {
  for (const broken of [undefined, "gap"] as const) {
    const { scheduler, a } = stage(broken);
    let gaps = 0;
    a.cluster.bus.onGap(() => gaps++);
    a.cluster.cut();
    a.cluster.mend();
    await scheduler.runUntil(10_000);
    equal(gaps, broken === undefined ? 1 : 0);
  }
});

test("without the comparison each version is overwritten", async () => {
  const { a, run } = stage("answer");
  await run(Promise.resolve(a.cluster.records.put("k", "1")));
  ok(await run(Promise.resolve(a.cluster.records.put("k", "2", { ifVersion: null }))));
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
    await run(Promise.resolve(writer.append(0, "1")));
    await scheduler.runUntil(scheduler.now() + 10_000);
    equal(got.length, broken === undefined ? 1 : 0);
  }
});

test("without drops a log stays", async () => {
  const { a, run } = stage("drop");
  const writer = await run(claim(a.cluster));
  await run(Promise.resolve(a.cluster.logs.drop("l")));
  await run(Promise.resolve(writer.append(0, "1")));
  deepEqual(await run(dataOf(a.cluster)), ["1"]);
});
