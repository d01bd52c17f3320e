import { deepEqual, equal, rejects } from "node:assert/strict";
import { type Client, type ClientOptions, connect, RpcError, type Tool } from "bowline/client";
import { McpServer } from "bowline/server";
import { ClientTasks, type TaskError, type TasksClientOptions, tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import { createChannelPair } from "bowline/testing";
import { until } from "../../support/census.js";
import { createPipePair, legacyWires } from "../../support/each-wire.js";
import { answerAll, INITIALIZED, type Received, scripted } from "../../support/http-script.js";
import type { TestContext } from "../../support/raw-peer.js";
import { TaskBench } from "../../support/scripted-tasks.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

type Body = Record<string, unknown>;

const DECLARED = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
const STAMPS = { createdAt: "2026-11-01T00:00:00Z", lastUpdatedAt: "2026-11-01T00:00:00Z" };
const old = (taskId: string, status: string, more: Body = {}): Body => ({
  taskId,
  status,
  ...STAMPS,
  ttl: 60_000_000,
  pollInterval: 2345,
  ...more,
});
const text = (words: string): Body => ({ content: [{ type: "text", text: words }] });
const tool = (name: string, taskSupport?: string): Body => ({
  name,
  inputSchema: { type: "object" },
  ...(taskSupport === undefined ? undefined : { execution: { taskSupport } }),
});
const TOOLS = { tools: [tool("must", "required"), tool("may", "optional"), tool("never", "forbidden"), tool("plain")] };

interface OldWorld {
  readonly script: ServerScript;
  readonly bench: TaskBench;
  open(options?: ClientOptions, tasks?: TasksClientOptions): Promise<Client>;
}

/** Server of 2025-11-25 that the test writes, on a channel. */
const oldServers = (["memory", "stdio"] as const).map((transport) => ({
  name: `legacy-${transport}`,
  open: (t: TestContext): OldWorld => {
    const script = new ServerScript(transport === "memory" ? createChannelPair() : createPipePair());
    script.legacy("2025-11-25", DECLARED).on("tools/list", { result: TOOLS });
    const bench = new TaskBench();
    const open = async (options: ClientOptions = {}, more: TasksClientOptions = {}) => {
      const client = await connect({ channel: script.channel }, { era: "legacy", ...bench.options(more), ...options });
      t.after(() => client.close());
      return client;
    };
    return { script, bench, open };
  },
}));

verifies(
  "tasks-2025:client:augment",
  "asks for tasks where tools support them",
  oldServers,
  async ({ script, open }) => {
    script.on("tools/call", ({ params }) => ({ result: text(String(params?.name)) }));
    const client = await open({}, { ttlMs: 5000 });
    equal((await client.callTool("must")).text, "must");
    await client.tools().all();
    for (const name of ["must", "may", "never", "plain"]) equal((await client.callTool(name)).text, name);
    await client.callTool("other", {}, { tool: tool("other", "optional") as unknown as Tool });
    deepEqual(
      script.all("tools/call").map(({ params }) => params?.task),
      [undefined, { ttl: 5000 }, { ttl: 5000 }, undefined, undefined, { ttl: 5000 }],
    );
  },
);

verifies("tasks-2025:client:augment", "a tool that was not listed runs as a task only", legacyWires, async (world) => {
  const runs: string[] = [];
  const define = (name: string, task: "optional" | "required") => (server: McpServer) =>
    void server.tool(name, { task }, () => {
      runs.push(name);
      return name;
    });
  const server = new McpServer({ name: "unlisted", version: "1.0.0" }, { pageSize: 1 }).extend(tasks());
  for (const one of [define("may", "optional"), define("must", "required")]) one(server);
  const client = await world.connect(server, {
    extensions: [tasksClient({ minPollIntervalMs: 1, pollIntervalMs: 1 })],
    cache: false,
  });
  equal((await client.callTool("must")).text, "must");
  equal((await client.callTool("must")).text, "must");
  deepEqual(runs, ["must", "must"]);
  const sent = client.wire.requests().map(({ method }) => method);
  equal(sent.filter((method) => method === "tools/call").length, 3, "the second call knows the tool");
  equal(sent.filter((method) => method === "tools/list").length, 2, "it is on the second page");
});

verifies(
  "tasks-2025:client:augment",
  "is not sent again unless its tool runs as a task only",
  oldServers,
  async ({ script, open }) => {
    script.on("tools/call", { error: { code: -32601, message: "an error of its own" } });
    const refused = { rpcCode: -32601, message: "an error of its own" };
    const client = await open({ cache: false });
    await rejects(client.callTool("may"), refused);
    await rejects(client.callTool("must", {}, { tool: tool("must", "forbidden") as unknown as Tool }), refused);
    equal(script.all("tools/list").length, 1);
    equal(script.all("tools/call").length, 2);
    await rejects(client.callTool("must"), refused);
    equal(script.all("tools/call").length, 3, "it is known by now, and asks for a task at once");
  },
);

verifies(
  ["tasks-2025:client:augment", "tasks:legacy:not-augmented"],
  "asks only if the server declared tasks for tool calls",
  oldServers,
  async ({ script, open }) => {
    script.legacy("2025-11-25", { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: {} } } });
    script.on("tools/call", { result: text("plain") });
    const client = await open();
    await client.tools().all();
    equal((await client.callTool("must")).text, "plain");
    equal("task" in (script.all("tools/call")[0]?.params ?? {}), false);
    equal(new ClientTasks(client).supported, false);
  },
);

