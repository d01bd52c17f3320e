import { deepEqual, equal } from "node:assert/strict";
import { memoryCluster } from "bowline/cluster";
import { type Context, McpServer, RpcError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernChannels, modernHttp, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { replaceParts } from "../../support/nodes-world.js";
import { enveloped } from "../../support/raw-client.js";
import { TASKS, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const DECLARED = { "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } };

verifies("tasks-ext:cancel:ack-empty", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM))
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  for (const [name, status] of [
    ["blocks", "working"],
    ["asks", "input_required"],
  ] as const) {
    const taskId = await client.start(name);
    await client.until(taskId, status);
    const { result } = await client.cancel(taskId);
    equal(result?.resultType, "complete");
    deepEqual(
      Object.keys(result ?? {}).filter((key) => key !== "_meta"),
      ["resultType"],
    );
  }
});

verifies("tasks-ext:cancel:aborts-handler", modernWires, async (world, t) => {
  const seen: AbortSignal[] = [];
  const open = gate();
  const leave = gate();
  const server = new McpServer(me)
    .tool("stops", { task: "optional" }, async (_: unknown, ctx: Context) => {
      seen.push(ctx.signal);
      throw await aborted(ctx.signal);
    })
    .tool("ignores", { task: "optional" }, async (_: unknown, ctx: Context) => {
      seen.push(ctx.signal);
      await open.opened;
      leave.open();
      return "late";
    })
    .tool("races", { task: "optional" }, () => "first")
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM))
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  for (const name of ["stops", "ignores"]) {
    const taskId = await client.start(name);
    await until("the handler runs", () => seen.length > 0);
    const [signal] = seen.splice(0);
    equal(signal?.aborted, false);
    await client.cancel(taskId);
    equal(signal?.aborted, true);
    equal((await client.get(taskId)).status, "cancelled");
    if (name !== "ignores") continue;
    open.open();
    await leave.opened;
    await client.raw.settled();
    equal((await client.get(taskId)).status, "cancelled");
  }
  const raced = await client.start("races");
  await client.text(raced);
  await client.cancel(raced);
  equal((await client.get(raced)).status, "completed");
  const asked = await client.start("asks");
  await client.until(asked, "input_required");
  await client.cancel(asked);
  const task = await client.get(asked);
  equal(task.status, "cancelled");
  equal("inputRequests" in task, false);
});

verifies("tasks-ext:cancel:terminal-idempotent", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("ends", { task: "optional" }, () => "x")
    .tool("fails", { task: "optional" }, () => {
      throw new RpcError(-31050, "no");
    })
    .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .extend(tasks());
  const client = await taskClient(world, server, t);
  for (const [name, status] of [
    ["ends", "completed"],
    ["fails", "failed"],
    ["blocks", "cancelled"],
  ] as const) {
    const taskId = await client.start(name);
    const first = name === "blocks" ? (await client.cancel(taskId)).result : undefined;
    const before = await client.until(taskId, status);
    const { result } = await client.cancel(taskId);
    equal(result?.resultType, "complete");
    if (first !== undefined) deepEqual(result, first);
    deepEqual(await client.get(taskId), before);
  }
});

verifies("tasks-ext:cancel:disconnect-keeps-task", "by a notification", modernChannels, async (world, t) => {
  const open = gate();
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async () => {
      await open.opened;
      return "x";
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const { result } = await client.raw.ask(enveloped("create", "tools/call", { name: "t", arguments: {} }, DECLARED));
  client.raw.send({ method: "notifications/cancelled", params: { requestId: "create" } });
  await client.raw.settled();
  open.open();
  equal(await client.text(result?.taskId as string), "x");
});

verifies(
  ["tasks-ext:cancel:disconnect-keeps-task", "tasks-ext:lifecycle:any-connection"],
  "by the end of the connection",
  modernWires,
  async (world, t) => {
    const open = gate();
    const server = new McpServer(me)
      .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
        await open.opened;
        return String(ctx.signal.aborted);
      })
      .extend(tasks());
    const first = await taskClient(world, server, t);
    const taskId = await first.start("t");
    await first.raw.close();
    const second = await taskClient(world, server, t);
    equal((await second.get(taskId)).status, "working");
    open.open();
    equal(await second.text(taskId), "false");
  },
);

verifies("tasks-ext:cancel:disconnect-keeps-task", "of a call that became a task", modernHttp, async (world, t) => {
  const clock = new FakeClock();
  const open = gate();
  const reached = gate();
  const server = new McpServer(me, { clock })
    .tool("t", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      reached.open();
      await open.opened;
      return String(ctx.signal.aborted);
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const created = client.call("t");
  await reached.opened;
  clock.advance(100);
  const taskId = (await created).result?.taskId as string;
  client.raw.abandon("task-1");
  await client.raw.settled();
  open.open();
  equal(await client.text(taskId), "false");
});

verifies("tasks-ext:cancel:aborts-handler", "before a call has become a task", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const reached = gate<AbortSignal>();
  const extension = tasks();
  const server = new McpServer(me, { clock })
    .tool("t", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    })
    .extend(extension);
  const client = await taskClient(world, server, t);
  client.raw.send(enveloped("call", "tools/call", { name: "t", arguments: {} }, DECLARED), { "mcp-name": "t" });
  const signal = await reached.opened;
  client.raw.abandon("call");
  await aborted(signal);
  clock.advance(100);
  await client.raw.settled();
  equal(extension.running, 0);
});

for (const promoteAfterMs of [undefined, 100])
  verifies(
    "tasks-ext:cancel:aborts-handler",
    `while the task is being stored${promoteAfterMs === undefined ? "" : " for a call that runs"}`,
    modernWires,
    async (world, t) => {
      const clock = new FakeClock();
      const storing = gate();
      const open = gate();
      const signals: AbortSignal[] = [];
      const keys = new Set<string>();
      const inner = memoryCluster({ clock });
      const cluster = replaceParts(inner, {
        records: replaceParts(inner.records, {
          put: async (key, value, options) => {
            keys.add(key);
            storing.open();
            await open.opened;
            return inner.records.put(key, value, options);
          },
        }),
      });
      const extension = tasks({ cluster });
      const task = promoteAfterMs === undefined ? {} : { promoteAfterMs };
      const server = new McpServer(me, { clock })
        .tool("t", { task }, async (_: unknown, ctx: Context) => {
          signals.push(ctx.signal);
          throw await aborted(ctx.signal);
        })
        .extend(extension);
      const client = await taskClient(world, server, t);
      client.raw.send(enveloped("call", "tools/call", { name: "t", arguments: {} }, DECLARED), { "mcp-name": "t" });
      if (promoteAfterMs !== undefined) {
        await until("the handler runs", () => signals.length === 1);
        clock.advance(promoteAfterMs);
      }
      await storing.opened;
      client.raw.abandon("call");
      await client.raw.settled();
      open.open();
      const kept = async () =>
        (await Promise.all([...keys].map((key) => inner.records.get(key)))).filter((record) => record !== undefined);
      await until("the task is cancelled", async () => {
        const [record] = await kept();
        return record?.value.includes('"stage":"cancelled"') === true;
      });
      await extension.idle();
      equal(
        signals.every((signal) => signal.aborted),
        true,
      );
    },
  );
