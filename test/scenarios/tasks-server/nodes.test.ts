import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { type Cluster, ClusterError } from "bowline/cluster";
import type { Context, McpServer } from "bowline/server";
import { withoutRoom } from "../../support/full-cluster.js";
import { aborted, gate } from "../../support/gate.js";
import { modernRequest } from "../../support/modern-request.js";
import { replaceParts } from "../../support/nodes-world.js";
import { accept, TASKS } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const LEASE_MS = 10_000;
const away = () => new ClusterError("unavailable", "the engine cannot be reached");
const idle = { tasks: { work: false } };

proves(
  "tasks-ext:lifecycle:any-connection",
  {},
  "a task runs, is polled, answered and watched elsewhere",
  async (t) => {
    const world = new TaskNodes(t);
    const ran: string[] = [];
    const turn = gate();
    const define = (name: string) => (server: McpServer) =>
      void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
        ran.push(name);
        await turn.opened;
        const { content } = await ctx.elicit("Where?", FORM);
        return String(content?.city);
      });
    const front = world.node(define("front"), idle);
    const worker = world.node(define("worker"));
    const taskId = await front.client.start("t");
    const heard = await front.listen([taskId]);
    turn.open();
    await world.until(
      "the question is open",
      async () => (await worker.client.get(taskId)).status === "input_required",
    );
    await front.client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
    equal(await worker.client.text(taskId), "Oslo");
    equal(await front.client.text(taskId), "Oslo");
    deepEqual(ran, ["worker", "worker"]);
    await world.until("the end is told", () => heard.some(({ params }) => params?.status === "completed"));
    ok(heard.some(({ params }) => params?.status === "input_required"));
    equal(front.extension.running, 0);
  },
);

proves("tasks-ext:lifecycle:any-connection", {}, "a cancellation reaches the worker of another node", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  const front = world.node(define, idle);
  const worker = world.node(define);
  const taskId = await front.client.start("t");
  const signal = await reached.opened;
  await front.client.cancel(taskId);
  await aborted(signal);
  await worker.extension.idle();
  equal((await worker.client.get(taskId)).status, "cancelled");
  deepEqual(worker.errors, []);
});

proves("tasks-ext:lifecycle:any-connection", {}, "a cancellation that was missed is found after the gap", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  const worker = world.node(define);
  const front = world.node(define, idle);
  const taskId = await worker.client.start("t");
  const signal = await reached.opened;
  world.state.cut(worker.cluster);
  await front.client.cancel(taskId);
  equal(signal.aborted, false);
  world.state.mend(worker.cluster);
  await aborted(signal);
  equal((await front.client.get(taskId)).status, "cancelled");
});

proves(
  ["tasks-ext:lifecycle:worker-lost", "tasks-ext:lifecycle:steps-once"],
  {},
  "a task goes on elsewhere after its last step",
  async (t) => {
    const world = new TaskNodes(t);
    const ran: string[] = [];
    const keys = new Set<string>();
    const stuck = gate();
    const define = (name: string) => (server: McpServer) =>
      void server.tool("t", { task: { restartable: true } }, async (_: unknown, ctx: Context) => {
        keys.add(ctx.idempotencyKey);
        const first = await ctx.step("first", () => {
          ran.push(`${name} first`);
          return "1";
        });
        const second = await ctx.step("second", async () => {
          ran.push(`${name} second`);
          if (name === "one") await stuck.opened;
          return name;
        });
        return `${first} ${second}`;
      });
    const one = world.node(define("one"));
    const taskId = await one.client.start("t");
    await world.until("the second step has begun", () => ran.length === 2);
    const two = world.node(define("two"));
    await world.pass(2 * LEASE_MS);
    deepEqual(ran, ["one first", "one second"], "a living worker keeps its task");
    world.state.cut(one.cluster);
    await world.until("the task has ended", async () => (await two.client.get(taskId)).status === "completed");
    equal(await two.client.text(taskId), "1 two");
    deepEqual(ran, ["one first", "one second", "two second"]);
    equal(keys.size, 1);
    world.state.mend(one.cluster);
    stuck.open();
    await one.extension.idle();
    await world.pass(LEASE_MS);
    equal(await one.client.text(taskId), "1 two", "the old run cannot write any more");
    deepEqual(ran, ["one first", "one second", "two second"]);
  },
);

proves("tasks-ext:lifecycle:worker-lost", {}, "the old run ends while it still has the engine", async (t) => {
  const world = new TaskNodes(t);
  const stuck = gate();
  const define = (name: string) => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true } }, async (_: unknown, ctx: Context) => {
      if (name === "one") await stuck.opened;
      return ctx.step("late", () => name);
    });
  const one = world.node(define("one"));
  const taskId = await one.client.start("t");
  await world.until("it runs", () => one.extension.running === 1);
  const two = world.node(define("two"), { tasks: { work: false } });
  world.state.cut(one.cluster);
  await world.pass(LEASE_MS + 100);
  world.state.mend(one.cluster);
  await world.pass(3_000);
  equal((await two.client.get(taskId)).status, "working", "one node does not run a task twice at a time");
  stuck.open();
  await world.until("the task has ended", async () => (await two.client.get(taskId)).status === "completed");
  equal(await two.client.text(taskId), "one");
});

