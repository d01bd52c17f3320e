import { deepEqual, equal, match, ok } from "node:assert/strict";
import { ClusterError } from "bowline/cluster";
import type { Context, McpServer } from "bowline/server";
import { aborted, gate } from "../../support/gate.js";
import { replaceParts } from "../../support/nodes-world.js";
import { accept } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const LEASE_MS = 10_000;
const idle = { tasks: { work: false } };

proves(
  "tasks-ext:lifecycle:worker-lost",
  {},
  "a server that closes hands restartable tasks over at once",
  async (t) => {
    const world = new TaskNodes(t);
    const ran: string[] = [];
    const define = (name: string) => (server: McpServer) =>
      void server
        .tool("t", { task: { restartable: true } }, async (_: unknown, ctx: Context) => {
          const made = await ctx.step("make", () => name);
          ran.push(name);
          if (name === "one") throw await aborted(ctx.signal);
          return `${made} ${name}`;
        })
        .tool("promoted", { task: { restartable: true, promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
          ran.push(name);
          if (name === "one") throw await aborted(ctx.signal);
          return name;
        });
    const one = world.node(define("one"));
    const taskId = await one.client.start("t");
    const created = one.client.call("promoted");
    await world.until("both run", () => ran.length === 2);
    await world.pass(200);
    const promoted = (await created).result?.taskId as string;
    const two = world.node(define("two"));
    const before = world.clock.now();
    await one.server.close();
    await one.extension.idle();
    await world.until("both have ended", async () => {
      const tasks = await Promise.all([two.client.get(taskId), two.client.get(promoted)]);
      return tasks.every(({ status }) => status === "completed");
    });
    ok(world.clock.now() - before < LEASE_MS / 2);
    equal(await two.client.text(taskId), "one two");
    equal(await two.client.text(promoted), "two");
    deepEqual(one.errors, []);
  },
);

proves("tasks-ext:lifecycle:not-restartable", {}, "a server that closes lets other tasks end", async (t) => {
  const world = new TaskNodes(t);
  const open = gate();
  const signals: AbortSignal[] = [];
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      signals.push(ctx.signal);
      await open.opened;
      return "x";
    });
  const one = world.node(define);
  const two = world.node(define, idle);
  const [ends, cancelled] = [await one.client.start("t"), await one.client.start("t")];
  await world.until("both run", () => signals.length === 2);
  await one.server.close();
  deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, false],
  );
  await two.client.cancel(cancelled);
  await world.until("the cancellation arrives", () => signals.filter((signal) => signal.aborted).length === 1);
  open.open();
  await one.extension.idle();
  equal(await two.client.text(ends), "x");
  equal((await two.client.get(cancelled)).status, "cancelled");
});

proves("tasks-ext:create:promote-after", {}, "a call that became a task is taken over after its lease", async (t) => {
  const world = new TaskNodes(t);
  const ran: string[] = [];
  const keys = new Set<string>();
  const define = (name: string) => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true, promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      keys.add(ctx.idempotencyKey);
      const before = await ctx.step("before", () => {
        ran.push(`${name} before`);
        return 1;
      });
      const during = await ctx.step("during", async () => {
        ran.push(`${name} during`);
        if (name === "one") await aborted(ctx.signal);
        return 2;
      });
      return `${before} ${during} ${name}`;
    });
  const one = world.node(define("one"));
  const two = world.node(define("two"));
  const created = one.client.call("t");
  await world.until("it runs", () => ran.length === 2);
  await world.pass(200);
  const taskId = (await created).result?.taskId as string;
  await world.pass(3 * LEASE_MS);
  equal((await two.client.get(taskId)).status, "working", "a living process keeps its task");
  world.state.cut(one.cluster);
  await world.until("the task has ended", async () => (await two.client.get(taskId)).status === "completed");
  equal(await two.client.text(taskId), "1 2 two");
  deepEqual(ran, ["one before", "one during", "two during"]);
  equal(keys.size, 1);
  await one.extension.idle();
});

