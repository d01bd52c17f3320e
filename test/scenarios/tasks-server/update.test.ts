import { deepEqual, equal, match } from "node:assert/strict";
import { type Context, inputRequired, McpServer, UrlElicitationRequiredError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { aborted } from "../../support/gate.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const ALL = { elicitation: {}, sampling: {}, roots: {} };
const quiet = { warnDeprecated: false };
const MESSAGES = [{ role: "user" as const, content: { type: "text" as const, text: "?" } }];

const asks = async (_: unknown, ctx: Context) => {
  const { content } = await ctx.elicit("Where?", FORM);
  return String(content?.city);
};
const asking = () => new McpServer(me).tool("asks", { task: "optional" }, asks).extend(tasks());

verifies("tasks-ext:update:ack-empty", modernWires, async (world, t) => {
  const client = await taskClient(world, asking(), t, ALL);
  const taskId = await client.start("asks");
  await client.until(taskId, "input_required");
  const { result } = await client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
  equal(result?.resultType, "complete");
  deepEqual(
    Object.keys(result ?? {}).filter((key) => key !== "_meta"),
    ["resultType"],
  );
});

verifies("tasks-ext:update:resumes", modernWires, async (world, t) => {
  const server = new McpServer(me, quiet)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const [{ content }, sampled, roots] = await Promise.all([
        ctx.elicit("Where?", FORM, { key: "where" }),
        ctx.sample({ messages: MESSAGES, maxTokens: 1 }, { key: "say" }),
        ctx.listRoots({ key: "roots" }),
      ]);
      return JSON.stringify([content?.city, sampled.model, roots[0]?.uri]);
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, ALL);
  const taskId = await client.start("t");
  const { inputRequests } = await client.until(taskId, "input_required");
  deepEqual(
    Object.entries(inputRequests ?? {}).map(([key, { method }]) => [key, method]),
    [
      ["where", "elicitation/create"],
      ["say", "sampling/createMessage"],
      ["roots", "roots/list"],
    ],
  );
  await client.update(taskId, {
    where: accept({ city: "Oslo" }),
    say: { role: "assistant", content: { type: "text", text: "hi" }, model: "m" },
    roots: { roots: [{ uri: "file:///a" }] },
  });
  equal(await client.text(taskId), '["Oslo","m","file:///a"]');
});

verifies("tasks-ext:update:resumes", "questions that the handler returns", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const state = ctx.requestState as { round: number } | undefined;
      const first = await ctx.elicit("Which?", FORM, { key: "city" });
      const given = (ctx.inputResponses?.city as { content?: { city?: string } } | undefined)?.content?.city;
      if (given === undefined || state === undefined || state.round < 2)
        return inputRequired({
          inputRequests: {
            city: {
              method: "elicitation/create",
              params: { mode: "form", message: "City?", requestedSchema: FORM as never },
            },
          },
          state: { round: (state?.round ?? 0) + 1 },
        });
      return `${first.content?.city} ${given} ${state.round}`;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, ALL);
  const taskId = await client.start("t");
  const used: string[] = [];
  for (const city of ["A", "B", "C"]) {
    const { inputRequests } = await client.until(taskId, "input_required");
    const [key] = Object.keys(inputRequests ?? {});
    used.push(String(key));
    await client.update(taskId, { [String(key)]: accept({ city }) });
  }
  equal(await client.text(taskId), "A C 2");
  equal(new Set(used).size, 3, used.join());
});

verifies("tasks-ext:update:partial", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const [a, b] = await Promise.all([ctx.elicit("A?", FORM, { key: "a" }), ctx.elicit("B?", FORM, { key: "b" })]);
      return `${a.content?.city} ${b.content?.city}`;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, ALL);
  const taskId = await client.start("t");
  await client.until(taskId, "input_required");
  await client.update(taskId, { b: accept({ city: "2" }) });
  const task = await client.get(taskId);
  equal(task.status, "input_required");
  deepEqual(Object.keys(task.inputRequests ?? {}), ["a"]);
  await client.update(taskId, { a: accept({ city: "1" }) });
  equal(await client.text(taskId), "1 2");
});

verifies("tasks-ext:update:ignore-unknown-keys", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const [a, b] = await Promise.all([ctx.elicit("A?", FORM, { key: "a" }), ctx.elicit("B?", FORM, { key: "b" })]);
      const again = await ctx.elicit("C?", FORM, { key: "c" });
      return `${a.content?.city} ${b.content?.city} ${again.content?.city}`;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, ALL);
  const taskId = await client.start("t");
  await client.until(taskId, "input_required");
  const ok = async (answers: object) => equal((await client.update(taskId, answers)).result?.resultType, "complete");
  await ok({ nobody: accept({ city: "x" }), __proto__: null });
  await ok({ a: accept({ city: "1" }), toString: accept({ city: "x" }) });
  await ok({ a: accept({ city: "again" }), b: accept({ city: "2" }) });
  await until("the last question is open", async () => "c" in ((await client.get(taskId)).inputRequests ?? {}));
  await ok({ a: accept({ city: "superseded" }), b: "no shape", c: accept({ city: "3" }) });
  equal(await client.text(taskId), "1 2 3");
});

verifies(["tasks-ext:update:unknown-id", "tasks-ext:cancel:unknown-id"], modernWires, async (world, t) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock }).tool("t", { task: { ttlMs: 1_000 } }, () => "x").extend(tasks());
  const client = await taskClient(world, server, t);
  const expired = await client.start("t");
  await client.text(expired);
  clock.advance(1_000);
  for (const taskId of ["unknown", expired]) {
    equal((await client.update(taskId, {})).error?.code, -32602);
    equal((await client.cancel(taskId)).error?.code, -32602);
  }
});

