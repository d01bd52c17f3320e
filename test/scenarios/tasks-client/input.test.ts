import { deepEqual, equal, rejects } from "node:assert/strict";
import { type ClientOptions, type ConnectionError, InputRequiredError, type McpError, RpcError } from "bowline/client";
import { ClientTasks, type TaskError } from "bowline/tasks/client";
import { until } from "../../support/census.js";
import { modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { asking, completed, state, TaskBench, TaskScript } from "../../support/scripted-tasks.js";
import { proves, verifies } from "../../support/verifies.js";

const form = { mode: "form", message: "Name?", requestedSchema: { type: "object", properties: {} } };
const messages = [{ role: "user", content: { type: "text", text: "Hi" } }];
const sampled = { role: "assistant", content: { type: "text", text: "Ho" }, model: "m" } as const;

verifies("tasks-ext:client:input-fulfil", "answers each kind of request", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const inputRequests = {
    form: { method: "elicitation/create", params: form },
    sample: { method: "sampling/createMessage", params: { messages, maxTokens: 5 } },
    roots: { method: "roots/list", params: {} },
  };
  const script = new TaskScript();
  script.task("t", state("t", "input_required", { inputRequests }), state("t", "working"), completed("t", "done"));
  const client = await connect(script.server(), {
    ...bench.options(),
    onElicit: () => ({ action: "decline" }),
    onSample: () => sampled,
    roots: [{ uri: "file:///a" }],
  });
  const called = client.callTool("work");
  await bench.pass(1111);
  await until("the answers are sent", () => script.updates.length === 1);
  await bench.pass(1111, 2);
  await bench.pass(1111, 3);
  equal((await called).text, "done");
  const inputResponses = { form: { action: "decline" }, sample: sampled, roots: { roots: [{ uri: "file:///a" }] } };
  deepEqual(script.updates, [{ taskId: "t", inputResponses }]);
});

verifies(
  "tasks-ext:client:input-fulfil",
  "a request that cannot be answered rejects the call and cancels the task",
  modernWires,
  async ({ connect }) => {
    const cases: [object, ClientOptions, (error: McpError) => boolean][] = [
      [{ method: "sampling/createMessage", params: { messages, maxTokens: 5 } }, {}, isRpc(-32601)],
      [{ method: "elicitation/create", params: { ...form, mode: "url", url: "https://a.example" } }, {}, isRpc(-32602)],
      [{ method: "com.example/other", params: {} }, {}, isRpc(-32601)],
      [
        { method: "elicitation/create", params: form },
        { onElicit: () => ({ action: "perhaps" }) as never },
        ({ code }) => code === "invalid_answer",
      ],
      [
        { method: "elicitation/create", params: form },
        { onElicit: () => Promise.reject(new Error("no screen")) },
        ({ message }) => message === "no screen",
      ],
    ];
    for (const [request, handlers, expected] of cases) {
      const bench = new TaskBench();
      const script = new TaskScript().task("t", state("t", "input_required", { inputRequests: { key: request } }));
      const client = await connect(script.server(), {
        ...bench.options(),
        onElicit: () => ({ action: "decline" }),
        ...handlers,
      });
      const refused = rejects(client.callTool("work"), expected);
      await bench.pass(1111);
      await refused;
      await until("the task is cancelled", () => script.cancels.length === 1);
      await until("nothing is left", () => client.pending === 0);
      deepEqual(script.updates, []);
    }
  },
);

verifies("tasks-ext:client:input-dedupe", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript();
  script.task(
    "t",
    asking("t", "a"),
    asking("t", "a"),
    asking("t", "a", "b"),
    asking("t", "a", "b"),
    completed("t", "done"),
  );
  const slow = gate();
  const seen: unknown[] = [];
  const onElicit: ClientOptions["onElicit"] = async ({ message }) => {
    seen.push(message);
    if (seen.length === 1) await slow.opened;
    return { action: "accept", content: {} };
  };
  const client = await connect(script.server(), { ...bench.options(), onElicit });
  const called = client.callTool("work");
  for (const times of [1, 2, 3]) await bench.pass(1111, times);
  await until("the second question is answered", () => script.updates.length === 1);
  slow.open();
  await until("the first question is answered", () => script.updates.length === 2);
  for (const times of [4, 5]) await bench.pass(1111, times);
  equal((await called).text, "done");
  equal(seen.length, 2);
  deepEqual(
    script.updates.map(({ inputResponses }) => Object.keys(inputResponses as object)),
    [["b"], ["a"]],
  );
});