proves(
  ["tasks-ext:lifecycle:not-restartable", "tasks-ext:lifecycle:worker-lost"],
  {},
  "a tool that is not restartable fails and is not run again",
  async (t) => {
    const world = new TaskNodes(t);
    let ran = 0;
    const stuck = gate();
    const define = (server: McpServer) =>
      void server.tool("t", { task: "optional" }, async () => {
        ran++;
        await stuck.opened;
        return "late";
      });
    const one = world.node(define);
    const taskId = await one.client.start("t");
    await world.until("it runs", () => ran === 1);
    const two = world.node(define);
    world.state.cut(one.cluster);
    await world.until("the task has failed", async () => (await two.client.get(taskId)).status === "failed");
    const { error, statusMessage } = await two.client.get(taskId);
    deepEqual(error?.data, { code: "worker_lost" });
    match(String(statusMessage), /not restartable/);
    equal(ran, 1);
    world.state.mend(one.cluster);
    stuck.open();
    await one.extension.idle();
    equal((await one.client.get(taskId)).status, "failed");
  },
);

proves("tasks-ext:lifecycle:worker-lost", {}, "a task fails after its attempts", async (t) => {
  const world = new TaskNodes(t);
  const ran: string[] = [];
  const define = (name: string) => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true, attempts: 2 } }, async (_: unknown, ctx: Context) => {
      ran.push(name);
      throw await aborted(ctx.signal);
    });
  const nodes = ["one", "two"].map((name) => world.node(define(name)));
  const front = world.node(define("front"), idle);
  const taskId = await front.client.start("t");
  await world.until("it runs", () => ran.length === 1);
  const of = (name: string | undefined) => nodes[name === "one" ? 0 : 1] as (typeof nodes)[number];
  world.state.cut(of(ran[0]).cluster);
  await world.until("it runs elsewhere", () => ran.length === 2);
  world.node(define("three"));
  world.state.cut(of(ran[1]).cluster);
  await world.until("the task has failed", async () => (await front.client.get(taskId)).status === "failed");
  const { error } = await front.client.get(taskId);
  deepEqual(error?.data, { code: "worker_lost" });
  match(String(error?.message), /The tool allows 2 \(task\.attempts\), so it is not run again/);
  deepEqual(ran.toSorted(), ["one", "two"]);
});

proves("tasks-ext:lifecycle:worker-lost", {}, "an answered question is not asked again after a takeover", async (t) => {
  const world = new TaskNodes(t);
  const stuck = gate();
  const define = (name: string) => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true } }, async (_: unknown, ctx: Context) => {
      const { content } = await ctx.elicit("Where?", FORM);
      if (name === "one") await stuck.opened;
      return `${content?.city} ${name}`;
    });
  const one = world.node(define("one"));
  const taskId = await one.client.start("t");
  await world.until("the question is open", async () => (await one.client.get(taskId)).status === "input_required");
  await one.client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
  await world.until("it runs again", () => one.extension.running === 1);
  const two = world.node(define("two"));
  world.state.cut(one.cluster);
  await world.until("the task has ended", async () => (await two.client.get(taskId)).status === "completed");
  equal(await two.client.text(taskId), "Oslo two");
  stuck.open();
});

proves("tasks-ext:lifecycle:worker-lost", {}, "the engine is away for less than a lease", async (t) => {
  const world = new TaskNodes(t);
  const turn = gate();
  let ran = 0;
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      ran++;
      await turn.opened;
      return ctx.step("make", () => "made");
    });
  const one = world.node(define);
  const two = world.node(define);
  const taskId = await one.client.start("t");
  await world.until("it runs", () => ran === 1);
  world.state.cut(one.cluster);
  world.state.cut(two.cluster);
  turn.open();
  await world.pass(LEASE_MS / 2);
  world.state.mend(one.cluster);
  world.state.mend(two.cluster);
  await world.until("the task has ended", async () => (await two.client.get(taskId)).status === "completed");
  equal(await two.client.text(taskId), "made");
  equal(ran, 1);
});

