import { deepEqual, equal, match, ok } from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { type TestContext, test } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { type CompatTaskExtra, type CompatTaskStatus, type CompatTaskStore, McpServer } from "bowline/compat";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";

const INFO = { name: "moving", version: "1.0.0" };
const ELICITED = { type: "object", properties: { depth: { type: "number" } }, required: ["depth"] };
const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Connects a client of each era, with or without tasks, to a server that the program gets. */
async function inEachForm(
  t: TestContext,
  define: (server: McpServer) => void,
  check: (client: Client, isTask: boolean) => Promise<void>,
  options: ClientOptions = {},
): Promise<void> {
  for (const era of ["legacy", "modern"] as const) {
    for (const isTask of [false, true]) {
      await t.test(`${era}, ${isTask ? "a task" : "an ordinary call"}`, async (t) => {
        const server = new McpServer(INFO);
        if (isTask) server.bowline.extend(tasks());
        define(server);
        const given = isTask
          ? { ...options, extensions: [tasksClient({ minPollIntervalMs: 1, pollIntervalMs: 1 })] }
          : options;
        const client = await connect(server.bowline, { ...given, era });
        t.after(() => client.close());
        t.after(() => server.close());
        await check(client, isTask);
      });
    }
  }
}

/** Registers a survey whose work goes on after `createTask`, as programs of the official SDK write it. */
function defineSurvey(work: Work): (server: McpServer) => void {
  return (server) => {
    server.experimental.tasks.registerToolTask(
      "survey",
      { description: "Surveys a harbour", inputSchema: { name: z.string() }, execution: { taskSupport: "optional" } },
      {
        async createTask({ name }, extra) {
          const { taskStore } = extra;
          const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 1 });
          void work({ name, id: task.taskId, store: taskStore, extra, server }).catch((error: Error) =>
            taskStore.updateTaskStatus(task.taskId, "failed", error.message),
          );
          return { task };
        },
        getTask: (_args, { taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: (_args, { taskId, taskStore }) => taskStore.getTaskResult(taskId),
      },
    );
  };
}

type Work = (run: {
  readonly name: string;
  readonly id: string;
  readonly store: CompatTaskStore;
  readonly extra: CompatTaskExtra;
  readonly server: McpServer;
}) => Promise<void>;

test("a tool of registerToolTask ends with the result that its program stores", async (t) => {
  const work: Work = async ({ name, id, store }) => {
    await store.updateTaskStatus(id, "working", "diving");
    await store.storeTaskResult(id, "completed", text(`surveyed ${name}`));
  };
  await inEachForm(t, defineSurvey(work), async (client, isTask) => {
    const [survey] = await client.tools().all();
    equal(survey?.description, "Surveys a harbour");
    equal((await client.callTool("survey", { name: "Oslo" })).text, "surveyed Oslo");
    equal((await client.callTool("survey", {})).isError, true);
    if (!isTask) return;
    const handle = await new ClientTasks(client).startTool("survey", { name: "Oslo" });
    ok(handle.id !== undefined);
    equal((await handle.result).text, "surveyed Oslo");
  });
});

test("a task of a program that fails, or stores no result, is an error of the tool", async (t) => {
  const work: Work = async ({ name, id, store }) => {
    if (name === "result") return store.storeTaskResult(id, "failed", { ...text("too deep"), isError: true });
    throw new Error("the rope broke");
  };
  await inEachForm(t, defineSurvey(work), async (client) => {
    const failed = await client.callTool("survey", { name: "result" });
    deepEqual([failed.isError, failed.text], [true, "too deep"]);
    const thrown = await client.callTool("survey", { name: "thrown" });
    equal(thrown.isError, true);
    match(thrown.text, /the rope broke/);
  });
});

test("the work of a task asks the client, also if it catches all errors", async (t) => {
  const params = { message: "How deep?", requestedSchema: ELICITED };
  const work: Work = async ({ name, id, store, extra, server }) => {
    let depth: unknown = "unknown";
    try {
      const answer =
        name === "extra"
          ? await extra.mcpReq.elicitInput(params)
          : name === "request"
            ? await extra.sendRequest({ method: "elicitation/create", params }, z.object({ content: z.any() }))
            : await server.server.elicitInput(params);
      depth = answer.content?.depth;
    } catch {
      // As programs do that have a value for clients without elicitation.
    }
    await store.storeTaskResult(id, "completed", text(`${depth} m`));
  };
  const onElicit = () => ({ action: "accept" as const, content: { depth: 12 } });
  await inEachForm(
    t,
    defineSurvey(work),
    async (client) => {
      for (const name of ["extra", "request", "server"])
        equal((await client.callTool("survey", { name })).text, "12 m", name);
    },
    { onElicit },
  );
});

test("a cancelled call cancels the task of its program", async (t) => {
  for (const era of ["legacy", "modern"] as const) {
    await t.test(era, async (t) => {
      const server = new McpServer(INFO);
      const work = new EventEmitter();
      const ended = once(work, "ended") as Promise<[CompatTaskStatus]>;
      const define = defineSurvey(async ({ id, store, extra }) => {
        const stopped = new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
        work.emit("begun");
        await stopped;
        work.emit("ended", (await store.getTask(id)).status);
      });
      define(server);
      const client = await connect(server.bowline, { era });
      t.after(() => client.close());
      const abort = new AbortController();
      const begun = once(work, "begun");
      const call = client.callTool("survey", { name: "" }, { signal: abort.signal });
      call.catch(() => {});
      await begun;
      abort.abort();
      deepEqual(await ended, ["cancelled"]);
    });
  }
});

test("createTask must return a task of its store", async (t) => {
  const define = (server: McpServer) => {
    const handler = { createTask: () => ({ task: undefined as never }) };
    server.experimental.tasks.registerToolTask("broken", {}, handler);
  };
  await inEachForm(t, define, async (client) => {
    await client.tools().all();
    match((await client.callTool("broken")).text, /createTask must return \{ task \}/);
  });
});
