import type { Cluster, Lease } from "../../cluster/cluster.js";
import { ClusterError, type ClusterFailure } from "../../cluster/error.js";
import { equal, notEqual, ok } from "./assert.js";
import { type Case, LIFE_MS, PAST_LIFE_MS, until } from "./world.js";

async function hold(node: Cluster, name = "l"): Promise<Lease> {
  const lease = await node.leases.acquire(name, LIFE_MS);
  ok(lease, `${node.node} acquires ${name}`);
  return lease;
}

/** Returns the failure that tells why a lease or a job was lost. */
export function reasonOf({ lost }: Pick<Lease, "lost">): ClusterFailure | undefined {
  return lost.reason instanceof ClusterError ? lost.reason.failure : undefined;
}

export function leasesContract(add: Case): void {
  add("a lease has one holder, also within a node", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const lease = await hold(a);
    equal(await b.leases.acquire("l", LIFE_MS), undefined);
    equal(await a.leases.acquire("l", LIFE_MS), undefined);
    await hold(b, "another");
    equal(lease.lost.aborted, false);
  });

  add("one of many nodes acquires a lease", async ({ node }) => {
    const nodes = await Promise.all([node(), node(), node(), node()]);
    const won = await Promise.all(nodes.map(async ({ leases }) => leases.acquire("l", LIFE_MS)));
    equal(won.filter((lease) => lease !== undefined).length, 1);
  });

  add("a lease renews itself", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    const lease = await hold(a);
    for (let times = 0; times < 3; times++) await elapse(PAST_LIFE_MS / 1.5);
    equal(lease.lost.aborted, false);
    equal(await b.leases.acquire("l", LIFE_MS), undefined);
  });

  add("a released lease can be acquired at once", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const lease = await hold(a);
    await lease.release();
    const next = await hold(b);
    await lease.release();
    equal(await a.leases.acquire("l", LIFE_MS), undefined);
    equal(next.lost.aborted, false);
    equal(lease.lost.aborted, false);
  });

  add("a node that closes loses its leases at once", async ({ node, close }) => {
    const [a, b] = [await node(), await node()];
    const lease = await hold(a);
    await close(a);
    equal(lease.lost.aborted, true);
    equal(reasonOf(lease), "unavailable");
    await hold(b);
  });

  add("the lease of a lost node is lost before another node can hold it", async ({ node, crash, elapse }) => {
    const [a, b] = [await node(), await node()];
    const lease = await hold(a);
    const lost = new Promise((resolve) => lease.lost.addEventListener("abort", resolve));
    await crash(a);
    let next: Lease | undefined;
    await until(async () => {
      next = await b.leases.acquire("l", LIFE_MS);
      if (next === undefined) await elapse(LIFE_MS / 10);
      return next !== undefined;
    }, "the lease of a lost node is free");
    equal(lease.lost.aborted, true);
    equal(reasonOf(lease), "fenced");
    await lost;
    notEqual(next, undefined);
    equal(next?.lost.aborted, false);
  });
}
