import { deepEqual, equal, match } from "node:assert/strict";
import { ClusterError, type ClusterFailure, memoryCluster } from "bowline/cluster";
import { McpServer } from "bowline/server";
import { type TasksOptions, tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { AugmentedClient, RELATED } from "../../support/augmented-client.js";
import { until } from "../../support/census.js";
import { legacyChannels, legacyHttp, legacyWires } from "../../support/each-wire.js";
import { replaceParts } from "../../support/nodes-world.js";
import type { Message } from "../../support/raw-client.js";
import { hasSchemas, problemsAt } from "../../support/spec-schema.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const ID = "tasks-2025:server:augmented";
const capabilities = { elicitation: {}, sampling: {} };
const name = z.object({ name: z.string() });

function createDesk(clock?: FakeClock, options?: TasksOptions) {
  const steps: string[] = [];
  const server = new McpServer(me, { onError: () => {}, ...(clock && { clock }) })
    .extend(tasks(options))
    .tool("greet", { task: "optional" }, async (_, ctx) => {
      await ctx.step("begin", () => steps.push("begin"));
      const answer = await ctx.elicit("Your name?", name);
      const { content } = await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text: "hi" } }],
        maxTokens: 5,
      });
      return `${answer.content?.name}: ${JSON.stringify(content)}`;
    })
    .tool("pair", { task: "required" }, async (_, ctx) => {
      const answers = await Promise.all([ctx.elicit("First?", name), ctx.elicit("Second?", name)]);
      return answers.map(({ content }) => content?.name).join(" and ");
    });
  return { server, steps };
}

/** Cluster whose records fail while the test says so. */
function failing(clock?: FakeClock) {
  const inner = memoryCluster(clock && { clock });
  let failure: ClusterFailure | undefined;
  const check =
    <A extends unknown[], R>(run: (...args: A) => R) =>
    (...args: A): R => {
      if (failure !== undefined) throw new ClusterError(failure, "connect ECONNREFUSED 10.0.0.5:6379");
      return run(...args);
    };
  const { records } = inner;
  const cluster = replaceParts(inner, {
    records: replaceParts(records, {
      get: check(records.get.bind(records)),
      put: check(records.put.bind(records)),
      list: check(records.list.bind(records)),
    }),
  });
  const fail = (next: ClusterFailure | undefined) => {
    failure = next;
  };
  return { cluster, fail };
}

const accept = (given: string) => ({ action: "accept", content: { name: given } });

verifies(ID, "questions are asked while tasks/result waits", legacyWires, async (world, t) => {
  const asked: Message[] = [];
  const answer = (params: Message) => {
    asked.push(params);
    if (params.message !== undefined) return accept("Ada");
    return { model: "m", role: "assistant", content: { type: "text", text: "hello" } };
  };
  const { server, steps } = createDesk();
  const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer });
  const { taskId } = await client.start("greet");
  const result = await client.result("tasks/result", { taskId });
  deepEqual(result.content, [{ type: "text", text: 'Ada: {"type":"text","text":"hello"}' }]);
  deepEqual(
    asked.map(({ _meta }) => (_meta as Message)[RELATED]),
    [{ taskId }, { taskId }],
  );
  deepEqual(steps, ["begin"]);
  const told = client.heard("notifications/tasks/status").map(({ params }) => params as Message);
  deepEqual([told.at(-1)?.taskId, told.at(-1)?.status, told.at(-1)?._meta], [taskId, "completed", undefined]);
  if (hasSchemas) for (const params of told) deepEqual(problemsAt("2025-11-25", "Task", params), []);
});

verifies(ID, "a question waits for tasks/result, and two are asked at once", legacyWires, async (world, t) => {
  const { server } = createDesk();
  const answer = async ({ message }: Message) => {
    await client.raw.until(() => client.heard("elicitation/create").length === 2);
    return accept(String(message).slice(0, -1));
  };
  const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer: (params) => answer(params) });
  const { taskId } = await client.start("pair");
  await untilStatus(client, taskId, "input_required");
  deepEqual(client.heard("elicitation/create"), []);
  deepEqual((await client.result("tasks/result", { taskId })).content, [{ type: "text", text: "First and Second" }]);
});

verifies(ID, "a client that refuses to answer makes the task fail", legacyWires, async (world, t) => {
  const { server } = createDesk();
  const answer = () => ({ error: { code: -1, message: "not now" } });
  const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer });
  const { taskId } = await client.start("greet");
  deepEqual((await client.ask("tasks/result", { taskId })).error, { code: -1, message: "not now" });
  const { status, statusMessage } = await client.result("tasks/get", { taskId });
  deepEqual([status, statusMessage], ["failed", "not now"]);
});

verifies(ID, "an answer that does not fit is not stored, and the task waits on", legacyWires, async (world, t) => {
  const { server } = createDesk();
  let given: Message = { action: "accept", content: { name: 7 } };
  const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer: () => given });
  const { taskId } = await client.start("pair");
  const { error } = await client.ask("tasks/result", { taskId });
  equal(error?.code, -32603);
  match(error?.message ?? "", /name/);
  equal((await client.result("tasks/get", { taskId })).status, "input_required");
  given = accept("Eve");
  const { content } = await client.result("tasks/result", { taskId });
  deepEqual(content, [{ type: "text", text: "Eve and Eve" }]);
});

