import { deepEqual, equal, match } from "node:assert/strict";
import { authOf } from "bowline/auth/server";
import { type Context, McpServer, type Server } from "bowline/server";
import { type TasksOptions, tasks } from "bowline/tasks/server";
import { createMemoryState, FakeClock, type RecordedMessage } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { type Guarded, guardedModern } from "../../support/guarded.js";
import { sseMessages } from "../../support/modern-request.js";
import type { Message } from "../../support/raw-client.js";
import { TaskClient, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };

type Send = (init: { method: string; headers: Record<string, string>; body: string }) => Promise<Response>;

/** Client of tasks over HTTP. Of a stream it takes the first message. */
function over(send: Send, token?: string): TaskClient {
  return new TaskClient(async (message, headers) => {
    const response = await send({
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": String(message.method),
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
    if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) return response.json();
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (sseMessages(text).length > 0 && text.endsWith("\n\n")) break;
    }
    return sseMessages(text)[0] as unknown as RecordedMessage;
  });
}

const as = (guarded: Guarded, token: string) => over((init) => guarded.send("/mcp", init), token);

verifies("tasks-ext:auth:context-isolation", guardedModern, async (world, t) => {
  for (const subject of ["ada", "bob"]) world.tokens.set(subject, { subject });
  const state = createMemoryState();
  const seen: Context[] = [];
  const define = (server: Server) =>
    void server
      .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => {
        seen.push(ctx);
        return aborted(ctx.signal);
      })
      .extend(tasks({ cluster: state.node() }));
  const guarded = await world.guard({ define });
  const unguarded = new McpServer(me);
  define(unguarded as unknown as Server);
  t.after(() => unguarded.close());
  const ada = as(guarded, "ada");
  const nobody = over((init) => unguarded.fetch(new Request("http://localhost/mcp", init)));
  const taskId = await ada.start("blocks");
  await until("the handler runs", () => seen.length > 0);
  for (const other of [as(guarded, "bob"), nobody]) {
    const unknown = (await other.request("tasks/get", { taskId: crypto.randomUUID() })).error;
    equal(unknown?.code, -32602);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const { error } = await other.request(method, { taskId, inputResponses: {} });
      deepEqual(error, unknown, method);
    }
    const { params } = await other.request("subscriptions/listen", { notifications: { taskIds: [taskId] } });
    deepEqual(params?.notifications, { taskIds: [] });
  }
  equal((await ada.get(taskId)).status, "working");
  const { params } = await ada.request("subscriptions/listen", { notifications: { taskIds: [taskId] } });
  deepEqual(params?.notifications, { taskIds: [taskId] });
  const anonymous = await nobody.start("blocks");
  equal((await ada.request("tasks/get", { taskId: anonymous })).error?.code, -32602);
  equal((await nobody.get(anonymous)).status, "working");
  const auth = seen[0]?.auth as Message;
  equal(auth.subject, "ada");
  equal("token" in auth, false, "the token is not kept");
  const kept = await state.node().records.list("tasks:live:named", { limit: 10 });
  equal(kept.length, 1);
  equal(JSON.stringify(kept).includes("Bearer"), false);
  await ada.cancel(taskId);
  equal((await ada.get(taskId)).status, "cancelled");
});