verifies("tasks-2025:client:augment", "the last listing of a tool counts", oldServers, async ({ script, open }) => {
  script.on("tools/call", { result: text("plain") });
  const client = await open({ cache: false });
  for (const support of ["optional", "forbidden", "required", undefined]) {
    script.on("tools/list", { result: { tools: [tool("work", support)] } });
    await client.tools().all();
    await client.callTool("work");
  }
  deepEqual(
    script.all("tools/call").map(({ params }) => params?.task !== undefined),
    [true, false, true, false],
  );
});

verifies(
  "tasks-2025:client:augment",
  "drives tasks/get and tasks/result",
  oldServers,
  async ({ script, bench, open }) => {
    const states = [old("t", "working", { statusMessage: "half" }), old("t", "completed")];
    script.on("tools/call", { result: { task: old("t", "working") } });
    script.on("tasks/get", () => ({ result: states.shift() as Body }));
    script.on("tasks/result", { result: { ...text("done"), _meta: { "io.modelcontextprotocol/related-task": {} } } });
    const client = await open();
    await client.tools().all();
    const called = client.callTool("must");
    await bench.pass(2345);
    await bench.pass(2345, 2);
    equal((await called).text, "done");
    deepEqual(
      script.methods.filter((method) => method?.startsWith("tasks/")),
      ["tasks/get", "tasks/get", "tasks/result"],
    );
    equal(script.all("tasks/get")[0]?.params?.taskId, "t");
    deepEqual([client.pending, bench.clock.pending], [0, 0]);
  },
);

verifies(
  "tasks-2025:client:augment",
  "collects a result that is there at the end of the task's life",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "working", { ttl: 1_000 }) } });
    script.on("tasks/get", { result: old("t", "completed", { ttl: 1_000 }) });
    const client = await open();
    await client.tools().all();
    const called = client.callTool("must");
    await bench.pass(1_000);
    await bench.waiting(2345);
    equal(script.all("tasks/get").length, 1);
    script.result(await script.next("tasks/result"), text("done"));
    equal((await called).text, "done");
    deepEqual([client.pending, bench.clock.pending], [0, 0]);
  },
);

verifies(
  "tasks-2025:client:augment",
  "gives a task up whose result does not come at the end of its life",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "working", { ttl: 1_000 }) } });
    script.on("tasks/get", { result: old("t", "completed", { ttl: 1_000 }) });
    script.on("tasks/result", { error: { code: -32005, message: "busy" } });
    const client = await open();
    await client.tools().all();
    const expired = rejects(client.callTool("must"), { code: "task_expired" });
    await bench.pass(1_000);
    await expired;
    deepEqual([script.all("tasks/result").length, bench.clock.pending], [1, 0]);
  },
);

verifies("tasks-2025:client:augment", "rejects as the call would have", oldServers, async ({ script, bench, open }) => {
  script.on("tools/call", { result: { task: old("t", "working") } });
  script.on("tasks/get", { result: old("t", "failed") });
  script.on("tasks/result", { error: { code: -32000, message: "broken" } });
  const client = await open();
  await client.tools().all();
  const failed = rejects(client.callTool("must"), (error: RpcError) => {
    deepEqual([error.rpcCode, error.message], [-32000, "broken"]);
    return error instanceof RpcError;
  });
  await bench.pass(2345);
  await failed;
  script.on("tasks/get", { result: old("t", "cancelled") });
  const cancelled = rejects(client.callTool("must"), (error: TaskError) => error.code === "task_cancelled");
  // The second wait was that of the first call, while it requested the result.
  await bench.pass(2345, 3);
  await cancelled;
});

