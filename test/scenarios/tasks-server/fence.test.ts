import { deepEqual, equal } from "node:assert/strict";
import { type Cluster, ClusterError } from "bowline/cluster";
import type { Context, McpServer } from "bowline/server";
import { gate } from "../../support/gate.js";
import { replaceParts } from "../../support/nodes-world.js";
import { accept } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const LEASE_MS = 10_000;
const idle = { tasks: { work: false } };

proves("tasks-ext:lifecycle:worker-lost", {}, "of two workers only the one with the newer fence writes", async (t) => {
  const world = new TaskNodes(t);
  const gates = { one: gate(), two: gate() };
  const ran: string[] = [];
  const define = (name: "one" | "two") => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true } }, async (_: unknown, ctx: Context) => {
      const made = await ctx.step("make", async () => {
        ran.push(name);
        await gates[name].opened;
        return name;
      });
      ctx.progress(1, 2, `by ${name}`);
      return made;
    });
  const one = world.node(define("one"));
  const taskId = await one.client.start("t");
  await world.until("the step has begun", () => ran.length === 1);
  const two = world.node(define("two"));
  world.state.cut(one.cluster);
  await world.until("the other has taken it over", () => ran.length === 2);
  world.state.mend(one.cluster);
  const record = async () => (await world.state.node().records.get(`task:${taskId}`))?.value ?? "";
  const before = await record();
  gates.one.open();
  await one.extension.idle();
  await world.pass(5_000);
  equal(await record(), before, "the old run has written nothing");
  gates.two.open();
  equal(await two.client.text(taskId), "two");
  deepEqual(ran, ["one", "two"]);
});

proves(
  "tasks-ext:lifecycle:worker-lost",
  {},
  "a call that became a task runs once at a time in its process",
  async (t) => {
    const world = new TaskNodes(t);
    const open = gate();
    let running = 0;
    let most = 0;
    const define = (server: McpServer) =>
      void server.tool("t", { task: { restartable: true, promoteAfterMs: 100 } }, async () => {
        most = Math.max(most, ++running);
        await open.opened;
        running--;
        return "x";
      });
    const one = world.node(define);
    const front = world.node(define, idle);
    const created = one.client.call("t");
    await world.pass(200);
    const taskId = (await created).result?.taskId as string;
    world.state.cut(one.cluster);
    await world.pass(LEASE_MS + 100);
    world.state.mend(one.cluster);
    await world.pass(2 * LEASE_MS);
    equal((await front.client.get(taskId)).status, "working");
    open.open();
    await world.until("the task has ended", async () => (await front.client.get(taskId)).status !== "working");
    equal(await front.client.text(taskId), "x");
    equal(most, 1);
  },
);

for (const afterMs of [0, 3 * LEASE_MS])
  proves(
    "tasks-ext:lifecycle:worker-lost",
    {},
    `a job that is left has no effect, answered after ${afterMs} ms`,
    async (t) => {
      const world = new TaskNodes(t);
      const open = gate();
      const turn = gate();
      let ran = 0;
      const define = (server: McpServer) =>
        void server.tool("t", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
          ran++;
          await turn.opened;
          const { content } = await ctx.elicit("Where?", FORM);
          await open.opened;
          return String(content?.city);
        });
      const one = world.node(define);
      world.node(define);
      const created = one.client.call("t");
      await world.pass(200);
      const taskId = (await created).result?.taskId as string;
      turn.open();
      await world.until("the question is open", async () => (await one.client.get(taskId)).status === "input_required");
      await world.pass(afterMs);
      deepEqual(Object.keys((await one.client.get(taskId)).inputRequests ?? {}), ["ask-1"], "it is not asked again");
      await one.client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
      await world.pass(3 * LEASE_MS);
      equal((await one.client.get(taskId)).status, "working");
      open.open();
      equal(await one.client.text(taskId), "Oslo");
      equal(ran, 2);
    },
  );

proves(
  "tasks-ext:lifecycle:any-connection",
  {},
  "an answer is kept if it comes before the worker has parked",
  async (t) => {
    const world = new TaskNodes(t);
    let runs = 0;
    const define = (server: McpServer) =>
      void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
        runs++;
        const { content } = await ctx.elicit("Where?", FORM, { key: "q" });
        return String(content?.city);
      });
    const front = world.node(define, idle);
    let answer: Promise<unknown> | undefined;
    // The question is stored and answered before the worker learns that its write has failed.
    const wrap = ({ records }: Cluster) => ({
      records: replaceParts(records, {
        put: async (key, value, options) => {
          const version = await records.put(key, value, options);
          const { id, stage } = JSON.parse(value) as { readonly id: string; readonly stage: string };
          if (stage !== "waiting" || answer !== undefined) return version;
          answer = front.client.update(id, { q: accept({ city: "Oslo" }) });
          await answer;
          throw new ClusterError("unknown_outcome", "the connection failed before the reply");
        },
      }),
    });
    world.node(define, { wrap });
    const taskId = await front.client.start("t");
    await world.until("the task does not run", async () => (await front.client.get(taskId)).status !== "working");
    const { status, result } = await front.client.get(taskId);
    equal(status, "completed");
    equal(result?.content?.[0]?.text, "Oslo");
    equal(runs, 2);
  },
);

proves("tasks-ext:lifecycle:steps-once", {}, "a step does not begin after its run was aborted", async (t) => {
  const world = new TaskNodes(t);
  const stored = gate();
  const replied = gate();
  const ran: string[] = [];
  const ends = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: { restartable: true } }, async (_: unknown, ctx: Context) => {
      ends.open(ctx.signal);
      return await ctx.step("a", () => {
        ran.push("a");
        return "a";
      });
    });
  // The reply to the write that begins the step takes long.
  const wrap = ({ records }: Cluster) => ({
    records: replaceParts(records, {
      put: async (key, value, options) => {
        const version = await records.put(key, value, options);
        if (!value.includes('"begun":["a"]')) return version;
        stored.open();
        await replied.opened;
        return version;
      },
    }),
  });
  const worker = world.node(define, { wrap });
  const front = world.node(define, idle);
  const taskId = await front.client.start("t");
  await stored.opened;
  await front.client.cancel(taskId);
  const signal = await ends.opened;
  await world.until("the run is aborted", () => signal.aborted);
  replied.open();
  await worker.extension.idle();
  deepEqual(ran, []);
});
