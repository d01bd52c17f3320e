import { deepEqual, equal, rejects } from "node:assert/strict";
import { ConnectionError, connect, createGroup, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { ClientTasks, GroupTasks, TaskError, type TaskState } from "bowline/tasks/client";
import * as z from "zod";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

/** Adds the time of the last change, in seconds. */
const at = (seconds: number, task: object) => ({ ...task, lastUpdatedAt: `2026-11-01T00:00:0${seconds}Z` });
const working = (statusMessage: string) => state("t", "working", { statusMessage });

verifies("tasks-ext:client:handle", "shows each change in order", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript();
  script.task("t", working("half"), working("half"), asking("t", "name"), working("more"), completed("t", "done"));
  const client = await connect(script.server(), { ...bench.options(), onElicit: () => ({ action: "decline" }) });
  const handle = await new ClientTasks(client).startTool("work");
  deepEqual([handle.id, handle.status], ["t", "working"]);
  const seen: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const { status, statusMessage } of handle) seen.push(statusMessage ?? status);
  })();
  for (let times = 1; times <= 5; times++) await bench.pass(1111, times);
  equal((await handle.result).text, "done");
  await reading;
  deepEqual(seen, ["working", "half", "input_required", "more", "completed"]);
  deepEqual([handle.status, handle.task?.taskId], ["completed", "t"]);
});

verifies("tasks-ext:client:handle", "lets the caller answer by hand", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", asking("t", "name"), asking("t", "name"), completed("t", "done"));
  const client = await connect(script.server(), { ...bench.options(), onElicit: () => ({ action: "decline" }) });
  const handle = await new ClientTasks(client).startTool("work", {}, { input: "manual" });
  const states: TaskState[] = [];
  await bench.pass(1111);
  for await (const one of handle) {
    states.push(one);
    if (one.status !== "input_required") continue;
    deepEqual(Object.keys(one.inputRequests ?? {}), ["name"]);
    await handle.update({ name: { action: "accept", content: { name: "Ada" } } });
    await bench.pass(1111, 2);
    await bench.pass(1111, 3);
  }
  equal((await handle.result).text, "done");
  const inputResponses = { name: { action: "accept", content: { name: "Ada" } } };
  deepEqual(script.updates, [{ taskId: "t", inputResponses }]);
  equal(states.length, 3);
});

verifies("tasks-ext:client:handle", "cancels", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  const refused = rejects(handle.result, (error: TaskError) => error.code === "task_cancelled" && error.taskId === "t");
  await handle.cancel();
  await refused;
  deepEqual(script.cancels, ["t"]);
  await handle.cancel();
  bench.clock.advance(100_000);
  deepEqual([client.wire.requests("tasks/cancel").length, client.wire.requests("tasks/get").length], [1, 0]);
  deepEqual([client.pending, bench.clock.pending], [0, 0]);
});

/** Resolves with a text in the next turn of the event loop, after what has settled until then. */
const settled = (text: string) => new Promise<string>((resolve) => setImmediate(resolve, text));

verifies("tasks-ext:client:handle", "cancels again after a failure", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const server = script.server();
  let failures = 1;
  server.use((call, next) => {
    if (call.method === "tasks/cancel" && failures-- > 0) throw new RpcError(-31050, "not now");
    return next(call);
  });
  const client = await connect(server, bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  await rejects(handle.cancel(), { message: "not now" });
  const first = await Promise.race([handle.result.catch((error: TaskError) => error.code), settled("followed")]);
  equal(first, "followed");
  deepEqual(script.cancels, []);
  await handle.cancel();
  await rejects(handle.result, { code: "task_cancelled" });
  deepEqual(script.cancels, ["t"]);
  await handle.cancel();
  deepEqual([client.wire.requests("tasks/cancel").length, client.pending], [2, 0]);
});

verifies("tasks-ext:client:handle", "cancels a task that it left", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  handle.detach();
  await rejects(handle.result, { code: "task_detached" });
  await handle.cancel();
  deepEqual(script.cancels, ["t"]);
  await handle.cancel();
  equal(client.wire.requests("tasks/cancel").length, 1);
});

