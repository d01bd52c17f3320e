import { deepEqual, equal, rejects } from "node:assert/strict";
import { ConnectionError } from "bowline/client";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { verifies } from "../../support/verifies.js";

verifies(
  ["tasks-ext:cancel:not-via-notification", "tasks-ext:cancel:client-may-forget"],
  "abort while waiting",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", state("t", "working")).task("u", completed("u", "other"));
    const client = await connect(script.server(), bench.options());
    const end = new AbortController();
    const called = client.callTool("work", {}, { signal: end.signal });
    await bench.pass(1111);
    await bench.waiting(1111, 2);
    const reason = new Error("stop");
    end.abort(reason);
    await rejects(called, (error) => error === reason);
    await until("the cancellation is acknowledged", () => client.pending === 0);
    bench.clock.advance(100_000);
    equal((await bench.finish(client.callTool("work"), 3)).text, "other");
    deepEqual(script.cancels, ["t"]);
    equal(client.wire.requests("tasks/cancel").length, 1);
    deepEqual(client.wire.notifications("client"), []);
    deepEqual(
      client.wire.requests("tasks/get").map(({ params }) => params?.taskId),
      ["t", "u"],
    );
    equal(bench.clock.pending, 0);
  },
);

verifies(
  "tasks-ext:cancel:not-via-notification",
  "abort while a question is open",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", asking("t", "name"));
    const end = new AbortController();
    const asked: AbortSignal[] = [];
    const client = await connect(script.server(), {
      ...bench.options(),
      onElicit: (_, { signal }) => {
        asked.push(signal);
        return new Promise(() => {});
      },
    });
    const called = client.callTool("work", {}, { signal: end.signal });
    await bench.pass(1111);
    await until("the question is asked", () => asked.length === 1);
    end.abort(new Error("stop"));
    await rejects(called, /stop/);
    equal(asked[0]?.aborted, true);
    await until("the task is cancelled", () => script.cancels.length === 1);
    deepEqual(client.wire.notifications("client"), []);
  },
);

verifies("tasks-ext:cancel:client-may-forget", "a closed client leaves its tasks", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work");
  await bench.waiting(1111);
  const refused = rejects(called, (error) => error instanceof ConnectionError);
  await client.close();
  await refused;
  deepEqual([script.cancels, client.pending, bench.clock.pending], [[], 0, 0]);
  equal(client.wire.requests("tasks/cancel").length, 0);
});
