import { deepEqual, equal, ok } from "node:assert/strict";
import { type Context, McpServer, RpcError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { callViews } from "#src/server/call-info.js";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const RELATED = "io.modelcontextprotocol/related-task";

const blocks = (_: unknown, ctx: Context) => aborted(ctx.signal);

verifies("tasks-ext:get:working", modernWires, async (world, t) => {
  const client = await taskClient(world, new McpServer(me).tool("t", { task: "optional" }, blocks).extend(tasks()), t);
  const taskId = await client.start("t");
  const { resultType, _meta, ...task } = (await client.request("tasks/get", { taskId })).result ?? {};
  equal(resultType, "complete");
  deepEqual(
    Object.keys(task).sort(),
    ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"].sort(),
  );
  equal(task.status, "working");
});

verifies("tasks-ext:get:input-required", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const [from, to] = await Promise.all([
        ctx.elicit("From?", FORM, { key: "from" }),
        ctx.elicit("To?", FORM, { key: "to" }),
      ]);
      return `${from.content?.city} ${to.content?.city}`;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const taskId = await client.start("t");
  await client.until(taskId, "input_required");
  for (let poll = 0; poll < 3; poll++) {
    const task = await client.get(taskId);
    deepEqual(Object.keys(task.inputRequests ?? {}), ["from", "to"]);
    for (const [key, { method, params }] of Object.entries(task.inputRequests ?? {})) {
      equal(method, "elicitation/create");
      equal(params.message, key === "from" ? "From?" : "To?");
    }
    equal("result" in task || "error" in task, false);
  }
  await client.update(taskId, { from: accept({ city: "A" }) });
  deepEqual(Object.keys((await client.get(taskId)).inputRequests ?? {}), ["to"]);
  await client.update(taskId, { to: accept({ city: "B" }) });
  equal(await client.text(taskId), "A B");
  equal("inputRequests" in (await client.get(taskId)), false);
});

verifies("tasks-ext:get:completed", modernWires, async (world, t) => {
  const output = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
  const input = { type: "object", properties: { n: { type: "number" } } } as const;
  const server = new McpServer(me)
    .tool("structured", { task: "optional", input, output }, ({ n }: { n?: number }) => ({ n: n ?? 0 }))
    .tool("raw", { task: "optional" }, () => ({
      content: [{ type: "text" as const, text: "x" }],
      _meta: { "com.example/a": 1 },
    }))
    .tool("meta", { task: "optional" }, (_: unknown, ctx: Context) => String(ctx.meta?.["com.example/x"]))
    .extend(tasks());
  const client = await taskClient(world, server, t);
  for (const [name, args] of [
    ["structured", { n: 7 }],
    ["raw", {}],
  ] as const) {
    const direct = (await client.plain(name, { arguments: args })).result;
    const task = await client.until(await client.start(name, args), "completed");
    deepEqual(task.result, direct);
    equal("error" in task, false);
  }
  const meta = { "com.example/x": "kept", ...(await metaOf(client)) };
  const { result } = await client.raw.ask(
    { id: "m", method: "tools/call", params: { name: "meta", arguments: {}, _meta: meta } },
    { "mcp-name": "meta" },
  );
  equal(await client.text(result?.taskId as string), "kept");
});

/** `_meta` of a request that declares the extension. */
async function metaOf(_: unknown): Promise<Record<string, unknown>> {
  const { envelope } = await import("../../support/raw-client.js");
  const { TASKS } = await import("../../support/task-client.js");
  return envelope({ "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } });
}

verifies("tasks-ext:get:tool-error-completed", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("reports", { task: "optional" }, () => ({ content: [], isError: true }))
    .tool("throws", { task: "optional" }, () => {
      throw new Error("boom");
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  for (const name of ["reports", "throws"]) {
    const task = await client.until(await client.start(name), "completed", "failed");
    equal(task.status, "completed", name);
    equal(task.result?.isError, true);
    equal("error" in task, false);
    deepEqual(task.result, (await client.plain(name)).result);
  }
});

verifies(["tasks-ext:get:failed", "tasks-ext:get:failed-status-message"], modernWires, async (world, t) => {
  const server = new McpServer(me, {
    interceptors: [
      (call, next) => {
        if (
          call.params.name === "crash" &&
          callViews.callOf(call).wire.shared === false &&
          call.id !== undefined &&
          inTask(call.id)
        )
          throw new Error("secret of the database");
        return next(call);
      },
    ],
    onError: () => {},
  })
    .tool("refuses", { task: "optional" }, () => {
      throw new RpcError(-31050, "Out of\nberths", { free: 0 });
    })
    .tool("crash", { task: "optional" }, () => "x")
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const refused = await client.until(await client.start("refuses"), "completed", "failed");
  equal(refused.status, "failed");
  deepEqual(refused.error, { code: -31050, message: "Out of\nberths", data: { free: 0 } });
  deepEqual(refused.error, (await client.plain("refuses")).error);
  equal(refused.statusMessage, "Out of berths");
  equal("result" in refused, false);
  const crashed = await client.until(await client.start("crash"), "completed", "failed");
  equal(crashed.status, "failed");
  deepEqual(crashed.error, { code: -32603, message: "Internal error" });
  ok((crashed.statusMessage ?? "").length > 0);
  equal(JSON.stringify(crashed).includes("secret"), false);
});

/** True for the call of a task: it has the id of the task. */
const inTask = (id: unknown) => typeof id === "string" && /^[0-9a-f-]{36}$/.test(id);

verifies("tasks-ext:get:cancelled", modernWires, async (world, t) => {
  const client = await taskClient(world, new McpServer(me).tool("t", { task: "optional" }, blocks).extend(tasks()), t);
  const taskId = await client.start("t");
  await client.cancel(taskId);
  const task = await client.get(taskId);
  equal(task.status, "cancelled");
  equal("result" in task || "error" in task, false);
});

verifies("tasks-ext:get:unknown-id", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock })
    .tool("t", { task: { ttlMs: 1_000 } }, () => "x")
    .extend(tasks({ requireName: false }));
  const client = await taskClient(world, server, t);
  const expired = await client.start("t");
  await client.text(expired);
  clock.advance(1_000);
  const first = (await client.request("tasks/get", { taskId: "unknown" })).error;
  equal(first?.code, -32602);
  for (const taskId of [expired, "", 7, null, {}, ["x"], "x".repeat(5_000), undefined]) {
    const { error } = await client.request("tasks/get", taskId === undefined ? {} : { taskId });
    deepEqual(error, first, JSON.stringify(taskId));
  }
});

