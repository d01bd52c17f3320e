import { deepEqual, equal, notEqual } from "node:assert/strict";
import { type Context, inputRequired, McpServer, type ServerOptions } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import type { Message } from "../../support/raw-client.js";
import { accept, taskClient } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const options = { stateKeys: [{ id: "k", secret: new Uint8Array(32) }] } satisfies ServerOptions;
/** Question of a handler that returns it. */
const RETURNED = {
  method: "elicitation/create" as const,
  params: { mode: "form" as const, message: "?", requestedSchema: { ...FORM, required: ["city"] } },
};
const oslo = accept({ city: "Oslo" });
const LEASE_MS = 15_000;

/** Params of the next round of a call. */
function nextRound(result: Message | undefined, inputResponses: Message): Message {
  equal(result?.resultType, "input_required", JSON.stringify(result));
  return { inputResponses, ...(result?.requestState !== undefined && { requestState: result.requestState }) };
}

/** Work that is quick in the first round of a call, and waits for the test in the second. */
function slowInSecondRound() {
  const [reached, open] = [gate(), gate()];
  let rounds = 0;
  const work = async () => {
    if (++rounds !== 2) return;
    reached.open();
    await open.opened;
  };
  return { work, reached, open };
}

verifies("tasks-ext:lifecycle:steps-once", "of rounds before the promotion", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const { work, reached, open } = slowInSecondRound();
  let charged = 0;
  const server = new McpServer(me, { clock, ...options })
    .tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      await work();
      const receipt = await ctx.step("charge", () => ++charged);
      const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
      const to = await ctx.elicit("To?", FORM, { key: "to" });
      return `${receipt} ${content?.city} ${to.content?.city}`;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const { result: first } = await client.call("pay");
  const second = client.call("pay", {}, nextRound(first, { where: oslo }));
  await reached.opened;
  clock.advance(100);
  const { result } = await second;
  equal(result?.resultType, "task", JSON.stringify(result));
  open.open();
  const taskId = result?.taskId as string;
  const { inputRequests } = await client.until(taskId, "input_required");
  deepEqual(Object.keys(inputRequests ?? {}), ["to"]);
  await client.update(taskId, { to: accept({ city: "Bergen" }) });
  equal(await client.text(taskId), "1 Oslo Bergen");
  equal(charged, 1);
});

