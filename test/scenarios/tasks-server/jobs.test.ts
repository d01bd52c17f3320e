import { equal, ok } from "node:assert/strict";
import { type Cluster, ClusterError } from "bowline/cluster";
import type { Context, McpServer } from "bowline/server";
import type { Store } from "#src/cluster/store.js";
import { replaceParts } from "../../support/nodes-world.js";
import { accept } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

const define = (server: McpServer) =>
  void server.tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => {
    const { content } = await ctx.elicit("Where?", FORM, { key: "q" });
    return String(content?.city);
  });

/** Queue of a node that can add no jobs while `isAway` is true. */
const addsUnless = (isAway: () => boolean) => ({
  tasks: { work: false },
  wrap: ({ queue }: Cluster) => ({
    queue: replaceParts(queue, {
      add: (...job) => (isAway() ? Promise.reject(new ClusterError("unavailable", "away")) : queue.add(...job)),
    }),
  }),
});

proves("tasks-ext:update:resumes", {}, "a job that cannot be added after an answer is added later", async (t) => {
  const world = new TaskNodes(t);
  let isAway = false;
  const front = world.node(
    define,
    addsUnless(() => isAway),
  );
  const worker = world.node(define);
  const taskId = await front.client.start("asks");
  await world.until("it asks", async () => (await worker.client.get(taskId)).status === "input_required");
  isAway = true;
  equal((await front.client.update(taskId, { q: accept({ city: "Oslo" }) })).error, undefined, "the answer is stored");
  await world.pass(3_000);
  equal(front.errors.length > 0, true);
  isAway = false;
  await world.pass(2_000);
  equal((await worker.client.get(taskId)).status, "completed", "without a poll after leaseMs");
});

proves(
  ["tasks-ext:update:resumes", "tasks-ext:notify:own-proof"],
  {},
  "a task whose process ended before it added the job goes on for a client that only listens",
  async (t) => {
    const world = new TaskNodes(t);
    let isAway = false;
    const front = world.node(
      define,
      addsUnless(() => isAway),
    );
    const worker = world.node(define);
    const taskId = await front.client.start("asks");
    await world.until("it asks", async () => (await worker.client.get(taskId)).status === "input_required");
    isAway = true;
    await front.client.update(taskId, { q: accept({ city: "Oslo" }) });
    const heard = await worker.listen([taskId]);
    await front.server.close();
    await world.pass(9_000);
    equal(heard.at(-1)?.params?.status, undefined, "the job is not missed before leaseMs");
    await world.until("the end is told", () => heard.some(({ params }) => params?.status === "completed"));
  },
);

proves(
  "tasks-ext:lifecycle:unread-job",
  {},
  "a job that no process can read is looked at ever more rarely, at least every minute, and does not delay others",
  async (t) => {
    const world = new TaskNodes(t);
    const looks: number[] = [];
    const counted = (store: Store): Store =>
      replaceParts(store, {
        takeDue: async (index, options) => {
          const found = await store.takeDue(index, options);
          if (typeof found === "object" && found.some(({ key }) => key === "job/foreign"))
            looks.push(world.clock.now());
          return found;
        },
      });
    const worker = world.node(define, { store: counted });
    await worker.cluster.queue.add("foreign", "not of this release");
    await world.pass(10 * 60_000);
    const waits = looks.slice(1).map((at, look) => at - (looks[look] ?? 0));
    ok(looks.length <= 30, `${looks.length} looks in ten minutes`);
    ok(Math.max(...waits) <= 61_000, `${waits}`);
    ok((waits.at(-1) ?? 0) >= 30_000, `${waits}`);
    equal(worker.errors.length, looks.length, "each look is reported");
    const taskId = await worker.client.start("asks");
    await world.until("it asks", async () => (await worker.client.get(taskId)).status === "input_required");
  },
);
