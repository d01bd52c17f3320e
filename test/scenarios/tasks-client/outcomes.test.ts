import { deepEqual, equal, match, rejects } from "node:assert/strict";
import {
  type Client,
  type ClientOptions,
  connect,
  MissingCapabilityError,
  OutputError,
  type Tool,
} from "bowline/client";
import { TaskError, tasksClient } from "bowline/tasks/client";
import type { RecordedMessage } from "bowline/testing";
import { modernWires } from "../../support/each-wire.js";
import type { TestContext } from "../../support/raw-peer.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const EXTENSION = "io.modelcontextprotocol/tasks";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Returns the capabilities that a request declares. */
function declaredBy(request: RecordedMessage | undefined): Client["capabilities"] {
  return ((request?.params?._meta ?? {}) as { readonly [key: string]: Client["capabilities"] })[CAPABILITIES] ?? {};
}

async function connectTo(t: TestContext, { channel }: ServerScript, options: ClientOptions = {}): Promise<Client> {
  const client = await connect({ channel }, { era: "modern", ...options });
  t.after(() => client.close());
  return client;
}

verifies(
  "tasks-ext:client:transparent-polling",
  "resolves with the task's result",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task(
      "t1",
      state("t1", "working"),
      completed("t1", "done", { structuredContent: 7 }),
    );
    const client = await connect(script.server(), bench.options());
    const called = client.callTool("work");
    await bench.pass(1111);
    await bench.pass(1111, 2);
    const { text, structured, isError } = await called;
    deepEqual([text, structured, isError], ["done", 7, false]);
    equal(client.pending, 0);
    equal(bench.clock.pending, 0);
  },
);

verifies(
  "tasks-ext:client:transparent-polling",
  "checks the result of a task like a direct one",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t1", completed("t1", "x", { structuredContent: { n: "no number" } }));
    script.created.push(undefined);
    const client = await connect(script.server(), bench.options());
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    const tool: Tool = { name: "work", inputSchema: { type: "object" }, outputSchema };
    const called = client.callTool("work", {}, { tool });
    const refused = rejects(called, OutputError);
    await bench.pass(1111);
    await refused;
    await rejects(client.callTool("work", {}, { tool }), OutputError);
  },
);

verifies("tasks-ext:client:polymorphic", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t1", completed("t1", "by a task"));
  script.created.unshift(undefined);
  const server = script.server().tool("ask", {}, async (_, ctx) => {
    const { action } = await ctx.elicit("Go on?", { type: "object", properties: {} });
    return `after ${action}`;
  });
  const client = await connect(server, { ...bench.options(), onElicit: () => ({ action: "accept", content: {} }) });
  equal((await client.callTool("work")).text, "plain");
  const called = client.callTool("work");
  await bench.pass(1111);
  equal((await called).text, "by a task");
  equal((await client.callTool("ask")).text, "after accept");
});

verifies(
  ["tasks-ext:create:after-mrtr", "tasks-ext:client:key-scope"],
  "a key of a round, of its task and of another task is new each time",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript();
    script.task("t1", asking("t1", "name"), completed("t1", "one"));
    script.task("t2", asking("t2", "name"), completed("t2", "two"));
    const server = script.server().tool("ask", {}, async (_, ctx) => {
      await ctx.elicit("Name?", { type: "object", properties: {} }, { key: "name" });
      return "never seen";
    });
    let asked = 0;
    const onElicit = () => ({ action: "accept", content: { n: `${++asked}` } }) as const;
    const client = await connect(server, { ...bench.options(), onElicit });
    const first = client.callTool("ask");
    await bench.waiting(1111);
    const second = client.callTool("work");
    await bench.pass(1111, 2);
    await bench.pass(1111, 4);
    deepEqual([(await first).text, (await second).text], ["one", "two"]);
    equal(asked, 3);
    deepEqual(script.updates.map(({ taskId }) => taskId).sort(), ["t1", "t2"]);
    const [created] = client.wire.responsesTo("tools/call").filter(({ result }) => result?.taskId === "t1");
    deepEqual([created?.result?.requestState, created?.result?.inputRequests], [undefined, undefined]);
  },
);

