import { deepEqual, equal, match } from "node:assert/strict";
import { type Cluster, ClusterError, type ClusterFailure, memoryCluster } from "bowline/cluster";
import { type Context, McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { modernRequest } from "../../support/modern-request.js";
import { replaceParts } from "../../support/nodes-world.js";
import { accept, TASKS, taskClient } from "../../support/task-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const SECRET = "password of the store";
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Cluster whose records and queue answer later, and fail while `fails` says so. */
function slowCluster(fails: (operation: string) => ClusterFailure | boolean): Cluster {
  const inner = memoryCluster();
  const slowly =
    (name: string, run: (...args: never[]) => unknown) =>
    async (...args: never[]): Promise<never> => {
      await turn();
      const failure = fails(name);
      if (failure !== false) throw new ClusterError(failure === true ? "unavailable" : failure, SECRET);
      return (await run(...args)) as never;
    };
  const { records, queue } = inner;
  return replaceParts(inner, {
    records: replaceParts(records, {
      get: slowly("get", records.get.bind(records)),
      put: slowly("put", records.put.bind(records)),
      count: slowly("count", records.count.bind(records)),
      list: slowly("list", records.list.bind(records)),
    }),
    queue: replaceParts(queue, { add: slowly("add", queue.add.bind(queue)) }),
  });
}

const define = (cluster: Cluster, onError: (error: unknown) => void = () => {}) =>
  new McpServer(me, { onError })
    .tool("ends", { task: "optional" }, () => "x")
    .tool("asks", { task: "optional" }, async (_: unknown, ctx: Context) => {
      const made = await ctx.step("make", () => 7);
      const { content } = await ctx.elicit("Where?", FORM);
      return `${made} ${content?.city}`;
    })
    .extend(tasks({ cluster }));

verifies("tasks-ext:lifecycle:store-pluggable", "an asynchronous store", modernWires, async (world, t) => {
  const client = await taskClient(world, define(slowCluster(() => false)), t, { elicitation: {} });
  equal(await client.text(await client.start("ends")), "x");
  const taskId = await client.start("asks");
  await client.until(taskId, "input_required");
  await client.update(taskId, { "ask-1": accept({ city: "Oslo" }) });
  equal(await client.text(taskId), "7 Oslo");
  const cancelled = await client.start("asks");
  await client.cancel(cancelled);
  equal((await client.get(cancelled)).status, "cancelled");
});

for (const failure of ["unavailable", "unknown_outcome", "refused"] as const)
  verifies(
    [
      "tasks-ext:lifecycle:store-pluggable",
      "tasks-ext:lifecycle:engine-full",
      "tasks-ext:errors:internal",
      "tasks-ext:create:durable",
    ],
    `a store that fails (${failure})`,
    modernWires,
    async (world, t) => {
      const failing = new Set<string>();
      const reports: unknown[] = [];
      const cluster = slowCluster((operation) => failing.has(operation) && failure);
      const client = await taskClient(
        world,
        define(cluster, (error) => void reports.push(error)),
        t,
        { elicitation: {} },
      );
      const taskId = await client.start("asks");
      await client.until(taskId, "input_required");
      const answers = { taskId, inputResponses: { "ask-1": accept({ city: "Oslo" }) } };
      for (const [method, params, operations] of [
        ["tools/call", { name: "ends", arguments: {} }, ["count", "put", "add"]],
        ["tasks/get", { taskId }, ["get"]],
        ["tasks/update", answers, ["get", "put"]],
        ["tasks/cancel", { taskId }, ["get", "put"]],
        ["subscriptions/listen", { notifications: { taskIds: [taskId] } }, ["get"]],
      ] as const) {
        for (const operation of operations) {
          const where = `${method} ${operation}`;
          // After an unknown outcome the store reads what became of a write.
          if (failure === "unknown_outcome" && operation === "put") continue;
          failing.add(operation);
          const { error } = await client.request(method, params as never);
          failing.clear();
          // A call must not run twice: its task may exist after an unknown outcome, and before its job is added.
          const isSafe = method === "tools/call" ? failure === "unavailable" && operation !== "add" : true;
          if (isSafe && failure !== "refused") {
            match(String(error?.message), method === "tools/call" ? /^The task was not created/ : /is not available/);
            deepEqual(
              [error?.code, error?.data],
              [-32005, { limit: "cluster", retryAfterMs: 1_000, refused: true }],
              where,
            );
          } else deepEqual([error?.code, error?.message], [-32603, "Internal error"], where);
        }
      }
      equal(JSON.stringify(client.raw.heard).includes(SECRET), false);
      equal(reports.length > 0, true);
      equal((await client.get(taskId)).status, "input_required");
      await client.update(taskId, answers.inputResponses);
      equal(await client.text(taskId), "7 Oslo");
    },
  );

proves(
  "tasks-ext:lifecycle:engine-full",
  { wire: "modern-http" },
  "a request for a task is answered with 503 and Retry-After while the engine is away",
  async (t) => {
    let isAway = false;
    const server = define(slowCluster(() => isAway));
    t.after(() => server.close());
    const ask = (method: string, params: Record<string, unknown>) => {
      const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, extensions: { [TASKS]: {} } } };
      const { headers, body } = modernRequest(method, {
        params,
        meta,
        headers: { "mcp-name": String(params.name ?? params.taskId) },
      });
      const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
      return server.fetch(new Request("http://localhost/mcp", init));
    };
    const created = await (await ask("tools/call", { name: "asks", arguments: {} })).json();
    const { taskId } = (created as { result: { taskId: string } }).result;
    isAway = true;
    for (const [method, more] of [
      ["tasks/get", {}],
      ["tasks/update", { inputResponses: {} }],
      ["tasks/cancel", {}],
    ] as const) {
      const { status, headers } = await ask(method, { taskId, ...more });
      deepEqual([status, headers.get("retry-after")], [503, "1"], method);
    }
  },
);

