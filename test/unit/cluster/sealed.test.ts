import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#src/cluster/cluster.js";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import { SealedStore } from "#src/cluster/sealed.js";
import { takenBy } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { contract, engineContract, type Open } from "../../contract/contract.js";
import { elapse, FakeClock } from "../../support/fake-clock.js";

const key = (id: string, byte: number) => ({ id, secret: new Uint8Array(32).fill(byte) });
const keys = [key("a", 1)];
const LOG = { keepMs: 60_000, maxEntries: 10, maxBytes: 10_000 };

/** World on a fake clock whose nodes seal. */
const open: Open = () => {
  const clock = new FakeClock();
  const engine = new MemoryEngine({ clock });
  const stores = new Map<Cluster, MemoryStore>();
  return {
    node: () => {
      const store = new MemoryStore(engine);
      const node = new StoreCluster(store, { clock, sealKeys: keys });
      stores.set(node, store);
      return node;
    },
    crash: (node) => stores.get(node)?.cut(),
    store: () => new SealedStore(new MemoryStore(engine), keys),
    // Sealing is done by other threads, so that a renewal takes some time.
    elapse: (ms) => elapse(clock, ms, () => new Promise((resolve) => setTimeout(resolve, 5))),
    engine: {
      kill() {
        for (const store of stores.values()) store.cut();
      },
      start() {
        for (const store of stores.values()) store.mend();
      },
    },
  };
};

contract("sealed memory", open);
engineContract("sealed memory", open);

/** Engine, a store of it that seals nothing, and a function that creates clusters which seal. */
function stage(t: { after(run: () => unknown): void }) {
  const clock = new FakeClock();
  const engine = new MemoryEngine({ clock });
  const create = (sealKeys?: readonly ReturnType<typeof key>[]) => {
    const cluster = new StoreCluster(new MemoryStore(engine), { clock, sealKeys });
    t.after(() => cluster.close());
    return cluster;
  };
  return { clock, engine, create, plain: new MemoryStore(engine) };
}

test("the engine sees neither values, entries, messages nor jobs", async (t) => {
  const { create, plain } = stage(t);
  const heard: string[] = [];
  await plain.connect({ onText: (text) => heard.push(text), onMissed() {}, onShort() {} });
  const sealed = create(keys);
  await sealed.records.put("k", "secret");
  await sealed.logs.create("l", LOG);
  await (await sealed.logs.claim("l", "s")).append(0, "secret");
  await sealed.bus.publish("t", "secret");
  await sealed.queue.add("j", "secret");
  const texts = [
    (await plain.get("k"))?.value,
    (await plain.logs.read("l", "s", undefined, 10))?.entries[0]?.data,
    (await plain.get("job/j"))?.value,
    ...heard,
  ];
  ok(texts.length > 5);
  for (const text of texts) ok(text?.startsWith("a.") && !text.includes("secret"), text);
});

test("a value that the engine moved or that has another key is refused", async (t) => {
  const { create, plain } = stage(t);
  const sealed = create(keys);
  await sealed.records.put("k", "secret");
  await plain.put("other", (await plain.get("k"))?.value ?? "", { version: "1" });
  await rejects(sealed.records.get("other"), { code: "cluster_refused", message: /sealed for another place/ });
  const renewed = create([key("b", 2), ...keys]);
  equal((await renewed.records.get("k"))?.value, "secret", "an older key opens");
  await renewed.records.put("k", "new");
  await rejects(sealed.records.get("k"), { code: "cluster_refused", message: /not in sealKeys/ });
  equal((await renewed.records.get("k"))?.value, "new");
});

test("a record that the engine enters in an index of others is refused", async (t) => {
  const { create, plain } = stage(t);
  const sealed = create(keys);
  await sealed.records.put("own", "1", { index: [{ index: "mine", score: 1 }] });
  await sealed.records.put("foreign", "2", { index: [{ index: "theirs", score: 1 }] });
  const foreign = (await plain.get("foreign"))?.value ?? "";
  equal((await sealed.records.list("mine", { limit: 10 })).length, 1);
  await plain.put("foreign", foreign, { version: "1", index: [{ index: "mine", score: 2 }] });
  await rejects(sealed.records.list("mine", { limit: 10 }), { code: "cluster_refused", message: /not put into index/ });
  await plain.put("foreign", foreign, { version: "2", index: [{ index: takenBy("2"), score: 2 }] });
  equal((await sealed.records.list(takenBy("2"), { limit: 10 }))[0]?.value, "2", "taken by the holder of its version");
});