verifies("tasks-ext:create:any-initial-status", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript();
  const ends: [string, object, RegExp | string][] = [
    ["completed", completed("t", "at once"), "at once"],
    ["failed", state("t", "failed", { error: { code: -32000, message: "broken" } }), /broken/],
    ["cancelled", state("t", "cancelled"), /was cancelled/],
  ];
  const client = await connect(script.server(), { ...bench.options(), onElicit: () => ({ action: "decline" }) });
  for (const [status, end, expected] of ends) {
    script.created.push(state("t", status));
    script.states.set("t", [end as Record<string, unknown>]);
    const before = client.wire.requests("tasks/get").length;
    const outcome = await client.callTool("work").then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
    if (typeof expected === "string") equal(outcome, expected);
    else match(outcome, expected);
    equal(client.wire.requests("tasks/get").length - before, 1, status);
  }
  script.created.push(state("u", "input_required"));
  script.states.set("u", [asking("u", "name"), completed("u", "answered")]);
  const called = client.callTool("work");
  await bench.pass(1111);
  equal((await called).text, "answered");
  equal(script.updates.length, 1);
});

verifies("tasks-ext:client:outcomes", "resolves and rejects as a direct call", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const data = { requiredCapabilities: { sampling: {} } };
  const script = new TaskScript();
  const ending = async (end: Record<string, unknown>) => {
    script.created.push(state("t", "completed"));
    script.states.set("t", [end]);
    return client.callTool("work");
  };
  const client = await connect(script.server(), bench.options());
  deepEqual((await ending(completed("t", "no luck", { isError: true }))).isError, true);
  const failed = state("t", "failed", { error: { code: -32021, message: "needs more", data } });
  await rejects(ending(failed), (error: MissingCapabilityError) => {
    deepEqual([error.rpcCode, error.data, error.method], [-32021, data, "tools/call"]);
    return error instanceof MissingCapabilityError;
  });
  await rejects(ending(state("t", "cancelled", { statusMessage: "by the operator" })), (error: TaskError) => {
    deepEqual([error.code, error.taskId], ["task_cancelled", "t"]);
    return error instanceof TaskError && /by the operator/.test(error.message);
  });
});

verifies("tasks-ext:client:outcomes", "rejects a task that lacks its member", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript();
  const client = await connect(script.server(), bench.options());
  const result = { content: "none" };
  const invalid: [Record<string, unknown>, string][] = [
    [state("t", "completed"), "protocol_error"],
    [state("t", "completed", { result: 7 }), "protocol_error"],
    [state("t", "completed", { result }), "invalid_result"],
    [state("t", "failed"), "protocol_error"],
    [state("t", "failed", { error: { message: "no code" } }), "protocol_error"],
    [state("t", "input_required"), "protocol_error"],
    [state("t", "sleeping"), "protocol_error"],
    [state("other", "working"), "protocol_error"],
  ];
  for (const [end, code] of invalid) {
    script.created.push(state("t", "completed"));
    script.states.set("t", [end]);
    await rejects(client.callTool("work"), { code }, JSON.stringify(end));
  }
  deepEqual(script.cancels, []);
});

proves(
  "tasks-ext:client:unsupported-request-invalid",
  { wire: "modern-memory" },
  "rejects a task for other methods",
  async (t) => {
    const task = { resultType: "task", ...state("t", "working") };
    const script = new ServerScript().modern({ prompts: {}, tools: {}, extensions: { [EXTENSION]: {} } });
    for (const method of ["prompts/get", "tools/list", "tasks/update"]) script.on(method, { result: task });
    const client = await connectTo(t, script, { extensions: [tasksClient()] });
    const isInvalid = { code: "protocol_error", message: /resultType "task"/ };
    await rejects(client.getPrompt("p"), isInvalid);
    await rejects(client.listTools(), isInvalid);
    await rejects(client.request("tasks/update", { taskId: "t", inputResponses: {} }), isInvalid);
    equal(script.all("tasks/get").length, 0);
  },
);