verifies(
  "tasks-ext:auth:context-isolation",
  "a task knows its caller, without the token",
  guardedModern,
  async (world) => {
    world.tokens.set("ada", { subject: "ada", scopes: ["sail"], claims: { email: "ada@example.com" } });
    const clock = new FakeClock();
    const reached = gate();
    const open = gate();
    const tell = (ctx: Context) => {
      const auth = authOf(ctx);
      let token: string;
      try {
        token = auth.token;
      } catch (error) {
        const { code, message } = error as { code: string; message: string };
        token = `${code}: ${message}`;
      }
      return JSON.stringify({ ...auth, ...(ctx.auth as Message), token, granted: ctx.grants(["sail"]) });
    };
    const define = (server: Server) =>
      void server
        .tool("whoami", { task: "optional" }, (_: unknown, ctx: Context) => tell(ctx))
        .tool("slow", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
          reached.open();
          await open.opened;
          return tell(ctx);
        })
        .extend(tasks({ cluster: createMemoryState({ clock }).node() }));
    const guarded = await world.guard({ define, server: { clock } });
    const ada = as(guarded, "ada");
    const called = ada.call("slow");
    await reached.opened;
    await until("the call has become a task", () => {
      clock.advance(100);
      return Promise.race([called.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
    });
    open.open();
    for (const [taskId, token] of [
      [await ada.start("whoami"), /^no_token: A task keeps no access token/],
      [String((await called).result?.taskId), /^ada$/],
    ] as const) {
      const seen = JSON.parse(String(await ada.text(taskId)));
      equal(seen.subject, "ada");
      deepEqual(seen.claims, { email: "ada@example.com" });
      equal(seen.granted, true);
      match(seen.token, token);
    }
  },
);

verifies("tasks-ext:limits:concurrent", "refuses a tool that runs as a task only", modernWires, async (world, t) => {
  const open = gate();
  const server = new McpServer(me)
    .tool("t", { task: "required" }, async () => {
      await open.opened;
      return "x";
    })
    .extend(tasks({ limits: { maxTasks: 2 } }));
  const client = await taskClient(world, server, t);
  const ids = [await client.start("t"), await client.start("t")];
  const { error } = await client.call("t");
  equal(error?.code, -32005);
  match(String(error?.message), /maxTasks|Too many tasks/);
  open.open();
  for (const id of ids) equal(await client.text(id), "x");
  equal(await client.text(await client.start("t")), "x");
});

verifies("tasks-ext:limits:concurrent", "calls that arrive together", modernWires, async (world, t) => {
  for (const [limit, remedy] of [
    ["maxTasks", /wait until some have ended/],
    ["maxTasksPerPrincipal", /wait until some have ended, or cancel some/],
    ["maxKeptPerPrincipal", /none has ended: wait until some have/],
    ["maxKeptAnonymous", /none has ended: wait until some have/],
  ] as const) {
    const server = new McpServer(me)
      .tool("blocks", { task: "optional" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
      .extend(tasks({ whenFull: "refuse", limits: { [limit]: 2 } }));
    const client = await taskClient(world, server, t);
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.call("blocks")));
    equal(answers.filter(({ result }) => result?.resultType === "task").length, 2, limit);
    const refused = answers.flatMap(({ error }) => (error?.code === -32005 ? [error] : []));
    equal(refused.length, 6);
    for (const { message, data } of refused) {
      match(message, remedy);
      equal((data as { readonly limit?: string }).limit, limit);
    }
  }
});

verifies("tasks-ext:limits:concurrent", "runs the tool in its request by default", modernWires, async (world, t) => {
  const open = gate();
  let runs = 0;
  const handler = async () => {
    if (++runs > 2) return "direct";
    await open.opened;
    return "x";
  };
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, handler)
    .tool("only", { task: "required" }, handler)
    .extend(tasks({ limits: { maxTasksPerPrincipal: 2 } }));
  const client = await taskClient(world, server, t);
  const ids = [await client.start("t"), await client.start("t")];
  await until("both run", () => runs === 2);
  const { result } = await client.call("t");
  equal(result?.resultType, "complete");
  deepEqual(result?.content, [{ type: "text", text: "direct" }]);
  equal((await client.call("only")).error?.code, -32005);
  open.open();
  for (const id of ids) equal(await client.text(id), "x");
});