proves("tasks-ext:create:promote-after", {}, "a call that became a task and is not restartable fails", async (t) => {
  const world = new TaskNodes(t);
  const define = (server: McpServer) =>
    void server.tool("t", { task: { promoteAfterMs: 100 } }, (_: unknown, ctx: Context) => aborted(ctx.signal));
  const one = world.node(define);
  const two = world.node(define);
  const created = one.client.call("t");
  await world.pass(200);
  const taskId = (await created).result?.taskId as string;
  world.state.cut(one.cluster);
  await world.until("the task has failed", async () => (await two.client.get(taskId)).status === "failed");
  deepEqual((await two.client.get(taskId)).error?.data, { code: "worker_lost" });
});

for (const way of ["get", "the sweep of a starting node"])
  proves("tasks-ext:create:durable", {}, `a task without a job is found by ${way}`, async (t) => {
    const world = new TaskNodes(t);
    const define = (server: McpServer) => {
      server.tool("t", { task: "optional" }, () => "x");
      server.tool("slow", { task: { promoteAfterMs: 100, restartable: true } }, async (_: unknown, ctx: Context) => {
        if (server === one?.server) throw await aborted(ctx.signal);
        return "slow";
      });
    };
    // A process that ends between the record and its job never gets an answer of the queue.
    const never = new Promise<never>(() => {});
    let isBroken = true;
    const one: ReturnType<TaskNodes["node"]> | undefined = world.node((server) => define(server), {
      ...idle,
      wrap: ({ queue }) => ({
        queue: replaceParts(queue, { add: (...job) => (isBroken ? never : queue.add(...job)) }),
      }),
    });
    const two = way === "get" ? world.node(define) : undefined;
    void one.client.call("t").catch(() => {});
    void one.client.call("slow").catch(() => {});
    await world.pass(500);
    const ids = (await world.state.node().records.list("tasks:live:anonymous", { limit: 10 })).map(({ key }) =>
      key.slice(5),
    );
    equal(ids.length, 2);
    world.state.cut(one.cluster);
    isBroken = false;
    await world.pass(LEASE_MS + 100);
    const worker = two ?? world.node(define);
    const statuses = async () => {
      if (way === "get") return (await Promise.all(ids.map((id) => worker.client.get(id)))).map(({ status }) => status);
      const { records } = world.state.node();
      const kept = await Promise.all(ids.map(async (id) => (await records.get(`task:${id}`))?.value ?? "{}"));
      return kept.map((value) => (JSON.parse(value) as { stage?: string }).stage);
    };
    await world.until("both have ended", async () => (await statuses()).every((status) => status === "completed"));
    deepEqual((await Promise.all(ids.map((id) => worker.client.text(id)))).toSorted(), ["slow", "x"]);
  });

proves("tasks-ext:lifecycle:no-worker-waits", {}, "an answer during parking is not lost", async (t) => {
  const world = new TaskNodes(t);
  const parked = gate();
  const open = gate();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const { content } = await ctx.elicit("Where?", FORM);
      return String(content?.city);
    });
  // The question is stored, but the worker does not hear of it before the answer has arrived.
  const worker = world.node(define, {
    wrap: ({ records }) => ({
      records: replaceParts(records, {
        put: async (key, value, options) => {
          const version = await records.put(key, value, options);
          if (!value.includes('"stage":"waiting"')) return version;
          parked.open();
          await open.opened;
          return version;
        },
      }),
    }),
  });
  const front = world.node(define, idle);
  const taskId = await front.client.start("t");
  await parked.opened;
  await front.client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
  await world.pass(500);
  equal((await front.client.get(taskId)).status, "working");
  open.open();
  await world.until("the task has ended", async () => (await front.client.get(taskId)).status === "completed");
  equal(await front.client.text(taskId), "Oslo");
  deepEqual(worker.errors, []);
});

