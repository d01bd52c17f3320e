import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import { ClientProgram, PeerError } from "../clients/process.js";
import { toReply } from "../driver.js";
import { peerOf } from "../peers.js";
import type { OpenTaskDriver, TaskHandle, TaskReply } from "./driver.js";

/** The client of the official SDK, version 1, with its experimental tasks of 2025-11-25. */
export const openV1: OpenTaskDriver = async (target) => {
  const client = new Client({ name: "interop-v1", version: "1.0.0" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
  const transport =
    target.wire === "http"
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command, args: target.args });
  await client.connect(transport);
  // It asks for tasks of the tools that a list has shown.
  await client.listTools();
  const { tasks } = client.experimental;
  const handleOf = (id: string): TaskHandle => ({
    id,
    status: async () => (await tasks.getTask(id)).status,
    result: async () => toTaskReply(await tasks.getTaskResult(id, CallToolResultSchema)),
    cancel: async () => void (await tasks.cancelTask(id)),
  });
  return {
    version: "protocolVersion" in transport ? transport.protocolVersion : "2025-11-25",
    announced: client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined,
    async call(name, args = {}) {
      for await (const message of tasks.callToolStream({ name, arguments: args })) {
        if (message.type === "result") return toTaskReply(message.result);
        if (message.type === "error") throw message.error;
      }
      throw new Error("the stream ended without a result");
    },
    async start(name, args = {}) {
      const stream = tasks.callToolStream({ name, arguments: args });
      for await (const message of stream) if (message.type === "taskCreated") return handleOf(message.task.taskId);
      throw new Error("the call did not become a task");
    },
    resume: async (id) => handleOf(id),
    list: async () => (await tasks.listTasks()).tasks.map(({ taskId }) => taskId),
    codeOf: (error) => (error instanceof McpError ? error.code : undefined),
    close: () => client.close(),
  };
};

/** The client of FastMCP with its tasks. */
export const openFastMcp: OpenTaskDriver = async (target, choice) => {
  const { tasks } = await peerOf("fastmcp");
  const goal = target.wire === "http" ? [target.url] : [target.command, ...target.args];
  const program = new ClientProgram([...(tasks?.drive ?? []), choice, ...goal]);
  const { version } = await program.opened;
  const handleOf = (id: string): TaskHandle => ({
    id,
    status: async () => ((await program.do("status", { id })) as { status: string }).status,
    result: async () => toTaskReply((await program.do("result", { id })) as object),
    cancel: async () => void (await program.do("cancel task", { id })),
  });
  return {
    version,
    // Its client rejects calls of tasks without the announcement.
    announced: true,
    call: async (name, args = {}) => toTaskReply((await program.do("tools/call", { name, arguments: args })) as object),
    start: async (name, args = {}) =>
      handleOf(((await program.do("start", { name, arguments: args })) as { id: string }).id),
    codeOf: (error) => (error instanceof PeerError ? error.code : undefined),
    close: () => program.close(),
  };
};

function toTaskReply(result: object): TaskReply {
  const { text, isError } = toReply(result);
  return { text, isError };
}