verifies("tasks-ext:limits:concurrent", "per principal", guardedModern, async (world) => {
  world.tokens.set("ada", { subject: "ada" });
  world.tokens.set("bob", { subject: "bob" });
  const limits = { maxTasksPerPrincipal: 1, maxKeptPerPrincipal: 2 };
  const define = (server: Server) =>
    void server
      .tool("blocks", { task: "required" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
      .extend(tasks({ limits }));
  const guarded = await world.guard({ define });
  const [ada, bob] = [as(guarded, "ada"), as(guarded, "bob")];
  const first = await ada.start("blocks");
  equal((await ada.call("blocks")).error?.code, -32005);
  await bob.start("blocks");
  await ada.cancel(first);
  const second = await ada.start("blocks");
  await ada.cancel(second);
  equal((await ada.get(first)).status, "cancelled");
  await ada.start("blocks");
  equal((await ada.request("tasks/get", { taskId: first })).error?.code, -32602, "the first gives way");
  equal((await ada.get(second)).status, "cancelled");
});

/** Server whose tool takes a text. */
function sized(limits: TasksOptions["limits"], handler: (text: string, ctx: Context) => unknown) {
  const input = { type: "object", properties: { text: { type: "string" } } } as const;
  return new McpServer(me)
    .tool("t", { task: "optional", input }, ({ text = "" }: { text?: string }, ctx: Context) => handler(text, ctx))
    .extend(tasks({ limits: { ...limits } }));
}

verifies("tasks-ext:limits:concurrent", "sizes of tasks", modernWires, async (world, t) => {
  const FORM = { type: "object", properties: { city: { type: "string" } } } as const;
  const handler = async (text: string, ctx: Context) => {
    if (text === "result") return "x".repeat(3_000);
    if (text === "question") return ctx.elicit("x".repeat(5_000), FORM);
    if (text === "step") {
      await ctx.step("large", () => "x".repeat(5_000)).catch(() => "the handler cannot hide it");
      return "not reached";
    }
    if (text === "answer") return (await ctx.elicit("?", FORM)).content?.city;
    const { RpcError } = await import("bowline/server");
    if (text === "error") throw new RpcError(-31050, "no", { text: "x".repeat(3_000) });
    return text.length;
  };
  const client = await taskClient(world, sized({ maxTaskChars: 4_000, maxResultChars: 2_000 }, handler), t, {
    elicitation: {},
  });
  const { error } = await client.call("t", { text: "x".repeat(4_000) });
  equal(error?.code, -32602);
  match(String(error?.message), /limits\.maxTaskChars/);
  for (const [text, limit] of [
    ["result", /limits\.maxResultChars/],
    ["error", /limits\.maxResultChars/],
    ["question", /limits\.maxTaskChars/],
    ["step", /limits\.maxTaskChars/],
  ] as const) {
    const task = await client.until(await client.start("t", { text }), "completed", "failed", "input_required");
    equal(task.status, "failed", text);
    match(String(task.error?.message), limit);
    deepEqual(task.error?.data, { code: "task_too_large" });
  }
  const taskId = await client.start("t", { text: "answer" });
  await client.until(taskId, "input_required");
  const large = await client.update(taskId, { "ask-1": { action: "accept", content: { city: "x".repeat(4_000) } } });
  equal(large.error?.code, -32602);
  await client.update(taskId, { "ask-1": { action: "accept", content: { city: "Oslo" } } });
  equal(await client.text(taskId), "Oslo");
});

verifies("tasks-ext:limits:concurrent", "sizes of calls that become tasks", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const open = gate();
  let running = 0;
  const input = { type: "object", properties: { before: { type: "boolean" } } } as const;
  const handler = async ({ before }: { before?: boolean }, ctx: Context) => {
    const large = () => ctx.step("large", () => "x".repeat(5_000));
    if (before === true) await large();
    running++;
    await open.opened;
    if (before !== true) await large();
    return "ended";
  };
  const server = new McpServer(me, { clock })
    .tool("t", { task: { promoteAfterMs: 100 }, input }, handler)
    .extend(tasks({ limits: { maxTaskChars: 4_000 } }));
  const client = await taskClient(world, server, t);
  const [first, second] = [client.call("t", { before: true }), client.call("t", {})];
  await until("both run", () => running === 2);
  clock.advance(100);
  const taskId = (await second).result?.taskId as string;
  open.open();
  equal((await first).result?.resultType, "complete", "a call that is too large for a task stays in its request");
  const task = await client.until(taskId, "completed", "failed");
  equal(task.status, "failed");
  deepEqual(task.error?.data, { code: "task_too_large" });
});

verifies("tasks-ext:limits:concurrent", "runs at a time, fair among principals", guardedModern, async (world) => {
  for (const subject of ["ada", "bob"]) world.tokens.set(subject, { subject });
  const open = gate();
  const running: string[] = [];
  const extension = tasks({ limits: { maxRunning: 4, maxRunningPerPrincipal: 2 } });
  const define = (server: Server) =>
    void server
      .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
        running.push((ctx.auth as { subject: string }).subject);
        await open.opened;
        return "x";
      })
      .extend(extension);
  const guarded = await world.guard({ define });
  const [ada, bob] = [as(guarded, "ada"), as(guarded, "bob")];
  const many = await Promise.all(Array.from({ length: 20 }, () => ada.start("t")));
  const one = await bob.start("t");
  await until("the task of the other runs", () => running.includes("bob"));
  equal(running.filter((subject) => subject === "ada").length, 2);
  equal(extension.running, 3);
  open.open();
  equal(await bob.text(one), "x");
  for (const id of many) equal(await ada.text(id), "x");
  await extension.idle();
  equal(extension.running, 0);
});