verifies(
  "tasks-ext:client:input-dedupe",
  "withdraws a question when the task ends",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", asking("t", "a"), completed("t", "without you"));
    let signal: AbortSignal | undefined;
    const client = await connect(script.server(), {
      ...bench.options(),
      onElicit: (_, ctx) => {
        signal = ctx.signal;
        return new Promise(() => {});
      },
    });
    const called = client.callTool("work");
    await bench.pass(1111);
    await bench.pass(1111, 2);
    equal((await called).text, "without you");
    equal(signal?.aborted, true);
    deepEqual(script.updates, []);
  },
);

verifies("tasks-ext:client:input-fulfil", "is left to the caller by input manual", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", asking("t", "a"));
  const client = await connect(script.server(), { ...bench.options(), onElicit: () => ({ action: "decline" }) });
  const called = client.callTool("work", {}, { input: "manual" });
  const refused = rejects(called, (error: InputRequiredError) => {
    deepEqual(Object.keys(error.result.inputRequests ?? {}), ["a"]);
    return error instanceof InputRequiredError;
  });
  await bench.pass(1111);
  await refused;
  await until("the task is cancelled", () => script.cancels.length === 1);
  deepEqual(script.updates, []);
});

proves("tasks-ext:client:input-fulfil", { wire: "modern-http" }, "sends an answer again after a cut", async (t) => {
  const bench = new TaskBench();
  const { script, connectTo } = await scripted(
    t,
    answerAll(() => {}),
  );
  let asked = 0;
  const onElicit = () => {
    asked++;
    return { action: "decline" } as const;
  };
  const client = await connectTo({ era: "modern", ...bench.options(), onElicit });
  const called = client.callTool("work");
  (await script.next("tools/call")).result({ resultType: "task", ...state("t", "working", { pollIntervalMs: 9999 }) });
  await bench.pass(9999);
  const asks = { ...asking("t", "name"), pollIntervalMs: 777 };
  (await script.next("tasks/get")).result({ resultType: "complete", ...asks });
  (await script.next("tasks/update")).cut();
  await bench.pass(777, 2);
  (await script.next("tasks/update")).result({ resultType: "complete" });
  (await script.next("tasks/get")).result({ resultType: "complete", ...completed("t", "done") });
  equal((await called).text, "done");
  equal(asked, 1);
});

proves(
  ["tasks-ext:client:input-fulfil", "tasks-ext:client:engine-away"],
  { wire: "modern-http" },
  "repeats an answer a bounded number of times, and leaves the task as it is",
  async (t) => {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll((received) => {
        if (received.rpcMethod === "tools/call") received.result({ resultType: "task", ...state("t", "working") });
        else if (received.rpcMethod === "tasks/get")
          received.result({ resultType: "complete", ...asking("t", "name") });
        else if (received.rpcMethod === "tasks/update") received.json("{}", 503, { "retry-after": "50" });
        else received.result({ resultType: "complete" });
      }),
    );
    const options = bench.options({ pollIntervalMs: 7777, limits: { maxFailedPolls: 2 } });
    const client = await connectTo({ era: "modern", ...options, onElicit: () => ({ action: "decline" }) });
    const refused = rejects(client.callTool("work"), ({ code, cause }: TaskError) => {
      deepEqual([code, (cause as ConnectionError).status], ["task_unreachable", 503]);
      return true;
    });
    await bench.pass(7777);
    await bench.pass(50_000);
    await bench.pass(50_000, 2);
    await refused;
    deepEqual([script.all("tasks/update").length, script.all("tasks/cancel").length, client.pending], [3, 0, 0]);
  },
);

verifies("tasks-ext:client:input-dedupe", "a caller's own answer is the only one", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", asking("t", "name"), completed("t", "done"));
  let asked = 0;
  const client = await connect(script.server(), {
    ...bench.options(),
    onElicit: () => {
      asked++;
      return { action: "decline" };
    },
  });
  const handle = await new ClientTasks(client).startTool("work");
  await handle.update({ name: { action: "cancel" } });
  await bench.pass(1111);
  equal((await bench.finish(handle.result, 2)).text, "done");
  deepEqual([asked, script.updates.length], [0, 1]);
});