/** Runs a task up to its question with one definition, and on with another. */
async function changed(
  t: ConstructorParameters<typeof TaskNodes>[0],
  before: (ctx: Context) => Promise<unknown>,
  after: (ctx: Context) => Promise<unknown>,
) {
  const world = new TaskNodes(t);
  const define = (handler: (ctx: Context) => Promise<unknown>) => (server: McpServer) =>
    void server.tool("t", { task: "optional" }, (_: unknown, ctx: Context) => handler(ctx));
  const one = world.node(define(before));
  const taskId = await one.client.start("t");
  await world.until("the question is open", async () => (await one.client.get(taskId)).status === "input_required");
  await one.server.close();
  const two = world.node(define(after));
  await two.client.update(taskId, { where: accept({ city: "Oslo" }) });
  await world.until("the task has ended", async () => (await two.client.get(taskId)).status !== "working");
  return two.client.get(taskId);
}

const where = async (ctx: Context) => (await ctx.elicit("Where?", FORM, { key: "where" })).content?.city;

for (const [title, after] of [
  ["another step first", async (ctx) => [await ctx.step("b", () => 2), await ctx.step("a", () => 1), await where(ctx)]],
  ["another question first", async (ctx) => [await ctx.elicit("Why?", FORM), await ctx.step("a", () => 1)]],
  ["a step that is gone", async (ctx) => where(ctx)],
  ["a question that is gone", async (ctx) => ctx.step("a", () => 1)],
] as readonly (readonly [string, (ctx: Context) => Promise<unknown>])[])
  proves("tasks-ext:lifecycle:steps-once", {}, `a tool that was changed fails: ${title}`, async (t) => {
    const ran: string[] = [];
    const before = async (ctx: Context) => {
      await ctx.step("a", () => ran.push("a"));
      return where(ctx);
    };
    const task = await changed(t, before, after);
    equal(task.status, "failed");
    deepEqual(task.error?.data, { code: "definition_changed" });
    match(String(task.statusMessage), /keep the order and names/);
    deepEqual(ran, ["a"]);
  });