verifies(
  ["tasks-ext:limits:concurrent", "tasks-ext:create:promote-after"],
  "calls become tasks, fair among principals",
  guardedModern,
  async (world) => {
    for (const subject of ["ada", "bob"]) world.tokens.set(subject, { subject });
    const clock = new FakeClock();
    const open = gate();
    let running = 0;
    const extension = tasks({ limits: { maxRunning: 4, maxRunningPerPrincipal: 2 } });
    const define = (server: Server) =>
      void server
        .tool("t", { task: { promoteAfterMs: 100 } }, async () => {
          running++;
          await open.opened;
          return "x";
        })
        .tool("queued", { task: "optional" }, () => "y")
        .extend(extension);
    const guarded = await world.guard({ define, server: { clock } });
    const [ada, bob] = [as(guarded, "ada"), as(guarded, "bob")];
    const seen: unknown[] = [];
    const many = Array.from({ length: 4 }, async () => {
      const { result } = await ada.call("t");
      seen.push(result?.resultType);
      return result;
    });
    await until("all run", () => running === 4);
    clock.advance(100);
    await until("two are tasks", () => seen.length === 2);
    deepEqual(seen, ["task", "task"]);
    const other = bob.call("t");
    await until("the call of the other runs", () => running === 5);
    clock.advance(100);
    equal((await other).result?.resultType, "task", "two places are left");
    const queued = await ada.start("queued");
    clock.advance(1_000);
    equal((await ada.get(queued)).status, "working", "tasks of both kinds share the places of a principal");
    open.open();
    const results = await Promise.all(many);
    deepEqual(results.map((result) => result?.resultType).toSorted(), ["complete", "complete", "task", "task"]);
    await until("the queued task has ended", async () => {
      clock.advance(100);
      return (await ada.get(queued)).status === "completed";
    });
    await extension.idle();
    equal(extension.running, 0);
  },
);

verifies(
  ["tasks-ext:limits:concurrent", "tasks-ext:create:promote-after"],
  "calls that become tasks at once leave the places of others free",
  guardedModern,
  async (world) => {
    for (const subject of ["ada", "bob"]) world.tokens.set(subject, { subject });
    const clock = new FakeClock();
    const open = gate();
    let running = 0;
    const define = (server: Server) =>
      void server
        .tool("t", { task: { promoteAfterMs: 100 } }, async () => {
          running++;
          await open.opened;
          return "x";
        })
        .extend(tasks({ limits: { maxRunning: 4, maxRunningPerPrincipal: 2 } }));
    const guarded = await world.guard({ define, server: { clock } });
    const calls = ["ada", "ada", "ada", "ada", "bob"].map((name) => as(guarded, name).call("t"));
    await until("all run", () => running === 5);
    clock.advance(100);
    equal((await calls[4])?.result?.resultType, "task", "two places are left");
    open.open();
    for (const { error } of await Promise.all(calls)) equal(error, undefined);
  },
);