verifies(
  "tasks-2025:client:lost-process",
  "the loss of a process is not taken for the error of a task that has failed",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "failed") } });
    script.on("tasks/get", { result: old("t", "failed") });
    const errors = [
      { code: -32006, message: "the process is gone" },
      { code: -32000, message: "broken" },
    ];
    script.on("tasks/result", () => ({ error: errors.shift() as (typeof errors)[0] }));
    const client = await open();
    await client.tools().all();
    const failed = rejects(client.callTool("must"), { rpcCode: -32000, message: "broken" });
    await bench.pass(2345);
    await failed;
    deepEqual([script.all("tasks/result").length, errors.length], [2, 0]);
  },
);

verifies("tasks-2025:client:augment", "waits for a result while it answers", oldServers, async (world) => {
  const { script, bench, open } = world;
  script.on("tools/call", { result: { task: old("t", "working") } });
  script.on("tasks/get", { result: old("t", "input_required") });
  const client = await open({ onElicit: () => ({ action: "accept", content: { name: "Ada" } }) });
  await client.tools().all();
  const handle = await new ClientTasks(client).startTool("may");
  await bench.pass(2345);
  const waiting = await script.next("tasks/result");
  const _meta = { "io.modelcontextprotocol/related-task": { taskId: "t" } };
  const params = { message: "Name?", requestedSchema: { type: "object", properties: {} }, _meta };
  script.send({ id: "q", method: "elicitation/create", params });
  deepEqual((await script.next(undefined)).result, { action: "accept", content: { name: "Ada" } });
  await bench.pass(2345, 2);
  await until("it is polled meanwhile", () => script.all("tasks/get").length === 2);
  script.result(waiting, text("Ada it is"));
  equal((await handle.result).text, "Ada it is");
  equal(script.all("tasks/result").length, 1);
  deepEqual([handle.id, handle.status], ["t", "completed"]);
  await rejects(handle.update({}), { code: "tasks_unsupported" });
});

verifies("tasks-2025:client:augment", "cancels, takes up and lists", oldServers, async ({ script, bench, open }) => {
  script.on("tools/call", { result: { task: old("t", "working") } });
  script.on("tasks/get", { result: old("t", "completed") });
  script.on("tasks/result", { result: text("later") });
  script.on("tasks/cancel", { result: old("t", "cancelled") });
  script.on("tasks/list", ({ params }) => ({
    result:
      params?.cursor === "2" ? { tasks: [old("u", "failed")] } : { tasks: [old("t", "working")], nextCursor: "2" },
  }));
  const client = await open();
  await client.tools().all();
  const tasks = new ClientTasks(client);
  equal(tasks.supported, true);
  const end = new AbortController();
  const handle = await tasks.startTool("must", {}, { signal: end.signal });
  end.abort(new Error("stop"));
  await rejects(handle.result, /stop/);
  await until("the task is cancelled", () => script.all("tasks/cancel").length === 1);
  equal(script.all("notifications/cancelled").length, 0);
  equal((await (await tasks.task("t")).result).text, "later");
  const listed = await tasks.list().all();
  deepEqual(
    listed.map(({ taskId, status, ttlMs, pollIntervalMs }) => [taskId, status, ttlMs, pollIntervalMs]),
    [
      ["t", "working", 60_000_000, 2345],
      ["u", "failed", 60_000_000, 2345],
    ],
  );
  equal(bench.clock.pending, 0);
});

verifies(
  ["tasks:legacy:not-augmented", "tasks:legacy:execution-passthrough"],
  "never without the server's word, and an error is passed on",
  oldServers,
  async ({ script, open }) => {
    script.legacy("2025-11-25", { tools: {} });
    script.on("tools/call", { error: { code: -32601, message: "as a task only" } });
    const client = await open();
    const listed = await client.tools().all();
    deepEqual(
      listed.map(({ execution }) => execution),
      [{ taskSupport: "required" }, { taskSupport: "optional" }, { taskSupport: "forbidden" }, undefined],
    );
    equal(client.server.capabilities.tasks, undefined);
    await rejects(client.callTool("must"), (error: RpcError) => error.rpcCode === -32601);
    equal(script.all("tools/call")[0]?.params?.task, undefined);
  },
);

