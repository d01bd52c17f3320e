import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Cluster, ClusterError, type Job } from "bowline/cluster";
import { until } from "../../../support/census.js";
import { aborted } from "../../../support/gate.js";
import { replaceParts } from "../../../support/nodes-world.js";
import { type TaskNode, type TaskNodeOptions, TaskNodes } from "../../../support/task-nodes.js";

type Limits = NonNullable<TaskNodeOptions["tasks"]>["limits"] & {};

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Methods of the parts of a cluster that send something to an engine. */
const SENT = {
  records: ["get", "put", "delete", "list", "count"],
  bus: ["publish"],
  leases: ["acquire"],
  queue: ["add"],
};

/** Operations of a cluster, by name. Each takes a turn of the event loop, as on an engine. */
class Operations {
  readonly counts: Record<string, number> = {};
  isFailing = false;

  wrap(cluster: Cluster): Partial<Cluster> {
    const wrapped = (part: keyof typeof SENT, more = {}) => {
      const whole = cluster[part] as unknown as Record<string, (...args: unknown[]) => unknown>;
      const methods = SENT[part].map((name) => [
        name,
        (...args: unknown[]) => this.#count(name, () => whole[name]?.(...args)),
      ]);
      return replaceParts<object>(whole, { ...Object.fromEntries(methods), ...more });
    };
    const take = (...args: Parameters<Cluster["queue"]["take"]>) => this.#taken(cluster.queue.take(...args));
    return {
      records: wrapped("records") as Cluster["records"],
      bus: wrapped("bus") as Cluster["bus"],
      leases: wrapped("leases") as Cluster["leases"],
      queue: wrapped("queue", { take }) as Cluster["queue"],
    };
  }

  async #count(name: string, work: () => unknown): Promise<unknown> {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    await turn();
    if (this.isFailing) throw new ClusterError("unavailable", "the engine is away");
    return work();
  }

  async *#taken(jobs: AsyncIterable<Job>): AsyncIterable<Job> {
    for await (const job of jobs) {
      await this.#count("take", () => {});
      yield replaceParts(job, { done: async () => void (await this.#count("done", () => job.done())) });
    }
  }

  /** Returns the operations of some work. */
  async during(work: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
    const before = { ...this.counts };
    await work();
    const spent = Object.entries(this.counts).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
    return Object.fromEntries(spent.filter(([, count]) => count > 0).sort());
  }
}

/** Starts a node whose operations are counted. Its tasks run on it. */
async function world(t: TestContext, limits: Limits = {}) {
  const operations = new Operations();
  const define = (server: TaskNode["server"]) =>
    void server
      .tool("work", { task: { restartable: true } }, () => "done")
      .tool("blocks", { task: "required" }, (_, ctx) => aborted(ctx.signal))
      .tool("steps", { task: { restartable: true } }, async (_, ctx) => {
        for (const name of ["one", "two", "three"]) await ctx.step(name, () => name);
        return "done";
      });
  const wrap = (cluster: Cluster) => operations.wrap(cluster);
  const nodes = new TaskNodes(t);
  const node = nodes.node(define, { wrap, tasks: { limits } });
  const run = async (tool: string, number: number) => {
    const ended = operations.counts.done ?? 0;
    const all = await Promise.allSettled(Array.from({ length: number }, () => node.client.start(tool)));
    const created = all.filter(({ status }) => status === "fulfilled").length;
    await until("the tasks have ended", () => operations.counts.done === ended + created);
    await node.extension.idle();
    return created;
  };
  await run("work", 1);
  return { node, operations, run, clock: nodes.clock };
}

test("a task of a caller without a name needs thirteen operations of an engine, and two more for each step", async (t) => {
  const { operations, run } = await world(t);
  const task = { add: 1, count: 5, done: 1, get: 1, publish: 1, put: 3, take: 1 };
  deepEqual(await operations.during(() => run("work", 1)), task);
  deepEqual(await operations.during(() => run("steps", 1)), { ...task, put: 9 });
});

test("tasks that are created at once share the counts of their limits", async (t) => {
  const { operations, run } = await world(t);
  const { count = 0, ...others } = await operations.during(() => run("work", 32));
  deepEqual(others, { add: 32, done: 32, get: 32, publish: 32, put: 96, take: 32 });
  ok(count <= 20, `${count} counts`);
});

test("tasks that are created at once do not exceed their limits", async (t) => {
  const { node } = await world(t, { maxTasksPerPrincipal: 10 });
  const all = await Promise.allSettled(Array.from({ length: 32 }, () => node.client.start("blocks")));
  equal(all.filter(({ status }) => status === "fulfilled").length, 10);
});

test("tasks that are created at once push out no more ended ones than they must", async (t) => {
  const { node, run, clock } = await world(t, { maxKeptPerPrincipal: 11 });
  const ids: string[] = [];
  for (let round = 0; round < 15; round++) {
    ids.push(await node.client.start("work"));
    await node.client.text(ids.at(-1) as string);
    clock.advance(1);
  }
  const isKept = async (taskId: string) => (await node.client.request("tasks/get", { taskId })).error === undefined;
  const kept = await Promise.all(ids.map(isKept));
  deepEqual(kept, [...Array(4).fill(false), ...Array(11).fill(true)]);
  equal(await run("work", 8), 8);
  equal((await Promise.all(ids.map(isKept))).filter(Boolean).length, 3);
});

test("a count that fails is no obstacle to later tasks", async (t) => {
  const { operations, run } = await world(t);
  operations.isFailing = true;
  equal(await run("work", 4), 0);
  operations.isFailing = false;
  equal(await run("work", 4), 4);
});