test("entries that the engine exchanges, leaves out or ends are refused", async (t) => {
  const { create, engine } = stage(t);
  const sealed = create(keys);
  await sealed.logs.create("l", LOG);
  const writer = await sealed.logs.claim("l", "s");
  for (const [seq, text] of ["0", "1", "2"].entries()) await writer.append(seq, text);
  const { read } = engine.logs;
  const change = (edit: (entries: { data: string; last: boolean }[]) => unknown) => {
    engine.logs.read = (...args) => {
      const page = read.apply(engine.logs, args);
      const entries = (page?.entries ?? []).map((entry) => ({ ...entry }));
      edit(entries);
      return page && { ...page, entries };
    };
    return sealed.logs.readAfter("l", "s");
  };
  deepEqual(
    (await change(() => {}))?.map(({ data }) => data),
    ["0", "1", "2"],
  );
  await rejects(
    change((entries) => entries.reverse()),
    /exchanged or left out/,
  );
  await rejects(
    change((entries) => entries.splice(1, 1)),
    /exchanged or left out/,
  );
  await rejects(
    change((entries) => Object.assign(entries[2] as object, { last: true })),
    /end of .* was changed/,
  );
  const [first, second] = [0, 1];
  const swapData = (entries: { data: string }[]) => {
    const [one, other] = [entries[first] as { data: string }, entries[second] as { data: string }];
    [one.data, other.data] = [other.data, one.data];
  };
  await rejects(change(swapData), /exchanged or left out/);
});

test("a message that cannot be opened is a gap", async (t) => {
  const { create, engine } = stage(t);
  const sealed = create(keys);
  const heard: string[] = [];
  const gap = new Promise<void>((resolve) => sealed.bus.onGap(resolve));
  const second = new Promise<void>((resolve) => {
    void sealed.bus.subscribe("t", (text) => heard.push(text) === 2 && resolve());
  });
  await sealed.bus.publish("t", "1");
  engine.send("forged");
  await sealed.bus.publish("t", "2");
  await Promise.all([gap, second]);
  deepEqual(heard, ["1", "2"]);
});

test("a listener that throws, and messages of any form, leave the others as they are", async (t) => {
  const { create, engine } = stage(t);
  const [sealed, plain] = [create(keys), create()];
  const heard: string[] = [];
  for (const node of [sealed, plain]) {
    await node.bus.subscribe("t", () => {
      throw new Error("of a listener");
    });
    await node.bus.subscribe("t", (text) => heard.push(text));
  }
  for (const text of ["", "null", "m", "m x", "h \n", "l ", "a.b.c", "m a NaN %\nx"]) engine.send(text);
  await sealed.bus.publish("t", "sealed");
  await plain.bus.publish("t", "plain");
  await new Promise((resolve) => setTimeout(resolve, 20));
  deepEqual(heard.sort(), ["plain", "sealed"]);
});

test("a job that a process cannot open goes to one that has the key, and is told once", async (t) => {
  const { clock, create } = stage(t);
  const [old, renewed] = [create(keys), create([key("b", 2), ...keys])];
  for (const id of ["1", "2"]) await renewed.queue.add(id, `text ${id}`);
  const take = async (cluster: Cluster) => {
    for await (const { job } of cluster.queue.take(new AbortController().signal)) return job;
    return undefined;
  };
  await rejects(take(old), { code: "cluster_refused", message: /^record "job\/1" is sealed with a key/ });
  const text = take(old);
  await old.queue.add("3", "text 3");
  equal(await text, "text 3");
  await elapse(clock, 60_000);
  deepEqual([await take(renewed), await take(renewed)].sort(), ["text 1", "text 2"]);
});

test("keys are checked", (t) => {
  const { create } = stage(t);
  throws(() => create([]), /sealKeys must contain at least one/);
});
