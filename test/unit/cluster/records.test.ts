import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError } from "bowline/cluster";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Store } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { each, update } from "#src/cluster/update.js";
import { replaceParts } from "../../support/nodes-world.js";

/** Cluster over a store that loses the answers of so many puts. `isStored` tells if they are carried out. */
function create(t: { after(run: () => unknown): void }, losses: number, isStored: boolean) {
  const store = new MemoryStore(new MemoryEngine());
  const put: Store["put"] = async (...args) => {
    const isLost = losses-- > 0;
    if (!isLost || isStored) await store.put(...args);
    if (isLost) throw new ClusterError("unknown_outcome", "the connection failed");
    return store.put(...args);
  };
  const cluster = new StoreCluster(replaceParts<Store>(store, { put }));
  t.after(() => cluster.close());
  return cluster.records;
}

const add = (stored: { readonly value: string } | undefined) => ({ value: String(Number(stored?.value ?? 0) + 1) });

for (const isStored of [true, false])
  test(`a put with a condition is carried out once if its answer is lost (${isStored})`, async (t) => {
    const records = create(t, 2, isStored);
    const version = await records.put("k", "1", { ifVersion: null });
    equal((await records.get("k"))?.version, version);
    equal(await records.put("k", "2", { ifVersion: null }), undefined);
    deepEqual((await update(records, "k", add))?.value, "2");
  });

test("a put whose answers are lost each time has an unknown outcome, and so has one without a condition", async (t) => {
  await rejects(create(t, 3, true).put("k", "1", { ifVersion: null }), { failure: "unknown_outcome" });
  await rejects(create(t, 1, true).put("k", "1"), { failure: "unknown_outcome" });
});

test("a put that was carried out and replaced while its answer was lost has an unknown outcome", async (t) => {
  const store = new MemoryStore(new MemoryEngine());
  let isLost = true;
  const put: Store["put"] = async (...args) => {
    const isStored = await store.put(...args);
    if (!isLost) return isStored;
    isLost = false;
    await store.put("k", "of another", { version: crypto.randomUUID() });
    throw new ClusterError("unknown_outcome", "the connection failed");
  };
  const cluster = new StoreCluster(replaceParts<Store>(store, { put }));
  t.after(() => cluster.close());
  await rejects(cluster.records.put("k", "1", { ifVersion: null }), { failure: "unknown_outcome" });
  isLost = true;
  const append = (stored: { readonly value: string } | undefined) => ({ value: `${stored?.value} +` });
  await rejects(update(cluster.records, "k", append, { once: true }), { failure: "unknown_outcome" });
  equal((await update(cluster.records, "k", append))?.value, "of another +");
});

test("changes of a record by many are all made", async (t) => {
  const records = create(t, 0, true);
  await Promise.all(Array.from({ length: 20 }, () => update(records, "k", add)));
  equal((await records.get("k"))?.value, "20");
  equal((await update(records, "k", () => undefined))?.value, "20");
  equal(await update(records, "none", () => undefined), undefined);
});

test("a record that others change each time is refused with words", async (t) => {
  const records = create(t, 0, true);
  const busy = replaceParts(records, { put: async () => undefined });
  await rejects(update(busy, "k", add), { failure: "unavailable", message: /changed by others each of 100 times/ });
});

test("a listing yields all records of an index, and those that are deleted meanwhile once", async (t) => {
  const records = create(t, 0, true);
  for (let at = 0; at < 25; at++) await records.put(`k${at}`, "", { index: [{ index: "i", score: at }] });
  const keys: string[] = [];
  for await (const { key } of each(records, "i", 10)) {
    keys.push(key);
    await records.delete(key);
  }
  equal(new Set(keys).size, 25);
  equal(keys.length, 25);
});