verifies("tasks-ext:create:durable", "the response waits for the store", modernWires, async (world, t) => {
  const open = gate();
  const stored: string[] = [];
  const inner = memoryCluster();
  const cluster = replaceParts(inner, {
    records: replaceParts(inner.records, {
      put: async (key, value, options) => {
        if (stored.length === 0) await open.opened;
        stored.push(key);
        return inner.records.put(key, value, options);
      },
    }),
  });
  const client = await taskClient(world, define(cluster), t);
  let isAnswered = false;
  const called = client.call("ends").then((response) => {
    isAnswered = true;
    return response;
  });
  await client.raw.settled();
  equal(isAnswered, false);
  open.open();
  const { result } = await called;
  match(String(stored[0]), new RegExp(`${result?.taskId}$`));
  equal(await client.text(result?.taskId as string), "x");
});

verifies("tasks-ext:create:durable", "nothing runs if the store fails", modernWires, async (world, t) => {
  let ran = 0;
  const failing = new Set(["add"]);
  const cluster = slowCluster((operation) => failing.has(operation));
  const server = new McpServer(me, { onError: () => {} })
    .tool("t", { task: "optional" }, () => ++ran)
    .extend(tasks({ cluster }));
  const client = await taskClient(world, server, t);
  equal((await client.call("t")).error?.code, -32603);
  failing.clear();
  equal(await client.text(await client.start("t")), "1");
  equal(await cluster.records.count("tasks:live:anonymous"), 0, "no task stays without its job");
  await until("all is done", () => ran === 1);
});

verifies("tasks-ext:lifecycle:store-pluggable", "the store fails during a run", modernWires, async (world, t) => {
  const failing = new Set<string>();
  const reached = gate();
  const open = gate();
  const cluster = slowCluster((operation) => failing.has(operation));
  const server = new McpServer(me, { onError: () => {} })
    .tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
      reached.open();
      await open.opened;
      return ctx.step("make", () => "made");
    })
    .extend(tasks({ cluster }));
  const client = await taskClient(world, server, t);
  const taskId = await client.start("t");
  await reached.opened;
  failing.add("put");
  open.open();
  await client.raw.settled();
  equal((await client.get(taskId)).status, "working");
  failing.clear();
  equal(await client.text(taskId), "made");
});
