import { deepEqual, equal, rejects } from "node:assert/strict";
import { type Client, type ClientOptions, ConnectionError, connect } from "bowline/client";
import { ClientTasks } from "bowline/tasks/client";
import { createChannelPair } from "bowline/testing";
import { until } from "../../support/census.js";
import { createPipePair, modernWires } from "../../support/each-wire.js";
import { answerAll, scripted } from "../../support/http-script.js";
import type { TestContext } from "../../support/raw-peer.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const channels = (["memory", "stdio"] as const).map((transport) => ({
  name: `modern-${transport}`,
  open: () => new ServerScript(transport === "memory" ? createChannelPair() : createPipePair()),
}));

async function connectTo(t: TestContext, script: ServerScript, options: ClientOptions): Promise<Client> {
  script.modern({ tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } });
  const client = await connect({ channel: script.channel }, { era: "modern", ...options });
  t.after(() => client.close());
  return client;
}

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

verifies(
  "tasks-ext:cancel:not-via-notification",
  "abort while a poll is open rejects at once",
  channels,
  async (script, t) => {
    const bench = new TaskBench();
    const client = await connectTo(t, script, bench.options());
    script.on("tools/call", { result: { resultType: "task", ...state("t", "working") } });
    const end = new AbortController();
    const called = client.callTool("work", {}, { signal: end.signal });
    await bench.pass(1111);
    await script.next("tasks/get");
    const reason = new Error("stop");
    end.abort(reason);
    await rejects(called, (error) => error === reason);
    script.result(await script.next("tasks/cancel"), { resultType: "complete" });
    await until("nothing is left", () => client.pending === 0);
    deepEqual([script.all("tasks/cancel").length, bench.clock.pending], [1, 0]);
  },
);

verifies(
  "tasks-ext:client:resume",
  "a signal that aborts before the first state cancels nothing",
  channels,
  async (script, t) => {
    const client = await connectTo(t, script, new TaskBench().options());
    const reason = new Error("left the page");
    const isReason = (error: unknown) => error === reason;
    await rejects(new ClientTasks(client).task("t", { signal: AbortSignal.abort(reason) }), isReason);
    equal(script.all("tasks/get").length, 0);
    const end = new AbortController();
    const taken = new ClientTasks(client).task("t", { signal: end.signal });
    await script.next("tasks/get");
    end.abort(reason);
    await rejects(taken, isReason);
    script.on("tools/call", { result: { resultType: "complete", content: [] } });
    await client.callTool("work");
    deepEqual([script.all("tasks/cancel").length, client.pending], [0, 0]);
  },
);

proves("tasks-ext:cancel:not-via-notification", { wire: "modern-http" }, "is repeated while it fails", async (t) => {
  const bench = new TaskBench();
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => {
      if (received.rpcMethod === "tools/call") received.result({ resultType: "task", ...state("t", "working") });
    }),
  );
  const problems: Error[] = [];
  const onError = (problem: Error) => void problems.push(problem);
  const options = bench.options({ pollIntervalMs: 9999, limits: { maxFailedPolls: 2 } });
  const client = await connectTo({ era: "modern", ...options, onError });
  const abort = async () => {
    const end = new AbortController();
    const called = client.callTool("work", {}, { signal: end.signal });
    const waits = bench.clock.delays.filter((ms) => ms === 9999).length;
    await bench.waiting(9999, waits + 1);
    end.abort(new Error("stop"));
    await rejects(called, /stop/);
  };
  await abort();
  (await script.next("tasks/cancel")).json("{}", 503, { "retry-after": "12" });
  await bench.pass(12_000);
  (await script.next("tasks/cancel")).cut();
  await bench.pass(19_998);
  (await script.next("tasks/cancel")).result({ resultType: "complete" });
  await until("nothing is left", () => client.pending === 0);
  deepEqual([script.all("tasks/cancel").length, problems.length], [3, 0]);

  await abort();
  for (const ms of [12_000, 19_998]) {
    (await script.next("tasks/cancel")).json("{}", 503, { "retry-after": "12" });
    await bench.pass(ms, 2);
  }
  (await script.next("tasks/cancel")).json("{}", 503);
  await until("the failure is reported", () => problems.length === 1);
  deepEqual([client.pending, bench.clock.pending], [0, 0]);

  await abort();
  const error = { code: -32602, message: "no such task" };
  const unknown = await script.next("tasks/cancel");
  unknown.json({ jsonrpc: "2.0", id: unknown.message.id, error }, 400);
  await until("nothing is left", () => client.pending === 0);
  equal(problems.length, 1);

  await abort();
  (await script.next("tasks/cancel")).json("{}", 503, { "retry-after": "12" });
  await bench.waiting(12_000, 3);
  await client.close();
  await until("nothing is left", () => client.pending === 0);
  deepEqual([bench.clock.pending, problems.length], [0, 1]);
});
