import { deepEqual, equal, ok } from "node:assert/strict";
import type { Cluster } from "bowline/cluster";
import type { McpServer } from "bowline/server";
import { gate } from "../../support/gate.js";
import { replaceParts } from "../../support/nodes-world.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const lacksTool = (server: McpServer) => void server.tool("other", { task: "optional" }, () => "other");

proves(
  "tasks-ext:lifecycle:worker-lost",
  {},
  "a node without the tool leaves a promoted task to its node",
  async (t) => {
    const world = new TaskNodes(t);
    const end = gate();
    const has = world.node(
      (server) =>
        void server.tool("slow", { task: { promoteAfterMs: 100 } }, async () => {
          await end.opened;
          return "done";
        }),
    );
    const lacks = world.node(lacksTool);
    const called = has.client.start("slow");
    await world.pass(300);
    const taskId = await called;
    await world.pass(120_000);
    equal((await lacks.client.get(taskId)).status, "working");
    equal(has.extension.running, 1);
    end.open();
    await world.until("the task has ended", async () => (await lacks.client.get(taskId)).status !== "working");
    equal(await lacks.client.text(taskId), "done");
  },
);

proves("tasks-ext:lifecycle:worker-lost", {}, "a node without the tool waits for one that is full", async (t) => {
  const world = new TaskNodes(t);
  const end = gate();
  const has = world.node(
    (server) =>
      void server
        .tool("long", { task: "optional" }, async () => {
          await end.opened;
          return "long";
        })
        .tool("new", { task: "optional" }, () => "new"),
    { tasks: { limits: { maxRunning: 1 } } },
  );
  await has.client.start("long");
  await world.until("the node is full", () => has.extension.running === 1);
  let looks = 0;
  const lacks = world.node(lacksTool, {
    wrap: ({ queue }: Cluster) => ({
      queue: replaceParts(queue, {
        take: async function* (signal, options) {
          for await (const job of queue.take(signal, options)) {
            looks++;
            yield job;
          }
        },
      }),
    }),
  });
  const taskId = await has.client.start("new");
  await world.pass(150_000);
  equal((await has.client.get(taskId)).status, "working");
  ok(looks >= 20 && looks <= 40, `${looks} looks in 150 s`);
  end.open();
  await world.until("the task has ended", async () => (await lacks.client.get(taskId)).status !== "working");
  equal(await lacks.client.text(taskId), "new");
  deepEqual([...has.errors, ...lacks.errors], []);
});

proves(
  "tasks-ext:lifecycle:worker-lost",
  {},
  "a task fails after the last node with its tool has stopped",
  async (t) => {
    const world = new TaskNodes(t);
    const end = gate();
    t.after(() => end.open());
    const has = world.node(
      (server) =>
        void server
          .tool("long", { task: "optional" }, async () => {
            await end.opened;
            return "long";
          })
          .tool("new", { task: "optional" }, () => "new"),
      { tasks: { limits: { maxRunning: 1 } } },
    );
    await has.client.start("long");
    await world.until("the node is full", () => has.extension.running === 1);
    const lacks = world.node(lacksTool);
    const taskId = await has.client.start("new");
    await world.pass(70_000);
    equal((await lacks.client.get(taskId)).status, "working");
    const drained = has.server.drain(300_000);
    await world.pass(50_000);
    equal((await lacks.client.get(taskId)).status, "working", "another node may start within a minute");
    await world.until("the task has failed", async () => (await lacks.client.get(taskId)).status === "failed");
    deepEqual((await lacks.client.get(taskId)).error?.data, { code: "unknown_tool" });
    end.open();
    await drained;
  },
);

proves("tasks-ext:create:promote-after", {}, "a promoted task takes its own job once per lease", async (t) => {
  const world = new TaskNodes(t);
  const end = gate();
  let returned = 0;
  const node = world.node(
    (server) =>
      void server.tool("slow", { task: { promoteAfterMs: 100 } }, async () => {
        await end.opened;
        return "done";
      }),
    {
      wrap: ({ queue }: Cluster) => ({
        queue: replaceParts(queue, {
          take: async function* (signal, options) {
            for await (const job of queue.take(signal, options))
              yield replaceParts(job, {
                later: (ms) => {
                  returned++;
                  return job.later(ms);
                },
              });
          },
        }),
      }),
    },
  );
  const called = node.client.start("slow");
  await world.pass(300);
  const taskId = await called;
  await world.pass(100_000);
  ok(returned >= 9 && returned <= 10, `its job was returned ${returned} times in 100 s`);
  end.open();
  equal(await node.client.text(taskId), "done");
});
