import { deepEqual, equal, match } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Context, McpServer, type ServerOptions } from "bowline/server";
import { type TasksOptions, tasks } from "bowline/tasks/server";
import { type ArrayExchangeInit, createArrayExchange, type RecordedMessage } from "bowline/testing";
import { aborted } from "../../support/gate.js";
import { LegacyEndpoint, messages, until } from "../../support/legacy-endpoint.js";
import { TaskClient } from "../../support/task-client.js";
import { proves } from "../../support/verifies.js";

const wire = "modern-http";
const ID = "tasks-ext:limits:anonymous";

type Sender = Pick<ArrayExchangeInit, "principal" | "remote" | "headers">;

/** Server with tasks, and clients of 2026-07-28 that its host knows by a name, by an address, or not at all. */
function open(
  t: TestContext,
  limits: TasksOptions["limits"],
  options: ServerOptions = {},
  more: Pick<TasksOptions, "whenFull"> = {},
) {
  const server = new McpServer({ name: "tasks", version: "1" }, options)
    .tool("blocks", { task: "required" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .tool("ends", { task: "required" }, () => "x")
    .tool("either", { task: "optional" }, () => "in its request")
    .tool("asks", { task: "required" }, async (_: unknown, ctx: Context) => {
      return (await ctx.elicit("Sure?", { type: "object", properties: {} })).action;
    })
    .tool("may-ask", { task: { support: "optional" } }, async (_: unknown, ctx: Context) => {
      return (await ctx.elicit("Sure?", { type: "object", properties: {} })).action;
    })
    .extend(tasks({ limits: { ...limits }, ...more }));
  t.after(() => server.close());
  return (sender: Sender) =>
    new TaskClient(
      async (message, headers) => {
        const exchange = createArrayExchange({
          ...sender,
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": String(message.method),
            ...headers,
            ...sender.headers,
          },
          body: { jsonrpc: "2.0", ...message },
        });
        server.handle(exchange);
        await exchange.done;
        return JSON.parse(exchange.body()) as RecordedMessage;
      },
      { elicitation: {} },
    );
}

/** Starts a task and waits until it asks. */
async function ask(client: TaskClient, tool = "asks"): Promise<string> {
  const taskId = await client.start(tool);
  await client.until(taskId, "input_required");
  return taskId;
}

const answers = { "ask-1": { action: "accept", content: {} } };

/** Answers a task, and returns what it says, or the code of its failure. */
async function answer(client: TaskClient, taskId: string): Promise<unknown> {
  await client.update(taskId, answers);
  const { result, error } = await client.until(taskId, "completed", "failed");
  return result?.content?.[0]?.text ?? error?.data?.code;
}

const codeOf = async (client: TaskClient, name = "blocks") => (await client.call(name)).error?.code;
const limitOf = async (client: TaskClient) =>
  ((await client.call("blocks")).error?.data as { readonly limit?: string } | undefined)?.limit;

proves(ID, { wire }, "a stranger that has filled its limit leaves others theirs", async (t) => {
  const as = open(t, { maxTasksPerPrincipal: 2 });
  const stranger = as({ remote: "198.51.100.7" });
  for (let tasks = 0; tasks < 2; tasks++) await stranger.start("blocks");
  equal(await limitOf(stranger), "maxTasksPerPrincipal");
  equal(await limitOf(as({ remote: "198.51.100.7" })), "maxTasksPerPrincipal", "a new connection is the same caller");
  for (const other of [{ remote: "198.51.100.8" }, { principal: "ada" }, {}])
    equal(await codeOf(as(other)), undefined, JSON.stringify(other));
  const { result } = await stranger.call("either");
  deepEqual(result?.content, [{ type: "text", text: "in its request" }]);
});

proves(ID, { wire }, "strangers that have filled their limit leave named callers theirs", async (t) => {
  const as = open(t, { maxTasks: 4 });
  for (const remote of ["a", "b", "c"]) await as({ remote }).start("blocks");
  for (const other of [{ remote: "d" }, {}]) equal(await limitOf(as(other)), "anonymousShare");
  await as({ principal: "ada" }).start("blocks");
  equal(await limitOf(as({ principal: "ada" })), "maxTasks");
});

proves([ID, "tasks-ext:limits:kept"], { wire }, "the ended tasks of a stranger push out its own", async (t) => {
  const as = open(t, { maxKeptPerPrincipal: 2, maxKeptAnonymous: 5 });
  const end = async (sender: Sender) => {
    const client = as(sender);
    const taskId = await client.start("ends");
    await client.text(taskId);
    return taskId;
  };
  const isKept = async (taskId: string) => (await as({}).request("tasks/get", { taskId })).error === undefined;
  const [first, hers] = [await end({ remote: "a" }), await end({ principal: "ada" })];
  const others = [];
  for (let tasks = 0; tasks < 6; tasks++) others.push(await end({ remote: "b" }));
  deepEqual(await Promise.all([first, ...others].map(isKept)), [true, false, false, false, false, true, true]);
  for (const remote of ["c", "d", "e"]) await end({ remote });
  equal(await isKept(first), false, "all strangers together have a limit");
  equal((await as({ principal: "ada" }).request("tasks/get", { taskId: hers })).error, undefined);
});

proves(
  ID,
  { wire },
  "of callers of whom nothing is known, the task that waits longest for an answer gives way",
  async (t) => {
    const warnings: string[] = [];
    const logger = { warn: (message: string) => void warnings.push(message) };
    const as = open(t, { maxTasksPerPrincipal: 3 }, { logger, limits: { anonymousShare: 1 } });
    const [stranger, other] = [as({}), as({})];
    const waiting = [await ask(stranger), await ask(stranger)];
    await stranger.start("blocks");
    equal(warnings.length, 0);
    equal(await other.text(await other.start("ends")), "x");
    const { error, statusMessage } = await stranger.until(waiting[0] as string, "failed");
    deepEqual([error?.code, error?.data?.code], [-32603, "gave_way"]);
    match(String(statusMessage), /gave way.*\(maxTasksPerPrincipal\)/);
    equal((await stranger.get(waiting[1] as string)).status, "input_required");
    // Of several questions, the one that was asked last stays.
    const third = await ask(other);
    equal(await answer(other, third), "accept");
    // Tasks that run stay.
    await ask(other);
    await other.start("blocks");
    await other.start("blocks");
    equal(await limitOf(other), "maxTasksPerPrincipal");
    equal(await codeOf(as({ principal: "ada" })), undefined);
    equal(await codeOf(as({ remote: "198.51.100.7" })), undefined);
    const told = warnings.filter((text) => text.includes("http.remoteOf"));
    equal(told.length, 1, JSON.stringify(warnings));
  },
);

proves(ID, { wire }, "strangers that have filled what all of them may have give way, and no others", async (t) => {
  const as = open(t, { maxTasks: 10, maxTasksPerPrincipal: 2 }, { limits: { anonymousShare: 0.4 } });
  const [a, b, c, ada] = [as({ remote: "a" }), as({ remote: "b" }), as({ remote: "c" }), as({ principal: "ada" })];
  const hers = await ask(ada);
  const [first, second, third] = [await ask(a), await ask(b), await ask(b)];
  const fourth = await ask(a);
  // A caller that is known pushes out nobody when its own limit is reached.
  equal(await limitOf(a), "maxTasksPerPrincipal");
  const fifth = await ask(c);
  equal((await a.until(first, "failed")).error?.data?.code, "gave_way");
  // Its own task goes first.
  const sixth = await ask(a);
  equal((await a.until(fourth, "failed")).error?.data?.code, "gave_way");
  for (const [client, taskId] of [
    [b, second],
    [b, third],
    [c, fifth],
    [a, sixth],
    [ada, hers],
  ] as const)
    equal(await answer(client, taskId), "accept");
});

proves(ID, { wire }, "a call that can run in its request pushes out no task", async (t) => {
  for (const whenFull of ["run", "refuse"] as const) {
    const as = open(t, { maxTasksPerPrincipal: 1 }, {}, { whenFull });
    const waiting = await ask(as({}), "may-ask");
    const { result } = await as({}).call("either");
    equal(result?.resultType, whenFull === "refuse" ? "task" : "complete");
    equal((await as({}).get(waiting)).status, whenFull === "refuse" ? "failed" : "input_required");
  }
});

proves(ID, { wire }, "an author names the address behind a proxy", async (t) => {
  const remotes: (string | undefined)[] = [];
  const as = open(
    t,
    { maxTasksPerPrincipal: 1 },
    {
      http: {
        remoteOf: ({ header, remote, url }) => {
          remotes.push(remote);
          return header("x-real-ip") ?? url;
        },
      },
    },
  );
  const via = (address: string) => as({ remote: "192.0.2.1", headers: { "x-real-ip": address } });
  await via("198.51.100.7").start("blocks");
  equal(await codeOf(via("198.51.100.7")), -32005);
  equal(await codeOf(via("198.51.100.8")), undefined);
  equal(await codeOf(as({})), undefined);
  deepEqual(remotes, ["192.0.2.1", "192.0.2.1", "192.0.2.1", undefined]);
});

proves(ID, { wire }, "tasks of strangers leave named callers room to run", async (t) => {
  const as = open(t, { maxRunning: 2 }, { limits: { anonymousShare: 0.5 } });
  for (const remote of ["a", "b", "c"]) await as({ remote }).start("blocks");
  const ada = as({ principal: "ada" });
  equal(await ada.text(await ada.start("ends")), "x");
});

proves(ID, { wire: "legacy-http" }, "strangers that wait for results leave named callers room to wait", async (t) => {
  const endpoint = new LegacyEndpoint({}, { limits: { maxCalls: 8 } });
  t.after(() => endpoint.server.close());
  endpoint.server.extend(tasks()).tool("asks", { task: "required" }, async (_: unknown, ctx: Context) => {
    await ctx.elicit("Go on?", { type: "object", properties: {} });
    return "x";
  });
  const waits = "elicitation/create";
  /** Creates a task, and waits for its result until its question, or a refusal, arrives. */
  const wait = async (sender: Sender) => {
    const client = await endpoint.open("2025-11-25", { elicitation: {} }, sender);
    const called = client.request(1, "tools/call", { name: "asks", task: {} });
    await called.done;
    const taskId = (messages(called)[0]?.result?.task as { readonly taskId: string } | undefined)?.taskId;
    const result = client.request(2, "tasks/result", { taskId });
    const answer = () => messages(result).find(({ method, error }) => method === waits || error !== undefined);
    await until(() => answer() !== undefined, "an answer");
    return answer()?.method ?? answer()?.error?.code;
  };
  const outcomes = [];
  for (let strangers = 0; strangers < 4; strangers++) outcomes.push(await wait({}));
  deepEqual(outcomes, [waits, waits, waits, -32005]);
  deepEqual([await wait({ principal: "ada" }), await wait({ principal: "ada" })], [waits, -32005]);
});