verifies("tasks-ext:lifecycle:steps-once", "of a round without tasks", modernWires, async (world, t) => {
  let charged = 0;
  const server = new McpServer(me, options)
    .tool("pay", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const receipt = await ctx.step("charge", () => ++charged);
      const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
      return `${receipt} ${content?.city}`;
    })
    .tool("returned", { task: "optional" }, (_: unknown, ctx: Context) => {
      const answer = ctx.inputResponses?.where as { content?: Message } | undefined;
      if (answer !== undefined) return String(answer.content?.city);
      return inputRequired({ inputRequests: { where: RETURNED } });
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  for (const [name, text] of [
    ["pay", "1 Oslo"],
    ["returned", "Oslo"],
  ] as const) {
    const { result: first } = await client.plain(name);
    const { result } = await client.call(name, {}, nextRound(first, { where: oslo }));
    equal(result?.resultType, "complete", name);
    deepEqual(result?.content, [{ type: "text", text }], name);
  }
  equal(charged, 1);
});

proves("tasks-ext:lifecycle:steps-once", {}, "of a round that ran since there were too many tasks", async (t) => {
  const world = new TaskNodes(t);
  const end = gate();
  let charged = 0;
  const node = world.node(
    (server) =>
      server
        .tool("long", { task: "optional" }, () => end.opened.then(() => "x"))
        .tool("pay", { task: "optional" }, async (_: unknown, ctx: Context) => {
          const receipt = await ctx.step("charge", () => ++charged);
          const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
          return `${receipt} ${content?.city}`;
        }),
    { server: options, tasks: { limits: { maxTasks: 1 } } },
  );
  const long = await node.client.start("long");
  const { result: first } = await node.client.call("pay");
  end.open();
  await world.until("there is room", async () => (await node.client.get(long)).status === "completed");
  const { result } = await node.client.call("pay", {}, nextRound(first, { where: oslo }));
  deepEqual(result?.content, [{ type: "text", text: "1 Oslo" }]);
  equal(charged, 1);
});

proves("tasks-ext:lifecycle:steps-once", {}, "of rounds before the promotion, on another node", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate();
  let charged = 0;
  let isLost = false;
  const define = (server: McpServer) =>
    void server.tool("pay", { task: { restartable: true, promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      if (ctx.requestState !== undefined && !isLost) {
        reached.open();
        await gate().opened;
      }
      const receipt = await ctx.step("charge", () => ++charged);
      const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
      const returned = ctx.inputResponses?.returned as { content?: Message } | undefined;
      const state = ctx.requestState as { note: string } | undefined;
      if (returned !== undefined) return `${receipt} ${content?.city} ${returned.content?.city} ${state?.note}`;
      return inputRequired({ inputRequests: { returned: RETURNED }, state: { note: "kept" } });
    });
  const one = world.node(define, { server: options });
  const two = world.node(define, { server: options });
  const { result: first } = await one.client.call("pay");
  const { result: second } = await one.client.call("pay", {}, nextRound(first, { where: oslo }));
  const third = one.client.call("pay", {}, nextRound(second, { returned: accept({ city: "Bergen" }) }));
  await reached.opened;
  await world.pass(200);
  const { result } = await third;
  equal(result?.resultType, "task", JSON.stringify(result));
  isLost = true;
  world.state.cut(one.cluster);
  const taskId = result?.taskId as string;
  await world.pass(2 * LEASE_MS);
  await world.until("the task has ended", async () => (await two.client.get(taskId)).status === "completed");
  equal(await two.client.text(taskId), "1 Oslo Bergen kept");
  equal(charged, 1);
});

proves("tasks-ext:lifecycle:steps-once", {}, "of an attempt that was cancelled", async (t) => {
  const world = new TaskNodes(t);
  const [begun, reached, open, done] = [gate(), gate(), gate(), gate()];
  let [charged, rounds] = [0, 0];
  const node = world.node(
    (server) =>
      server.tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
        const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
        if (++rounds === 2) {
          reached.open();
          await open.opened;
        }
        const charging = ctx.step("charge", async () => {
          charged++;
          begun.open();
          await done.opened;
          return charged;
        });
        if (rounds === 1) throw await aborted(ctx.signal);
        return `${await charging} ${content?.city}`;
      }),
    { server: options },
  );
  const { result: first } = await node.client.call("pay");
  const round = nextRound(first, { where: oslo });
  const abort = new AbortController();
  node.post("pay", round, abort.signal).catch(() => {});
  await begun.opened;
  abort.abort("enough");
  const second = node.client.call("pay", {}, round);
  await reached.opened;
  await world.pass(200);
  const { result } = await second;
  equal(result?.resultType, "task", JSON.stringify(result));
  open.open();
  done.open();
  const taskId = result?.taskId as string;
  await world.until("the task has ended", async () => (await node.client.get(taskId)).status === "completed");
  equal(await node.client.text(taskId), "1 Oslo");
  equal(charged, 1);
});

proves("tasks-ext:create:after-mrtr", {}, "a round that is repeated has the same task", async (t) => {
  const world = new TaskNodes(t);
  const [reached, open] = [gate(), gate()];
  let rounds = 0;
  const node = world.node(
    (server) =>
      server.tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
        const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
        rounds++;
        reached.open();
        await open.opened;
        const to = await ctx.elicit("To?", FORM, { key: "to" });
        return `${content?.city} ${to.content?.city}`;
      }),
    { server: options },
  );
  const { result: first } = await node.client.call("pay");
  const round = nextRound(first, { where: oslo });
  const second = node.client.call("pay", {}, round);
  await reached.opened;
  const joined = node.client.call("pay", {}, round);
  await world.pass(200);
  const taskId = (await second).result?.taskId as string;
  const repeated = node.client.call("pay", {}, round);
  await world.pass(200);
  for (const { result } of [await joined, await repeated]) equal(result?.taskId, taskId, JSON.stringify(result));
  open.open();
  await world.until("it asks", async () => (await node.client.get(taskId)).status === "input_required");
  const last = node.client.call("pay", {}, round);
  await world.pass(200);
  equal((await last).result?.taskId, taskId);
  equal(rounds, 1);
});