verifies("tasks-ext:client:handle", "cancels after a poll that failed", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", new RpcError(-31050, "broken"));
  const client = await connect(script.server(), bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  const failed = rejects(handle.result, { rpcCode: -31050 });
  await bench.pass(1111);
  await failed;
  await handle.cancel();
  deepEqual(script.cancels, ["t"]);
});

proves("tasks-ext:client:handle", { wire: "modern-http" }, "cancels a task that was unreachable", async (t) => {
  const bench = new TaskBench();
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => {
      if (received.rpcMethod === "tools/call") received.result({ resultType: "task", ...state("t", "working") });
      else if (received.rpcMethod === "tasks/get") received.cut();
      else received.result({ resultType: "complete" });
    }),
  );
  const client = await connectTo({ era: "modern", ...bench.options({ limits: { maxFailedPolls: 1 } }) });
  const handle = await new ClientTasks(client).startTool("work");
  const failed = rejects(handle.result, { code: "task_unreachable" });
  await bench.pass(1111);
  await bench.pass(1111, 2);
  await failed;
  await handle.cancel();
  equal(script.all("tasks/cancel").length, 1);
});

verifies("tasks-ext:client:handle", "sends no cancellation for a task that ended", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", completed("t", "done"));
  const client = await connect(script.server(), bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  await bench.finish(handle.result, 1);
  await handle.cancel();
  equal(client.wire.requests("tasks/cancel").length, 0);
});

verifies("tasks-ext:client:handle", "cannot cancel with a closed client", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  await client.close();
  await rejects(handle.result, ConnectionError);
  await rejects(handle.cancel(), ConnectionError);
  deepEqual(script.cancels, []);
});

verifies("tasks-ext:client:handle", "is complete for a plain answer", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const client = await connect(new TaskScript().server(), bench.options());
  const handle = await new ClientTasks(client).startTool("work");
  deepEqual([handle.id, handle.status, (await handle.result).text], [undefined, "completed", "plain"]);
  for await (const _ of handle) throw new Error("there is no change");
  await handle.cancel();
  await rejects(handle.update({}), { code: "tasks_unsupported" });
  await rejects(new ClientTasks(client).startTool("unknown"), (error: RpcError) => error.rpcCode === -32602);
});

verifies("tasks-ext:client:handle", "keeps a bounded number of changes", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", working("1"), working("2"), working("3"), completed("t", "done"));
  const client = await connect(script.server(), bench.options({ limits: { maxChanges: 2 } }));
  const handle = await new ClientTasks(client).startTool("work");
  for (let times = 1; times <= 4; times++) await bench.pass(1111, times);
  await handle.result;
  const seen: unknown[] = [];
  for await (const { status, statusMessage } of handle) seen.push(statusMessage ?? status);
  deepEqual(seen, ["3", "completed"]);
});

proves(
  "tasks-ext:client:handle",
  { wire: "modern-memory" },
  "a state that another has overtaken is not shown",
  async (t) => {
    const bench = new TaskBench();
    const script = new ServerScript().modern({ tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } });
    script.on("tools/call", { result: { resultType: "task", ...at(0, state("t", "working")) } });
    const client = await connect(
      { channel: script.channel },
      { era: "modern", ...bench.options({ notifications: true }) },
    );
    t.after(() => client.close());
    const handle = await new ClientTasks(client).startTool("work", {}, { input: "manual" });
    const { id } = await script.next("subscriptions/listen");
    const _meta = { "io.modelcontextprotocol/subscriptionId": id };
    const tell = (task: object) => script.notify("notifications/tasks", { ...task, _meta });
    script.notify("notifications/subscriptions/acknowledged", { notifications: { taskIds: ["t"] }, _meta });
    const poll = async (times: number) => {
      await bench.pass(1111, times);
      return script.next("tasks/get");
    };
    const first = await poll(1);
    tell(at(2, asking("t", "name")));
    script.result(first, { resultType: "complete", ...at(1, working("overtaken by a notification")) });
    const second = await poll(2);
    script.result(second, { resultType: "complete", ...at(4, working("polled")) });
    await until("the state has arrived", () => handle.task?.statusMessage === "polled");
    tell(at(3, working("overtaken by a poll")));
    tell(at(5, working("told")));
    await until("the state has arrived", () => handle.task?.statusMessage === "told");
    // The clock of the node that answers is late. Nothing was told since the request.
    const third = await poll(3);
    script.result(third, { resultType: "complete", ...at(4, working("by another node")) });
    await until("the state has arrived", () => handle.task?.statusMessage === "by another node");
    const fourth = await poll(4);
    tell(at(7, working("before the end")));
    script.result(fourth, { resultType: "complete", ...at(6, completed("t", "done")) });
    equal((await handle.result).text, "done");
    const seen: unknown[] = [];
    for await (const { status, statusMessage } of handle) seen.push(statusMessage ?? status);
    const expected = ["working", "input_required", "polled", "told", "by another node", "before the end", "completed"];
    deepEqual(seen, expected);
  },
);