proves("tasks-ext:lifecycle:steps-once", {}, "parallel steps are no change", async (t) => {
  const ran: string[] = [];
  const step = (ctx: Context, name: string) =>
    ctx.step(name, async () => {
      ran.push(name);
      await new Promise((resolve) => setImmediate(resolve));
      return name;
    });
  const branch = async (ctx: Context, name: string, asks: boolean) => {
    const first = await step(ctx, `${name}1`);
    const second = await step(ctx, `${name}2`);
    const answer = asks ? await where(ctx) : "";
    return [first, second, answer, await step(ctx, `${name}3`)];
  };
  const handler = async (ctx: Context) =>
    (await Promise.all([branch(ctx, "a", false), branch(ctx, "b", true), branch(ctx, "c", false)])).flat().join(" ");
  const task = await changed(t, handler, handler);
  equal(task.status, "completed", JSON.stringify(task));
  equal(task.result?.content?.[0]?.text, "a1 a2  a3 b1 b2 Oslo b3 c1 c2  c3");
  deepEqual(ran.toSorted(), ["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]);
});

proves("tasks-ext:lifecycle:worker-lost", {}, "a task whose tool no node has fails", async (t) => {
  const world = new TaskNodes(t);
  const front = world.node((server) => void server.tool("t", { task: "optional" }, () => "x"), idle);
  const other = world.node((server) => void server.tool("other", {}, () => "x"));
  const taskId = await front.client.start("t");
  await world.pass(30_000);
  equal((await front.client.get(taskId)).status, "working");
  await world.until("the task has failed", async () => (await front.client.get(taskId)).status === "failed");
  deepEqual((await other.client.get(taskId)).error?.data, { code: "unknown_tool" });
  const second = await front.client.start("t");
  await world.pass(30_000);
  world.node((server) => void server.tool("t", { task: "optional" }, () => "found"));
  await world.until("the task has ended", async () => (await front.client.get(second)).status !== "working");
  equal(await front.client.text(second), "found");
});

proves("tasks-ext:lifecycle:store-pluggable", {}, "a server at its limit of calls runs its tasks later", async (t) => {
  const world = new TaskNodes(t);
  const open = gate();
  const define = (server: McpServer) =>
    void server
      .tool("t", { task: "optional" }, () => "x")
      .tool("blocks", {}, async () => {
        await open.opened;
        return "x";
      });
  const worker = world.node(define, { server: { limits: { maxCalls: 1 } } });
  const front = world.node(define, idle);
  const blocking = worker.client.call("blocks");
  await world.pass(100);
  const taskId = await front.client.start("t");
  await world.pass(5_000);
  equal((await front.client.get(taskId)).status, "working");
  open.open();
  await blocking;
  await world.until("the task has ended", async () => (await front.client.get(taskId)).status !== "working");
  equal(await front.client.text(taskId), "x");
});

proves("tasks-ext:limits:concurrent", {}, "a busy server returns a job without a write to its task", async (t) => {
  const world = new TaskNodes(t);
  let open = gate();
  const define = (server: McpServer) =>
    void server
      .tool("t", { task: "optional" }, () => "x")
      .tool("blocks", {}, async () => {
        await open.opened;
        return "x";
      });
  const auth = () => ({ principal: "ada" });
  for (const limits of [{ maxCalls: 1 }, { maxCallsPerPrincipal: 1 }]) {
    open = gate();
    const worker = world.node(define, { server: { limits, http: { gate: auth } } });
    const front = world.node(define, { ...idle, server: { http: { gate: auth } } });
    const blocking = worker.client.call("blocks");
    await world.pass(100);
    const taskId = await front.client.start("t");
    const version = async () => (await front.cluster.records.get(`task:${taskId}`))?.version;
    const before = await version();
    await world.pass(10_000);
    equal(await version(), before);
    open.open();
    await blocking;
    await world.until("the task has ended", async () => (await front.client.get(taskId)).status !== "working");
    equal(await front.client.text(taskId), "x");
    await worker.server.close();
  }
});

proves(
  "tasks-ext:limits:concurrent",
  {},
  "the runs of a task do not use up the rate limit of its caller",
  async (t) => {
    const world = new TaskNodes(t);
    const node = world.node(
      (server) =>
        void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
          const { content } = await ctx.elicit("Where?", FORM, { key: "q" });
          return String(content?.city);
        }),
      { server: { http: { gate: () => ({ principal: "ada" }) }, rateLimit: { burst: 4, refillMs: 60_000 } } },
    );
    const taskId = await node.client.start("t");
    await world.pass(300);
    equal((await node.client.get(taskId)).status, "input_required");
    equal((await node.client.update(taskId, { q: accept({ city: "Oslo" }) })).error, undefined);
    await world.pass(300);
    equal(await node.client.text(taskId), "Oslo");
    equal((await node.client.request("tasks/get", { taskId })).error?.code, -32005, "four calls, and no more");
  },
);

proves("tasks-ext:lifecycle:store-pluggable", {}, "a write with an unknown outcome is carried out once", async (t) => {
  const world = new TaskNodes(t);
  let ran = 0;
  let isLost = false;
  const turn = gate();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      ran++;
      await turn.opened;
      isLost = true;
      return ctx.step("make", () => "made");
    });
  const unknown = () => new ClusterError("unknown_outcome", "the connection was lost");
  const worker = world.node(define, {
    store: (store) =>
      replaceParts(store, {
        // Each second write of the task is carried out, but its answer is lost.
        put: async (key, value, options) => {
          const isStored = await store.put(key, value, options);
          if (!key.startsWith("task:")) return isStored;
          if (isLost) {
            isLost = false;
            throw unknown();
          }
          isLost = ran > 0;
          return isStored;
        },
      }),
  });
  const front = world.node(define, idle);
  const taskId = await front.client.start("t");
  const heard = await front.listen([taskId]);
  turn.open();
  await world.until("the task has ended", async () => (await front.client.get(taskId)).status !== "working");
  equal(await front.client.text(taskId), "made");
  equal(ran, 1);
  await world.until("the end is told", () => heard.some(({ params }) => params?.status === "completed"));
  await worker.extension.idle();
});

