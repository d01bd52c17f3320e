import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { type Context, McpServer } from "bowline/server";
import { type TasksOptions, tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernHttp, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import type { Message } from "../../support/raw-client.js";
import { accept, TASKS, taskClient } from "../../support/task-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const FIELDS = ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"];

verifies("tasks-ext:create:requires-declaration", modernWires, async (world, t) => {
  const client = await taskClient(
    world,
    new McpServer(me).tool("t", { task: "optional" }, () => "x").extend(tasks()),
    t,
  );
  await client.start("t");
  const { result } = await client.plain("t");
  equal(result?.resultType, "complete");
});

verifies(["tasks-ext:create:per-request-opt-in", "tasks-ext:create:sync-fallback"], modernWires, async (world, t) => {
  const client = await taskClient(
    world,
    new McpServer(me).tool("t", { task: "optional" }, () => "x").extend(tasks()),
    t,
  );
  const { result } = await client.plain("t");
  equal(result?.resultType, "complete");
  deepEqual(result?.content, [{ type: "text", text: "x" }]);
  for (const field of FIELDS) equal(field in (result ?? {}), false, field);
  equal(await client.text(await client.start("t")), "x");
});

verifies("tasks-ext:create:required-32021", modernWires, async (world, t) => {
  let ran = 0;
  const server = new McpServer(me).tool("t", { task: "required" }, () => ++ran).extend(tasks());
  const client = await taskClient(world, server, t);
  const { error } = await client.plain("t");
  equal(error?.code, -32021);
  deepEqual(error?.data, { requiredCapabilities: { extensions: { [TASKS]: {} } } });
  equal(ran, 0);
  await client.text(await client.start("t"));
  equal(ran, 1);
});

verifies("tasks-ext:create:required-32021", "status", modernHttp, async (world, t) => {
  const { modernRequest } = await import("../../support/modern-request.js");
  const server = new McpServer(me).tool("t", { task: "required" }, () => "x").extend(tasks());
  t.after(() => server.close());
  const { headers, body } = modernRequest("tools/call", { params: { name: "t", arguments: {} } });
  const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
  const response = await (world.transport === "node"
    ? fetch(await world.listen(server), init)
    : server.fetch(new Request("http://localhost/mcp", init)));
  equal(response.status, 400);
  await response.text();
});

verifies("tasks-ext:create:legacy-task-param-ignored", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("sync", {}, () => "sync")
    .tool("either", { task: "optional" }, () => "either")
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const task = { ttl: 1_000 };
  for (const name of ["sync", "either"]) {
    const { result } = await client.plain(name, { task });
    deepEqual(result?.content, [{ type: "text", text: name }]);
    equal(result?.resultType, "complete");
  }
  equal((await client.call("sync", {}, { task })).result?.resultType, "complete");
});

verifies("tasks-ext:create:supported-methods", modernWires, async (world, t) => {
  const forged = { resultType: "task", taskId: "x", status: "working", createdAt: "", lastUpdatedAt: "", ttlMs: null };
  const reports: string[] = [];
  const server = new McpServer(me, { onError: (error) => void reports.push(String(error)) })
    .prompt("p", {}, () => forged as never)
    .resource("a:b", { name: "r" }, () => forged as never)
    .method("com.example/m", {}, () => forged as never)
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const requests: [string, Message][] = [
    ["prompts/get", { name: "p" }],
    ["resources/read", { uri: "a:b" }],
    ["com.example/m", {}],
  ];
  for (const [method, params] of requests) {
    const { error } = await client.request(method, params);
    equal(error?.code, -32603, method);
  }
  equal(reports.length, 3, reports.join("\n"));
});

verifies(["tasks-ext:create:flat-shape", "tasks-ext:create:any-initial-status"], modernWires, async (world, t) => {
  const client = await taskClient(
    world,
    new McpServer(me).tool("t", { task: "optional" }, () => "x").extend(tasks()),
    t,
  );
  const { result } = await client.call("t");
  const { _meta, resultType, ...task } = result ?? {};
  equal(resultType, "task");
  deepEqual(Object.keys(task).sort(), [...FIELDS].sort());
  ok(["working", "completed"].includes(task.status as string));
});

