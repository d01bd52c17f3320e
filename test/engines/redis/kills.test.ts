import { deepEqual, equal, ok } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { Cluster } from "#src/cluster/cluster.js";
import { redisCluster } from "#src/redis/cluster.js";
import { LOG } from "#src/testing/contract/logs.js";
import { collect, failureOf, type Scope, until, wait } from "#src/testing/contract/world.js";
import { startRedis } from "../../support/engines/redis.js";
import { libraries } from "./world.js";

const KILLS = 5;

/** Number of operations that succeed before each kill. */
const PER_KILL = 20;

/**
 * Starts an engine with nodes, and an end that comes after the engine was killed several times. `done` counts the
 * operations that succeeded.
 */
async function open(t: Scope, library: keyof typeof libraries, done: () => number) {
  const server = await startRedis();
  t.after(() => server.end());
  const prefix = `test-${randomUUID()}`;
  const start = async (): Promise<Cluster> => {
    const node = redisCluster({ client: libraries[library](server.url), prefix, timeoutMs: 1_000 });
    t.after(() => node.close());
    await until(() => node.available, "a node starts");
    return node;
  };
  const nodes = await Promise.all([start(), start(), start()]);
  let end: { readonly error?: unknown } | undefined;
  const kill = async () => {
    for (let kills = 0; kills < KILLS; kills++) {
      await wait(150 + Math.random() * 300);
      await until(() => done() >= PER_KILL * (kills + 1), `${PER_KILL * (kills + 1)} operations succeed`);
      await server.kill();
      await wait(Math.random() * 100);
      await server.start();
    }
    await wait(300);
    await until(() => nodes.every(({ available }) => available), "all nodes are back");
  };
  kill().then(
    () => {
      end = {};
    },
    (error: unknown) => {
      end = { error };
    },
  );
  const isOver = () => {
    if (end?.error !== undefined) throw end.error;
    return end !== undefined;
  };
  return { nodes, isOver };
}

/** Runs an operation. Returns its failure if the engine was away. */
async function attempt(run: () => unknown): Promise<string | undefined> {
  const failure = await failureOf(run);
  if (failure === undefined) return undefined;
  ok(failure === "unavailable" || failure === "unknown_outcome", failure);
  await wait(5);
  return failure;
}

for (const library of ["redis", "ioredis"] as const) {
  test(`${library}: a counter by compare-and-set counts each increment while the engine is killed`, {
    timeout: 240_000,
  }, async (t) => {
    let sure = 0;
    let unsure = 0;
    const { nodes, isOver } = await open(t, library, () => sure);
    const increment = async ({ records }: Cluster) => {
      const found = await records.get("counter");
      const next = String(Number(found?.value ?? 0) + 1);
      const index = [{ index: "all", score: Number(next) }];
      return records.put("counter", next, { ifVersion: found?.version ?? null, index });
    };
    const count = async (node: Cluster) => {
      while (!isOver()) {
        let version: string | undefined;
        const failure = await attempt(async () => {
          version = await increment(node);
        });
        if (version !== undefined) sure++;
        if (failure === "unknown_outcome") unsure++;
      }
    };
    await Promise.all(nodes.map(count));
    const value = Number((await nodes[0].records.get("counter"))?.value);
    ok(value >= sure && value <= sure + unsure, `${value} of ${sure} to ${sure + unsure}`);
    const [listed] = await nodes[1].records.list("all", { limit: 10 });
    deepEqual([listed?.score, await nodes[1].records.count("all")], [value, 1]);
  });

  test(`${library}: a stream has each entry once and in order while the engine is killed`, {
    timeout: 240_000,
  }, async (t) => {
    let seq = 0;
    const { nodes, isOver } = await open(t, library, () => seq);
    const [a, b, c] = nodes;
    await a.logs.create("l", { ...LOG, maxEntries: 1_000_000, maxBytes: 1e9 });
    const writer = await a.logs.claim("l", "s");
    const followers = [b, c].map((node) =>
      collect(node.logs.follow("l", "s", undefined, new AbortController().signal)),
    );
    // An entry whose outcome is unknown is appended again before the next one.
    for (; !isOver(); seq++) while ((await attempt(() => writer.append(seq, String(seq)))) !== undefined);
    while ((await attempt(() => writer.append(seq, "end", { last: true }))) !== undefined);
    await Promise.all(followers.map(({ end }) => end));
    const wanted = [...Array.from({ length: seq }, (_, at) => String(at)), "end"];
    for (const { items } of followers)
      deepEqual(
        items.map(({ data }) => data),
        wanted,
      );
  });

  test(`${library}: each job is done while the engine is killed, and no two workers have it at once`, {
    timeout: 240_000,
  }, async (t) => {
    const working = new Set<string>();
    const done = new Set<string>();
    const added = new Set<string>();
    const { nodes, isOver } = await open(t, library, () => done.size);
    const controller = new AbortController();
    const work = async ({ queue }: Cluster) => {
      for await (const job of queue.take(controller.signal, { leaseMs: 500 })) {
        equal(working.has(job.id), false, job.id);
        working.add(job.id);
        job.lost.addEventListener("abort", () => working.delete(job.id));
        while (!job.lost.aborted) {
          const failure = await failureOf(() => job.done());
          if (failure === undefined) done.add(job.id);
          if (failure === undefined || failure === "fenced") break;
          await wait(5);
        }
        working.delete(job.id);
      }
    };
    const workers = nodes.map(work);
    for (let at = 0; !isOver(); at++) {
      const id = `job ${at}`;
      while ((await attempt(() => nodes[0].queue.add(id, ""))) !== undefined);
      added.add(id);
      await wait(1);
    }
    await wait(1_500);
    controller.abort();
    await Promise.all(workers);
    const left = [...added].filter((id) => !done.has(id));
    ok(left.length <= KILLS * nodes.length, `${left.length} jobs were not seen done: ${left}`);
    for (const id of left) equal(await nodes[0].queue.add(id, ""), true, `${id} is done`);
  });
}