proves(
  "tasks-ext:create:after-mrtr",
  {},
  "a round that is cancelled while its task is created runs again",
  async (t) => {
    const world = new TaskNodes(t);
    const [reached, storing, stored] = [gate(), gate(), gate()];
    let rounds = 0;
    const node = world.node(
      (server) =>
        server.tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
          const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
          if (++rounds > 1) return content?.city;
          reached.open();
          throw await aborted(ctx.signal);
        }),
      {
        server: options,
        wrap: ({ leases }) => ({
          leases: {
            acquire: async (name, ms) => {
              if (!name.includes("sweep")) {
                storing.open();
                await stored.opened;
              }
              return leases.acquire(name, ms);
            },
          },
        }),
      },
    );
    const { result: first } = await node.client.call("pay");
    const round = nextRound(first, { where: oslo });
    const abort = new AbortController();
    node.post("pay", round, abort.signal).catch(() => {});
    await reached.opened;
    await world.pass(100);
    await storing.opened;
    abort.abort("enough");
    stored.open();
    await world.pass(100);
    const again = node.client.call("pay", {}, round);
    await world.pass(100);
    deepEqual((await again).result?.content, [{ type: "text", text: "Oslo" }]);
  },
);

proves("tasks-ext:create:after-mrtr", {}, "an answer that is being checked is decided first", async (t) => {
  const world = new TaskNodes(t);
  const [checking, checked] = [gate(), gate()];
  const form = z.object({ city: z.string() }).refine(async ({ city }) => {
    checking.open();
    await checked.opened;
    return city !== "Oslo";
  });
  const node = world.node(
    (server) =>
      server.tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
        const { content } = await ctx.elicit("Where?", form, { key: "where" });
        return content?.city;
      }),
    { server: options },
  );
  const { result: first } = await node.client.call("pay");
  const second = node.client.call("pay", {}, nextRound(first, { where: oslo }));
  await checking.opened;
  await world.pass(200);
  checked.open();
  const { result } = await second;
  const third = await node.client.call("pay", {}, nextRound(result, { where: accept({ city: "Bergen" }) }));
  deepEqual(third.result?.content, [{ type: "text", text: "Bergen" }]);
});

proves("tasks-ext:lifecycle:steps-once", {}, "an answer of the wrong shape is asked for again", async (t) => {
  const world = new TaskNodes(t);
  const { work, reached, open } = slowInSecondRound();
  const node = world.node(
    (server) =>
      server.tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
        await work();
        const { content } = await ctx.elicit("Where?", FORM, { key: "where" });
        return content?.city;
      }),
    { server: options },
  );
  const { result: first } = await node.client.call("pay");
  const second = node.client.call("pay", {}, nextRound(first, { where: { action: 5 } }));
  await reached.opened;
  await world.pass(200);
  const { result } = await second;
  equal(result?.resultType, "task", JSON.stringify(result));
  open.open();
  const taskId = result?.taskId as string;
  await world.until("it asks", async () => (await node.client.get(taskId)).status === "input_required");
  const [key = ""] = Object.keys((await node.client.get(taskId)).inputRequests ?? {});
  notEqual(key, "where", "the key of a question is new each time");
  await node.client.update(taskId, { [key]: oslo });
  await world.until("the task has ended", async () => (await node.client.get(taskId)).status === "completed");
  equal(await node.client.text(taskId), "Oslo");
});
