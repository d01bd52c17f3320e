import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "../../support/fake-clock.js";

const LOG = { keepMs: 1_000, maxEntries: 10, maxBytes: 1_000 };
const NONE = { records: 0, indexes: 0, logs: 0, dropped: 0, nodes: 0, chars: 0, expiries: 0, stores: 0 };

function create() {
  const clock = new FakeClock();
  const engine = new MemoryEngine({ clock });
  const cluster = new StoreCluster(new MemoryStore(engine), { clock, heartbeatMs: Number.POSITIVE_INFINITY });
  return { clock, engine, cluster };
}

test("what is deleted, released, done or left keeps nothing", async () => {
  const { clock, engine, cluster } = create();
  const other = new MemoryStore(engine);
  for (let at = 0; at < 100; at++) {
    await cluster.records.put(`k${at}`, "v", { ttlMs: 1_000, index: [{ index: `i${at}`, score: at }] });
    await cluster.records.delete(`k${at}`);
    await cluster.logs.create(`l${at}`, LOG);
    await (await cluster.logs.claim(`l${at}`, "open")).append(0, "text");
    await cluster.logs.drop(`l${at}`);
    (await cluster.bus.subscribe(`t${at}`, () => undefined))();
    await (await cluster.leases.acquire(`l${at}`, 1_000))?.release();
    await cluster.queue.add(`j${at}`, "");
    const stop = new AbortController();
    for await (const job of cluster.queue.take(stop.signal)) {
      await job.done();
      stop.abort();
    }
  }
  await cluster.close();
  deepEqual(engine.sizes, { ...NONE, dropped: 100, expiries: 100, stores: 1 });
  clock.advance(LOG.keepMs);
  deepEqual(engine.sizes, { ...NONE, stores: 1 });
  await other.close();
  equal(clock.pending, 0);
});

test("streams that have ended are forgotten with their last entry", async () => {
  const { clock, engine, cluster } = create();
  await cluster.logs.create("l", { ...LOG, maxStreams: LOG.maxEntries + 1 });
  for (let at = 0; at < 100; at++) await (await cluster.logs.claim("l", `s${at}`)).append(0, "bye", { last: true });
  const stop = new AbortController();
  const next = cluster.logs.follow("l", "none", undefined, stop.signal)[Symbol.asyncIterator]().next();
  stop.abort();
  await next;
  clock.advance(LOG.keepMs);
  deepEqual(engine.sizes, { ...NONE, logs: 1, stores: 1 });
  for (let at = 0; at <= LOG.maxEntries; at++) await cluster.logs.claim("l", `new ${at}`);
  await cluster.close();
});

test("a closed node leaves what others may need, and nothing of its own", async () => {
  const { engine, cluster } = create();
  await cluster.records.put("k", "v");
  await cluster.bus.subscribe("t", () => undefined);
  await cluster.leases.acquire("l", 1_000);
  await cluster.queue.add("j", "");
  const jobs = cluster.queue.take(new AbortController().signal)[Symbol.asyncIterator]();
  await jobs.next();
  const end = jobs.next();
  await cluster.close();
  equal((await end).done, true);
  deepEqual(engine.sizes, { ...NONE, records: 2, indexes: 1 });
});
