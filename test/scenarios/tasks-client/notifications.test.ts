import { deepEqual, equal } from "node:assert/strict";
import { tasksClient } from "bowline/tasks/client";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { child, connectChild } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

const options = (bench: TaskBench, more = {}) => bench.options({ notifications: true, ...more });

verifies("tasks-ext:notify:client-optional", "a terminal one ends the wait", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"));
  const client = await connect(script.server(), options(bench));
  const called = client.callTool("work");
  await until("the task is watched", () => script.isWatched("t"));
  script.notify(state("t", "working", { statusMessage: "half" }));
  script.notify(completed("t", "told"));
  equal((await called).text, "told");
  equal(client.wire.requests("tasks/get").length, 0);
  await until("the subscription has ended", () => !script.isWatched("t"));
  equal(bench.clock.pending, 0);
});

verifies("tasks-ext:notify:client-optional", "polls when none arrives", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", state("t", "working"), completed("t", "polled"));
  const client = await connect(script.server(), options(bench));
  const called = client.callTool("work");
  await until("the task is watched", () => script.isWatched("t"));
  await bench.pass(1111);
  await bench.pass(1111, 2);
  equal((await called).text, "polled");
});

verifies("tasks-ext:notify:client-optional", "polls when none is served", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", completed("t", "one")).task("u", completed("u", "two"));
  script.reports = false;
  const client = await connect(script.server(), options(bench));
  equal((await bench.finish(client.callTool("work"), 1)).text, "one");
  equal((await bench.finish(client.callTool("work"), 2)).text, "two");
  equal(client.wire.requests("subscriptions/listen").length, 1);
});

verifies(
  "tasks-ext:notify:client-optional",
  "ignores invalid ones and other tasks",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", completed("t", "true"));
    const client = await connect(script.server(), options(bench));
    const called = client.callTool("work");
    await until("the task is watched", () => script.isWatched("t"));
    script.notify(state("t", "completed"));
    script.notify(state("t", "asleep"));
    script.tell("t", completed("other", "false"));
    equal((await bench.finish(called, 1)).text, "true");
  },
);

verifies(
  ["tasks-ext:client:input-dedupe", "tasks-ext:notify:client-optional"],
  "a question of a notification and of a poll is asked once",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", asking("t", "name"), completed("t", "done"));
    let asked = 0;
    const client = await connect(script.server(), {
      ...options(bench),
      onElicit: () => {
        asked++;
        return { action: "decline" };
      },
    });
    const called = client.callTool("work");
    await until("the task is watched", () => script.isWatched("t"));
    script.notify(asking("t", "name"));
    await until("the question is answered", () => script.updates.length === 1);
    await bench.pass(1111);
    await bench.pass(1111, 2);
    equal((await called).text, "done");
    deepEqual([asked, script.updates.length], [1, 1]);
  },
);

verifies("tasks-ext:notify:client-optional", "has a bound for subscriptions", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", completed("t", "one")).task("u", completed("u", "two"));
  const client = await connect(script.server(), options(bench, { limits: { maxSubscriptions: 1 } }));
  const both = Promise.all([client.callTool("work"), client.callTool("work")]);
  await bench.pass(1111, 2);
  await both;
  equal(client.wire.requests("subscriptions/listen").length, 1);
});

for (const restart of [false, true]) {
  proves(
    "tasks-ext:notify:client-optional",
    { wire: "modern-stdio" },
    `reach the task of a process, with restart ${restart}`,
    async (t) => {
      const clock = new FakeClock();
      const options = { clock, extensions: [tasksClient({ minPollIntervalMs: 3_600_000 })] };
      const { client } = await connectChild(t, "modern", { ...child("task-server"), restart }, options);
      equal((await client.callTool("work")).text, "told");
    },
  );
}

verifies(
  "tasks-ext:notify:client-optional",
  "subscribes to a task after another has ended",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", state("t", "working")).task("u", state("u", "working"));
    const client = await connect(script.server(), options(bench, { limits: { maxSubscriptions: 1 } }));
    for (const id of ["t", "u"]) {
      const called = client.callTool("work");
      await until(`the task ${id} is watched`, () => script.isWatched(id));
      script.notify(completed(id, `told of ${id}`));
      equal((await called).text, `told of ${id}`);
      await until("the subscription has ended", () => !script.isWatched(id));
      await until("nothing is left", () => client.pending === 0);
    }
  },
);