proves(
  "tasks-ext:client:tolerate-result-type",
  { wire: "modern-memory" },
  "takes a tasks/get result of type task as complete",
  async (t) => {
    const script = new ServerScript().modern({ tools: {}, extensions: { [EXTENSION]: {} } });
    script.on("tools/call", { result: { resultType: "task", ...state("t", "completed") } });
    script.on("tasks/get", { result: { ...completed("t", "done"), resultType: "task" } });
    const client = await connectTo(t, script, { extensions: [tasksClient()] });
    equal((await client.callTool("work")).text, "done");
  },
);

proves(
  "tasks-ext:capability:default-off",
  { wire: "modern-memory" },
  "a client without tasks declares nothing and refuses a task",
  async (t) => {
    const script = new ServerScript().modern({ tools: {}, extensions: { [EXTENSION]: {} } });
    script.on("tools/call", { result: { resultType: "task", ...state("t", "working") } });
    const client = await connectTo(t, script);
    await rejects(client.callTool("work"), { code: "protocol_error", message: /unknown resultType "task"/ });
    const [call] = script.all("tools/call");
    equal(declaredBy(call).extensions, undefined);
    equal(script.all("tasks/get").length, 0);
  },
);

verifies("tasks-ext:capability:client-declares", "in each request of a flow", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", asking("t", "name"), state("t", "working"));
  const client = await connect(script.server(), {
    ...bench.options({ notifications: true }),
    onElicit: () => ({ action: "decline" }),
  });
  const end = new AbortController();
  const called = client.callTool("work", {}, { signal: end.signal });
  await bench.pass(1111);
  await client.wire.until((wire) => wire.responsesTo("tasks/update").length === 1);
  end.abort(new Error("enough"));
  await rejects(called, /enough/);
  await client.wire.until((wire) => wire.requests("tasks/cancel").length === 1);
  const methods = ["tools/call", "tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen"];
  for (const method of methods) {
    const requests = client.wire.requests(method);
    equal(requests.length > 0, true, method);
    for (const request of requests) deepEqual(declaredBy(request).extensions, { [EXTENSION]: {} });
  }
});

verifies("tasks-ext:capability:client-declares", "those of the call", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", asking("t", "name"), completed("t", "done"));
  const client = await connect(script.server(), { ...bench.options(), onElicit: () => ({ action: "decline" }) });
  const capabilities = { ...client.capabilities, experimental: { "com.example/one": {} } };
  const called = client.callTool("work", {}, { capabilities });
  await bench.pass(1111);
  await client.wire.until((wire) => wire.responsesTo("tasks/update").length === 1);
  equal((await bench.finish(called, 2)).text, "done");
  for (const method of ["tools/call", "tasks/get", "tasks/update"]) {
    const requests = client.wire.requests(method);
    equal(requests.length > 0, true, method);
    for (const request of requests) deepEqual(declaredBy(request), capabilities, method);
  }
});

proves(
  "tasks-ext:client:polymorphic",
  { wire: "modern-memory" },
  "gives the server no hint, even if it declares the old capability",
  async (t) => {
    const old = { requests: { tools: { call: {} } } };
    const script = new ServerScript().modern({ tools: {}, tasks: old, extensions: { [EXTENSION]: {} } });
    const tool = { name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "required" } };
    script.on("tools/list", { result: { resultType: "complete", tools: [tool], ttlMs: 0, cacheScope: "private" } });
    script.on("tools/call", { result: { resultType: "complete", content: [] } });
    const client = await connectTo(t, script, { extensions: [tasksClient()] });
    await client.tools().all();
    await client.callTool("work");
    equal("task" in (script.all("tools/call")[0]?.params ?? {}), false);
  },
);
