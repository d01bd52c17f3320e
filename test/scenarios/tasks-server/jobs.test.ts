import { equal } from "node:assert/strict";
import { type Cluster, ClusterError } from "bowline/cluster";
import type { Context, McpServer } from "bowline/server";
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
