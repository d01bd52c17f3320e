import {
  Client,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  createTaskSessionFromClient,
  JsonRpcResponseError,
  type RawClientDispatch,
  resultFromTaskOutcome,
  TaskFailedError,
  type ToolDeclaration,
  type ToolExecution,
  toolDeclarationFromMcpTool,
} from "@modelcontextprotocol/ext-tasks/client";
import { type Target, toReply } from "../driver.js";
import type { OpenTaskDriver, TaskHandle, TaskReply } from "./driver.js";

const clientInfo = { name: "interop-ext-tasks", version: "1.0.0" };
const clientCapabilities = { elicitation: {} };
const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } } as const;

/** The official extension of clients, on the client of the official SDK, version 2. */
export const openExtTasks: OpenTaskDriver = async (target, choice) => {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: MODES[choice] },
  });
  const transport = transportTo(target);
  await client.connect(transport);
  const { tools } = await client.listTools();
  const declared = new Map<string, ToolDeclaration>(tools.map((tool) => [tool.name, toolDeclarationFromMcpTool(tool)]));
  const isModern = client.getProtocolEra() === "modern";
  const options = {
    endpointId: "interop",
    tools: { currentTool: (name: string) => declared.get(name) },
    onInputRequest: async () => ({ action: "accept", content: { name: "Ada" } }) as never,
  };
  const framing = { protocolVersion: "2026-07-28", clientInfo, clientCapabilities };
  const raw = { rawDispatch: dispatchOn(transport), v2RequestFraming: framing };
  const session = createTaskSessionFromClient(client, isModern ? { ...options, ...raw } : options);
  const isOptional = (name: string) => declared.get(name)?.taskSupport === "optional";
  const run = (name: string, args = {}) =>
    session.callTool(name, args, isOptional(name) ? { task: { preference: "prefer" } } : {});
  const handleOf = (execution: ToolExecution<unknown>): TaskHandle => {
    if (execution.kind !== "task") throw new Error("the call did not become a task");
    const { taskId } = execution.handle;
    return {
      id: taskId,
      status: async () => (await session.task(taskId).snapshot()).status,
      result: () => settled(execution),
      cancel: () => execution.cancel(),
    };
  };
  return {
    version: client.getNegotiatedProtocolVersion(),
    announced: session.capabilities.execution,
    call: async (name, args) => settled(await run(name, args)),
    start: async (name, args) => handleOf(await run(name, args)),
    async resume(id) {
      const generation = isModern ? "v2" : "v1";
      const reference = { endpointId: "interop", generation, taskId: id, originalOperation: "tools/call" };
      return handleOf(await session.resumeTask(reference as Parameters<typeof session.resumeTask>[0]));
    },
    list: async () => (await session.listTasks()).tasks.map(({ taskId }) => taskId),
    codeOf: (error) =>
      error instanceof JsonRpcResponseError || error instanceof TaskFailedError ? error.code : undefined,
    async close() {
      await session.close();
      await client.close();
    },
  };
};

async function settled(execution: ToolExecution<unknown>): Promise<TaskReply> {
  const { outcome } = await execution.settle();
  const { text, isError } = toReply(resultFromTaskOutcome(outcome) as object);
  return { text, isError };
}

function transportTo(target: Target): StdioClientTransport | StreamableHTTPClientTransport {
  if (target.wire === "http") return new StreamableHTTPClientTransport(new URL(target.url));
  return new StdioClientTransport({ command: target.command, args: target.args });
}

/** Sends requests beside those of the client, whose codecs refuse results of tasks. The extension leaves this to hosts. */
function dispatchOn(transport: Transport): RawClientDispatch {
  type Response = Awaited<ReturnType<RawClientDispatch>>;
  const waiting = new Map<unknown, (response: Response) => void>();
  const { onmessage } = transport;
  let lastId = 0;
  transport.onmessage = (message, extra) => {
    const { id, method, result, error } = message as unknown as Record<string, never>;
    const answer = method === undefined ? waiting.get(id) : undefined;
    if (answer === undefined) return onmessage?.(message, extra);
    waiting.delete(id);
    answer(error === undefined ? { kind: "result", result: result as never } : { kind: "error", error });
  };
  return (request) => {
    const id = `task-${++lastId}`;
    return new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      transport.send({ jsonrpc: "2.0", id, ...(request as object) } as JSONRPCMessage).catch((error: unknown) => {
        waiting.delete(id);
        reject(error);
      });
    });
  };
}
