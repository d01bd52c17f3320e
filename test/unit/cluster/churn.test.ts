import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "#src/cluster/cluster.js";
import { MemoryNode } from "#src/cluster/memory/node.js";
import { createTables, type Tables } from "#src/cluster/memory/tables.js";
import { FakeClock } from "../../support/fake-clock.js";

const LOG = { keepMs: 1_000, maxEntries: 10, maxBytes: 1_000 };
const NONE = {
  expiries: 0,
  records: 0,
  indexes: 0,
  logs: 0,
  dropped: 0,
  open: 0,
  chars: 0,
  topics: 0,
  buses: 0,
  leases: 0,
  jobs: 0,
  takers: 0,
};

/** Number of items that each part keeps. */
function sizesOf({ expiries, records, logs, topics, leases, jobs }: Tables): typeof NONE {
  return {
    expiries: expiries.size,
    records: records.rows.size,
    indexes: records.indexes.size,
    logs: logs.logs.size,
    dropped: logs.droppedSize,
    open: logs.openSize,
    chars: logs.chars,
    topics: topics.size,
    buses: topics.buses.size,
    leases: leases.size,
    jobs: jobs.size,
    takers: jobs.takers.size,
  };
}

test("what is deleted, released, done or left keeps nothing", async () => {
  const clock = new FakeClock();
  const tables = createTables({ clock });
  const node = new MemoryNode(tables, () => undefined);
  for (let at = 0; at < 100; at++) {
    node.records.put(`k${at}`, "v", { ttlMs: 1_000, index: [{ index: `i${at}`, score: at }] });
    node.records.delete(`k${at}`);
    node.logs.create(`l${at}`, LOG);
    node.logs.claim(`l${at}`, "open").append(0, "text");
    node.logs.drop(`l${at}`);
    node.bus.subscribe(`t${at}`, () => undefined)();
    node.leases.acquire(`l${at}`, 1_000)?.release();
    node.queue.add(`j${at}`, "");
    const stop = new AbortController();
    for await (const job of node.queue.take(stop.signal) as AsyncIterable<Job>) {
      job.done();
      stop.abort();
    }
  }
  await node.close();
  deepEqual(sizesOf(tables), { ...NONE, dropped: 100, expiries: 100 });
  clock.advance(LOG.keepMs);
  deepEqual(sizesOf(tables), NONE);
});

test("streams that have ended are forgotten with their last entry", async () => {
  const clock = new FakeClock();
  const tables = createTables({ clock });
  const node = new MemoryNode(tables, () => undefined);
  node.logs.create("l", LOG);
  const log = tables.logs.logs.get("l");
  for (let at = 0; at < 100; at++) node.logs.claim("l", `s${at}`).append(0, "bye", { last: true });
  equal(log?.streams.size, LOG.maxEntries);
  const stop = new AbortController();
  const entries = node.logs.follow("l", "none", undefined, stop.signal)[Symbol.asyncIterator]();
  const next = entries.next();
  equal(log?.streams.size, LOG.maxEntries + 1);
  stop.abort();
  await next;
  clock.advance(LOG.keepMs);
  equal(log?.streams.size, 0);
  deepEqual(sizesOf(tables), { ...NONE, logs: 1, buses: 1 });
});

test("a closed node leaves what others may need, and nothing of its own", async () => {
  const tables = createTables({ clock: new FakeClock() });
  const node = new MemoryNode(tables, () => undefined);
  node.records.put("k", "v");
  node.bus.subscribe("t", () => undefined);
  node.leases.acquire("l", 1_000);
  node.queue.add("j", "");
  const jobs = node.queue.take(new AbortController().signal)[Symbol.asyncIterator]();
  await jobs.next();
  const end = jobs.next();
  await node.close();
  equal((await end).done, true);
  deepEqual(sizesOf(tables), { ...NONE, records: 1, jobs: 1 });
});