verifies(
  ["tasks:legacy:not-augmented", "tasks:legacy:not-advertised", "tasks:legacy:execution-passthrough"],
  "a client without tasks sends none",
  oldServers,
  async ({ script, open }) => {
    script.on("tools/call", { error: { code: -32601, message: "as a task only" } });
    const client = await open({ extensions: [] });
    await client.tools().all();
    await rejects(client.callTool("must"), (error: RpcError) => error.rpcCode === -32601);
    equal(script.all("tools/call")[0]?.params?.task, undefined);
    deepEqual(script.all("initialize")[0]?.params?.capabilities, {});
    deepEqual(client.server.capabilities.tasks, DECLARED.tasks);
    for (const method of ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"]) {
      script.send({ id: method, method, params: { taskId: "t" } });
      const { error } = await script.next(undefined);
      equal((error as { readonly code?: number } | undefined)?.code, -32601, method);
    }
  },
);

verifies("tasks-2025:client:augment", "can be turned off", oldServers, async ({ script, open }) => {
  script.on("tools/call", { result: text("plain") });
  const client = await open({}, { experimental: false });
  await client.tools().all();
  await client.callTool("may");
  equal(script.all("tools/call")[0]?.params?.task, undefined);
  deepEqual(script.all("initialize")[0]?.params?.capabilities, {});
});

verifies("tasks:legacy:create-result-not-success", oldServers, async ({ script, open }) => {
  script.on("tools/call", { result: { task: old("t", "working") } });
  const isInvalid = { code: "invalid_result", message: /a task, which was not requested/ };
  const client = await open();
  await rejects(client.callTool("plain"), isInvalid);
  equal(script.all("tasks/get").length, 0);
});

verifies("tasks:legacy:create-result-not-success", "without tasks", oldServers, async ({ script, open }) => {
  script.on("tools/call", { result: { task: old("t", "working") } });
  const client = await open({ extensions: [] });
  await rejects(client.callTool("must"), { code: "invalid_result" });
  await rejects(client.request("tools/call", { name: "must", task: {} }), { code: "invalid_result" });
});

verifies("tasks-2025:client:augment", "cancels only where it may", oldServers, async ({ script, open }) => {
  script.legacy("2025-11-25", { tools: {}, tasks: { requests: { tools: { call: {} } } } });
  script.on("tools/call", { result: { task: old("t", "working") } });
  const client = await open();
  await client.tools().all();
  const handle = await new ClientTasks(client).startTool("may");
  await rejects(handle.cancel(), { code: "tasks_unsupported" });
  equal(handle.status, "working");
  handle.detach();
  await rejects(handle.result, { code: "task_detached" });
  await rejects(new ClientTasks(client).list().all(), { code: "tasks_unsupported" });
  deepEqual(
    script.methods.filter((method) => method?.startsWith("tasks/")),
    [],
  );
});

proves("tasks-2025:client:augment", { wire: "legacy-http" }, "over HTTP, with a question", async (t) => {
  const bench = new TaskBench();
  const states = [old("t", "working"), old("t", "input_required")];
  let waiting: Received | undefined;
  const { script, connectTo } = await scripted(t, (received) => {
    const { rpcMethod, message } = received;
    if (rpcMethod === "initialize")
      return received.result({ ...INITIALIZED, capabilities: DECLARED }, { "mcp-session-id": "s" });
    if (rpcMethod === undefined && message !== undefined) {
      received.status(202);
      waiting?.resultEvent(text(message.result.action));
      return waiting?.end();
    }
    answerAll((other) => {
      if (rpcMethod === "tools/list") other.result(TOOLS);
      if (rpcMethod === "tools/call") other.result({ task: old("t", "working") });
      if (rpcMethod === "tasks/get") other.result((states.length > 1 ? states.shift() : states[0]) as Body);
      if (rpcMethod !== "tasks/result") return;
      waiting = other.stream();
      const params = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
      waiting.event({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params });
    })(received);
  });
  const client = await connectTo({ era: "legacy", ...bench.options(), onElicit: () => ({ action: "decline" }) });
  await client.tools().all();
  const called = client.callTool("may");
  await bench.pass(2345);
  await bench.pass(2345, 2);
  equal((await called).text, "decline");
  equal(script.all("tasks/result").length, 1);
});

verifies(
  "tasks-2025:client:augment",
  "an error of a failed task is its outcome, whatever its code",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "working") } });
    script.on("tasks/get", { result: old("t", "failed") });
    script.on("tasks/result", { error: { code: -32005, message: "the tool's own error" } });
    const client = await open();
    await client.tools().all();
    const failed = rejects(client.callTool("must"), { rpcCode: -32005, message: "the tool's own error" });
    await bench.pass(2345);
    await failed;
    equal(script.all("tasks/result").length, 1);
  },
);

