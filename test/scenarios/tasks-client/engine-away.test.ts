import { deepEqual, equal, rejects } from "node:assert/strict";
import { type Cluster, ClusterError, type ClusterFailure, memoryCluster } from "bowline/cluster";
import { McpServer, RpcError } from "bowline/server";
import { type TaskError, tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { eachWire, modernWires } from "../../support/each-wire.js";
import { withoutRoom } from "../../support/full-cluster.js";
import { replaceParts } from "../../support/nodes-world.js";
import { asking, completed, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { verifies } from "../../support/verifies.js";

const id = "tasks-ext:client:engine-away";
const accept = { action: "accept" as const, content: {} };

/** Cluster that stores nothing, or answers nothing, while the test says so. */
function outage(clock: FakeClock) {
  const inner = memoryCluster({ clock });
  const meanwhile: { full?: ClusterFailure | undefined; away?: ClusterFailure | undefined } = {};
  const full = replaceParts(
    inner,
    withoutRoom(inner, () => meanwhile.full),
  );
  const get: Cluster["records"]["get"] = async (key) => {
    if (meanwhile.away !== undefined) await Promise.reject(new ClusterError(meanwhile.away, "no connection"));
    return inner.records.get(key);
  };
  return { meanwhile, cluster: replaceParts(full, { records: replaceParts(full.records, { get }) }) };
}

for (const [what, failures] of [
  ["full", { full: "unavailable" }],
  ["away", { full: "unavailable", away: "unavailable" }],
  ["lost", { away: "unknown_outcome" }],
] as const)
  verifies(
    id,
    `an answer that is given while the engine is ${what} is used, and the task is not cancelled`,
    eachWire,
    async ({ connect }) => {
      const clock = new FakeClock();
      const { cluster, meanwhile } = outage(clock);
      const server = new McpServer({ name: "desk", version: "1" }, { clock, onError: () => {} })
        .extend(tasks({ cluster }))
        .tool("order", { task: "optional" }, async (_, ctx) => {
          const { action } = await ctx.elicit("Sure?", { type: "object", properties: {} });
          return action;
        });
      let questions = 0;
      let heals = Number.POSITIVE_INFINITY;
      const client = await connect(server, {
        clock,
        extensions: [tasksClient({ pollIntervalMs: 100, minPollIntervalMs: 100 })],
        onElicit: () => {
          questions++;
          Object.assign(meanwhile, failures);
          heals = clock.now() + 5_000;
          return accept;
        },
      });
      await client.tools().all();
      const endless = Number.POSITIVE_INFINITY;
      const call = client.callTool("order", {}, { timeoutMs: endless, deadlineMs: endless });
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      call.then(over, over);
      await until("the call has ended", () => {
        clock.advance(100);
        if (clock.now() >= heals) Object.assign(meanwhile, { full: undefined, away: undefined });
        return isOver;
      });
      equal((await call).text, "accept");
      deepEqual([questions, clock.now() >= heals], [1, true]);
      deepEqual(client.wire.requests("tasks/cancel"), []);
    },
  );

const busy = (retryAfterMs: number) => new RpcError(-32005, "busy", { limit: "cluster", retryAfterMs });

verifies(id, "a poll that is refused waits as long as the server says", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", busy(9_000), completed("t", "done"));
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work");
  await bench.pass(1_111);
  await bench.waiting(9_000);
  bench.clock.advance(8_999);
  await new Promise(setImmediate);
  equal(client.wire.requests("tasks/get").length, 1);
  bench.clock.advance(1);
  equal((await called).text, "done");
});

verifies(
  id,
  "an answer that is refused too often ends the call, and the task is left as it is",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", asking("t", "name"));
    script.onUpdate = () => {
      throw busy(20_000);
    };
    const limits = { maxFailedPolls: 2 };
    const client = await connect(script.server(), { ...bench.options({ limits }), onElicit: () => accept });
    const failed = rejects(client.callTool("work"), (error: TaskError) => {
      deepEqual([error.code, error.taskId, (error.cause as RpcError).rpcCode], ["task_unreachable", "t", -32005]);
      return true;
    });
    await bench.pass(1_111);
    for (const times of [1, 2]) {
      await until("the answer is sent", () => script.updates.length === times);
      await bench.pass(20_000, times);
    }
    await failed;
    deepEqual([script.updates.length, script.cancels.length, client.pending], [3, 0, 0]);
  },
);