verifies("tasks-ext:client:resume", "a new client takes a task up by its id", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const server = script.server();
  const first = await connect(server, bench.options());
  const handle = await new ClientTasks(first).startTool("work");
  const left = rejects(handle.result, { code: "task_detached" });
  handle.detach();
  await left;
  deepEqual(script.cancels, []);
  script.states.set("t", [asking("t", "name"), completed("t", "later", { structuredContent: { n: 1 } })]);
  const second = await connect(server, { ...bench.options(), onElicit: () => ({ action: "decline" }) });
  const output = z.object({ n: z.number() });
  const taken = await new ClientTasks(second).task(handle.id ?? "", { output });
  equal(taken.status, "input_required");
  await until("the question is answered", () => script.updates.length === 1);
  const { text, structured } = await bench.finish(taken.result, 2);
  deepEqual([text, structured], ["later", { n: 1 }]);
  equal(second.wire.requests("tools/call").length, 0);
  const wrong = await new ClientTasks(second).task("t", { output: z.object({ n: z.string() }) });
  await rejects(wrong.result, { code: "invalid_output" });
  await rejects(new ClientTasks(second).task("gone"), (error) => error instanceof RpcError && error.rpcCode === -32602);
});

verifies("tasks-ext:client:handle", "needs tasks on both sides", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const off = await connect(new TaskScript().server());
  const isUnsupported = (error: unknown) => error instanceof TaskError && error.code === "tasks_unsupported";
  await rejects(async () => new ClientTasks(off), isUnsupported);
  const plain = new McpServer({ name: "plain", version: "1" }).tool("work", {}, () => "plain");
  const client = await connect(plain, bench.options());
  const tasks = new ClientTasks(client);
  equal(tasks.supported, false);
  await rejects(tasks.task("t"), isUnsupported);
  await rejects(tasks.list().all(), isUnsupported);
  equal((await (await tasks.startTool("work")).result).text, "plain");
  equal(new ClientTasks(await connect(new TaskScript().server(), bench.options())).supported, true);
});

proves("tasks-ext:client:handle", { wire: "modern-memory" }, "works for the servers of a group", async (t) => {
  const bench = new TaskBench();
  const scripts = { a: new TaskScript(), b: new TaskScript() };
  scripts.a.task("t", completed("t", "by a"), completed("t", "by a, again"));
  scripts.b.task("t", completed("t", "by b"));
  const mcpServers = { a: scripts.a.server(), b: scripts.b.server() };
  const group = createGroup({ mcpServers }, { client: { ...bench.options(), era: "modern" }, clock: bench.clock });
  t.after(() => group.close());
  const called = group.callTool("b__work");
  equal((await bench.finish(called, 1)).text, "by b");
  const tasks = new GroupTasks(group);
  const handle = await tasks.startTool("a__work");
  equal(handle.id, "t");
  equal((await bench.finish(handle.result, 2)).text, "by a");
  const taken = await (await tasks.of("a")).task("t");
  equal((await taken.result).text, "by a, again");
});

verifies("tasks-ext:client:handle", "refuses a misspelt option at its caller", modernWires, async ({ connect }) => {
  const client = await connect(new TaskScript().task("t", state("t", "working")).server(), new TaskBench().options());
  const tasks = new ClientTasks(client);
  await rejects(tasks.task("t", { timeout: 1 } as never), /unknown option timeout\b/);
  await rejects(tasks.startTool("work", {}, { timeout: 1 } as never), /unknown option timeout\b/);
  equal(client.wire.requests("tasks/get").length, 0);
});