verifies(
  "tasks-ext:client:engine-away",
  "a failed task whose result is refused for now is asked for it again",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "working") } });
    script.on("tasks/get", { result: old("t", "failed") });
    script.on("tasks/result", { error: { code: -32005, message: "busy", data: { limit: "l", retryAfterMs: 4_000 } } });
    const client = await open();
    await client.tools().all();
    const failed = rejects(client.callTool("must"), { rpcCode: -1, message: "no such file" });
    await bench.pass(2345);
    const asked = (times: number) =>
      until(`the result is requested ${times} times`, () => script.all("tasks/result").length === times);
    await asked(1);
    script.on("tasks/result", { error: { code: -1, message: "no such file" } });
    // The wait for the next poll had begun. The rest is waited for after it.
    await bench.pass(2345, 2);
    await bench.pass(4_000 - 2345);
    await failed;
    equal(script.all("tasks/result").length, 2);
  },
);

verifies(
  "tasks-2025:client:augment",
  "gives up after limits.maxFailedPolls requests for the result, with growing waits",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "working") } });
    script.on("tasks/get", { result: old("t", "completed") });
    script.on("tasks/result", { error: { code: -32005, message: "busy" } });
    const client = await open({}, { limits: { maxFailedPolls: 2 } });
    await client.tools().all();
    const failed = rejects(client.callTool("must"), { code: "task_unreachable", taskId: "t" });
    const asked = (times: number) =>
      until(`the result is requested ${times} times`, () => script.all("tasks/result").length === times);
    await bench.pass(2345);
    await asked(1);
    await bench.pass(2345, 2);
    await asked(2);
    // The second failure doubles the wait, which was begun before.
    await bench.pass(2345, 3);
    equal(script.all("tasks/get").length, 2);
    await bench.pass(2345, 4);
    await failed;
    deepEqual([script.all("tasks/result").length, script.all("tasks/get").length, bench.clock.now()], [3, 3, 9380]);
    deepEqual([client.pending, bench.clock.pending], [0, 0]);
  },
);

verifies(
  "tasks-2025:client:augment",
  "a request for the result may wait longer than any limit of the client",
  oldServers,
  async ({ script, bench, open }) => {
    script.on("tools/call", { result: { task: old("t", "working") } });
    script.on("tasks/get", { result: old("t", "input_required") });
    const client = await open(
      { onElicit: () => new Promise(() => {}), timeoutMs: 5000, deadlineMs: 10_000 },
      { limits: { maxFailedPolls: 1 } },
    );
    await client.tools().all();
    const called = client.callTool("must", {}, { deadlineMs: 1_000_000 });
    await bench.pass(2345);
    const first = await script.next("tasks/result");
    const params = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
    script.send({ id: "q", method: "elicitation/create", params });
    for (let times = 2; times <= 12; times++) {
      await bench.pass(2345, times);
      await until("it is polled", () => script.all("tasks/get").length === times);
    }
    equal(script.all("tasks/result").length, 1);
    script.result(first, text("done"));
    equal((await called).text, "done");
    equal(script.all("tasks/cancel").length, 0);
  },
);

proves("tasks-2025:client:augment", { wire: "legacy-http" }, "waits as long as Retry-After says", async (t) => {
  const bench = new TaskBench();
  const { script, connectTo } = await scripted(t, (received) => {
    const { rpcMethod } = received;
    if (rpcMethod === "initialize")
      return received.result({ ...INITIALIZED, capabilities: DECLARED }, { "mcp-session-id": "s" });
    answerAll((other) => {
      if (rpcMethod === "tools/list") other.result(TOOLS);
      if (rpcMethod === "tools/call") other.result({ task: old("t", "working") });
      if (rpcMethod === "tasks/get") other.result(old("t", "failed"));
    })(received);
  });
  const client = await connectTo({ era: "legacy", ...bench.options() });
  await client.tools().all();
  const failed = rejects(client.callTool("may"), { rpcCode: -32000 });
  const error = { code: -32005, message: "busy" };
  await bench.pass(2345);
  const refused = await script.next("tasks/result");
  refused.json({ jsonrpc: "2.0", id: refused.message.id, error }, 503, { "retry-after": "60" });
  await until("the refusal has arrived", () => client.pending === 1);
  await bench.pass(2345, 2);
  await bench.waiting(60_000 - 2345);
  equal(script.all("tasks/get").length, 1);
  bench.clock.advance(60_000 - 2345);
  const answered = await script.next("tasks/result");
  answered.json({ jsonrpc: "2.0", id: answered.message.id, error: { code: -32000, message: "broken" } });
  await failed;
  equal(script.all("tasks/get").length, 2);
});
