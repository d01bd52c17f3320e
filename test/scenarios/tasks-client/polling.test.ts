import { deepEqual, equal, rejects } from "node:assert/strict";
import { connect, RpcError, type TimeoutError } from "bowline/client";
import { TaskError, tasksClient } from "bowline/tasks/client";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const EXTENSION = "io.modelcontextprotocol/tasks";

verifies("tasks-ext:client:poll-interval", "follows the server's interval", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const every = (pollIntervalMs?: number) =>
    state("t", "working", pollIntervalMs === undefined ? {} : { pollIntervalMs });
  const script = new TaskScript();
  script.created.push(every(5000));
  script.states.set("t", [every(7000), every(), every(0), every(9e15), completed("t", "done")]);
  const options = bench.options({ minPollIntervalMs: 333, limits: { maxPollIntervalMs: 77_777 } });
  const client = await connect(script.server(), options);
  const polls = () => client.wire.requests("tasks/get").length;
  const called = client.callTool("work");
  for (const [at, ms] of [5000, 7000, 1111, 333, 77_777].entries()) {
    await bench.waiting(ms);
    bench.clock.advance(ms - 1);
    equal(polls(), at);
    bench.clock.advance(1);
    await client.wire.until((wire) => wire.responsesTo("tasks/get").length === at + 1);
  }
  equal((await called).text, "done");
});

verifies("tasks-ext:client:poll-interval", "ends a wait at once on abort", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const client = await connect(new TaskScript().task("t", state("t", "working")).server(), bench.options());
  const end = new AbortController();
  const called = client.callTool("work", {}, { signal: end.signal });
  await bench.waiting(1111);
  const reason = new Error("changed my mind");
  end.abort(reason);
  await rejects(called, (error) => error === reason);
  equal(client.wire.requests("tasks/get").length, 0);
});

proves("tasks-ext:client:poll-interval", { wire: "modern-http" }, "never has two polls of a task open", async (t) => {
  const bench = new TaskBench();
  const { script, connectTo } = await scripted(
    t,
    answerAll(() => {}),
  );
  const client = await connectTo({ era: "modern", ...bench.options() });
  const called = client.callTool("work");
  (await script.next("tools/call")).result({ resultType: "task", ...state("t", "working") });
  await bench.pass(1111);
  const slow = await script.next("tasks/get");
  bench.clock.advance(10_000);
  await new Promise(setImmediate);
  equal(script.all("tasks/get").length, 1);
  slow.result({ resultType: "complete", ...completed("t", "done") });
  equal((await called).text, "done");
});

proves(
  "tasks-ext:client:poll-floor",
  { wire: "modern-http" },
  "waits as long as the largest says, per task",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll(() => {}),
    );
    const client = await connectTo({
      era: "modern",
      ...bench.options({ minPollIntervalMs: 2222, pollIntervalMs: 10 }),
    });
    const start = async (taskId: string) => {
      const called = client.callTool("work");
      (await script.next("tools/call")).result({
        resultType: "task",
        ...state(taskId, "working", { pollIntervalMs: 50 }),
      });
      return called;
    };
    const one = start("one");
    await bench.pass(2222);
    (await script.next("tasks/get")).json("{}", 503, { "retry-after": "9" });
    await bench.waiting(9000);
    const two = start("two");
    await bench.pass(2222, 2);
    const poll = await script.next("tasks/get");
    equal(poll.message.params.taskId, "two");
    poll.result({ resultType: "complete", ...completed("two", "2") });
    equal((await two).text, "2");
    bench.clock.advance(9000 - 2222 - 1);
    await new Promise(setImmediate);
    equal(script.all("tasks/get").length, 2);
    bench.clock.advance(1);
    (await script.next("tasks/get")).result({ resultType: "complete", ...completed("one", "1") });
    equal((await one).text, "1");
  },
);

proves(
  "tasks-ext:client:poll-until-terminal",
  { wire: "modern-http" },
  "goes on after a dropped connection",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll(() => {}),
    );
    const client = await connectTo({ era: "modern", ...bench.options() });
    const called = client.callTool("work");
    (await script.next("tools/call")).result({ resultType: "task", ...state("t", "working") });
    for (let polled = 0; polled < 20; polled++) {
      await bench.pass(1111, polled + 1);
      const poll = await script.next("tasks/get");
      if (polled === 7) poll.cut();
      else poll.result({ resultType: "complete", ...state("t", "working") });
    }
    await bench.pass(1111, 21);
    (await script.next("tasks/get")).result({ resultType: "complete", ...completed("t", "done") });
    equal((await called).text, "done");
  },
);

proves(
  "tasks-ext:client:poll-until-terminal",
  { wire: "modern-http" },
  "gives up after maxFailedPolls, with the id",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll(() => {}),
    );
    const client = await connectTo({ era: "modern", ...bench.options({ limits: { maxFailedPolls: 2 } }) });
    const called = client.callTool("work");
    const refused = rejects(called, (error: TaskError) => {
      deepEqual([error.code, error.taskId], ["task_unreachable", "t"]);
      return error instanceof TaskError && /limits\.maxFailedPolls/.test(error.message);
    });
    (await script.next("tools/call")).result({ resultType: "task", ...state("t", "working") });
    for (const [ms, times] of [
      [1111, 1],
      [1111, 2],
      [2222, 1],
    ] as const) {
      await bench.pass(ms, times);
      (await script.next("tasks/get")).cut();
    }
    await refused;
    equal(script.all("tasks/cancel").length, 0);
    equal(client.pending, 0);
  },
);

