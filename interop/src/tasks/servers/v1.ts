import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as z from "zod";
import { ledger } from "../../servers/ledger.js";
import { listen } from "../../servers/listen.js";

/** The experimental tasks of the official SDK, version 1: `node v1.js stdio|http <folder>`. It serves one client. */
const [mode] = process.argv.slice(2);

type Result = { content: { type: "text"; text: string }[]; isError?: boolean };
const text = (value: string): Result => ({ content: [{ type: "text", text: value }] });

const taskStore = new InMemoryTaskStore();
const server = new McpServer(
  { name: "interop-tasks", version: "1.0.0" },
  {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore,
    taskMessageQueue: new InMemoryTaskMessageQueue(),
    defaultTaskPollInterval: 100,
  },
);
server.registerTool("plain", {}, () => text("plain"));
server.registerTool("seen", { inputSchema: { key: z.string(), what: z.string() } }, async ({ key, what }) =>
  text(await ledger.seen(key, what)),
);
register("slow", "optional", async ({ value }) => {
  await sleep(200);
  return text(value);
});
register("always", "required", async () => text("always"));
register("broken", "optional", async () => ({ ...text("no paper"), isError: true }));
register("wait", "optional", async ({ key }, until) => {
  ledger.note(key, "started");
  await until("cancelled");
  ledger.note(key, "cancelled");
  return text("ended");
});

function register(
  name: string,
  taskSupport: "optional" | "required",
  work: (args: { value: string; key: string }, until: (status: string) => Promise<void>) => Promise<Result>,
): void {
  const inputSchema = { text: z.string().optional(), key: z.string().optional() };
  server.experimental.tasks.registerToolTask(
    name,
    { inputSchema, execution: { taskSupport } },
    {
      async createTask({ text: value = "", key = "" }, { taskStore, taskRequestedTtl }) {
        const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null });
        const { taskId } = task;
        const until = async (status: string) => {
          while ((await taskStore.getTask(taskId)).status !== status) await sleep(20);
        };
        void work({ value, key }, until)
          .then((result) => taskStore.storeTaskResult(taskId, result.isError ? "failed" : "completed", result))
          .catch(() => {});
        return { task };
      },
      getTask: (_args, { taskStore, taskId }) => taskStore.getTask(taskId),
      getTaskResult: async (_args, { taskStore, taskId }) => (await taskStore.getTaskResult(taskId)) as Result,
    },
  );
}

if (mode === "stdio") await server.connect(new StdioServerTransport());
else {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  await listen((request, response) => void transport.handleRequest(request, response));
  // Its timers would keep the process for the life of the tasks.
  taskStore.cleanup();
}