verifies("tasks-ext:update:terminal", modernWires, async (world, t) => {
  const { RpcError } = await import("bowline/server");
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
    if (name === "blocks") await client.cancel(taskId);
    const before = await client.until(taskId, status);
    const { result } = await client.update(taskId, { "ask-1": accept({ city: "x" }) });
    equal(result?.resultType, "complete");
    deepEqual(await client.get(taskId), before);
  }
});

verifies("tasks-ext:update:malformed", modernWires, async (world, t) => {
  const client = await taskClient(world, asking(), t, ALL);
  const taskId = await client.start("asks");
  const before = await client.until(taskId, "input_required");
  const wrong = [undefined, null, [], "x", { "ask-1": {} }, { "ask-1": "Oslo" }, { "ask-1": { content: {} } }];
  for (const inputResponses of wrong) {
    const params = inputResponses === undefined ? { taskId } : { taskId, inputResponses };
    const { error } = await client.request("tasks/update", params);
    equal(error?.code, -32602, JSON.stringify(inputResponses));
    match(String(error?.message), /inputResponses/);
  }
  deepEqual(await client.get(taskId), before);
  await client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
  equal(await client.text(taskId), "Oslo");
});

verifies("tasks-ext:update:keys-unique", modernWires, async (world, t) => {
  const server = new McpServer(me)
    .tool("again", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const a = await ctx.elicit("A?", FORM, { key: "a" });
      const b = await ctx.elicit("B?", FORM, { key: "a.2" });
      return `${a.content?.city} ${b.content?.city}`;
    })
    .tool("twice", { task: "optional" }, async (_: unknown, ctx: Context) =>
      Promise.all([ctx.elicit("A?", FORM, { key: "a" }), ctx.elicit("B?", FORM, { key: "a" })]),
    )
    .extend(tasks());
  const client = await taskClient(world, server, t, ALL);
  const taskId = await client.start("again");
  const used: string[] = [];
  // The first answers do not fit the form, so the questions are asked again.
  for (const answer of [{ city: 1 }, { city: 2 }, { city: "1" }, { city: 3 }, { city: "2" }]) {
    const { inputRequests } = await client.until(taskId, "input_required");
    const [key, ...more] = Object.keys(inputRequests ?? {});
    deepEqual(more, []);
    used.push(String(key));
    await client.update(taskId, { [String(key)]: accept(answer) });
  }
  equal(await client.text(taskId), "1 2");
  equal(new Set(used).size, used.length, used.join());
  const twice = await client.until(await client.start("twice"), "failed", "completed", "input_required");
  equal(twice.status, "failed");
  match(String(twice.error?.message), /two questions have the key "a"/);
  deepEqual(twice.error?.data, { code: "definition_error" });
});

verifies("tasks-ext:update:capability-gate", modernWires, async (world, t) => {
  const server = new McpServer(me, quiet)
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) =>
      ctx.sample({ messages: MESSAGES, maxTokens: 1 }),
    )
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const task = await client.until(await client.start("t"), "failed", "completed", "input_required");
  equal(task.status, "failed");
  equal(task.error?.code, -32021);
  equal(JSON.stringify(client.raw.heard).includes("inputRequests"), false);
});

verifies("tasks-ext:update:capability-gate", "questions that the handler returns", modernWires, async (world, t) => {
  const ask = (request: object) => () => inputRequired({ inputRequests: { q: request as never } });
  const page = { elicitationId: "q", message: "Log in", url: "https://example.com" };
  const errors: unknown[] = [];
  const server = new McpServer(me, { ...quiet, onError: (error) => void errors.push(error) })
    .tool(
      "sample",
      { task: "optional" },
      ask({ method: "sampling/createMessage", params: { messages: MESSAGES, maxTokens: 1 } }),
    )
    .tool("roots", { task: "optional" }, ask({ method: "roots/list" }))
    .tool(
      "form",
      { task: "optional" },
      ask({ method: "elicitation/create", params: { mode: "form", message: "?", requestedSchema: FORM } }),
    )
    .tool("url", { task: "optional" }, () => Promise.reject(new UrlElicitationRequiredError([page])))
    .tool("unknown", { task: "optional" }, ask({ method: "tools/list" }))
    .tool("extra", { task: "optional" }, ask({ method: "roots/list", id: 1 }))
    .tool("shapeless", { task: "optional" }, ask("Where?" as never))
    .extend(tasks());
  const silent = await taskClient(world, server, t, {});
  const end = async (name: string, client = silent) =>
    client.until(await client.start(name), "failed", "completed", "input_required");
  for (const name of ["sample", "roots", "form", "url"]) {
    const { status, error } = await end(name);
    equal(status, "failed", name);
    equal(error?.code, -32021, name);
  }
  deepEqual(errors, []);
  for (const name of ["unknown", "extra", "shapeless"]) {
    const { status, error } = await end(name);
    equal(status, "failed", name);
    equal(error?.code, -32603, name);
    match(String(errors.pop()), /inputRequired: /);
  }
  equal(JSON.stringify(silent.raw.heard).includes("inputRequests"), false);
  const able = await taskClient(world, server, t, { ...ALL, elicitation: { form: {}, url: {} } });
  for (const name of ["sample", "roots", "form", "url"]) equal((await end(name, able)).status, "input_required", name);
  deepEqual((await end("roots", able)).inputRequests, { q: { method: "roots/list", params: {} } });
});
