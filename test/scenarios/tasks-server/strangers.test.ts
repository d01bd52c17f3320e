import { deepEqual, equal } from "node:assert/strict";
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
function open(t: TestContext, limits: TasksOptions["limits"], options: ServerOptions = {}) {
  const server = new McpServer({ name: "tasks", version: "1" }, options)
    .tool("blocks", { task: "required" }, (_: unknown, ctx: Context) => aborted(ctx.signal))
    .tool("ends", { task: "required" }, () => "x")
    .tool("either", { task: "optional" }, () => "in its request")
    .extend(tasks({ limits: { ...limits } }));
  t.after(() => server.close());
  return (sender: Sender) =>
    new TaskClient(async (message, headers) => {
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
    });
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