verifies("tasks-ext:client:poll-until-terminal", "ends with -32602", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work");
  await bench.waiting(1111);
  script.states.delete("t");
  const refused = rejects(called, (error: RpcError) => error instanceof RpcError && error.rpcCode === -32602);
  bench.clock.advance(1111);
  await refused;
  deepEqual(script.cancels, []);
});

verifies("tasks-ext:client:ttl-backstop", "uses the latest lifetime", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript();
  script.created.push(state("t", "working", { ttlMs: 2000, pollIntervalMs: 1500 }));
  script.states.set("t", [state("t", "working", { ttlMs: 6000, pollIntervalMs: 1500 })]);
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work");
  const refused = rejects(called, (error: TaskError) => error.code === "task_expired" && error.taskId === "t");
  for (const times of [1, 2, 3]) await bench.pass(1500, times);
  await bench.pass(1500, 4);
  await refused;
  equal(bench.clock.now(), 6000);
  equal(client.wire.requests("tasks/get").length, 4);
});

verifies("tasks-ext:client:ttl-backstop", "a server that forgets it at the end", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  script.created[0] = state("t", "working", { ttlMs: 1000 });
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work");
  const refused = rejects(called, {
    code: "task_expired",
    message: "The task t has not ended within its lifetime of 1000 ms",
  });
  await bench.waiting(1000);
  script.states.delete("t");
  bench.clock.advance(1000);
  await refused;
  deepEqual(script.cancels, []);
});

verifies("tasks-ext:client:ttl-backstop", "never expires without a lifetime", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"), state("t", "working"), completed("t", "late"));
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work", {}, { timeoutMs: 100_000_000_000 });
  await bench.waiting(1111);
  bench.clock.advance(86_400_000);
  await bench.waiting(1111, 2);
  bench.clock.advance(86_400_000);
  await bench.pass(1111, 3);
  equal((await called).text, "late");
});

verifies("tasks-ext:client:timeouts", "a task may take longer than a request", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const many = Array.from({ length: 30 }, () => state("t", "working"));
  const script = new TaskScript().task("t", ...many, completed("t", "done"));
  const client = await connect(script.server(), { ...bench.options(), timeoutMs: 2000 });
  const called = client.callTool("work");
  for (let times = 1; times <= 31; times++) await bench.pass(1111, times);
  equal((await called).text, "done");
});

verifies("tasks-ext:client:timeouts", "a total limit ends and cancels the task", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), bench.options());
  const called = client.callTool("work", {}, { deadlineMs: 1500 });
  const refused = rejects(called, {
    name: "TimeoutError",
    kind: "deadline",
    afterMs: 1500,
    message: "tools/call: the task t was not finished within 1500 ms (deadlineMs), and is cancelled",
  });
  await bench.pass(1111);
  await bench.waiting(1111, 2);
  bench.clock.advance(1500 - 1111);
  await refused;
  await until("the task is cancelled", () => script.cancels.length === 1);
  deepEqual(script.cancels, ["t"]);
  bench.clock.advance(100_000);
  equal(client.wire.requests("tasks/get").length, 1);
});

proves(
  "tasks-ext:client:timeouts",
  { wire: "modern-http" },
  "the timeout of a request ends a poll, not the call",
  async (t) => {
    const clock = new FakeClock();
    const { script, connectTo } = await scripted(
      t,
      answerAll(() => {}),
    );
    const extensions = [tasksClient({ pollIntervalMs: 1111, notifications: false })];
    const client = await connectTo({ era: "modern", clock, extensions });
    const waits = (ms: number, times: number) =>
      until(`wait ${times} of ${ms}`, () => clock.delays.filter((one) => one === ms).length >= times);
    const called = client.callTool("work", {}, { timeoutMs: 3000 });
    (await script.next("tools/call")).result({ resultType: "task", ...state("t", "working") });
    await waits(1111, 1);
    clock.advance(1111);
    await script.next("tasks/get");
    clock.advance(3000);
    await waits(1111, 2);
    clock.advance(1111);
    (await script.next("tasks/get")).result({ resultType: "complete", ...completed("t", "done") });
    equal((await called).text, "done");
  },
);

proves(
  "tasks-ext:client:poll-until-terminal",
  { wire: "modern-http" },
  "counts consecutive failures only",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll(() => {}),
    );
    const client = await connectTo({ era: "modern", ...bench.options({ limits: { maxFailedPolls: 1 } }) });
    const called = client.callTool("work");
    (await script.next("tools/call")).result({ resultType: "task", ...state("t", "working") });
    for (const times of [1, 2, 3, 4]) {
      await bench.pass(1111, times);
      const poll = await script.next("tasks/get");
      if (times % 2 === 1) poll.cut();
      else poll.result({ resultType: "complete", ...(times === 4 ? completed("t", "done") : state("t", "working")) });
    }
    equal((await called).text, "done");
  },
);

