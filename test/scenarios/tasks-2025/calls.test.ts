import { deepEqual, equal, match, ok } from "node:assert/strict";
import { memoryCluster } from "bowline/cluster";
import { McpServer, RpcError, type ServerOptions } from "bowline/server";
import { type TasksOptions, tasks } from "bowline/tasks/server";
import { AugmentedClient, RELATED } from "../../support/augmented-client.js";
import { until } from "../../support/census.js";
import { legacyHttp, legacyWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import type { Message } from "../../support/raw-client.js";
import { hasSchemas, problemsAt } from "../../support/spec-schema.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const ID = "tasks-2025:server:augmented";
const EXTENSION = "io.modelcontextprotocol/tasks";
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/** Server with a tool of each kind. `wait` waits for the gate. */
function createShop(options?: ServerOptions, more?: TasksOptions) {
  const opened = gate<string>();
  const begun = gate();
  const ended: unknown[] = [];
  const server = new McpServer(me, options)
    .extend(tasks({ pollIntervalMs: 250, ttlMs: 60_000, ...more }))
    .tool("plain", {}, () => "plain")
    .tool("quick", { task: "optional" }, () => "quick")
    .tool("always", { task: "required" }, () => "always")
    .tool("promoted", { task: { promoteAfterMs: 60_000 } }, () => "promoted")
    .tool("wait", { task: "optional" }, async (_, ctx) => {
      const stopped = aborted(ctx.signal).then((reason) => ended.push(reason));
      begun.open();
      return (await Promise.race([opened.opened, stopped])) as string;
    })
    .tool("broken", { task: "optional" }, () => ({ content: [{ type: "text", text: "no paper" }], isError: true }))
    .tool("failing", { task: "optional" }, () => {
      throw new RpcError(-32050, "no ink", { colour: "blue" });
    });
  return { server, opened, begun, ended };
}

/** Asserts that a value has the form of a definition of 2025-11-25, if the schemas are at hand. */
function assertForm(definition: string, value: unknown): void {
  if (hasSchemas) deepEqual(problemsAt("2025-11-25", definition, value), []);
}

verifies(ID, "the capability is announced in 2025-11-25 only", legacyWires, async (world, t) => {
  for (const version of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]) {
    const { welcome, client } = await AugmentedClient.open(world, createShop().server, t, { version });
    const { tasks: announced, extensions } = welcome.capabilities as Message;
    equal(extensions, undefined);
    const { tools } = await client.result("tools/list");
    const support = (tools as Message[]).map(({ name, execution }) => [name, (execution as Message)?.taskSupport]);
    if (version !== "2025-11-25") {
      equal(announced, undefined);
      ok(support.every(([, value]) => value === undefined));
      for (const method of ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"])
        equal(await client.code(method, { taskId: "a" }), METHOD_NOT_FOUND);
      // The member is unknown there.
      const { content } = await client.result("tools/call", { name: "quick", task: { ttl: 1_000 } });
      deepEqual(content, [{ type: "text", text: "quick" }]);
      continue;
    }
    deepEqual(announced, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
    deepEqual(Object.fromEntries(support), {
      plain: undefined,
      quick: "optional",
      always: "required",
      promoted: "optional",
      wait: "optional",
      broken: "optional",
      failing: "optional",
    });
  }
});

verifies(ID, "a call with task becomes a task, and tasks/result waits for it", legacyWires, async (world, t) => {
  const { server, opened } = createShop();
  const { client } = await AugmentedClient.open(world, server, t);
  const created = await client.result("tools/call", { name: "wait", task: { ttl: 30_000 } });
  assertForm("CreateTaskResult", created);
  const task = created.task as Message;
  deepEqual(Object.keys(created), ["task"]);
  deepEqual([task.status, task.ttl, task.pollInterval], ["working", 30_000, 250]);
  const { taskId } = task;
  const waiting = client.send("tasks/result", { taskId });
  const got = await client.result("tasks/get", { taskId });
  assertForm("GetTaskResult", got);
  deepEqual([got.taskId, got.status, got.ttl, got._meta], [taskId, "working", 30_000, undefined]);
  await client.raw.settled();
  ok(!client.raw.heard.some(({ id, method }) => id === waiting && method === undefined));
  opened.open("done");
  const isAnswer = ({ id, method }: { id?: unknown; method?: string | undefined }) =>
    id === waiting && method === undefined;
  await client.raw.until((heard) => heard.some(isAnswer));
  const { result } = client.raw.heard.find(isAnswer) as { result?: Message };
  deepEqual(result, { content: [{ type: "text", text: "done" }], _meta: { [RELATED]: { taskId } } });
  const after = await client.result("tasks/get", { taskId });
  deepEqual([after.status, after.result, after.createdAt], ["completed", undefined, task.createdAt]);
  deepEqual(await client.result("tasks/result", { taskId }), result);
});

verifies(ID, "support of the tool and the member task have to agree", legacyWires, async (world, t) => {
  const { client } = await AugmentedClient.open(world, createShop().server, t);
  equal(await client.code("tools/call", { name: "always" }), METHOD_NOT_FOUND);
  equal(await client.code("tools/call", { name: "plain", task: {} }), METHOD_NOT_FOUND);
  equal(await client.code("tools/call", { name: "missing", task: {} }), INVALID_PARAMS);
  equal(await client.code("tools/call", { name: "quick", task: 3 }), INVALID_PARAMS);
  equal(await client.code("tools/call", { name: "quick", task: { ttl: "long" } }), INVALID_PARAMS);
  for (const name of ["plain", "quick", "promoted"])
    deepEqual((await client.result("tools/call", { name })).content, [{ type: "text", text: name }]);
  for (const name of ["always", "promoted"]) {
    const { taskId, status } = await client.start(name);
    equal(status, "working");
    deepEqual((await client.result("tasks/result", { taskId })).content, [{ type: "text", text: name }]);
  }
});

verifies(ID, "the life is that of the client, but not longer than that of the tool", legacyWires, async (world, t) => {
  const { client } = await AugmentedClient.open(world, createShop().server, t);
  equal((await client.start("quick", { ttl: 90_000 })).ttl, 60_000);
  equal((await client.start("quick", { ttl: 40_000 })).ttl, 40_000);
  equal((await client.start("quick")).ttl, 60_000);
  equal((await client.start("quick", { ttl: 0 })).ttl, 60_000);
});

verifies(ID, "tasks/result gives the error that the call would have had", legacyWires, async (world, t) => {
  const { client } = await AugmentedClient.open(world, createShop().server, t);
  const { taskId } = await client.start("failing");
  const { error } = await client.ask("tasks/result", { taskId });
  deepEqual(error, { code: -32050, message: "no ink", data: { colour: "blue" } });
  const failed = await client.result("tasks/get", { taskId });
  deepEqual([failed.status, failed.statusMessage, failed.error], ["failed", "no ink", undefined]);

  const broken = await client.start("broken");
  const result = await client.result("tasks/result", { taskId: broken.taskId });
  deepEqual([result.isError, result.content], [true, [{ type: "text", text: "no paper" }]]);
  const got = await client.result("tasks/get", { taskId: broken.taskId });
  assertForm("GetTaskResult", got);
  deepEqual([got.status, got.statusMessage], ["failed", "no paper"]);
});

verifies(ID, "tasks/cancel stops a task once", legacyWires, async (world, t) => {
  const { server, begun, ended } = createShop();
  const { client } = await AugmentedClient.open(world, server, t);
  const { taskId } = await client.start("wait");
  await begun.opened;
  const waiting = client.ask("tasks/result", { taskId });
  const cancelled = await client.result("tasks/cancel", { taskId });
  assertForm("CancelTaskResult", cancelled);
  deepEqual([cancelled.taskId, cancelled.status], [taskId, "cancelled"]);
  match((await waiting).error?.message ?? "", /cancelled/);
  equal(await client.code("tasks/cancel", { taskId }), INVALID_PARAMS);
  const finished = await client.start("quick");
  await client.result("tasks/result", { taskId: finished.taskId });
  equal(await client.code("tasks/cancel", { taskId: finished.taskId }), INVALID_PARAMS);
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
    for (const unknown of [crypto.randomUUID(), "", 7, undefined])
      equal(await client.code(method, { taskId: unknown }), INVALID_PARAMS);
  await until("the handler is stopped", () => ended.length > 0);
  equal(ended.length, 1);
});

verifies(ID, "tasks/list shows the tasks of the caller in pages", legacyWires, async (world, t) => {
  const { server } = createShop();
  const { client } = await AugmentedClient.open(world, server, t);
  const created: unknown[] = [];
  for (let count = 0; count < 60; count++) created.push((await client.start("quick")).taskId);
  const first = await client.result("tasks/list");
  assertForm("ListTasksResult", first);
  equal((first.tasks as Message[]).length, 50);
  const second = await client.result("tasks/list", { cursor: first.nextCursor });
  equal(second.nextCursor, undefined);
  const listed = [...(first.tasks as Message[]), ...(second.tasks as Message[])].map(({ taskId }) => taskId);
  deepEqual(new Set(listed), new Set(created));
  for (const cursor of ["x", "", 3, btoa("1 2")]) equal(await client.code("tasks/list", { cursor }), INVALID_PARAMS);
});

verifies(ID, "tasks belong to the session, or to the principal", legacyHttp, async (world, t) => {
  const { server, opened } = createShop({
    http: { gate: (exchange) => ({ principal: exchange.header("x-name"), auth: {} }) },
  });
  const open = async (name?: string) => {
    const headers = name === undefined ? {} : { "x-name": name };
    return (await AugmentedClient.open(world, server, t, { headers })).client;
  };
  const isHidden = async (other: AugmentedClient, taskId: unknown) => {
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
      equal(await other.code(method, { taskId }), INVALID_PARAMS);
    deepEqual((await other.result("tasks/list")).tasks, []);
  };
  const stranger = await open();
  const { taskId } = await stranger.start("wait");
  await isHidden(await open(), taskId);
  const alice = await open("alice");
  await isHidden(alice, taskId);
  const hers = await alice.start("wait");
  await isHidden(await open("bob"), hers.taskId);
  const again = await open("alice");
  const { tasks: listed } = await again.result("tasks/list");
  deepEqual(
    (listed as Message[]).map((task) => task.taskId),
    [hers.taskId],
  );
  opened.open("done");
  deepEqual((await again.result("tasks/result", { taskId: hers.taskId })).content, [{ type: "text", text: "done" }]);
});

verifies(
  [ID, "tasks-ext:limits:anonymous"],
  "a session without a name has limits of its own",
  legacyHttp,
  async (world, t) => {
    for (const limits of [{ maxKeptPerPrincipal: 2 }, { maxTasksPerPrincipal: 2 }]) {
      const { server } = createShop({}, { limits });
      const open = async () => (await AugmentedClient.open(world, server, t)).client;
      const [one, other] = [await open(), await open()];
      const ids = [(await one.start("wait")).taskId, (await one.start("wait")).taskId];
      const { error } = await one.ask("tools/call", { name: "wait", task: {} });
      deepEqual([error?.code, (error?.data as Message | undefined)?.limit], [-32005, Object.keys(limits)[0]]);
      await other.start("wait");
      const { tasks: listed } = await one.result("tasks/list");
      // Tasks of one millisecond have no order.
      deepEqual((listed as Message[]).map((task) => task.taskId).sort(), ids.sort());
    }
  },
);

verifies(
  [ID, "tasks-ext:limits:anonymous"],
  "all sessions without a name have a limit together",
  legacyHttp,
  async (world, t) => {
    const { server } = createShop({ limits: { anonymousShare: 0.5 } }, { limits: { maxTasks: 4 } });
    const open = async () => (await AugmentedClient.open(world, server, t)).client;
    for (const client of [await open(), await open()]) await client.start("wait");
    const { error } = await (await open()).ask("tools/call", { name: "wait", task: {} });
    deepEqual([error?.code, (error?.data as Message | undefined)?.limit], [-32005, "anonymousShare"]);
  },
);

proves(ID, { wire: "legacy-http" }, "callers that cannot be told apart have no list", async (t) => {
  const { server } = createShop({ http: { sessions: false } });
  t.after(() => server.close());
  const post = async (method: string, params: Message): Promise<Message> => {
    const response = await server.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(method !== "initialize" && { "mcp-protocol-version": "2025-11-25" }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      }),
    );
    const text = await response.text();
    return JSON.parse(/^data: (\{.*"id":1.*\})$/m.exec(text)?.[1] ?? text);
  };
  const info = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const { result } = await post("initialize", info);
  deepEqual(((result as Message).capabilities as Message).tasks, { cancel: {}, requests: { tools: { call: {} } } });
  equal(((await post("tasks/list", {})).error as Message).code, METHOD_NOT_FOUND);
  const created = (await post("tools/call", { name: "quick", task: {} })).result as { task: Message };
  const { taskId } = created.task;
  const done = (await post("tasks/result", { taskId })).result as Message;
  deepEqual(done.content, [{ type: "text", text: "quick" }]);
});