proves("tasks-ext:lifecycle:worker-lost", {}, "the engine is away when a node starts", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  const front = world.node(define, idle);
  let isAway = true;
  const worker = world.node(define, {
    wrap: (cluster) => ({
      bus: new Proxy(cluster.bus, {
        get: (bus, name) => {
          if (name === "subscribe" && isAway) throw new Error("away");
          const value = bus[name as keyof typeof bus];
          return typeof value === "function" ? value.bind(bus) : value;
        },
      }),
    }),
  });
  const taskId = await front.client.start("t");
  const signal = await reached.opened;
  isAway = false;
  await world.pass(2_000);
  await front.client.cancel(taskId);
  await aborted(signal);
  await worker.extension.idle();
});

proves("tasks-ext:cancel:aborts-handler", {}, "a cancellation before the worker hears of any is found", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  let isAway = true;
  const worker = world.node(define, {
    wrap: ({ bus }) => ({
      bus: replaceParts(bus, {
        subscribe: (...given) => {
          if (isAway) throw away();
          return bus.subscribe(...given);
        },
      }),
    }),
  });
  const front = world.node(define, idle);
  const taskId = await front.client.start("t");
  const signal = await reached.opened;
  await front.client.cancel(taskId);
  await world.pass(3_000);
  equal(signal.aborted, false);
  isAway = false;
  await world.until("the handler is aborted", () => signal.aborted);
  await worker.extension.idle();
  equal((await worker.client.get(taskId)).status, "cancelled");
});

proves("tasks-ext:lifecycle:any-connection", {}, "no subscription stays that is complete after the end", async (t) => {
  const world = new TaskNodes(t);
  const answered = gate();
  let open = 0;
  const define = (server: McpServer) => void server.tool("t", { task: "optional" }, () => "x");
  const node = world.node(define, {
    wrap: ({ bus }) => ({
      bus: replaceParts(bus, {
        subscribe: async (...given) => {
          await answered.opened;
          const leave = await bus.subscribe(...given);
          open++;
          return () => {
            open--;
            return leave();
          };
        },
        onGap: (listener) => {
          const leave = bus.onGap(listener);
          open++;
          return () => {
            open--;
            leave();
          };
        },
      }),
    }),
  });
  await world.pass(100);
  await node.server.close();
  await world.pass(100);
  answered.open();
  await world.pass(100);
  equal(open, 0);
});

proves("tasks-ext:lifecycle:any-connection", {}, "a change that cannot be read at first is told later", async (t) => {
  const world = new TaskNodes(t);
  const turn = gate();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async () => {
      await turn.opened;
      return "done";
    });
  let failures = 0;
  const wrap = ({ records }: Cluster) => ({
    records: replaceParts(records, {
      get: (key) => (failures-- > 0 ? Promise.reject(away()) : records.get(key)),
    }),
  });
  const front = world.node(define, { ...idle, wrap });
  const worker = world.node(define);
  const taskId = await worker.client.start("t");
  await world.until("the task runs", () => worker.extension.running === 1);
  const heard = await front.listen([taskId]);
  await world.pass(100);
  failures = 2;
  turn.open();
  await world.until("the end is told", () => heard.some(({ params }) => params?.status === "completed"));
  equal(front.errors.length, 2);
});

proves(
  "tasks-ext:lifecycle:worker-lost",
  {},
  "an end is told whose process stopped before it could tell it",
  async (t) => {
    const world = new TaskNodes(t);
    const turn = gate();
    const define = (server: McpServer) =>
      void server.tool("t", { task: "optional" }, async () => {
        await turn.opened;
        return "done";
      });
    let isStopped = false;
    const lost = world.node(define, {
      store: (store) =>
        replaceParts(store, {
          put: async (key, value, options) => {
            const isStored = await store.put(key, value, options);
            if (isStopped && key.startsWith("task:")) world.state.cut(lost.cluster);
            return isStored;
          },
        }),
    });
    const taskId = await lost.client.start("t");
    await world.until("the task runs", () => lost.extension.running === 1);
    const front = world.node(define);
    const heard = await front.listen([taskId]);
    isStopped = true;
    turn.open();
    await world.until("the end is told", () => heard.some(({ params }) => params?.status === "completed"));
  },
);

proves("tasks-ext:lifecycle:any-connection", {}, "a cancellation is told again if its message fails", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  let failures = 2;
  const wrap = ({ bus }: Cluster) => ({
    bus: replaceParts(bus, {
      publish: (topic, text) => (failures-- > 0 ? Promise.reject(away()) : bus.publish(topic, text)),
    }),
  });
  const front = world.node(define, { ...idle, wrap });
  world.node(define);
  const taskId = await front.client.start("t");
  const signal = await reached.opened;
  await front.client.cancel(taskId);
  await world.until("the handler is aborted", () => signal.aborted);
  equal(front.errors.length, 2);
});

