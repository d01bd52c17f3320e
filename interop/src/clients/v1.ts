import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  McpError,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { type Answers, type Choice, type Driver, LogBook, type Target, textOf, toReply } from "../driver.js";

/** The client of the official SDK, version 1. It supports the legacy era only. */
export async function openV1(target: Target, _choice: Choice, answers: Answers): Promise<Driver> {
  const client = new Client(
    { name: "interop-v1", version: "1.0.0" },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers.elicit(params.message));
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    role: "assistant",
    model: "interop",
    content: { type: "text", text: answers.sample(textOf([params.messages[0]?.content])) },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: answers.roots }));
  const transport =
    target.wire === "stdio"
      ? new StdioClientTransport({
          command: target.command,
          args: target.args,
          env: { ...getDefaultEnvironment(), ...target.env },
        })
      : new StreamableHTTPClientTransport(new URL(target.url));
  await client.connect(transport);
  return {
    version: transport instanceof StreamableHTTPClientTransport ? transport.protocolVersion : "2025-11-25",
    serverName: client.getServerVersion()?.name,
    sessionId: transport instanceof StreamableHTTPClientTransport ? transport.sessionId : undefined,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async callTool(name, args, { signal, timeoutMs, onProgress } = {}) {
      return toReply(
        await client.callTool({ name, arguments: args }, undefined, {
          signal,
          timeout: timeoutMs,
          onprogress: onProgress,
        }),
      );
    },
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    listTemplates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    readResource: async (uri) => textOf((await client.readResource({ uri })).contents),
    listPrompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    getPrompt: async (name, args) =>
      textOf((await client.getPrompt({ name, arguments: args })).messages.map(({ content }) => content)),
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } })).completion
        .values,
    async logsOf(tool, last) {
      const logs = new LogBook();
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => logs.add(params.data));
      await client.setLoggingLevel("info");
      await client.callTool({ name: tool, arguments: {} });
      return logs.upTo(last);
    },
    async watchTools() {
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
      });
      return { changed, close: async () => {} };
    },
    async watchResource(uri) {
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
          if (params.uri === uri) resolve();
        });
      });
      await client.subscribeResource({ uri });
      return { changed, close: async () => void (await client.unsubscribeResource({ uri })) };
    },
    codeOf: (error) => (error instanceof McpError ? error.code : undefined),
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
    },
  };
}
