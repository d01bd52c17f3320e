import { deepEqual, equal } from "node:assert/strict";
import type { Cluster, PutOptions } from "bowline/cluster";
import { type Context, McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { aborted, gate } from "../../support/gate.js";
import { replaceParts } from "../../support/nodes-world.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

/** Replaces `put` of the records of a cluster. */
function withPut(
  { records }: Cluster,
  put: (write: () => Promise<string | undefined>, value: string) => Promise<string | undefined>,
  change: (options: PutOptions | undefined) => PutOptions | undefined = (options) => options,
): Partial<Cluster> {
  return {
    records: replaceParts(records, {
      put: (key, value, options) => put(async () => records.put(key, value, change(options)), value),
    }),
  };
}

proves(
  "tasks-ext:cancel:aborts-handler",
  {},
  "a cancellation that comes before the process knows that it runs the task",
  async (t) => {
    const world = new TaskNodes(t);
    const [stored, reply] = [gate(), gate()];
    const signals: AbortSignal[] = [];
    const define = (server: McpServer) =>
      void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
        signals.push(ctx.signal);
        throw await aborted(ctx.signal);
      });
    const front = world.node(define, { tasks: { work: false } });
    const worker = world.node(define, {
      wrap: (cluster) =>
        withPut(cluster, async (write, value) => {
          const version = await write();
          if (!value.includes('"stage":"running"')) return version;
          stored.open();
          await reply.opened;
          return version;
        }),
    });
    const taskId = await front.client.start("t");
    await stored.opened;
    await front.client.cancel(taskId);
    reply.open();
    await world.pass(1_000);
    equal(worker.extension.running, 0);
    equal(
      signals.every((signal) => signal.aborted),
      true,
    );
    equal((await front.client.get(taskId)).status, "cancelled");
  },
);

proves("tasks-ext:ttl:expiry", { wire: "modern-fetch" }, "leaves nothing in the store", async (t) => {
  const world = new TaskNodes(t);
  const keys = new Set<string>();
  const { client, cluster } = world.node(
    (server) =>
      server
        .tool("waits", { task: { ttlMs: 5_000 } }, async (_: unknown, ctx: Context) => {
          throw await aborted(ctx.signal);
        })
        .tool("asks", { task: { ttlMs: 5_000 } }, async (_: unknown, ctx: Context) => {
          await ctx.elicit("Go on?", { type: "object", properties: {} });
        })
        .tool("ends", { task: { ttlMs: 5_000 } }, () => "done"),
    {
      wrap: ({ records }) => ({
        records: replaceParts(records, {
          put: (key, value, options) => {
            keys.add(key);
            return records.put(key, value, options);
          },
        }),
      }),
    },
  );
  const kept = async () => {
    const found = await Promise.all([...keys].map(async (key) => cluster.records.get(key)));
    return found.filter((record) => record !== undefined);
  };
  const ids = [await client.start("waits"), await client.start("asks"), await client.start("ends")] as const;
  await client.until(ids[1], "input_required");
  equal(await client.text(ids[2]), "done");
  const before = await kept();
  for (const id of ids)
    equal(
      before.some(({ key, value }) => `${key} ${value}`.includes(id)),
      true,
    );
  await world.pass(5_100);
  deepEqual(await kept(), []);
});

proves(
  "tasks-ext:ttl:expiry",
  { wire: "modern-fetch" },
  "a task does not run again if the engine keeps it a little longer",
  async (t) => {
    for (const restartable of [true, false]) {
      const world = new TaskNodes(t);
      const begun = gate();
      let runs = 0;
      const slower = (options: PutOptions = {}) => ({ ...options, ttlMs: (options.ttlMs ?? 0) + 500 });
      const { client, extension } = world.node(
        (server) =>
          server.tool("t", { task: { ttlMs: 5_000, restartable } }, async (_: unknown, ctx: Context) => {
            runs++;
            begun.open();
            throw await aborted(ctx.signal);
          }),
        { wrap: (cluster) => withPut(cluster, (write) => write(), slower) },
      );
      const taskId = await client.start("t");
      await begun.opened;
      await world.pass(5_200);
      equal(runs, 1);
      equal(extension.running, 0);
      equal((await client.get(taskId)).status, "working");
    }
  },
);

proves(
  "tasks-ext:create:promote-after",
  { wire: "modern-fetch" },
  "a drain waits for the task of a call that is being stored",
  async (t) => {
    const world = new TaskNodes(t);
    const [begun, end, storing, store] = [gate(), gate(), gate(), gate()];
    const { server, client, cluster } = world.node(
      (server) =>
        server.tool("slow", { task: { promoteAfterMs: 100 } }, async () => {
          begun.open();
          await end.opened;
          return "done";
        }),
      {
        wrap: (cluster) =>
          withPut(cluster, async (write) => {
            storing.open();
            await store.opened;
            return write();
          }),
      },
    );
    const called = client.call("slow");
    await begun.opened;
    await world.pass(100);
    await storing.opened;
    let isDrained = false;
    const drained = server.drain(60_000).then(() => {
      isDrained = true;
    });
    await world.pass(100);
    store.open();
    const taskId = (await called).result?.taskId as string;
    await world.pass(1_000);
    equal(isDrained, false);
    end.open();
    await drained;
    const { stage } = JSON.parse((await cluster.records.get(`task:${taskId}`))?.value ?? "{}");
    equal(stage, "completed");
  },
);

proves("tasks-ext:lifecycle:not-restartable", {}, "the end of a server ends the tasks in its memory", async (t) => {
  for (const task of ["optional", { promoteAfterMs: 0 }] as const)
    for (const end of ["close", "drain"] as const) {
      const begun = gate<AbortSignal>();
      const server = new McpServer({ name: "tasks", version: "1" })
        .tool("t", { task }, async (_: unknown, ctx: Context) => {
          begun.open(ctx.signal);
          throw await aborted(ctx.signal);
        })
        .extend(tasks());
      t.after(() => server.close());
      const { connect } = await import("bowline/client");
      const { tasksClient, ClientTasks } = await import("bowline/tasks/client");
      const client = await connect(server, { extensions: [tasksClient()] });
      t.after(() => client.close());
      const handle = await new ClientTasks(client).startTool("t");
      const signal = await begun.opened;
      handle.detach();
      await (end === "close" ? server.close() : server.drain(1));
      await new Promise((resolve) => setImmediate(resolve));
      deepEqual([end, signal.aborted], [end, true]);
    }
});