proves("tasks-ext:lifecycle:any-connection", {}, "a repeated cancellation reaches the worker", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  let isAway = false;
  // The task is cancelled, and the process that did so does not learn it.
  const wrap = ({ records }: Cluster) => ({
    records: replaceParts(records, {
      get: (key) => (isAway ? Promise.reject(away()) : records.get(key)),
      put: async (key, value, options) => {
        const version = await records.put(key, value, options);
        isAway = value.includes('"stage":"cancelled"');
        if (isAway) throw new ClusterError("unknown_outcome", "the connection failed before the reply");
        return version;
      },
    }),
  });
  const front = world.node(define, { ...idle, wrap });
  world.node(define);
  const taskId = await front.client.start("t");
  const signal = await reached.opened;
  notEqual((await front.client.cancel(taskId)).error, undefined);
  isAway = false;
  equal((await front.client.cancel(taskId)).error, undefined);
  await world.until("the handler is aborted", () => signal.aborted);
});

proves("tasks-ext:lifecycle:any-connection", {}, "the end of a task is told before the process is idle", async (t) => {
  const world = new TaskNodes(t);
  const turn = gate();
  const sent = gate();
  const events: string[] = [];
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async () => {
      await turn.opened;
      return "done";
    });
  const wrap = ({ bus }: Cluster) => ({
    bus: replaceParts(bus, {
      publish: async (topic, text) => {
        await sent.opened;
        events.push("told");
        await bus.publish(topic, text);
      },
    }),
  });
  const node = world.node(define, { wrap });
  const taskId = await node.client.start("t");
  await world.until("the task runs", () => node.extension.running === 1);
  const waited = node.extension.idle().then(() => events.push("idle"));
  turn.open();
  await world.until("the task has ended", async () => (await node.client.get(taskId)).status === "completed");
  await world.until("no task runs", () => node.extension.running === 0);
  sent.open();
  await waited;
  deepEqual(events, ["told", "idle"]);
});

proves("tasks-ext:lifecycle:any-connection", {}, "a missed cancellation is looked for until it is found", async (t) => {
  const world = new TaskNodes(t);
  const reached = gate<AbortSignal>();
  const define = (server: McpServer) =>
    void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open(ctx.signal);
      throw await aborted(ctx.signal);
    });
  let failures = 0;
  const wrap = ({ records }: Cluster) => ({
    records: replaceParts(records, {
      get: (key) => (failures-- > 0 ? Promise.reject(away()) : records.get(key)),
    }),
  });
  const worker = world.node(define, { wrap });
  const front = world.node(define, idle);
  const taskId = await worker.client.start("t");
  const signal = await reached.opened;
  world.state.cut(worker.cluster);
  await front.client.cancel(taskId);
  failures = 2;
  world.state.mend(worker.cluster);
  await world.until("the handler is aborted", () => signal.aborted);
});

proves("tasks-ext:lifecycle:any-connection", {}, "a promoted task that has ended gets no job", async (t) => {
  const world = new TaskNodes(t);
  const added: string[] = [];
  const wrap = ({ queue }: Cluster) => ({
    queue: replaceParts(queue, {
      add: (id, job, options) => {
        added.push(id);
        return queue.add(id, job, options);
      },
    }),
  });
  const turn = gate();
  const define = (server: McpServer) =>
    void server.tool("t", { task: { promoteAfterMs: 100 } }, async () => {
      await turn.opened;
      return "done";
    });
  const node = world.node(define, { wrap });
  const call = node.client.start("t");
  await world.pass(200);
  const taskId = await call;
  turn.open();
  await world.until("the task has ended", async () => (await node.client.get(taskId)).status === "completed");
  await world.pass(2 * LEASE_MS);
  await node.client.get(taskId);
  equal(added.length, 1);
});

proves(
  "tasks-ext:lifecycle:engine-full",
  {},
  "a full engine refuses new tasks for now, and a task that runs waits for room",
  async (t) => {
    const world = new TaskNodes(t);
    let isFull = false;
    const [reached, goOn] = [gate(), gate()];
    let steps = 0;
    const { server, client } = world.node(
      (server) =>
        void server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
          reached.open();
          await goOn.opened;
          return `done in step ${await ctx.step("one", () => ++steps)}`;
        }),
      { wrap: (cluster) => withoutRoom(cluster, () => (isFull ? "unavailable" : undefined)) },
    );
    const taskId = await client.start("t");
    await world.until("it runs", async () => (await client.get(taskId)).status === "working");
    await reached.opened;
    isFull = true;
    const { headers, body } = modernRequest("tools/call", {
      id: "new",
      params: { name: "t", arguments: {} },
      meta: { "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } },
    });
    const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
    const refused = await server.fetch(new Request("http://localhost/mcp", init));
    deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
    equal(((await refused.json()) as { error: { code: number } }).error.code, -32005);
    goOn.open();
    await world.pass(3_000);
    equal((await client.get(taskId)).status, "working");
    isFull = false;
    await world.until("it ends", async () => (await client.get(taskId)).status !== "working");
    equal(await client.text(taskId), "done in step 1");
    equal(steps, 1);
  },
);