verifies(
  "tasks-ext:legacy:not-enabled-2025",
  "a client that declares the extension gets ordinary results",
  legacyWires,
  async (world, t) => {
    for (const version of ["2025-11-25", "2025-06-18"]) {
      const capabilities = { extensions: { [EXTENSION]: {} } };
      const { client, welcome } = await AugmentedClient.open(world, createShop().server, t, { version, capabilities });
      equal((welcome.capabilities as Message).extensions, undefined);
      deepEqual(await client.result("tools/call", { name: "quick" }), { content: [{ type: "text", text: "quick" }] });
      equal(await client.code("tasks/update", { taskId: "a", inputResponses: {} }), METHOD_NOT_FOUND);
      // In 2025-11-25 the method exists in its older form.
      const expected = version === "2025-11-25" ? INVALID_PARAMS : METHOD_NOT_FOUND;
      equal(await client.code("tasks/get", { taskId: "a" }), expected);
    }
  },
);

verifies(ID, "a task that runs in another process is waited for", legacyHttp, async (world, t) => {
  const cluster = memoryCluster();
  const options = { http: { gate: () => ({ principal: "alice", auth: {} }) } };
  const front = createShop(options, { cluster, work: false });
  const { server, opened } = createShop(options, { cluster });
  const { client } = await AugmentedClient.open(world, front.server, t);
  t.after(() => server.close());
  const { taskId } = await client.start("wait");
  const waiting = client.ask("tasks/result", { taskId });
  opened.open("far away");
  deepEqual((await waiting).result?.content, [{ type: "text", text: "far away" }]);
});

verifies(ID, "calls that wait leave room for the tasks", legacyWires, async (world, t) => {
  const { server, opened } = createShop({ limits: { maxCalls: 4 } });
  const { client } = await AugmentedClient.open(world, server, t);
  const { taskId } = await client.start("wait");
  const waiting = [1, 2, 3].map(() => client.ask("tasks/result", { taskId }));
  const isRefusal = ({ error }: { readonly error?: { readonly code: number } }) => error?.code === -32005;
  await client.raw.until((heard) => heard.some(isRefusal));
  opened.open("done");
  const answers = await Promise.all(waiting);
  match(answers.find(isRefusal)?.error?.message ?? "", /tasks\/get/);
  deepEqual(
    answers.flatMap(({ result }) => (result === undefined ? [] : [result.content])),
    [1, 2].map(() => [{ type: "text", text: "done" }]),
  );
  deepEqual((await client.result("tasks/result", { taskId })).content, [{ type: "text", text: "done" }]);
});