verifies(
  ID,
  "a question goes to each call that waits, and ends with the first answer",
  legacyWires,
  async (world, t) => {
    const { server } = createDesk();
    const { client } = await AugmentedClient.open(world, server, t, { capabilities });
    const { taskId } = await client.start("pair");
    const waiting = [client.ask("tasks/result", { taskId }), client.ask("tasks/result", { taskId })];
    await client.raw.until(() => client.heard("elicitation/create").length === 4);
    const asked = client.heard("elicitation/create");
    const texts = new Set(asked.map(({ params }) => params?.message));
    deepEqual(texts, new Set(["First?", "Second?"]));
    const answered = [...texts].map((text) => asked.find(({ params }) => params?.message === text)?.id);
    for (const id of answered) client.raw.send({ id, result: accept("Ida") });
    for (const { result } of await Promise.all(waiting))
      deepEqual(result?.content, [{ type: "text", text: "Ida and Ida" }]);
    const cancelled = client.heard("notifications/cancelled").map(({ params }) => (params as Message).requestId);
    const others = asked.map(({ id }) => id).filter((id) => !answered.includes(id));
    deepEqual(new Set(cancelled), new Set(others));
  },
);

for (const failure of ["unavailable", "unknown_outcome"] as const)
  verifies(ID, `an answer is stored when the engine is back (${failure})`, legacyWires, async (world, t) => {
    const clock = new FakeClock();
    const { cluster, fail } = failing(clock);
    const { server, steps } = createDesk(clock, { cluster });
    let asked = 0;
    const answer = (params: Message) => {
      if (params.message === undefined)
        return { model: "m", role: "assistant", content: { type: "text", text: "hello" } };
      asked++;
      fail(failure);
      return accept("Ada");
    };
    const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer });
    const { taskId } = await client.start("greet");
    const waited = client.result("tasks/result", { taskId });
    await until("the answer is given", () => asked === 1);
    const pass = () => void clock.advance(100);
    let turns = 0;
    await until("the answer has been tried several times", () => {
      pass();
      return ++turns === 50;
    });
    for (const method of ["tasks/get", "tasks/cancel", "tasks/result", "tasks/list"]) {
      const { error } = await client.ask(method, method === "tasks/list" ? {} : { taskId });
      deepEqual([error?.code, error?.data], [-32005, { limit: "cluster", retryAfterMs: 1_000, refused: true }], method);
    }
    fail(undefined);
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    waited.then(over, over);
    await until("the task has ended", () => {
      pass();
      return isOver;
    });
    deepEqual((await waited).content, [{ type: "text", text: 'Ada: {"type":"text","text":"hello"}' }]);
    deepEqual([asked, steps], [1, ["begin"]]);
  });

verifies(ID, "a failure of the engine is not shown to the client", legacyWires, async (world, t) => {
  const { cluster, fail } = failing();
  const { server } = createDesk(undefined, { cluster });
  const answer = () => {
    fail("refused");
    return accept("Ada");
  };
  const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer });
  const { taskId } = await client.start("greet");
  const { error } = await client.ask("tasks/result", { taskId });
  deepEqual(error, { code: -32603, message: "Internal error" });
  fail(undefined);
  equal((await client.result("tasks/get", { taskId })).status, "input_required");
});

verifies(ID, "a server that drains hears of the end of a task elsewhere", legacyChannels, async (world, t) => {
  const cluster = memoryCluster();
  const front = createDesk(undefined, { cluster, work: false });
  const { server } = createDesk(undefined, { cluster });
  t.after(() => server.close());
  let drained: Promise<void> | undefined;
  const answer = () => {
    drained ??= front.server.drain(5_000);
    return accept("Ada");
  };
  const { client } = await AugmentedClient.open(world, front.server, t, { capabilities, answer });
  const { taskId } = await client.start("pair");
  const { content } = await client.result("tasks/result", { taskId });
  deepEqual(content, [{ type: "text", text: "Ada and Ada" }]);
  await drained;
});

verifies(ID, "a call that waits ends with its task's life", legacyHttp, async (world, t) => {
  const clock = new FakeClock();
  const { server } = createDesk(clock);
  const { client } = await AugmentedClient.open(world, server, t, { capabilities });
  const { taskId } = await client.start("greet", { ttl: 5_000 });
  const waiting = client.ask("tasks/result", { taskId });
  await client.raw.until(() => client.heard("elicitation/create").length === 1);
  clock.advance(5_000);
  equal((await waiting).error?.code, -32602);
});

/** Polls until a task has a status. */
async function untilStatus(client: AugmentedClient, taskId: unknown, status: string): Promise<void> {
  while ((await client.result("tasks/get", { taskId })).status !== status) await new Promise(setImmediate);
}

verifies(ID, "tasks/result goes on after a job could not be added", legacyWires, async (world, t) => {
  const clock = new FakeClock();
  const inner = memoryCluster({ clock });
  let failures = 0;
  const queue = replaceParts(inner.queue, {
    add: (...job) => {
      if (failures-- > 0) throw new ClusterError("unavailable", "away");
      return inner.queue.add(...job);
    },
  });
  const { server } = createDesk(clock, { cluster: replaceParts(inner, { queue }) });
  const answer = (params: Message) => {
    failures = 2;
    return params.message === undefined
      ? { model: "m", role: "assistant", content: { type: "text", text: "hello" } }
      : accept("Ada");
  };
  const { client } = await AugmentedClient.open(world, server, t, { capabilities, answer });
  const { taskId } = await client.start("greet");
  let text: unknown;
  const waited = client.result("tasks/result", { taskId }).then(({ content }) => {
    text = (content as Message[])[0]?.text;
  });
  await until("the task has ended", () => {
    clock.advance(100);
    return text !== undefined;
  });
  await waited;
  match(String(text), /Ada/);
});