verifies("tasks-ext:get:pure-read", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM))
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const taskId = await client.start("asks");
  const before = await client.until(taskId, "input_required");
  const inputResponses = { "ask-1": accept({ city: "Oslo" }) };
  await client.request("tasks/get", { taskId, inputResponses });
  deepEqual(await client.get(taskId), before);
});

verifies("tasks-ext:get:no-related-task-meta", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM))
    .tool("ends", { task: "optional" }, () => "x")
    .tool("fails", { task: "optional" }, () => {
      throw new RpcError(-31050, "no");
    })
    .tool("blocks", { task: "optional" }, blocks)
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  for (const [name, status] of [
    ["asks", "input_required"],
    ["ends", "completed"],
    ["fails", "failed"],
    ["blocks", "working"],
  ] as const) {
    const taskId = await client.start(name);
    await client.until(taskId, status);
    await client.cancel(taskId);
    await client.get(taskId);
  }
  const seen = JSON.stringify(client.raw.heard);
  ok(seen.includes("cancelled"));
  equal(seen.includes(RELATED), false);
  equal(seen.includes("requestState"), false);
});

verifies("tasks-ext:lifecycle:terminal-final", modernWires, async (world, t) => {
  const [begun, open] = [gate(), gate()];
  let ended = 0;
  const server = new McpServer(me)
    .tool("ignores", { task: "optional" }, async () => {
      begun.open();
      await open.opened;
      ended++;
      return "late";
    })
    .tool("ends", { task: "optional" }, () => "x")
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const ignoring = await client.start("ignores");
  await begun.opened;
  await client.cancel(ignoring);
  const cancelled = await client.get(ignoring);
  equal(cancelled.status, "cancelled");
  open.open();
  await until("the handler has ended", () => ended > 0);
  const completed = await client.start("ends");
  await client.text(completed);
  const before = await client.get(completed);
  await client.cancel(completed);
  await client.update(completed, { "ask-1": accept({ city: "x" }) });
  deepEqual(await client.get(completed), before);
  deepEqual(await client.get(ignoring), cancelled);
});

verifies("tasks-ext:progress:status-message", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const turns = [gate(), gate(), gate(), gate()];
  const steps: ((ctx: Context) => unknown)[] = [
    (ctx) => ctx.progress(1, 4),
    (ctx) => ctx.progress(2, 4, "second\nline"),
    (ctx) => ctx.log("info", "third"),
  ];
  const server = new McpServer(me, { clock, capabilities: { logging: true }, warnDeprecated: false })
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      for (const [at, step] of steps.entries()) {
        await turns[at]?.opened;
        await step(ctx);
      }
      await turns[3]?.opened;
      return "x";
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const taskId = await client.start("t");
  const message = async () => (await client.get(taskId)).statusMessage;
  equal(await message(), undefined);
  const begun = await client.get(taskId);
  turns[0]?.open();
  await until("the first is stored", async () => (await message()) === "1 of 4");
  ok((await client.get(taskId)).lastUpdatedAt > begun.lastUpdatedAt);
  turns[1]?.open();
  turns[2]?.open();
  await client.raw.settled();
  equal(await message(), "1 of 4", "once per interval");
  clock.advance(1_000);
  await until("the latest is stored", async () => (await message()) === "third");
  turns[3]?.open();
  await client.text(taskId);
  equal(await message(), undefined);
  deepEqual(
    client.raw.heard.filter(({ method }) => method !== undefined),
    [],
  );
});

verifies(["tasks-ext:lifecycle:no-worker-waits", "tasks-ext:lifecycle:steps-once"], modernWires, async (world, t) => {
  const runs: string[] = [];
  const extension = tasks({ limits: { maxRunning: 1 } });
  const keys: string[] = [];
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      runs.push("handler");
      keys.push(ctx.idempotencyKey);
      const made = await ctx.step("make", () => {
        runs.push("make");
        return { id: 7 };
      });
      const { content } = await ctx.elicit("Where?", FORM);
      return `${made.id} ${content?.city}`;
    })
    .extend(extension);
  const client = await taskClient(world, server, t, { elicitation: {} });
  const ids = await Promise.all([client.start("t"), client.start("t"), client.start("t")]);
  for (const id of ids) await client.until(id, "input_required");
  equal(runs.length, 6, "one worker has run all handlers up to their questions");
  await until("no worker is held", () => extension.running === 0);
  for (const id of ids) await client.update(id, { "ask-1": accept({ city: "Oslo" }) });
  for (const id of ids) equal(await client.text(id), "7 Oslo");
  equal(runs.filter((run) => run === "make").length, 3);
  equal(runs.filter((run) => run === "handler").length, 6);
  equal(new Set(keys).size, 3, "each task has its own key in both runs");
});