verifies("tasks-ext:limits:concurrent", "limits.maxRunning holds further tasks back", modernWires, async (world, t) => {
  const open = gate();
  let most = 0;
  const extension = tasks({ limits: { maxRunning: 2 } });
  const server = new McpServer(me)
    .tool("t", { task: "optional" }, async () => {
      most = Math.max(most, extension.running);
      await open.opened;
      return "x";
    })
    .extend(extension);
  const client = await taskClient(world, server, t);
  const ids = await Promise.all(Array.from({ length: 6 }, () => client.start("t")));
  await until("two run", () => extension.running === 2);
  await client.raw.settled();
  equal(extension.running, 2);
  open.open();
  for (const id of ids) equal(await client.text(id), "x");
  equal(most, 2);
});

verifies(
  ["tasks-ext:limits:concurrent", "tasks-ext:limits:kept"],
  "of tasks that have ended, the one that ended first gives way, whatever its life",
  modernWires,
  async (world, t) => {
    const clock = new FakeClock();
    const server = new McpServer(me, { clock })
      .tool("blocks", { task: "required" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
      .tool("ends", { task: { support: "required", ttlMs: null } }, () => "x")
      .tool("day", { task: { support: "required", ttlMs: 86_400_000 } }, () => "x")
      .extend(tasks({ limits: { maxKeptPerPrincipal: 3 } }));
    const client = await taskClient(world, server, t);
    const start = async (name: string) => {
      const taskId = await client.start(name);
      if (name !== "blocks") await client.text(taskId);
      clock.advance(1);
      return taskId;
    };
    const isKept = async (taskId: string) => (await client.request("tasks/get", { taskId })).error === undefined;
    const blocks = await start("blocks");
    const [day, endless, second] = [await start("day"), await start("ends"), await start("ends")];
    deepEqual(await Promise.all([blocks, day, endless, second].map(isKept)), [true, false, true, true]);
    await start("day");
    deepEqual(await Promise.all([blocks, endless, second].map(isKept)), [true, false, true]);
    const more = [await start("blocks"), await start("blocks")];
    deepEqual(await Promise.all([blocks, ...more].map(isKept)), [true, true, true]);
    equal((await client.call("ends")).error?.code, -32005, "tasks that have not ended are kept");
    await client.cancel(blocks);
    await start("ends");
    deepEqual(await Promise.all([blocks, ...more].map(isKept)), [false, true, true]);
  },
);

verifies(
  "tasks-ext:create:promote-after",
  "a call stays in its request at the limits",
  modernWires,
  async (world, t) => {
    for (const limits of [{ maxRunning: 1 }, { maxTasks: 1 }]) {
      const clock = new FakeClock();
      const ends = [gate(), gate()];
      let running = 0;
      const server = new McpServer(me, { clock })
        .tool("t", { task: { promoteAfterMs: 100 } }, async () => {
          await ends[running++]?.opened;
          return "x";
        })
        .extend(tasks({ limits }));
      const client = await taskClient(world, server, t);
      const first = client.call("t");
      await until("the first runs", () => running === 1);
      clock.advance(100);
      const taskId = (await first).result?.taskId as string;
      const second = client.call("t");
      await until("the second runs", () => running === 2);
      clock.advance(100);
      await client.raw.settled();
      // The first task counts until the second call is answered.
      ends[1]?.open();
      equal((await second).result?.resultType, "complete");
      ends[0]?.open();
      equal(await client.text(taskId), "x");
    }
  },
);
