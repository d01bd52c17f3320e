import type { Cluster } from "../../cluster/cluster.js";
import { equal, ok } from "./assert.js";
import type { Case } from "./world.js";

/** Takes tokens from nodes in turn. Returns the number that was taken. */
async function takeMany(nodes: readonly Cluster[], times: number, limit: { burst: number; refillMs: number }) {
  let taken = 0;
  for (let at = 0; at < times; at++) if ((await nodes[at % nodes.length]?.buckets.take("k", limit))?.ok) taken++;
  return taken;
}

export function bucketsContract(add: Case): void {
  add("nodes together take no more tokens than a bucket has", async ({ node }) => {
    const nodes = [await node(), await node()];
    const start = performance.now();
    const limit = { burst: 20, refillMs: 10_000 };
    const taken = await takeMany(nodes, 80, limit);
    const refilled = Math.floor((performance.now() - start) / limit.refillMs) + 1;
    ok(taken <= limit.burst + refilled, `${taken} were taken`);
    ok(taken >= limit.burst / 2, `${taken} were taken`);
  });

  add("a refusal tells when the next token is there", async ({ node, elapse }) => {
    const a = await node();
    const limit = { burst: 2, refillMs: 500 };
    await takeMany([a], 10, limit);
    const refused = await a.buckets.take("k", limit);
    equal(refused.ok, false);
    ok(refused.retryInMs > 0 && refused.retryInMs <= 2 * limit.refillMs, `${refused.retryInMs}`);
    await elapse(refused.retryInMs + 5);
    const { ok: isTaken, retryInMs } = await a.buckets.take("k", limit);
    equal(isTaken, true);
    equal(retryInMs, 0);
  });

  add("a bucket is refilled to its burst and no further", async ({ node, elapse }) => {
    const nodes = [await node(), await node()];
    const limit = { burst: 4, refillMs: 100 };
    await takeMany(nodes, 20, limit);
    await elapse(20 * limit.refillMs);
    const start = performance.now();
    const taken = await takeMany([nodes[1] as Cluster], 20, limit);
    const refilled = Math.floor((performance.now() - start) / limit.refillMs) + 1;
    ok(taken >= 2 && taken <= limit.burst + refilled, `${taken} were taken`);
  });

  add("each key has its own bucket", async ({ node }) => {
    const a = await node();
    const limit = { burst: 1, refillMs: 100_000 };
    equal((await a.buckets.take("one", limit)).ok, true);
    equal((await a.buckets.take("one", limit)).ok, false);
    equal((await a.buckets.take("two", limit)).ok, true);
  });

  add("a bucket keeps what was taken when its limit changes", async ({ node }) => {
    const nodes = [await node(), await node()];
    const refillMs = 100_000;
    for (let at = 0; at < 4; at++) await nodes[at % 2]?.buckets.take("k", { burst: 4, refillMs });
    const taken = await takeMany(nodes, 12, { burst: 6, refillMs });
    equal(taken, 2);
  });
}
