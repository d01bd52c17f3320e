import { deepEqual, equal, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { ClusterError } from "bowline/cluster";
import { type Context, McpServer } from "bowline/server";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import { createMemoryState } from "bowline/testing";
import { until } from "../../support/census.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { replaceParts } from "../../support/nodes-world.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const wire = { wire: "modern-memory" };

proves(
  "tasks-ext:lifecycle:not-restartable",
  wire,
  "a drain waits for tasks that cannot go on elsewhere",
  async (t) => {
    const cluster = createMemoryState().node();
    t.after(() => cluster.close());
    const [begun, end] = [gate(), gate()];
    const work = tasks({ cluster });
    const server = new McpServer(me).extend(work).tool("once", { task: "required" }, async () => {
      begun.open();
      await end.opened;
      return "done";
    });
    const client = await connect(server, { extensions: [tasksClient({ notifications: false })] });
    t.after(() => client.close());
    const handle = await new ClientTasks(client).startTool("once");
    await begun.opened;
    handle.detach();
    let isDrained = false;
    const drained = server.drain(60_000).then(() => {
      isDrained = true;
    });
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    equal(isDrained, false);
    end.open();
    await drained;
    equal(work.running, 0);
    const { stage } = JSON.parse((await cluster.records.get(`task:${handle.id}`))?.value ?? "{}");
    equal(stage, "completed");
  },
);

proves(
  "tasks-ext:lifecycle:not-restartable",
  wire,
  "a drain leaves tasks that take longer than its time",
  async (t) => {
    const clock = new FakeClock();
    const begun = gate();
    const server = new McpServer(me, { clock })
      .extend(tasks())
      .tool("long", { task: "required" }, (_: unknown, ctx: Context) => {
        begun.open();
        return aborted(ctx.signal).then(() => "over");
      });
    const client = await connect(server, { extensions: [tasksClient()] });
    t.after(() => client.close());
    const { result } = await new ClientTasks(client).startTool("long");
    await begun.opened;
    const drained = server.drain(5_000);
    clock.advance(5_000);
    await drained;
    await rejects(result, { name: "ConnectionError" });
  },
);

proves(
  "tasks-ext:lifecycle:not-restartable",
  wire,
  "a drain of tasks in memory waits for all that run or are queued, restartable or not",
  async (t) => {
    const clock = new FakeClock();
    const [asked, begun, end] = [gate(), gate(), gate()];
    const ended: string[] = [];
    let aborts = 0;
    const work = tasks({ limits: { maxRunning: 2, maxRunningPerPrincipal: 1 } });
    const run = (name: string) => async (_: unknown, ctx: Context) => {
      ctx.signal.addEventListener("abort", () => aborts++);
      begun.open();
      await end.opened;
      ended.push(name);
      return name;
    };
    const server = new McpServer(me, { clock })
      .extend(work)
      .tool("again", { task: { support: "required", restartable: true } }, run("again"))
      .tool("once", { task: "required" }, run("once"))
      .tool("asks", { task: "required" }, async (_, ctx) => {
        try {
          await ctx.elicit("Where?", { type: "object", properties: { city: { type: "string" } } });
        } finally {
          asked.open();
        }
      });
    const client = await connect(server, {
      extensions: [tasksClient({ notifications: false })],
      onElicit: () => ({ action: "decline" }),
    });
    t.after(() => client.close());
    const starter = new ClientTasks(client);
    const start = async (tool: string) => (await starter.startTool(tool, {}, { input: "manual" })).detach();
    await start("asks");
    await asked.opened;
    await work.idle();
    for (const tool of ["again", "once", "again"]) await start(tool);
    await begun.opened;
    let isDrained = false;
    const drained = server.drain(20_000).then(() => {
      isDrained = true;
    });
    const turns = async () => {
      for (let count = 0; count < 20; count++) await new Promise((resolve) => setImmediate(resolve));
    };
    await turns();
    deepEqual([aborts, isDrained], [0, false]);
    end.open();
    await until("all have ended", () => {
      clock.advance(20);
      return isDrained;
    });
    await drained;
    deepEqual(ended.toSorted(), ["again", "again", "once"]);
    equal(aborts, 0);
  },
);

proves("tasks-ext:create:promote-after", wire, "a call does not become a task while the server drains", async (t) => {
  const clock = new FakeClock();
  const [begun, end] = [gate(), gate()];
  const server = new McpServer(me, { clock })
    .extend(tasks())
    .tool("slow", { task: { promoteAfterMs: 100 } }, async () => {
      begun.open();
      await end.opened;
      return "done";
    });
  const client = await connect(server, { extensions: [tasksClient()] });
  t.after(() => client.close());
  const slow = client.callTool("slow");
  await begun.opened;
  const drained = server.drain(5_000);
  clock.advance(100);
  await new Promise((resolve) => setImmediate(resolve));
  end.open();
  equal((await slow).text, "done");
  await drained;
});

proves(
  "tasks-ext:create:promote-after",
  { wire: "modern-fetch" },
  "a call goes on in its request if the engine is away when it is to become a task",
  async (t) => {
    const world = new TaskNodes(t);
    const [begun, end] = [gate(), gate()];
    const slow = async () => {
      begun.open();
      await end.opened;
      return "done";
    };
    const away = () => Promise.reject(new ClusterError("unavailable", "the engine is away"));
    const node = world.node((server) => server.tool("slow", { task: { promoteAfterMs: 100 } }, slow), {
      wrap: ({ leases }) => ({ leases: replaceParts(leases, { acquire: away }) }),
      tasks: { work: false },
    });
    const called = node.client.call("slow");
    await begun.opened;
    await world.pass(100);
    end.open();
    const { result, error } = await called;
    deepEqual(result?.content, [{ type: "text", text: "done" }], JSON.stringify(error));
    equal(String(node.errors[0]), "ClusterError: the engine is away");
  },
);