verifies("tasks-ext:client:input-dedupe", "has a bound for keys", modernWires, async ({ connect }) => {
  const bench = new TaskBench();
  const script = new TaskScript().task("t", asking("t", "a", "b"), asking("t", "c"));
  const options = bench.options({ limits: { maxInputRequests: 2 } });
  const client = await connect(script.server(), { ...options, onElicit: () => ({ action: "decline" }) });
  const refused = rejects(client.callTool("work"), { code: "task_input_limit", message: /limits\.maxInputRequests/ });
  await bench.pass(1111);
  await bench.pass(1111, 2);
  await refused;
  await until("the task is cancelled", () => script.cancels.length === 1);
});

verifies(
  "tasks-ext:client:input-fulfil",
  "more questions than the client may have open wait for a later poll",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", asking("t", "a", "b")).task("u", asking("u", "c", "d"));
    const answers: (() => void)[] = [];
    const onElicit = async () => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return { action: "decline" } as const;
    };
    const client = await connect(script.server(), { ...bench.options(), limits: { maxQuestions: 3 }, onElicit });
    const called = Promise.all([client.callTool("work"), client.callTool("work")]);
    const polled = (times: number) =>
      client.wire
        .until((wire) => wire.responsesTo("tasks/get").length >= times)
        .then(() => bench.waiting(1111, 2 + times));
    await bench.pass(1111, 2);
    await polled(2);
    await bench.pass(1111, 4);
    await polled(4);
    equal(answers.length, 3);
    for (const answer of answers) answer();
    await until("three questions are answered", () => script.updates.length === 2);
    await bench.pass(1111, 6);
    await until("the last question is asked", () => answers.length === 4);
    answers[3]?.();
    await until("the last question is answered", () => script.updates.length === 3);
    script.states.set("t", [completed("t", "one")]).set("u", [completed("u", "two")]);
    await bench.pass(1111, 8);
    deepEqual(
      (await called).map(({ text }) => text),
      ["one", "two"],
    );
    const keys = script.updates.flatMap(({ inputResponses }) => Object.keys(inputResponses as object));
    deepEqual([keys.sort(), script.cancels], [["a", "b", "c", "d"], []]);
  },
);

verifies(
  "tasks-ext:client:input-fulfil",
  "a task that asks too much at once is refused before anything is asked",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", asking("t", "a", "b", "c"));
    let asked = 0;
    const onElicit = () => {
      asked++;
      return { action: "decline" } as const;
    };
    const client = await connect(script.server(), { ...bench.options(), limits: { maxQuestions: 2 }, onElicit });
    const refused = rejects(client.callTool("work"), { code: "too_many_questions", message: /limits\.maxQuestions/ });
    await bench.pass(1111);
    await refused;
    await until("the task is cancelled", () => script.cancels.length === 1);
    deepEqual([asked, script.updates], [0, []]);
  },
);

verifies(
  "tasks-ext:client:input-dedupe",
  "two handles of a task ask each question once",
  modernWires,
  async ({ connect }) => {
    const bench = new TaskBench();
    const script = new TaskScript().task("t", state("t", "working"));
    const asked: AbortSignal[] = [];
    const answered = gate();
    const client = await connect(script.server(), {
      ...bench.options(),
      onElicit: async (_, { signal }) => {
        asked.push(signal);
        if (asked.length > 1) await answered.opened;
        else await new Promise(() => {});
        return { action: "decline" };
      },
    });
    const tasks = new ClientTasks(client);
    const first = await tasks.startTool("work");
    script.states.set("t", [asking("t", "name")]);
    const second = await tasks.task("t");
    await until("the question is asked", () => asked.length === 1);
    // The first handle sees the question of the second.
    await bench.pass(1111, 2);
    await bench.waiting(1111, 4);
    equal(asked.length, 1);
    // The question of a handle that leaves is asked by the other.
    second.detach();
    await rejects(second.result, { code: "task_detached" });
    equal(asked[0]?.aborted, true);
    await bench.pass(1111, 4);
    await until("the question is asked again", () => asked.length === 2);
    const third = await tasks.task("t");
    answered.open();
    await until("the question is answered", () => script.updates.length === 1);
    await bench.pass(1111, 6);
    await bench.waiting(1111, 8);
    script.states.set("t", [completed("t", "done")]);
    bench.clock.advance(1111);
    deepEqual([(await first.result).text, (await third.result).text], ["done", "done"]);
    deepEqual([asked.length, script.updates.length], [2, 1]);
    // The keys are forgotten with the last handle.
    script.states.set("t", [asking("t", "name")]);
    const fourth = await tasks.task("t");
    await until("the question is asked anew", () => asked.length === 3);
    fourth.detach();
  },
);

function isRpc(code: number): (error: McpError) => boolean {
  return (error) => error instanceof RpcError && error.rpcCode === code;
}
