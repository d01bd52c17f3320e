import { deepEqual, equal } from "node:assert/strict";
import { type Context, McpServer, RpcError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { enveloped, type Message, type RawClient } from "../../support/raw-client.js";
import { accept, TASKS, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const DECLARED = { "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } };
const ACK = "notifications/subscriptions/acknowledged";
const CHANGED = "notifications/tasks";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Opens a subscription and returns the filter of its acknowledgment. */
async function listen(raw: RawClient, id: string, notifications: Message, meta: Message = DECLARED): Promise<Message> {
  raw.send(enveloped(id, "subscriptions/listen", { notifications }, meta));
  const isAck = ({ method, params }: RawClient["heard"][number]) =>
    method === ACK && (params?._meta as Message | undefined)?.[SUBSCRIPTION] === id;
  await raw.until((heard) => heard.some(isAck));
  return raw.heard.find(isAck)?.params?.notifications as Message;
}

/** Tasks that a client was notified of. */
function told(raw: RawClient): Message[] {
  return raw.heard.flatMap(({ method, params }) => (method === CHANGED && params !== undefined ? [params] : []));
}

verifies("tasks-ext:notify:subscribe", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const taskId = await client.start("blocks");
  const filter = await listen(client.raw, "s", { taskIds: ["unknown", taskId, "", taskId] });
  deepEqual(filter, { taskIds: [taskId] });
  for (const taskIds of ["x", [7], null, Array.from({ length: 101 }, () => "x")]) {
    const { error } = await client.request("subscriptions/listen", { notifications: { taskIds } });
    equal(error?.code, -32602, JSON.stringify(taskIds));
  }
});

verifies(
  "tasks-ext:notify:full-state",
  "of a task that ended before the subscription",
  modernWires,
  async (world, t) => {
    const server = new McpServer(me).tool("quick", { task: "optional" }, () => "done").extend(tasks());
    const client = await taskClient(world, server, t);
    const taskId = await client.start("quick");
    await client.until(taskId, "completed");
    await listen(client.raw, "s", { taskIds: [taskId] });
    await client.raw.until(() => told(client.raw).length > 0);
    equal(told(client.raw)[0]?.status, "completed");
  },
);

verifies("tasks-ext:notify:non-declaring", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const taskId = await client.start("blocks");
  const { error } = await client.request("subscriptions/listen", { notifications: { taskIds: [taskId] } }, {});
  equal(error?.code, -32021);
  deepEqual(error?.data, { requiredCapabilities: { extensions: { [TASKS]: {} } } });
  await client.raw.settled();
  equal(
    client.raw.heard.some(({ method }) => method === ACK),
    false,
  );
});

verifies(["tasks-ext:notify:full-state", "tasks-ext:notify:own-proof"], modernWires, async (world, t) => {
  const [turn, end] = [gate(), gate()];
  const server = new McpServer(me)
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => {
      await turn.opened;
      const { content } = await ctx.elicit("Where?", FORM);
      await end.opened;
      return String(content?.city);
    })
    .tool("fails", { task: "optional" }, async () => {
      await turn.opened;
      throw new RpcError(-31050, "no");
    })
    .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const [asks, fails, blocks] = [await client.start("asks"), await client.start("fails"), await client.start("blocks")];
  await listen(client.raw, "s", { taskIds: [asks, fails, blocks] });
  const asGot = async (taskId: string, status: string) => {
    await until(`${status} is told`, () =>
      told(client.raw).some((task) => task.taskId === taskId && task.status === status),
    );
    const { _meta, ...params } =
      told(client.raw).find((task) => task.taskId === taskId && task.status === status) ?? {};
    deepEqual(_meta, { [SUBSCRIPTION]: "s" });
    const { result } = await client.request("tasks/get", { taskId });
    const { resultType, _meta: _, ...got } = result ?? {};
    deepEqual(params, got);
    return got;
  };
  turn.open();
  const waiting = await asGot(asks, "input_required");
  deepEqual(Object.keys(waiting.inputRequests as Message), ["ask-1"]);
  await asGot(fails, "failed");
  await client.cancel(blocks);
  await asGot(blocks, "cancelled");
  await client.update(asks, { "ask-1": accept({ city: "Oslo" }) });
  // A state is read after it was announced, so that a short one can be passed over.
  const isRun = ({ taskId, status }: Message) => taskId === asks && status === "working";
  await until("the run is told", () => told(client.raw).some(isRun));
  end.open();
  const done = await asGot(asks, "completed");
  equal((done.result as { content: Message[] }).content[0]?.text, "Oslo");
  const statuses = told(client.raw).filter(({ taskId }) => taskId === asks);
  deepEqual([...new Set(statuses.map(({ status }) => status))], ["input_required", "working", "completed"]);
  const times = statuses.map(({ lastUpdatedAt }) => lastUpdatedAt);
  deepEqual(times, [...new Set(times)].sort(), "no state is told twice, and none after a later one");
});