verifies("tasks-ext:create:result-type-exclusive", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, () => "x")
    .tool("fails", { task: "optional" }, () => Promise.reject(new Error("no")))
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM))
    .tool("waits", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  for (const [name, status] of [
    ["waits", "working"],
    ["asks", "input_required"],
    ["t", "completed"],
    ["fails", "completed"],
  ] as const) {
    const taskId = await client.start(name);
    await client.until(taskId, status);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel", "tasks/get"]) {
      const { result } = await client.request(method, { taskId, inputResponses: {} });
      equal(result?.resultType, "complete", `${name} ${method}`);
    }
  }
});

proves("tasks-ext:create:id-entropy", {}, "ids come from the platform's generator", async (t) => {
  const random = crypto.randomUUID.bind(crypto);
  const made = new Set<string>();
  const { mock } = t;
  mock.method(crypto, "randomUUID", () => {
    const id = random();
    made.add(id);
    return id;
  });
  const server = new McpServer(me).tool("t", { task: "optional" }, () => "x").extend(tasks());
  const world = await modernWires[0]?.open(t);
  ok(world !== undefined);
  const client = await taskClient(world, server, t);
  const ids = await Promise.all(Array.from({ length: 200 }, () => client.start("t")));
  equal(new Set(ids).size, 200);
  for (const id of ids) {
    ok(made.has(id));
    match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

verifies("tasks-ext:create:after-mrtr", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const reached = gate();
  const open = gate();
  const server = new McpServer(me, { clock, stateKeys: [{ id: "k", secret: new Uint8Array(32) }] })
    .tool("t", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      const first = await ctx.elicit("From?", FORM, { key: "city" });
      reached.open();
      await open.opened;
      const second = await ctx.elicit("To?", FORM, { key: "to" });
      return `${first.content?.city} to ${second.content?.city}`;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const { result: first } = await client.call("t");
  equal(first?.resultType, "input_required");
  equal("taskId" in (first ?? {}), false);
  const answers = { inputResponses: { city: accept({ city: "Oslo" }) }, requestState: first?.requestState };
  const created = client.call("t", {}, answers);
  await reached.opened;
  clock.advance(100);
  const { result: second } = await created;
  equal(second?.resultType, "task");
  equal("requestState" in (second ?? {}), false);
  equal("inputRequests" in (second ?? {}), false);
  open.open();
  const taskId = second?.taskId as string;
  const { inputRequests } = await client.until(taskId, "input_required");
  deepEqual(Object.keys(inputRequests ?? {}), ["to"]);
  await client.update(taskId, { to: accept({ city: "Bergen" }) });
  equal(await client.text(taskId), "Oslo to Bergen");
});

verifies("tasks-ext:create:promote-after", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const open = gate();
  let running = 0;
  const server = new McpServer(me, { clock })
    .tool("quick", { task: { promoteAfterMs: 100 } }, () => "quick")
    .tool("slow", { task: { promoteAfterMs: 100 } }, async () => {
      running++;
      await open.opened;
      return "slow";
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const { result } = await client.call("quick");
  equal(result?.resultType, "complete");
  deepEqual(result?.content, [{ type: "text", text: "quick" }]);
  const undeclared = client.plain("slow");
  const declared = client.call("slow");
  await until("both calls run", () => running === 2);
  clock.advance(100);
  const { result: task } = await declared;
  equal(task?.resultType, "task");
  equal((await client.get(task?.taskId as string)).status, "working");
  open.open();
  equal(await client.text(task?.taskId as string), "slow");
  equal((await undeclared).result?.resultType, "complete");
});

verifies("tasks-ext:fields:durations", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock })
    .tool("day", { task: "optional" }, () => "x")
    .tool("short", { task: { ttlMs: 5_000 } }, () => "x")
    .tool("endless", { task: { ttlMs: null } }, () => "x")
    .tool("infinite", { task: { ttlMs: Number.POSITIVE_INFINITY } }, () => "x")
    .extend(tasks({ pollIntervalMs: 250 }));
  const client = await taskClient(world, server, t);
  for (const [name, ttlMs] of [
    ["day", 86_400_000],
    ["short", 5_000],
    ["endless", null],
    ["infinite", null],
  ] as const) {
    const { result } = await client.call(name);
    for (const seen of [result, await client.get(result?.taskId as string)] as Message[]) {
      equal(seen.ttlMs, ttlMs, name);
      equal(seen.pollIntervalMs, 250);
      equal("ttl" in seen || "pollInterval" in seen, false);
    }
  }
  for (const task of [
    { ttlMs: 1.5 },
    { ttlMs: 0 },
    { attempts: -1 },
    { attempts: 1.5 },
    { promoteAfterMs: Number.NaN },
  ])
    throws(() => server.tool("wrong", { task }, () => "x"), /tool "wrong": task\.\w+ must be a /, JSON.stringify(task));
});

proves(
  "tasks-ext:fields:durations",
  { wire: "modern-memory" },
  "options that are no durations are refused",
  async (t) => {
    const wrong: TasksOptions[] = [
      { ttlMs: 0 },
      { ttlMs: 1.5 },
      { pollIntervalMs: 0 },
      { pollIntervalMs: 0.5 },
      { pollIntervalMs: Number.POSITIVE_INFINITY },
    ];
    for (const options of wrong) throws(() => tasks(options), /must be a whole number/, JSON.stringify(options));
    const server = new McpServer(me)
      .tool("t", { task: "optional" }, () => "x")
      .extend(tasks({ ttlMs: Number.POSITIVE_INFINITY }));
    const world = await modernWires[0]?.open(t);
    ok(world !== undefined);
    const client = await taskClient(world, server, t);
    equal((await client.call("t")).result?.ttlMs, null);
  },
);

verifies("tasks-ext:fields:timestamps", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock })
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM))
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const taskId = await client.start("t");
  const asked = await client.until(taskId, "input_required");
  equal(new Date(asked.createdAt).toISOString(), asked.createdAt);
  equal(new Date(asked.lastUpdatedAt).toISOString(), asked.lastUpdatedAt);
  clock.advance(1_000);
  await client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
  const done = await client.until(taskId, "completed");
  equal(done.createdAt, asked.createdAt);
  ok(Date.parse(done.lastUpdatedAt) >= Date.parse(asked.lastUpdatedAt) + 1_000);
});

