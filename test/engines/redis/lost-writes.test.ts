import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import type { Cluster, Writer } from "#src/cluster/cluster.js";
import { dataOf, LOG, openOf, write } from "#src/testing/contract/logs.js";
import { collect, failsWith, failureOf, type Scope, until } from "#src/testing/contract/world.js";
import { startRedis } from "../../support/engines/redis.js";
import { stateOf } from "./world.js";

/** Server that loses what was written after its last snapshot when it is killed, as a failover can. */
async function open(t: Scope) {
  const server = await startRedis(["--appendonly", "no"]);
  t.after(() => server.end());
  const state = stateOf(t, server);
  return {
    ...state,
    save: () => state.command("SAVE"),
    /** Lets the server lose its last writes. Resolves when the nodes are connected again. */
    async lose(...nodes: readonly Cluster[]) {
      const gaps = nodes.map((node) => {
        let count = 0;
        node.bus.onGap(() => count++);
        return () => count > 0;
      });
      await server.kill();
      await server.start();
      await until(() => nodes.every(({ available }) => available) && gaps.every((isTold) => isTold()), "all are back");
    },
  };
}

test("no event id means another entry after writes were lost", async (t) => {
  const { node, save, lose } = await open(t);
  const [a, b] = [await node(), await node()];
  await a.logs.create("l", LOG);
  const kept = await a.logs.claim("l", "kept");
  const [first = ""] = await write(kept, ["1"]);
  await save();
  const lost = await write(kept, ["2", "3"], 1);
  const call = await a.logs.claim("l", "call");
  lost.push(...(await write(call, ["x", "y"])));
  await lose(a, b);
  // Another node writes, and the numbers of the entries that were lost are given again.
  const next = await write(await b.logs.claim("l", "kept"), ["4", "5", "6"]);
  next.push(...(await write(await b.logs.claim("l", "call"), ["z"])));
  equal(new Set([...lost, ...next]).size, lost.length + next.length);
  const numbers = (ids: readonly string[]) => ids.map((id) => id.split("-")[1]);
  deepEqual(numbers(next), numbers(lost), "the numbers alone would be ambiguous");
  for (const id of lost) {
    equal(await b.logs.find("l", id), undefined);
    for (const stream of ["kept", "call"]) {
      equal(await dataOf(b, "l", stream, id), undefined);
      const { signal } = new AbortController();
      await failsWith("missed", () => collect(b.logs.follow("l", stream, id, signal)).end);
    }
  }
  deepEqual(await dataOf(b, "l", "kept", first), ["4", "5", "6"]);
  equal(await b.logs.find("l", next[0] ?? ""), "kept");
});

test("a writer and a follower of entries that were lost are told so", async (t) => {
  const { node, save, lose } = await open(t);
  const [a, b] = [await node(), await node()];
  await a.logs.create("l", LOG);
  const writer = await a.logs.claim("l", "s");
  await write(writer, ["1"]);
  await save();
  await write(writer, ["2", "3"], 1);
  const late = await a.logs.claim("l", "late");
  await write(late, ["x"]);
  const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
  await followed.reaches(3);
  await lose(a, b);
  equal(await failureOf(() => writer.append(3, "4")), "refused");
  equal(await failureOf(() => late.append(1, "y")), "fenced");
  await failsWith("missed", () => followed.end);
  deepEqual(
    followed.items.map(({ data }) => data),
    ["1", "2", "3"],
  );
});

test("nothing of a log that was lost is taken for the log of its name that came after it", async (t) => {
  const { node, save, lose } = await open(t);
  const [a, b] = [await node(), await node()];
  await save();
  const create = async (by: Cluster): Promise<readonly [Writer, string]> => {
    await by.logs.create("l", LOG);
    const writer = await by.logs.claim("l", "s");
    const [id = ""] = await write(writer, ["1"]);
    return [writer, id];
  };
  const [writer, id] = await create(a);
  await lose(a, b);
  const [, other] = await create(b);
  notEqual(id, other);
  equal(await b.logs.find("l", id), undefined);
  equal(await dataOf(b, "l", "s", id), undefined);
  equal(await failureOf(() => writer.append(1, "2")), "dropped");
  deepEqual(await dataOf(b, "l", "s"), ["1"]);
  deepEqual([await openOf(b, a.node), await openOf(b, b.node)], [[], ["l/s"]]);
});

test("no version of a record and no token of a lease or job that was lost means another one", async (t) => {
  const { node, save, lose } = await open(t);
  const [a, b] = [await node(), await node()];
  await b.queue.add("j", "");
  await save();
  const version = await a.records.put("k", "1");
  ok(version);
  const lease = await a.leases.acquire("l", 60_000);
  const jobs = a.queue.take(new AbortController().signal, { leaseMs: 60_000 })[Symbol.asyncIterator]();
  const { value: job } = await jobs.next();
  await lose(a, b);
  ok(await b.records.put("k", "2"));
  equal(await a.records.put("k", "3", { ifVersion: version }), undefined);
  equal(await a.records.delete("k", version), false);
  const next = await b.leases.acquire("l", 60_000);
  await lease?.release();
  equal(await a.leases.acquire("l", 60_000), undefined);
  equal(next?.lost.aborted, false);
  const others = b.queue.take(new AbortController().signal, { leaseMs: 60_000 })[Symbol.asyncIterator]();
  const { value: again } = await others.next();
  await failsWith("fenced", () => job.done());
  equal(await b.queue.add("j", ""), false);
  await again.done();
  await Promise.all([jobs.return?.(), others.return?.()]);
});
