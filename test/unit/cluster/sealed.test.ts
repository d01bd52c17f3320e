import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#src/cluster/cluster.js";
import { ClusterError } from "#src/cluster/error.js";
import { createMemoryState } from "#src/cluster/memory/state.js";
import { sealedCluster } from "#src/cluster/sealed.js";
import { contract, engineContract, type Open } from "../../contract/contract.js";
import { FakeClock } from "../../support/fake-clock.js";

const key = (id: string, byte: number) => ({ id, secret: new Uint8Array(32).fill(byte) });
const keys = [key("a", 1)];

/** World on a fake clock whose nodes seal. */
const open: Open = () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const nodes = new Map<Cluster, Cluster>();
  const inner = (node: Cluster) => nodes.get(node) as Cluster;
  return {
    node: () => {
      const node = state.node();
      const sealed = sealedCluster(node, { keys });
      nodes.set(sealed, node);
      return sealed;
    },
    crash: (node) => state.cut(inner(node)),
    elapse: async (ms) => {
      clock.advance(ms);
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    engine: {
      kill: () => nodes.forEach(state.cut),
      start: () => nodes.forEach(state.mend),
    },
  };
};

contract("sealed memory", open);
engineContract("sealed memory", open);

test("the engine sees neither values, entries, messages nor jobs", async (t) => {
  const node = createMemoryState().node();
  t.after(() => node.close());
  const sealed = sealedCluster(node, { keys });
  await sealed.records.put("k", "secret");
  await sealed.logs.create("l", { keepMs: 1_000, maxEntries: 10, maxBytes: 10_000 });
  await (await sealed.logs.claim("l", "s")).append(0, "secret");
  const heard: string[] = [];
  await node.bus.subscribe("t", (text) => heard.push(text));
  await sealed.bus.publish("t", "secret");
  await sealed.queue.add("j", "secret");
  const stop = new AbortController();
  const jobs: string[] = [];
  for await (const { job } of node.queue.take(stop.signal)) {
    jobs.push(job);
    stop.abort();
  }
  const texts = [
    (await node.records.get("k"))?.value,
    (await node.logs.readAfter("l", "s"))?.[0]?.data,
    heard[0],
    jobs[0],
  ];
  for (const text of texts) ok(text?.startsWith("a.") && !text.includes("secret"), text);
});

test("a value that the engine moved or that has another key is refused", async (t) => {
  const node = createMemoryState().node();
  t.after(() => node.close());
  const sealed = sealedCluster(node, { keys });
  await sealed.records.put("k", "secret");
  await node.records.put("other", (await node.records.get("k"))?.value ?? "");
  await rejects(async () => sealed.records.get("other"), {
    code: "cluster_refused",
    message: /sealed for another place/,
  });
  const renewed = sealedCluster(node, { keys: [key("b", 2), ...keys] });
  equal((await renewed.records.get("k"))?.value, "secret", "an older key opens");
  await renewed.records.put("k", "new");
  await rejects(async () => sealed.records.get("k"), { code: "cluster_refused", message: /not in the keys/ });
  deepEqual((await renewed.records.get("k"))?.value, "new");
});

test("a message that cannot be opened is a gap", async (t) => {
  const node = createMemoryState().node();
  t.after(() => node.close());
  const sealed = sealedCluster(node, { keys });
  const heard: string[] = [];
  const gap = new Promise<void>((resolve) => sealed.bus.onGap(resolve));
  const second = new Promise<void>((resolve) => {
    void sealed.bus.subscribe("t", (text) => heard.push(text) === 2 && resolve());
  });
  await sealed.bus.publish("t", "1");
  await node.bus.publish("t", "forged");
  await sealed.bus.publish("t", "2");
  await Promise.all([gap, second]);
  deepEqual(heard, ["1", "2"]);
});

test("a job that a process cannot open goes to one that has the key, and is told once", async (t) => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [old, renewed] = [
    sealedCluster(state.node(), { keys }),
    sealedCluster(state.node(), { keys: [key("b", 2), ...keys] }),
  ];
  t.after(() => Promise.all([old.close(), renewed.close()]));
  for (const id of ["1", "2"]) await renewed.queue.add(id, `text ${id}`);
  const { signal } = new AbortController();
  const take = async (cluster: Cluster) => {
    for await (const { job } of cluster.queue.take(signal)) return job;
    return undefined;
  };
  await rejects(take(old), {
    code: "cluster_refused",
    message: /^job "1" is sealed with a key that is not in the keys/,
  });
  await old.queue.add("3", "text 3");
  equal(await take(old), "text 3");
  clock.advance(60_000);
  deepEqual([await take(renewed), await take(renewed)].sort(), ["text 1", "text 2"]);
});

test("a job that cannot be opened is given back when the engine is there again", async (t) => {
  const state = createMemoryState({ clock: new FakeClock() });
  const [inner, other] = [state.node(), state.node()];
  t.after(() => Promise.all([inner.close(), other.close()]));
  await inner.queue.add("1", "forged");
  const takes = inner.queue.take.bind(inner.queue);
  let tries = 0;
  const given = new Promise<void>((resolve) => {
    inner.queue.take = async function* (signal, options) {
      for await (const job of takes(signal, options)) {
        const later = (delayMs: number) => {
          if (tries++ === 0) throw new ClusterError("unavailable", "the engine is away");
          resolve();
          return job.later(delayMs);
        };
        yield { id: job.id, job: job.job, attempt: job.attempt, lost: job.lost, done: () => job.done(), later };
      }
    };
  });
  const sealed = sealedCluster(inner, { keys });
  const jobs = sealed.queue.take(new AbortController().signal)[Symbol.asyncIterator]();
  await rejects(async () => jobs.next(), /^ClusterError: job "1" is sealed with a key/);
  await given;
  equal(tries, 2);
});

test("keys are checked", () => {
  throws(() => sealedCluster(createMemoryState().node(), { keys: [] }), /sealedCluster keys must contain at least one/);
});