proves(
  "tasks-ext:client:timeouts",
  { wire: "modern-http" },
  "the total limit includes the request that created the task",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll(() => {}),
    );
    const client = await connectTo({ era: "modern", ...bench.options({ pollIntervalMs: 10_000 }) });
    const refused = rejects(client.callTool("work", {}, { deadlineMs: 3000 }), { kind: "deadline", afterMs: 3000 });
    const creating = await script.next("tools/call");
    bench.clock.advance(2000);
    creating.result({ resultType: "task", ...state("t", "working") });
    await bench.waiting(10_000);
    bench.clock.advance(1000);
    await refused;
    (await script.next("tasks/cancel")).result({ resultType: "complete" });
  },
);

proves("tasks-ext:client:ttl-backstop", { wire: "modern-http" }, "a failed poll at the end is the last", async (t) => {
  const bench = new TaskBench();
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => {
      const task = state("t", "working", { ttlMs: 5000, pollIntervalMs: 5000 });
      if (received.rpcMethod === "tools/call") received.result({ resultType: "task", ...task });
      else received.json("{}", 503, { "retry-after": "60" });
    }),
  );
  const client = await connectTo({ era: "modern", ...bench.options() });
  const expired = rejects(client.callTool("work"), { code: "task_expired" });
  await bench.pass(5000);
  await expired;
  deepEqual([script.all("tasks/get").length, bench.clock.now()], [1, 5000]);
});

proves(
  ["tasks-ext:client:ttl-backstop", "tasks-ext:client:poll-floor"],
  { wire: "modern-http" },
  "a lifetime that ends before the next poll is allowed ends without it",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll((received) => {
        const task = state("t", "working", { ttlMs: 5000, pollIntervalMs: 1500 });
        if (received.rpcMethod === "tools/call") received.result({ resultType: "task", ...task });
        else received.json("{}", 503, { "retry-after": "60" });
      }),
    );
    const client = await connectTo({ era: "modern", ...bench.options() });
    const expired = rejects(client.callTool("work"), { code: "task_expired" });
    await bench.pass(1500);
    await bench.pass(3500);
    await expired;
    deepEqual([script.all("tasks/get").length, bench.clock.now()], [1, 5000]);
  },
);

verifies(
  ["tasks-ext:client:ttl-backstop", "tasks-ext:client:poll-floor"],
  "a lifetime that grows a little with each poll does not shorten the wait",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const every = (ttlMs: number) => state("t", "working", { ttlMs, pollIntervalMs: 5000 });
    const script = new TaskScript();
    script.created.push(every(2500));
    script.states.set("t", [every(4600), every(4700)]);
    const client = await connect(script.server(), bench.options({ minPollIntervalMs: 2000 }));
    const expired = rejects(client.callTool("work"), { code: "task_expired" });
    await bench.pass(2500);
    await bench.pass(2100);
    await bench.pass(100);
    await expired;
    deepEqual([client.wire.requests("tasks/get").length, bench.clock.now()], [2, 4700]);
  },
);

proves(
  "tasks-ext:client:timeouts",
  { wire: "modern-memory" },
  "a request of a task has no deadline of its own",
  async (t) => {
    const script = new ServerScript().modern({ tools: {}, extensions: { [EXTENSION]: {} } });
    script.on("tools/call", { result: { resultType: "task", ...state("t", "working") } });
    const bench = new TaskBench();
    const client = await connect(
      { channel: script.channel },
      {
        era: "modern",
        ...bench.options(),
        deadlineMs: 5000,
        timeoutMs: 20_000,
        onElicit: () => ({ action: "decline" }),
      },
    );
    t.after(() => client.close());
    const called = client.callTool("work", {}, { deadlineMs: 600_000 });
    await bench.pass(1111);
    const poll = await script.next("tasks/get");
    bench.clock.advance(19_999);
    script.result(poll, { resultType: "complete", ...asking("t", "name") });
    const update = await script.next("tasks/update");
    await bench.waiting(1111, 2);
    bench.clock.advance(1111);
    const last = await script.next("tasks/get");
    bench.clock.advance(10_000);
    script.result(update, { resultType: "complete" });
    script.result(last, { resultType: "complete", ...completed("t", "done") });
    equal((await called).text, "done");
    equal(script.all("tasks/cancel").length, 0);
  },
);

verifies("tasks-ext:client:timeouts", "the client's total limit cancels the task", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), { ...bench.options({ pollIntervalMs: 10_000 }), deadlineMs: 1500 });
  const refused = rejects(client.callTool("work"), (error: TimeoutError) => error.kind === "deadline");
  await bench.waiting(10_000);
  bench.clock.advance(1500);
  await refused;
  await until("the task is cancelled", () => script.cancels.length === 1);
  equal(client.wire.requests("tasks/get").length, 0);
});