verifies(["tasks-ext:ttl:not-early", "tasks-ext:ttl:expiry"], modernWires, async (world, t) => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const wait = (_: unknown, ctx: Context) => {
    signals.push(ctx.signal);
    return aborted(ctx.signal).then(() => "late");
  };
  const server = new McpServer(me, { clock })
    .tool("waits", { task: { ttlMs: 5_000 } }, wait)
    .tool("ends", { task: { ttlMs: 5_000 } }, () => "x")
    .tool("endless", { task: { ttlMs: null } }, () => "x")
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const waiting = await client.start("waits");
  const ended = await client.start("ends");
  const endless = await client.start("endless");
  await client.text(ended);
  await client.text(endless);
  await until("the handler runs", () => signals.length === 1);
  clock.advance(4_999);
  equal((await client.get(waiting)).status, "working");
  equal(await client.text(ended), "x");
  equal(signals[0]?.aborted, false);
  clock.advance(1);
  equal(signals[0]?.aborted, true);
  const unknown = (await client.request("tasks/get", { taskId: crypto.randomUUID() })).error;
  for (const taskId of [waiting, ended])
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
      deepEqual((await client.request(method, { taskId, inputResponses: {} })).error, unknown, method);
  clock.advance(10 * 365 * 86_400_000);
  equal(await client.text(endless), "x");
});

verifies("tasks-ext:ttl:expiry", "of a call that became a task", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const reached = gate<AbortSignal>();
  const server = new McpServer(me, { clock })
    .tool("slow", { task: { promoteAfterMs: 100, ttlMs: 5_000 } }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      await aborted(ctx.signal);
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const created = client.call("slow");
  const signal = await reached.opened;
  clock.advance(100);
  const taskId = (await created).result?.taskId as string;
  clock.advance(4_999);
  equal(signal.aborted, false);
  clock.advance(1);
  equal(signal.aborted, true);
  equal((await client.request("tasks/get", { taskId })).error?.code, -32602);
});