verifies("tasks-ext:notify:full-state", "of a working task", modernWires, async (world, t) => {
  const turn = gate();
  const server = new McpServer(me)
    .tool("works", { task: "optional" }, async (_: unknown, ctx: Context) => {
      await turn.opened;
      ctx.progress(1, 2);
      await aborted(ctx.signal);
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const taskId = await client.start("works");
  await listen(client.raw, "s", { taskIds: [taskId] });
  turn.open();
  await until("the status is told", () => told(client.raw).some(({ statusMessage }) => statusMessage === "1 of 2"));
  const { _meta, ...params } = told(client.raw).find(({ statusMessage }) => statusMessage === "1 of 2") ?? {};
  const { resultType, _meta: _, ...got } = (await client.request("tasks/get", { taskId })).result ?? {};
  deepEqual(params, got);
});

verifies(["tasks-ext:notify:only-subscribed", "tasks-ext:notify:own-proof"], modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const [mine, other, unheard] = [
    await client.start("blocks"),
    await client.start("blocks"),
    await client.start("blocks"),
  ];
  await client.cancel(unheard);
  await listen(client.raw, "s", { taskIds: [mine] });
  await listen(client.raw, "tools", { toolsListChanged: true });
  await client.cancel(other);
  await client.cancel(mine);
  await until("the change is told", () => told(client.raw).length > 0);
  await client.raw.settled();
  deepEqual(
    told(client.raw).map(({ taskId, status, _meta }) => [taskId, status, (_meta as Message)[SUBSCRIPTION]]),
    [[mine, "cancelled", "s"]],
  );
});

verifies(
  "tasks-ext:notify:own-proof",
  "a change before the acknowledgment is not lost",
  modernWires,
  async (world, t) => {
    const server = new McpServer(me)
      .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
      .extend(tasks());
    // Runs after the topic has been looked up, and before the subscription is open.
    let taskId = "";
    const other = await taskClient(world, server, t);
    server.use(async (call, next) => {
      if (call.method === "subscriptions/listen") await other.cancel(taskId);
      return next(call);
    });
    const client = await taskClient(world, server, t);
    taskId = await client.start("blocks");
    await listen(client.raw, "s", { taskIds: [taskId] });
    await until("the change is told", () => told(client.raw).length > 0);
    equal(told(client.raw)[0]?.status, "cancelled");
  },
);

verifies("tasks-ext:notify:no-progress-message", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const reached = gate();
  const turn = gate();
  const server = new McpServer(me, { clock, capabilities: { logging: true }, warnDeprecated: false })
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      await turn.opened;
      await ctx.progress(1, 2);
      await ctx.log("error", "words");
      await ctx.notify("notifications/message", { level: "error", data: "more" });
      return "x";
    })
    .tool("promoted", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      reached.open();
      await turn.opened;
      await ctx.progress(1, 2);
      await ctx.log("error", "words");
      return "x";
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const meta = { ...DECLARED, progressToken: "p", "io.modelcontextprotocol/logLevel": "debug" };
  const call = (id: string, name: string) =>
    client.raw.ask(enveloped(id, "tools/call", { name, arguments: {} }, meta), { "mcp-name": name });
  const { result } = await call("a", "t");
  const created = call("b", "promoted");
  await reached.opened;
  clock.advance(100);
  const promoted = (await created).result?.taskId as string;
  await listen(client.raw, "s", { taskIds: [result?.taskId, promoted] });
  turn.open();
  equal(await client.text(result?.taskId as string), "x");
  equal(await client.text(promoted), "x");
  const ended = () => told(client.raw).filter(({ status }) => status === "completed").length;
  await until("both ends are told", () => ended() === 2);
  await client.raw.settled();
  const methods = client.raw.heard.flatMap(({ method }) => (method === undefined ? [] : [method]));
  deepEqual([...new Set(methods)].sort(), [ACK, CHANGED].sort());
});