proves(
  "tasks-ext:lifecycle:store-pluggable",
  {},
  "a job is not lost if the engine fails when it is taken",
  async (t) => {
    const world = new TaskNodes(t);
    const failing = new Set<string>();
    const define = (server: McpServer) => void server.tool("t", { task: "optional" }, () => "x");
    const away = () => new ClusterError("unavailable", "away");
    const worker = world.node(define, {
      wrap: ({ records, queue }) => ({
        records: replaceParts(records, {
          get: (key) => {
            if (failing.has("get")) throw away();
            return records.get(key);
          },
        }),
        queue: replaceParts(queue, {
          async *take(signal, options) {
            for await (const job of queue.take(signal, options))
              yield replaceParts(job, {
                later: (ms) => {
                  if (failing.has("later")) throw away();
                  return job.later(ms);
                },
                done: () => {
                  if (failing.has("done")) throw away();
                  return job.done();
                },
              });
          },
        }),
      }),
    });
    const front = world.node(define, idle);
    for (const operations of [["get"], ["get", "later"], ["done"]]) {
      for (const operation of operations) failing.add(operation);
      const taskId = await front.client.start("t");
      await world.pass(3_000);
      failing.clear();
      await world.until("the task has ended", async () => (await front.client.get(taskId)).status !== "working");
      equal(await front.client.text(taskId), "x");
      await world.pass(3_000);
      await worker.extension.idle();
      equal(await world.state.node().queue.add(`task:${taskId}:1`, "{}", { delayMs: 1e9 }), true, "its job is gone");
    }
  },
);

for (const [title, task] of [
  ["a task", { restartable: true }],
  ["a call that became a task", { restartable: true, promoteAfterMs: 100 }],
] as const)
  for (const kind of ["result", "question"])
    proves(
      "tasks-ext:lifecycle:store-pluggable",
      {},
      `an outcome that the engine refuses fails once: ${kind} of ${title}`,
      async (t) => {
        const world = new TaskNodes(t);
        const secret = "redis://user:password@engine";
        let ran = 0;
        const open = gate();
        const define = (server: McpServer) =>
          void server.tool("t", { task }, async (_: unknown, ctx: Context) => {
            ran++;
            await open.opened;
            const long = "x".repeat(50_000);
            return kind === "result" ? long : ctx.elicit(long, FORM);
          });
        const node = world.node(define, {
          wrap: ({ records }) => ({
            records: replaceParts(records, {
              put: (key, value, options) => {
                if (value.length > 40_000) throw new ClusterError("refused", `${secret}: the value is too long`);
                return records.put(key, value, options);
              },
            }),
          }),
        });
        let taskId = "";
        const called = node.client.call("t").then(({ result }) => {
          taskId = String(result?.taskId);
        });
        await world.until("the call is a task", () => taskId !== "");
        await called;
        open.open();
        await world.until("the task has ended", async () => (await node.client.get(taskId)).status !== "working");
        const { status, error, statusMessage } = await node.client.get(taskId);
        equal(status, "failed");
        deepEqual(error?.data, { code: "outcome_refused" });
        match(String(error?.message), /\d{5,} characters.* refused to store/);
        equal(statusMessage, error?.message);
        equal(JSON.stringify(error).includes(secret), false);
        deepEqual(
          node.errors.map((one) => (one as { code?: string }).code),
          ["cluster_refused"],
        );
        await world.pass(3 * LEASE_MS);
        equal(ran, 1);
        equal(node.extension.running, 0);
      },
    );
